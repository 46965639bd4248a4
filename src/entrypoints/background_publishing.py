"""Live statuses for producers, published by a thread of its own: nobody else waits for Redis."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from adapters.redis.connection import build_client
from adapters.redis.status_publisher import RedisStatusPublisher
from application.errors import OutboxError
from application.status_queue import StatusQueue
from application.use_cases.publish_statuses import PublishStatuses
from application.use_cases.write_intent_event import PublishFn
from domain.retry import Backoff
from entrypoints.health import Health, Part
from entrypoints.loops import Loop, Pace
from entrypoints.worker import PUBLISHER, PublishStep
from entrypoints.worker_builders import build_jitter

CLIENT_NAME: Final = "outbox-producer"
QUEUE_SIZE_MAX: Final = 10_000
_BATCH_SIZE: Final = 1_000
_TICK_S: Final = 0.5


@contextmanager
def background_publishing(redis_url: str, *, timeout_s: float = 2.0) -> Iterator[PublishFn]:
    """Publish, in the full form, what is given to the function yielded, which never waits.

    One a process is enough, for all threads. While Redis is away, which is one log line, the
    newest ``QUEUE_SIZE_MAX`` statuses are kept. At the end of the block what is left is
    published, unless Redis takes none of it: that may take a few times *timeout_s*.

    Raises:
        MisconfiguredError: *redis_url* is not usable.
    """
    client = build_client(
        redis_url,
        setting="redis_url",
        client_name=CLIENT_NAME,
        connect_timeout_s=timeout_s,
        socket_timeout_s=timeout_s,
    )
    queue = StatusQueue(size_max=QUEUE_SIZE_MAX)
    publish = PublishStatuses(
        announcements=queue,
        publisher=RedisStatusPublisher(client, full_message=True),
        batch_size=_BATCH_SIZE,
    )
    health = Health()
    loop = Loop(
        PUBLISHER,
        PublishStep(publish=publish, health=health, timeout_s=_TICK_S),
        pace=Pace(tick_ms=1_000, backoff=Backoff(max_ms=10_000), jitter=build_jitter()),
        health=health,
        redis_part=Part.STATUS,
    )
    with client:
        loop.start()
        try:
            yield queue.put
        finally:
            loop.stop()
            loop.join()
            with suppress(OutboxError):
                publish.flush()
