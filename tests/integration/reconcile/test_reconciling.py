"""Reconciling on real Postgres, with the in-memory ledger and with a real TigerBeetle."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from adapters.postgres.pool import build_pool
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from domain.transfers import TransferId
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.reconciling import Desk, ReconcilingContract
from tests.contracts.wallet import Wallet
from tests.integration.postgres.postgres_bench import PostgresBench
from tests.integration.tigerbeetle.bank import TigerBeetleBank
from tests.unit.memory.memory_bank import MemoryBank

pytestmark = pytest.mark.integration


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientBank(MemoryBank):
    """A bank that really waits: its ledger's time is the database's."""

    def wait_expired(self, pending_id: TransferId) -> None:
        (pending,) = self.ledger.lookup_transfers([pending_id])
        payer = pending.debit_account_id
        wait_until(
            lambda: self.balances(payer).debits_pending == 0,
            timeout_s=30.0,
            what="the pending transfer has expired",
        )


@pytest.fixture
def bench(database_url: str) -> Iterator[PostgresBench]:
    with build_pool(database_url, size_max=2) as pool:
        yield PostgresBench(database_url, pool)


class TestOnInMemoryLedger(ReconcilingContract):
    """The ledger's time and the database's are those of this machine."""

    @pytest.fixture
    def desk(self, bench: PostgresBench) -> Desk:
        ledger = InMemoryLedger()
        return Desk(
            wallet=Wallet(
                bench=bench, ledger=FaultyLedger(ledger), bank=PatientBank(ledger=ledger)
            ),
            database=bench,
            fee_scan=ledger,
        )


@pytest.mark.tigerbeetle
class TestOnTigerBeetle(ReconcilingContract):
    """Everything is real."""

    @pytest.fixture
    def desk(
        self,
        bench: PostgresBench,
        tigerbeetle_ledger: TigerBeetleLedger,
        tigerbeetle_bank: TigerBeetleBank,
    ) -> Desk:
        return Desk(
            wallet=Wallet(
                bench=bench, ledger=FaultyLedger(tigerbeetle_ledger), bank=tigerbeetle_bank
            ),
            database=bench,
            fee_scan=tigerbeetle_ledger,
        )
