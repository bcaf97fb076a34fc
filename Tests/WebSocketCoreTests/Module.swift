// WebSocketCoreTests
