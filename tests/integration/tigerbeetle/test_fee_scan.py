"""The scan for fees on a real TigerBeetle."""

from collections.abc import Iterator

import pytest

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer
from tests.contracts.fee_scan import FeeScanContract, ScannedLedger
from tests.integration.tigerbeetle.bank import TigerBeetleBank

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]

SMALL = 100


@pytest.fixture(scope="module")
def small_ledger(tigerbeetle_server: TigerBeetleServer) -> Iterator[TigerBeetleLedger]:
    """A ledger that reads small pages."""
    ledger = TigerBeetleLedger(
        addresses=tigerbeetle_server.address,
        cluster_id=CLUSTER_ID,
        request_events_max=SMALL,
    )
    yield ledger
    ledger.close()


class TestTigerBeetleFeeScan(FeeScanContract):
    """In pages as large as the cluster gives them."""

    PAGE_TRANSFERS = 8_189

    @pytest.fixture
    def ledger(self, tigerbeetle_ledger: TigerBeetleLedger) -> ScannedLedger:
        return tigerbeetle_ledger

    @pytest.fixture
    def bank(self, tigerbeetle_bank: TigerBeetleBank) -> TigerBeetleBank:
        return tigerbeetle_bank


class TestTigerBeetleFeeScanInSmallPages(TestTigerBeetleFeeScan):
    PAGE_TRANSFERS = SMALL

    @pytest.fixture
    def ledger(self, small_ledger: TigerBeetleLedger) -> ScannedLedger:
        return small_ledger
