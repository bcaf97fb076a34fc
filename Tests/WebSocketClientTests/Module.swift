// WebSocketClientTests
