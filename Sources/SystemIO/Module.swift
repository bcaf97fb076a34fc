// SystemIO
