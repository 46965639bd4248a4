"""Live statuses heard on Redis pub/sub, one channel an intent (DESIGN §3)."""

import time
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from redis import Redis
from redis.client import PubSub

from adapters.redis.errors import redis_errors
from adapters.redis.status_publisher import CHANNEL_PREFIX
from application.errors import RedisUnavailableError
from domain.intents import IntentId
from domain.live_status import StatusUpdate, parse_message

_CONFIRMATION: Final = "subscribe"
_MESSAGE: Final = "message"


class RedisStatusFeed:
    """``StatusFeed`` by SUBSCRIBE, on one connection of *client*'s from ``subscribe`` to ``close``.

    The server's confirmation is waited for, for *timeout_s* at most: until it has come, the
    server may not have begun to send. Where it does not come, or the connection breaks, the
    subscription is given up. redis-py alone would renew it in silence, and whoever listens would
    not know that something was missed.
    """

    def __init__(self, client: Redis, *, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._pubsub: PubSub | None = None
        self._unheard: deque[dict[str, Any]] = deque()
        self._ignored = 0

    @property
    def ignored(self) -> int:
        """See ``StatusFeed.ignored``."""
        return self._ignored

    def subscribe(self, intent_ids: Collection[IntentId]) -> None:
        """See ``StatusFeed.subscribe``."""
        channels = {f"{CHANNEL_PREFIX}{intent_id}" for intent_id in intent_ids}
        with self._ended_by_errors():
            if self._pubsub is None:
                self._pubsub = PubSub(self._client.connection_pool)
            self._pubsub.subscribe(*channels)
            deadline_s = time.monotonic() + self._timeout_s
            missing = len(channels)
            while missing:
                left_s = deadline_s - time.monotonic()
                message = self._pubsub.get_message(timeout=max(0.0, left_s))
                if message is None:
                    raise RedisUnavailableError("the subscription was not confirmed in time")
                if message["type"] == _CONFIRMATION:
                    missing -= 1
                else:
                    self._unheard.append(message)

    def hear(self, *, timeout_s: float) -> StatusUpdate | None:
        """See ``StatusFeed.hear``."""
        if self._pubsub is None:
            raise RedisUnavailableError("there is no subscription")
        with self._ended_by_errors():
            message = (
                self._unheard.popleft()
                if self._unheard
                else self._pubsub.get_message(timeout=timeout_s)
            )
        if message is None:
            return None
        update = _update_in(message)
        self._ignored += update is None
        return update

    def close(self) -> None:
        """See ``StatusFeed.close``."""
        self._unheard.clear()
        if self._pubsub is not None:
            self._pubsub.close()
            self._pubsub = None

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        try:
            with redis_errors(self._client):
                yield
        except BaseException:
            # Also when Ctrl-C comes in the middle of an answer.
            self.close()
            raise


def _update_in(message: dict[str, Any]) -> StatusUpdate | None:
    if message["type"] != _MESSAGE:
        return None
    intent_id = IntentId(UUID(message["channel"].decode().removeprefix(CHANNEL_PREFIX)))
    return parse_message(intent_id, message["data"])
