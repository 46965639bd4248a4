"""The commands as subprocesses, on a database and with a ledger of the test's."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from adapters.memory.remote_ledger import LedgerServer
from adapters.postgres.pool import build_pool
from tests.contracts.wallet import FEE_CODE, Wallet
from tests.helpers.worker_process import run_command
from tests.integration.postgres.postgres_bench import PostgresBench
from tests.unit.memory.memory_bank import MemoryBank

Done = subprocess.CompletedProcess[str]


class Run(Protocol):
    """Runs ``outbox-worker`` with nothing but what its commands need for settings."""

    def __call__(self, *arguments: object, stdin: str | None = "") -> Done:
        """Return what it printed, and its exit code; *stdin* as of ``run_command``."""
        ...


@pytest.fixture
def wallet(database_url: str) -> Iterator[Wallet]:
    """A wallet on ``database_url``, with a ledger in memory."""
    ledger = InMemoryLedger()
    with build_pool(database_url, size_max=2) as pool:
        yield Wallet(
            bench=PostgresBench(database_url, pool),
            ledger=FaultyLedger(ledger),
            bank=MemoryBank(ledger),
        )


@pytest.fixture
def bench(wallet: Wallet) -> PostgresBench:
    """The wallet's database."""
    assert isinstance(wallet.bench, PostgresBench)
    return wallet.bench


@pytest.fixture
def ledger_server(wallet: Wallet) -> Iterator[LedgerServer]:
    """The wallet's ledger, for processes."""
    with LedgerServer(wallet.ledger) as server:
        yield server


@pytest.fixture
def run(database_url: str) -> Run:
    """Run a command that needs no ledger."""

    def run(*arguments: object, stdin: str | None = "") -> Done:
        return run_command(
            *map(str, arguments), environment={"DATABASE_URL": database_url}, stdin=stdin
        )

    return run


@pytest.fixture
def run_fail(database_url: str, ledger_server: LedgerServer) -> Run:
    """Run ``fail``; there is no Redis in its settings."""
    environment = {
        "DATABASE_URL": database_url,
        "TIGERBEETLE_ADDRESSES": ledger_server.url,
        "TIGERBEETLE_CLUSTER_ID": "0",
        "OUTBOX_PSP_FEE_CODE": str(FEE_CODE),
        "OUTBOX_LEDGER_DEADLINE_MS": "1000",
    }

    def run(*arguments: object, stdin: str | None = "") -> Done:
        return run_command("fail", *map(str, arguments), environment=environment, stdin=stdin)

    return run


def document(done: Done) -> Any:
    """Return the one JSON document that was printed."""
    assert done.stderr == ""
    return json.loads(done.stdout)
