// BirdRealtimeTestKit
