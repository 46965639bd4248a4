"""The demo as a newcomer runs it."""
