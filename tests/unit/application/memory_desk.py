"""A wallet on the fakes, at the desk where it is reconciled."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from adapters.memory.database import InMemoryDatabase
from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from domain.transfers import TransferId
from tests.contracts.reconciling import Desk
from tests.contracts.wallet import Wallet
from tests.unit.memory.memory_bank import MemoryBank
from tests.unit.memory.memory_bench import InMemoryBench

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class BankOfDatabase(MemoryBank):
    """A bank whose time is the database's."""

    database: InMemoryDatabase

    def wait_expired(self, pending_id: TransferId) -> None:
        (pending,) = self.ledger.lookup_transfers([pending_id])
        self.database.advance(timedelta(seconds=pending.timeout_s))


def a_desk() -> Desk:
    """Return a desk with nothing on it; database and ledger go by the same clock."""
    database = InMemoryDatabase()
    bench = InMemoryBench(database)
    ledger = InMemoryLedger(now_ns=lambda: ns_of(database.now))
    bank = BankOfDatabase(ledger=ledger, database=database)
    return Desk(
        wallet=Wallet(bench=bench, ledger=FaultyLedger(ledger), bank=bank),
        database=bench,
        fee_scan=ledger,
    )


def ns_of(moment: datetime) -> int:
    """Return *moment* as a ledger tells it."""
    return (moment - EPOCH) // timedelta(microseconds=1) * 1_000
