"""``outbox-worker run`` as a process, with real Postgres and Redis around it."""
