"""What the demo runs on: servers of its own, and the worker as a process of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from adapters.postgres.migrations import apply_migrations
from application.ports.ledger import Ledger
from domain.transfers import Account
from entrypoints.sandbox.ledger import sandbox_ledger
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID
from entrypoints.sandbox.valkey_server import ValkeyServer
from entrypoints.sandbox.worker_process import WorkerProcess

TICK_MS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Backdrop:
    """Running servers; ``environment`` is what every command needs to work on them."""

    environment: dict[str, str]
    database_url: str
    valkey: ValkeyServer
    worker: WorkerProcess
    ledger: Ledger
    ledger_name: str
    open_accounts: Callable[[Sequence[Account]], None]
    pause_ledger: Callable[[], None]
    resume_ledger: Callable[[], None]


@contextmanager
def backdrop(say: Callable[[str], None]) -> Iterator[Backdrop]:
    """Start everything but the worker; all of it is gone at the end of the block.

    Raises:
        ServerFailedError: a server cannot be had or does not start; the message says why.
    """
    with ExitStack() as stack:
        postgres = stack.enter_context(PostgresServer())
        valkey = stack.enter_context(ValkeyServer(keeps_data=True))
        say(f"Postgres on port {postgres.port}, Valkey on port {valkey.port}")
        ledger = stack.enter_context(sandbox_ledger())
        say(f"ledger: {ledger.name}")
        database_url = postgres.url(postgres.create_database())
        apply_migrations(database_url)
        environment = {
            "DATABASE_URL": database_url,
            "REDIS_URL": valkey.url,
            "TIGERBEETLE_ADDRESSES": ledger.addresses,
            "TIGERBEETLE_CLUSTER_ID": str(CLUSTER_ID),
            # Quick, so that faults and their end are seen within the time of a demo.
            "OUTBOX_TICK_MS": str(TICK_MS),
            "OUTBOX_ATTEMPTS_MAX": "3",
            "OUTBOX_BACKOFF_MAX_MS": "500",
            "OUTBOX_OUTAGE_BACKOFF_MAX_MS": "500",
            "OUTBOX_LEDGER_DEADLINE_MS": "2000",
        }
        worker = WorkerProcess(environment)
        stack.callback(worker.close)
        yield Backdrop(
            environment=environment,
            database_url=database_url,
            valkey=valkey,
            worker=worker,
            ledger=ledger.ledger,
            ledger_name=ledger.name,
            open_accounts=ledger.open_accounts,
            pause_ledger=ledger.pause,
            resume_ledger=ledger.resume,
        )
