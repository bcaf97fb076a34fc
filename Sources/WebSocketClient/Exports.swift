// What an application sees of the layers below: values only.
@_exported public import struct SystemIO.SystemError
@_exported public import struct SystemTLS.TLSError
@_exported public import struct SystemTLS.TLSOptions
@_exported public import struct WebSocketCore.CloseCode
@_exported public import struct WebSocketCore.CloseFrame
@_exported public import struct WebSocketCore.DeflateOptions
@_exported public import struct WebSocketCore.HTTPFields
@_exported public import struct WebSocketCore.Limits
@_exported public import enum WebSocketCore.MessageKind
@_exported public import struct WebSocketCore.ProtocolViolation
@_exported public import struct WebSocketCore.UpgradeRefusal
