"""Live status channels in memory: who publishes and who listens share an object."""

import threading
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from application.errors import RedisUnavailableError
from domain.intents import IntentId
from domain.live_status import StatusUpdate, parse_message


@dataclass(slots=True)
class InMemoryStatusChannels:
    """A channel an intent; safe to share between threads. ``go_away`` and ``come_back`` at will."""

    _feeds: set["InMemoryStatusFeed"] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _is_away: bool = False

    def publish(self, intent_id: IntentId, body: bytes) -> int:
        """Send *body* on an intent's channel; return how many hear it."""
        with self._changed:
            hearers = [feed for feed in self._feeds if intent_id in feed._subscribed]
            for feed in hearers:
                feed._unheard.append((intent_id, body))
            self._changed.notify_all()
            return len(hearers)

    def go_away(self) -> None:
        """End every subscription, and refuse new ones until ``come_back``."""
        with self._changed:
            self._is_away = True
            for feed in list(self._feeds):
                feed._end()
            self._changed.notify_all()

    def come_back(self) -> None:
        """Undo ``go_away``; whoever listened before has to subscribe anew."""
        self._is_away = False


class InMemoryStatusFeed:
    """A ``StatusFeed`` on *channels*."""

    def __init__(self, channels: InMemoryStatusChannels) -> None:
        self._channels = channels
        self._subscribed: set[IntentId] = set()
        self._unheard: deque[tuple[IntentId, bytes]] = deque()
        self._ignored = 0

    @property
    def ignored(self) -> int:
        return self._ignored

    def subscribe(self, intent_ids: Collection[IntentId]) -> None:
        with self._channels._changed:
            if self._channels._is_away:
                raise RedisUnavailableError("told to be away")
            self._subscribed.update(intent_ids)
            self._channels._feeds.add(self)

    def hear(self, *, timeout_s: float) -> StatusUpdate | None:
        with self._channels._changed:
            self._channels._changed.wait_for(
                lambda: self._unheard or not self._subscribed, timeout_s
            )
            if not self._subscribed:
                raise RedisUnavailableError("there is no subscription")
            if not self._unheard:
                return None
            update = parse_message(*self._unheard.popleft())
        self._ignored += update is None
        return update

    def close(self) -> None:
        with self._channels._changed:
            self._end()

    def _end(self) -> None:
        self._channels._feeds.discard(self)
        self._subscribed.clear()
        self._unheard.clear()
