"""What the demo runs on: servers of its own, and the worker as a process of its own."""

import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

import tigerbeetle as tb

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.ledger_account_status import AccountStatus
from adapters.memory.remote_ledger import LedgerServer
from adapters.postgres.migrations import apply_migrations
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.official_client import official_client
from application.ports.ledger import Ledger
from domain.transfers import Account
from entrypoints.sandbox.local_server import LocalServer
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer, find_tigerbeetle
from entrypoints.sandbox.valkey_server import ValkeyServer

TICK_MS: Final = 200
_PROBE_TIMEOUT_S: Final = 1.0


class WorkerProcess(LocalServer):
    """``outbox-worker run``, ready when it can settle."""

    name: ClassVar[str] = "worker"
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, settings: dict[str, str]) -> None:
        super().__init__()
        self._settings = settings

    def command(self) -> list[str]:
        """Return the worker, in the foreground."""
        return [sys.executable, "-m", "entrypoints", "run"]

    def environment(self) -> dict[str, str]:
        """Return the worker's settings."""
        return self._settings | {"OUTBOX_HEALTH_PORT": str(self.port)}

    def is_ready(self) -> bool:
        """Say whether ``/readyz`` is green."""
        url = f"http://{self.address}/readyz"
        try:
            with urllib.request.urlopen(url, timeout=_PROBE_TIMEOUT_S) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


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
        ledger = stack.enter_context(_ledger())
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _DemoLedger:
    name: str
    addresses: str
    ledger: Ledger
    open_accounts: Callable[[Sequence[Account]], None]
    pause: Callable[[], None]
    resume: Callable[[], None]


@contextmanager
def _ledger() -> Iterator[_DemoLedger]:
    program = find_tigerbeetle()
    with ExitStack() as stack:
        if program is None:
            memory = InMemoryLedger()
            served = stack.enter_context(LedgerServer(memory, fee_scan=memory))
            yield _DemoLedger(
                name="in memory, since there is no TigerBeetle server (TIGERBEETLE_BIN, PATH)",
                addresses=served.url,
                ledger=memory,
                open_accounts=lambda accounts: _open_in_memory(memory, accounts),
                pause=served.pause,
                resume=served.resume,
            )
            return
        server = stack.enter_context(TigerBeetleServer())
        ledger = TigerBeetleLedger(addresses=server.address, cluster_id=CLUSTER_ID)
        stack.callback(ledger.close)
        yield _DemoLedger(
            name=f"TigerBeetle, {program}",
            addresses=server.address,
            ledger=ledger,
            open_accounts=lambda accounts: _open_in_tigerbeetle(server.address, accounts),
            pause=server.pause,
            resume=server.resume,
        )


def _open_in_memory(ledger: InMemoryLedger, accounts: Sequence[Account]) -> None:
    statuses = ledger.create_accounts(accounts)
    if any(status is not AccountStatus.CREATED for status in statuses):
        raise RuntimeError(f"accounts were not opened: {statuses}")


def _open_in_tigerbeetle(address: str, accounts: Sequence[Account]) -> None:
    client = official_client(CLUSTER_ID, address)
    try:
        results = client.create_accounts(
            [tb.Account(id=one.id, ledger=one.ledger, code=one.code) for one in accounts]
        )
    finally:
        client.close()
    if any(result.status != tb.CreateAccountStatus.CREATED for result in results):
        raise RuntimeError(f"accounts were not opened: {results}")
