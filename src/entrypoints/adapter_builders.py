"""Make the adapters of Postgres and the ledger as the settings say; they connect when used."""

import math

import structlog

from adapters.memory.remote_ledger import SCHEME, RemoteLedger
from adapters.postgres import pool as postgres_pool
from adapters.postgres.account_map import PostgresAccountMap
from adapters.postgres.arrivals import PostgresArrivals
from adapters.postgres.exclusive_lock import PostgresExclusiveLock
from adapters.postgres.intent_records import PostgresIntentRecords
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from entrypoints.settings import LedgerSettings, Settings

log = structlog.get_logger(__name__)


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
