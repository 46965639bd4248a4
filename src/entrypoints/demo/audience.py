"""Who listens on Redis: a client that watches its payments, and the Notifications Service."""

import json
import threading
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from adapters.redis.status_publisher import CHANNEL_PREFIX

GROUP: Final = "notifications-service"
_WAIT_S: Final = 0.1
_BATCH: Final = 500
_OWN_PENDING: Final = "0"
_NEW: Final = ">"


class Listener(threading.Thread):
    """Runs *listen* again and again until ``stop``; Redis may come and go."""

    def __init__(self, name: str, listen: Callable[[], None]) -> None:
        super().__init__(name=name, daemon=True)
        self._listen = listen
        self._stopping = threading.Event()

    def run(self) -> None:
        """Thread body."""
        while not self._stopping.is_set():
            try:
                self._listen()
            except RedisError:
                self._stopping.wait(_WAIT_S)

    def stop(self) -> None:
        """End after the wait that it is in, and wait for that."""
        self._stopping.set()
        self.join()


class StatusClient:
    """Subscribes to every intent's channel, as the backends of apps do together."""

    def __init__(self, redis: Redis) -> None:
        self.messages = 0
        self._pubsub: Any = redis.pubsub(  # type: ignore[no-untyped-call]
            ignore_subscribe_messages=True
        )
        self._pubsub.psubscribe(f"{CHANNEL_PREFIX}*")

    def listen(self) -> None:
        """Count the next message, if one comes."""
        if self._pubsub.get_message(timeout=_WAIT_S) is not None:
            self.messages += 1


class NotificationsService:
    """Reads the stream of push jobs in a consumer group, as the real service does.

    What it had taken and not acknowledged when Redis went away, it reads again; so it drops
    jobs whose id it knows.
    """

    def __init__(self, redis: Redis, *, stream: str, field: str) -> None:
        self.job_ids: set[UUID] = set()
        self._next = _OWN_PENDING
        self._redis = redis
        self._stream = stream
        self._field = field.encode()

    def listen(self) -> None:
        """Take the next jobs, if some come."""
        start, self._next = self._next, _OWN_PENDING
        try:
            answer: Any = self._redis.xreadgroup(
                GROUP, "demo", {self._stream: start}, count=_BATCH, block=int(_WAIT_S * 1_000)
            )
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            self._redis.xgroup_create(self._stream, GROUP, id="0", mkstream=True)
            return
        entries = [entry for _, entries in answer or () for entry in entries]
        if entries:
            self.job_ids |= {job_id_of(fields, self._field) for _, fields in entries}
            self._redis.xack(self._stream, GROUP, *(entry_id for entry_id, _ in entries))
        # Only now, and not where something was raised: then its own come first again.
        self._next = _OWN_PENDING if start == _OWN_PENDING and entries else _NEW


def job_ids_on_stream(redis: Redis, *, stream: str, field: str) -> list[UUID]:
    """Return the id of every job on the stream, as often as it is there."""
    entries: Any = redis.xrange(stream)
    return [job_id_of(fields, field.encode()) for _, fields in entries]


def job_id_of(fields: dict[bytes, bytes], field: bytes) -> UUID:
    """Return the notification id of a job."""
    return UUID(json.loads(fields[field])["data"]["notificationId"])
