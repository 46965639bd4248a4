"""Fast tests: pure code and fakes, no server."""
