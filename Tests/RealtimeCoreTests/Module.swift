// RealtimeCoreTests
