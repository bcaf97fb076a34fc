// SystemTLSTests
