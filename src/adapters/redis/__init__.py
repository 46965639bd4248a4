"""Redis (or Valkey) adapters, on redis-py."""
