"""The bounded queue between lanes, which must never wait for Redis, and the publisher."""

import threading
from collections import deque
from collections.abc import Sequence

from domain.conclusions import StatusMessage


class StatusQueue:
    """First in, first out; thread-safe; on overflow the oldest message is dropped.

    A status is best-effort by contract, and the newest is worth most. ``dropped`` counts
    what was lost, so that the loss is seen.
    """

    def __init__(self, *, size_max: int) -> None:
        self._messages: deque[StatusMessage] = deque()
        self._size_max = size_max
        self._changed = threading.Condition()
        self._dropped = 0
        self._dropped_seen = self._dropped_told = 0

    @property
    def dropped(self) -> int:
        """How many messages were dropped since the start."""
        return self._dropped

    def take_dropped(self) -> int:
        """How many were dropped in an overflow that is over; each is told once.

        It is over when none was dropped since this was last asked.
        """
        with self._changed:
            is_over = self._dropped == self._dropped_seen
            self._dropped_seen = self._dropped
            if not is_over:
                return 0
            new, self._dropped_told = self._dropped - self._dropped_told, self._dropped
            return new

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, messages: Sequence[StatusMessage]) -> None:
        """Append *messages*; never waits."""
        with self._changed:
            self._messages.extend(messages)
            self._drop_overflow()
            self._changed.notify()

    def put_back(self, messages: Sequence[StatusMessage]) -> None:
        """Return *messages* that could not be published to the front, in their order."""
        with self._changed:
            self._messages.extendleft(reversed(messages))
            self._drop_overflow()

    def take(self, *, limit: int, timeout_s: float) -> list[StatusMessage]:
        """Remove and return up to *limit* messages; wait up to *timeout_s* for the first."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._messages), timeout_s)
            return [self._messages.popleft() for _ in range(min(limit, len(self._messages)))]

    def _drop_overflow(self) -> None:
        while len(self._messages) > self._size_max:
            self._messages.popleft()
            self._dropped += 1
