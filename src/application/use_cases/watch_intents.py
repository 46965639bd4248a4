"""Tell whoever waits for intents how they get on, until all of them are final."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from application.errors import (
    DatabaseUnavailableError,
    OutageError,
    RedisUnavailableError,
    UnknownIntentError,
)
from application.ports.intent_statuses import IntentStatuses
from application.ports.status_feed import StatusFeed
from domain.intents import IntentId
from domain.live_status import StatusUpdate, is_news
from domain.sanitising import sanitise

log = structlog.get_logger(__name__)

STOP_AFTER_S: Final = 0.5
"""How long a request to stop may go unnoticed while nothing happens."""
READ_AGAIN_AFTER_S: Final = 0.5
"""When to look once more at a row that is not final yet, though a message says so: a database
that is away may be back by then, and a standby may have caught up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchIntents:
    """Works in rounds of ``poll_interval_s``: subscribe, then read the database, then listen.

    The order is the design. A status that becomes final before the subscription stands is in
    what is read; one that becomes final later is heard. What is published and lost all the same
    (the worker died after its commit, its queue was full, Redis restarted) is read by the next
    round, as is everything while Redis is away. So a final status is told late at worst.

    Nor is one ever told that is not true. The payment manager may publish states of the PSP on
    the same channel, of names that it chose: a message that says something final is a reason to
    read the rows at once, and no more. Other messages are believed.

    One watch at a time: it has the feed for itself.
    """

    feed: StatusFeed
    statuses: IntentStatuses
    poll_interval_s: float
    clock_s: Callable[[], float] = time.monotonic

    def __call__(
        self,
        intent_ids: Sequence[IntentId],
        *,
        timeout_s: float | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[StatusUpdate]:
        """Yield the status of each intent now, then each change, until all are final.

        It ends earlier after *timeout_s*, which a read that takes long may exceed, or soon after
        *stop* is set. Never is a status yielded twice in a row, nor anything after a final one.

        Raises:
            UnknownIntentError: one of them is not there.
            DatabaseUnavailableError: at the first read; later ones are repeated until they do.
            DatabaseMisconfiguredError: wrong password, database or rights.
        """
        ends_s = math.inf if timeout_s is None else self.clock_s() + timeout_s
        stop = stop or threading.Event()
        watch = _Watch(dict.fromkeys(intent_ids))
        try:
            while watch.unfinished:
                watch.is_live = self._subscribe(watch)
                yield from watch.news(self._read(watch))
                round_ends_s = min(self.clock_s() + self.poll_interval_s, ends_s)
                yield from self._listen(watch, stop, until_s=round_ends_s)
                if stop.is_set() or self.clock_s() >= ends_s:
                    return
        finally:
            self.feed.close()
            if self.feed.ignored:
                log.info("watch: messages were no status of an intent", messages=self.feed.ignored)

    def _subscribe(self, watch: "_Watch") -> bool:
        """Subscribe, or make sure that the subscription stands; say whether it does."""
        try:
            self.feed.subscribe(watch.unfinished)
        except RedisUnavailableError as error:
            watch.redis.tell_down(error)
            return False
        watch.redis.tell_up()
        return True

    def _read(self, watch: "_Watch") -> Sequence[StatusUpdate]:
        try:
            found = self.statuses.read(watch.unfinished)
        except DatabaseUnavailableError as error:
            if not watch.has_begun:
                raise
            watch.database.tell_down(error)
            return ()
        watch.database.tell_up()
        for intent_id in watch.unfinished:
            if intent_id not in found:
                raise UnknownIntentError(intent_id)
        return [found[intent_id] for intent_id in watch.unfinished]

    def _listen(
        self, watch: "_Watch", stop: threading.Event, *, until_s: float
    ) -> Iterator[StatusUpdate]:
        looked_up: set[IntentId] = set()
        while watch.unfinished and self.clock_s() < until_s and not stop.is_set():
            pause_s = min(until_s - self.clock_s(), STOP_AFTER_S)
            update = self._hear(watch, stop, pause_s=max(0.0, pause_s))
            if update is None or not watch.is_news(update):
                continue
            if not update.is_final:
                yield from watch.news((update,))
                continue
            if update.intent_id in looked_up:
                # The next round is near. A read a message could be as many as anybody likes.
                continue
            looked_up.add(update.intent_id)
            yield from watch.news(self._read(watch))
            if update.intent_id in watch.unfinished:
                until_s = min(until_s, self.clock_s() + READ_AGAIN_AFTER_S)

    def _hear(
        self, watch: "_Watch", stop: threading.Event, *, pause_s: float
    ) -> StatusUpdate | None:
        if not watch.is_live:
            stop.wait(pause_s)
            return None
        try:
            return self.feed.hear(timeout_s=pause_s)
        except RedisUnavailableError as error:
            # The next round subscribes anew. Not this one: a Redis that breaks every
            # connection would be asked without a pause.
            watch.is_live = False
            watch.redis.tell_down(error)
            return None


class _Part:
    """Says once that a part is away, and once that it is back."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_away = False

    def tell_down(self, error: OutageError) -> None:
        if not self._is_away:
            log.warning("watch: part is down", part=self._name, error=sanitise(str(error)))
        self._is_away = True

    def tell_up(self) -> None:
        if self._is_away:
            log.info("watch: part is up", part=self._name)
        self._is_away = False


@dataclass(slots=True)
class _Watch:
    """What was shown of each intent so far, and how the parts are."""

    shown: dict[IntentId, str | None]
    is_live: bool = False
    redis: _Part = field(default_factory=lambda: _Part("redis"))
    database: _Part = field(default_factory=lambda: _Part("postgres"))
    _final: set[IntentId] = field(default_factory=set)

    @property
    def has_begun(self) -> bool:
        return any(status is not None for status in self.shown.values())

    @property
    def unfinished(self) -> Sequence[IntentId]:
        return [intent_id for intent_id in self.shown if intent_id not in self._final]

    def is_news(self, update: StatusUpdate) -> bool:
        return is_news(update, shown=self.shown[update.intent_id])

    def news(self, updates: Sequence[StatusUpdate]) -> Iterator[StatusUpdate]:
        """Yield those of *updates* that are news, and keep in mind that they were shown."""
        for update in updates:
            if self.is_news(update):
                self.shown[update.intent_id] = update.status
                if update.is_final:
                    self._final.add(update.intent_id)
                yield update
