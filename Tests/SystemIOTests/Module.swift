// SystemIOTests
