// WebSocketDeflate
