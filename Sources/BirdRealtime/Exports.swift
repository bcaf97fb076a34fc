// What programs name without importing a module of their own for it.
@_exported public import struct RealtimeCore.ReconnectPolicy
@_exported public import struct SystemTLS.TLSOptions
@_exported public import struct WebSocketCore.DeflateOptions
