// WebSocketDeflateTests
