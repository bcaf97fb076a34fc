// CompatibilityTests
