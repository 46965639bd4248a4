"""``outbox-worker doctor``: every finding, by breaking the thing that it is about."""
