// WebSocketClient
