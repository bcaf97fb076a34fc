// BirdRealtimeTestKitTests
