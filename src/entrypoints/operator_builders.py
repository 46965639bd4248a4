"""The wiring of the operator's commands: one connection, and for ``fail`` a ledger.

Each builder imports what it puts together: see ``entrypoints.cli``.
"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from application.ports.outbox_reader import OutboxReader

if TYPE_CHECKING:
    from adapters.postgres.pool import Pool
    from application.use_cases.fail_event import FailEvent
    from application.use_cases.prune_events import PruneEvents
    from application.use_cases.requeue_event import RequeueEvent
    from entrypoints.settings import DatabaseSettings


@contextmanager
def reading() -> Iterator[OutboxReader]:
    """Give a reader of the database that the environment names."""
    from adapters.postgres.outbox_reader import PostgresOutboxReader
    from entrypoints.settings import load_database_settings

    with _pool(load_database_settings()) as pool:
        yield PostgresOutboxReader(pool)


@contextmanager
def requeueing() -> "Iterator[RequeueEvent]":
    """Give the use case on that database."""
    from adapters.postgres.operator_store import PostgresOperatorStore
    from application.use_cases.requeue_event import RequeueEvent
    from entrypoints.settings import load_database_settings

    with _pool(load_database_settings()) as pool:
        yield RequeueEvent(store=PostgresOperatorStore(pool=pool))


@contextmanager
def failing() -> "Iterator[FailEvent]":
    """Give the use case on that database and the ledger that the environment names."""
    from adapters.postgres.operator_store import PostgresOperatorStore
    from adapters.postgres.outbox_repository import PostgresOutboxRepository
    from application.ledger_identity import ACCOUNTS_MAX
    from application.use_cases.fail_event import FailEvent
    from entrypoints.adapter_builders import build_ledger
    from entrypoints.settings import load_ledger_settings

    settings = load_ledger_settings()
    with _pool(settings) as pool, closing(build_ledger(settings)) as ledger:
        yield FailEvent(
            store=PostgresOperatorStore(pool=pool),
            ledger=ledger,
            fee_code=settings.psp_fee_code,
            mapped=PostgresOutboxRepository(pool).some_mapped_accounts(limit=ACCOUNTS_MAX),
        )


@contextmanager
def pruning(*, batch_events: int, pause_s: float) -> "Iterator[PruneEvents]":
    """Give the use case on that database; nobody has stopped it yet."""
    from adapters.postgres.event_archive import PostgresEventArchive
    from application.use_cases.prune_events import PruneEvents
    from entrypoints.settings import load_database_settings

    with _pool(load_database_settings()) as pool:
        yield PruneEvents(
            archive=PostgresEventArchive(pool),
            batch_events=batch_events,
            pause_s=pause_s,
            stop=threading.Event(),
        )


@contextmanager
def _pool(settings: "DatabaseSettings") -> "Iterator[Pool]":
    from adapters.postgres.pool import build_pool
    from entrypoints.logs import configure_logs

    configure_logs(format=settings.log_format, level="error")
    with build_pool(settings.database_url.get_secret_value(), size_max=1) as pool:
        yield pool
