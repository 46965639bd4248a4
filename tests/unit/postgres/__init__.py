"""What of the Postgres adapters can be seen without a server."""
