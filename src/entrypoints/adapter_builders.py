"""Make adapters as the settings say. Nothing is reached here: they connect when used."""

import math
from typing import Final

import structlog
from redis import Redis

from adapters.memory.remote_ledger import SCHEME, RemoteLedger
from adapters.postgres import pool as postgres_pool
from adapters.postgres.account_map import PostgresAccountMap
from adapters.postgres.arrivals import PostgresArrivals
from adapters.postgres.exclusive_lock import PostgresExclusiveLock
from adapters.postgres.intent_records import PostgresIntentRecords
from adapters.redis.connection import build_client
from adapters.redis.status_publisher import RedisStatusPublisher
from adapters.redis.stream_notifier import RedisStreamNotifier
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from entrypoints.settings import NOTIFICATIONS_STREAM, LedgerSettings, Settings

log = structlog.get_logger(__name__)

CLIENT_NAME: Final = "outbox-worker"


def build_pool(settings: Settings) -> postgres_pool.Pool:
    """Return the closed pool of the lanes and the delivery loop."""
    return postgres_pool.build_pool(
        settings.database_url.get_secret_value(),
        # Each lane and the delivery loop hold one connection at a time.
        size_max=settings.lanes + 1,
        # libpq counts in whole seconds.
        connect_timeout_s=math.ceil(settings.connect_timeout_ms / 1_000),
        statement_timeout_ms=settings.statement_timeout_ms,
    )


def build_arrivals(settings: Settings) -> PostgresArrivals:
    """Return what tells of new orders, on a connection of its own."""
    return PostgresArrivals(
        dsn=settings.database_url.get_secret_value(),
        connect_timeout_s=settings.connect_timeout_ms / 1_000,
    )


def build_exclusive_lock(settings: Settings) -> PostgresExclusiveLock:
    """Return the lock of exclusive workers, on a connection of its own."""
    return PostgresExclusiveLock(
        dsn=settings.database_url.get_secret_value(),
        connect_timeout_s=settings.connect_timeout_ms / 1_000,
    )


def build_intent_records(settings: LedgerSettings) -> PostgresIntentRecords:
    """Return the reader of what the database says."""
    return PostgresIntentRecords(
        dsn=settings.database_url.get_secret_value(),
        connect_timeout_s=math.ceil(settings.connect_timeout_ms / 1_000),
        statement_timeout_ms=settings.statement_timeout_ms,
    )


def build_account_map(settings: LedgerSettings) -> PostgresAccountMap:
    """Return the reader of ``pm.tb_account_map``."""
    return PostgresAccountMap(
        dsn=settings.database_url.get_secret_value(), timeout_s=settings.connect_timeout_ms / 1_000
    )


def build_ledger(settings: LedgerSettings) -> TigerBeetleLedger | RemoteLedger:
    """Return the ledger, TigerBeetle or one that the demo serves; it connects at the first call."""
    deadline_s = settings.ledger_deadline_ms / 1_000
    if settings.tigerbeetle_addresses.startswith(SCHEME):
        log.warning("outbox: the ledger is in memory, for trying things out only")
        return RemoteLedger(settings.tigerbeetle_addresses, deadline_s=deadline_s)
    return TigerBeetleLedger(
        addresses=settings.tigerbeetle_addresses,
        cluster_id=settings.tigerbeetle_cluster_id,
        deadline_s=deadline_s,
        request_events_max=settings.ledger_request_events_max,
    )


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
        maxlen=settings.notifications_maxlen,
    )
