"""Reconciling on real Postgres, with the in-memory ledger and with a real TigerBeetle."""

import pytest

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.ledger import InMemoryLedger
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from tests.contracts.reconciling import Desk, ReconcilingContract
from tests.contracts.wallet import Wallet
from tests.integration.postgres.postgres_bench import PostgresBench
from tests.integration.reconcile.patient_bank import PatientBank
from tests.integration.tigerbeetle.bank import TigerBeetleBank

pytestmark = pytest.mark.integration


class TestOnInMemoryLedger(ReconcilingContract):
    """The ledger's time and the database's are those of this machine."""

    @pytest.fixture
    def desk(self, bench: PostgresBench) -> Desk:
        ledger = InMemoryLedger()
        return Desk(
            wallet=Wallet(bench=bench, ledger=FaultyLedger(ledger), bank=PatientBank(ledger)),
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
