"""The wiring of the operator's commands: one connection, and for ``fail`` a ledger."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from adapters.postgres.operator_store import PostgresOperatorStore
from adapters.postgres.outbox_reader import PostgresOutboxReader
from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import Pool, build_pool
from application.ledger_identity import ACCOUNTS_MAX
from application.ports.outbox_reader import OutboxReader
from application.use_cases.fail_event import FailEvent
from application.use_cases.requeue_event import RequeueEvent
from entrypoints.adapter_builders import build_ledger
from entrypoints.logs import configure_logs
from entrypoints.settings import (
    DatabaseSettings,
    load_database_settings,
    load_ledger_settings,
)


@contextmanager
def reading() -> Iterator[OutboxReader]:
    """Give a reader of the database that the environment names."""
    with _pool(load_database_settings()) as pool:
        yield PostgresOutboxReader(pool)


@contextmanager
def requeueing() -> Iterator[RequeueEvent]:
    """Give the use case on that database."""
    with _pool(load_database_settings()) as pool:
        yield RequeueEvent(store=PostgresOperatorStore(pool=pool))


@contextmanager
def failing() -> Iterator[FailEvent]:
    """Give the use case on that database and the ledger that the environment names."""
    settings = load_ledger_settings()
    with _pool(settings) as pool, closing(build_ledger(settings)) as ledger:
        yield FailEvent(
            store=PostgresOperatorStore(pool=pool),
            ledger=ledger,
            fee_code=settings.psp_fee_code,
            mapped=PostgresOutboxRepository(pool).some_mapped_accounts(limit=ACCOUNTS_MAX),
        )


@contextmanager
def _pool(settings: DatabaseSettings) -> Iterator[Pool]:
    configure_logs(format=settings.log_format, level="error")
    with build_pool(settings.database_url.get_secret_value(), size_max=1) as pool:
        yield pool
