// RealtimeCore
