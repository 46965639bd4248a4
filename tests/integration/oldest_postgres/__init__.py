"""The same on the oldest Postgres that is supported."""
