"""Reconciling on the fakes."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from adapters.memory.database import InMemoryDatabase
from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from domain.transfers import TransferId
from tests.contracts.reconciling import Desk, ReconcilingContract
from tests.contracts.wallet import Wallet
from tests.unit.memory.memory_bank import MemoryBank
from tests.unit.memory.memory_bench import InMemoryBench

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class BankOfDatabase(MemoryBank):
    """A bank whose time is the database's."""

    database: InMemoryDatabase

    def wait_expired(self, pending_id: TransferId) -> None:
        (pending,) = self.ledger.lookup_transfers([pending_id])
        self.database.advance(timedelta(seconds=pending.timeout_s))


@pytest.fixture
def desk() -> Desk:
    database = InMemoryDatabase()
    bench = InMemoryBench(database)
    ledger = InMemoryLedger(
        now_ns=lambda: (database.now - EPOCH) // timedelta(microseconds=1) * 1_000
    )
    bank = BankOfDatabase(ledger=ledger, database=database)
    return Desk(
        wallet=Wallet(bench=bench, ledger=FaultyLedger(ledger), bank=bank),
        database=bench,
        fee_scan=ledger,
    )


class TestReconciling(ReconcilingContract):
    """Each fault, and only that one."""
