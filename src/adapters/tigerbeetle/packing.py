"""How many events go in one request."""

import threading
from collections.abc import Sequence


class RequestLimit:
    """The most events a request may have: first as set, then as the cluster taught. Thread-safe."""

    def __init__(self, events_max: int):
        if events_max < 1:
            raise ValueError(f"events_max must be at least 1: {events_max}")
        self._events = events_max
        self._lock = threading.Lock()

    @property
    def events(self) -> int:
        """The limit, at least 1."""
        return self._events

    def lower_to(self, events: int) -> bool:
        """Lower the limit to *events*, never below 1; return whether that changed it.

        Lanes that learn the same at the same time lower it once.
        """
        with self._lock:
            before, self._events = self._events, max(1, min(self._events, events))
            return self._events < before


def leading_pack(sizes: Sequence[int], *, events_max: int) -> int:
    """Return how many of the first chains, of these *sizes*, one request of *events_max* holds.

    At least one: a chain above the limit is tried alone, since only the cluster knows.
    """
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > events_max:
            return max(count, 1)
    return len(sizes)
