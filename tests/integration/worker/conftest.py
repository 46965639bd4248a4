"""A worker process with everything around it in the test's hands."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Protocol

import pytest
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from adapters.memory.remote_ledger import SCHEME, LedgerServer
from tests.helpers.worker_process import CONSOLE_SCRIPT, WorkerProcess
from tests.integration.worker.payment_manager import PaymentManager
from tests.unit.memory.memory_bank import MemoryBank


@pytest.fixture
def ledger() -> FaultyLedger:
    """The ledger of the test; the hooks work on what workers ask of it."""
    return FaultyLedger(InMemoryLedger())


@pytest.fixture
def bank(ledger: FaultyLedger) -> MemoryBank:
    """Accounts on ``ledger``."""
    assert isinstance(ledger.ledger, InMemoryLedger)
    return MemoryBank(ledger.ledger)


@pytest.fixture
def ledger_address(ledger: FaultyLedger) -> Iterator[str]:
    """Where workers find ``ledger``, as ``host:port``."""
    with LedgerServer(ledger) as server:
        yield server.address


@pytest.fixture
def payment_manager(database_url: str, ledger: FaultyLedger, bank: MemoryBank) -> PaymentManager:
    """The payment manager on ``database_url``."""
    return PaymentManager(database_url, ledger.ledger, bank)


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """A client of the Redis at ``redis_url``."""
    with Redis.from_url(redis_url) as client:
        yield client


class StartWorker(Protocol):
    """Starts a worker; keyword arguments are settings, in place of the fixtures' and defaults.

    Its ledger is the test's, unless a *command* is given.
    """

    def __call__(self, *command: str, **settings: str) -> WorkerProcess:
        """Return the running process, of *command* when one is given."""
        ...


@pytest.fixture
def settings(database_url: str, redis_url: str, ledger_address: str) -> dict[str, str]:
    """The settings of a worker that is in a hurry."""
    return impatient(
        DATABASE_URL=database_url, REDIS_URL=redis_url, TIGERBEETLE_ADDRESSES=ledger_address
    )


def impatient(**addresses: str) -> dict[str, str]:
    """Return settings for tests: *addresses*, and waits as short as they can be."""
    return {
        "TIGERBEETLE_CLUSTER_ID": "0",
        "OUTBOX_LOG_FORMAT": "json",
        "OUTBOX_HEALTH_PORT": "0",
        "OUTBOX_TICK_MS": "50",
        "OUTBOX_BACKOFF_FIRST_MS": "20",
        "OUTBOX_OUTAGE_BACKOFF_MAX_MS": "100",
        "OUTBOX_CONNECT_TIMEOUT_MS": "1000",
        "OUTBOX_REDIS_TIMEOUT_MS": "1000",
        **addresses,
    }


@pytest.fixture
def start_worker() -> Iterator[StartWorker]:
    """Start workers, and end those that still run after the test.

    A worker never writes anything but log lines, and none of them says that it was surprised.
    """
    workers: list[WorkerProcess] = []
    with ExitStack() as running:

        def start(*command: str, **settings: str) -> WorkerProcess:
            if not command:
                settings["TIGERBEETLE_ADDRESSES"] = SCHEME + settings["TIGERBEETLE_ADDRESSES"]
            worker = WorkerProcess(settings, command=command or (CONSOLE_SCRIPT, "run"))
            workers.append(running.enter_context(worker))
            return worker

        yield start
    for worker in workers:
        assert "\n".join(worker.stray_lines) == ""
        assert worker.logged("outbox: unforeseen error") == []
