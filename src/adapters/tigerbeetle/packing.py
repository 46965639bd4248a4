"""How many events go in one request."""

import threading
from collections.abc import Sequence

import structlog

log = structlog.get_logger(__name__)


class RequestLimit:
    """The most events a request may have: first as set, then as the cluster taught. Thread-safe.

    ``requests`` names, in the log, the requests that it is for.
    """

    def __init__(self, events_max: int, *, requests: str):
        if events_max < 1:
            raise ValueError(f"events_max must be at least 1: {events_max}")
        self._events = events_max
        self._requests = requests
        self._lock = threading.Lock()

    @property
    def events(self) -> int:
        """The limit, at least 1."""
        return self._events

    def lower_to(self, events: int) -> None:
        """Lower the limit to *events*, never below 1, and say so in the log if that changed it.

        Lanes that learn the same at the same time lower it once.
        """
        with self._lock:
            before, after = self._events, max(1, min(self._events, events))
            self._events = after
        if after < before:
            log.info("ledger_request_limit_lowered", requests=self._requests, events_max=after)


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
