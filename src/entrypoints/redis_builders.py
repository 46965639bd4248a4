"""Make the adapters of Redis as the settings say; they connect when used.

Apart from the other adapters, since most commands need no Redis.
"""

from typing import Final

from redis import Redis

from adapters.redis.connection import build_client
from adapters.redis.status_publisher import RedisStatusPublisher
from adapters.redis.stream_notifier import RedisStreamNotifier
from entrypoints.settings import NOTIFICATIONS_STREAM, Settings

CLIENT_NAME: Final = "outbox-worker"


def build_redis(settings: Settings) -> Redis:
    """Return a client of the Redis for live statuses; it connects at the first command."""
    return _redis_client(settings, settings.redis_url.get_secret_value(), "REDIS_URL")


def build_notifications_redis(settings: Settings) -> Redis:
    """Return a client of the Redis for push jobs, which may be the same server."""
    if settings.notifications_redis_url is None:
        return build_redis(settings)
    url = settings.notifications_redis_url.get_secret_value()
    return _redis_client(settings, url, "NOTIFICATIONS_REDIS_URL")


def _redis_client(settings: Settings, url: str, setting: str) -> Redis:
    return build_client(
        url,
        setting=setting,
        client_name=CLIENT_NAME,
        connect_timeout_s=settings.redis_timeout_ms / 1_000,
        socket_timeout_s=settings.redis_timeout_ms / 1_000,
    )


def build_status_publisher(settings: Settings, redis: Redis) -> RedisStatusPublisher:
    """Return the publisher of live statuses."""
    return RedisStatusPublisher(redis, full_message=settings.status_full)


def build_notifier(settings: Settings, redis: Redis) -> RedisStreamNotifier:
    """Return the appender to the stream of push jobs."""
    return RedisStreamNotifier(
        redis,
        stream=NOTIFICATIONS_STREAM,
        field=settings.notifications_field,
        maxlen=settings.notifications_maxlen or None,
    )
