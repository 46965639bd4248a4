"""Many worker processes on one outbox, killed again and again."""
