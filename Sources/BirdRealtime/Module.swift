// BirdRealtime
