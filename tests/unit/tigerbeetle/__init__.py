"""The Redis adapters, as far as they need no server."""
