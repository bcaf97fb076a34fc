// BirdRealtimeTests
