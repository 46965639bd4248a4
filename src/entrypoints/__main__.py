"""``python -m entrypoints`` is ``outbox-worker``."""

from entrypoints.cli import main

main()
