// SystemTLS
