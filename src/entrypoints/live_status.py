"""For back ends of clients: how intents get on, live. docs/clients.md shows its use."""

import threading
from collections.abc import Iterator
from typing import Final
from uuid import UUID

from adapters.postgres.intent_statuses import PostgresIntentStatuses
from adapters.postgres.pool import build_pool
from adapters.redis.connection import build_client
from adapters.redis.status_feed import RedisStatusFeed
from application.use_cases.watch_intents import WatchIntents
from domain.intents import IntentId
from domain.live_status import StatusUpdate

CLIENT_NAME: Final = "outbox-watch"
POLL_INTERVAL_S: Final = 5.0
READERS_MAX: Final = 4
"""Reading the status takes a moment, so that few connections to Postgres do for many watches."""


class LiveStatus:
    """Watches intents for a client's back end; safe to share between threads.

    One a process, as a context manager:

        with LiveStatus(database_url=..., redis_url=...) as live:
            for update in live.watch(intent_id):
                ...  # update.status, update.updated_at, update.is_final

    ``database_url`` may lead to a standby, which tells as late as it lags. Its role needs SELECT
    on ``pm.intent`` (``id``, ``status``, ``updated_at``), and the user of ``redis_url`` SUBSCRIBE
    on ``intent.*``. Without Redis it only polls, every ``poll_interval_s``.

    Raises:
        MisconfiguredError: one of the URLs is not usable. Nothing is reached yet.
    """

    def __init__(
        self,
        *,
        database_url: str,
        redis_url: str,
        poll_interval_s: float = POLL_INTERVAL_S,
        redis_timeout_s: float = 2.0,
        watches_max: int = 100,
    ) -> None:
        """Connect later; watches beyond ``watches_max`` at a time get no messages, and poll."""
        self._pool = build_pool(database_url, size_max=READERS_MAX)
        self._redis = build_client(
            redis_url,
            setting="REDIS_URL",
            client_name=CLIENT_NAME,
            connect_timeout_s=redis_timeout_s,
            socket_timeout_s=redis_timeout_s,
            connections_max=watches_max,
        )
        self._poll_interval_s = poll_interval_s
        self._redis_timeout_s = redis_timeout_s

    def watch(
        self,
        *intent_ids: UUID,
        timeout_s: float | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[StatusUpdate]:
        """Yield the status of each intent now, then each change; end when all are final.

        Nothing final is ever missed, whatever is lost on the way; it is told late at worst, by
        the poll. It ends earlier after *timeout_s* or soon after *stop* is set, so look at
        ``is_final`` of what came last. Blocks between updates, on a connection of its own to
        Redis. Close the iterator, or run it to its end.

        Raises:
            UnknownIntentError: one of *intent_ids* is not there.
            DatabaseUnavailableError: at the first read only; later ones are repeated.
            DatabaseMisconfiguredError: wrong password, database or rights.
        """
        watch_intents = WatchIntents(
            feed=RedisStatusFeed(self._redis, timeout_s=self._redis_timeout_s),
            statuses=PostgresIntentStatuses(self._pool),
            poll_interval_s=self._poll_interval_s,
        )
        return watch_intents([*map(IntentId, intent_ids)], timeout_s=timeout_s, stop=stop)

    def __enter__(self) -> "LiveStatus":
        self._pool.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._redis.close()
        self._pool.close()
