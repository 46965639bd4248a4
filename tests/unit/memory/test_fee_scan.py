"""The in-memory ledger can be scanned, also from another process."""

from collections.abc import Iterator

import pytest

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.ledger_wire import FEE_PAGE_TRANSFERS
from adapters.memory.remote_ledger import LedgerServer, RemoteLedger
from application.errors import LedgerUnavailableError
from tests.contracts.fee_scan import FeeScanContract, ScannedLedger
from tests.unit.memory.memory_bank import MemoryBank

DEADLINE_S = 10.0


@pytest.fixture
def memory() -> InMemoryLedger:
    return InMemoryLedger()


@pytest.fixture
def bank(memory: InMemoryLedger) -> MemoryBank:
    return MemoryBank(memory)


@pytest.fixture
def remote(memory: InMemoryLedger) -> Iterator[RemoteLedger]:
    with LedgerServer(memory, fee_scan=memory) as server:
        ledger = RemoteLedger(server.url, deadline_s=DEADLINE_S)
        yield ledger
        ledger.close()


class TestInMemoryFeeScan(FeeScanContract):
    @pytest.fixture
    def ledger(self, memory: InMemoryLedger) -> ScannedLedger:
        return memory

    @pytest.fixture
    def bank(self, memory: InMemoryLedger) -> MemoryBank:
        return MemoryBank(memory)


class TestRemoteFeeScan(FeeScanContract):
    PAGE_TRANSFERS = FEE_PAGE_TRANSFERS

    @pytest.fixture
    def ledger(self, remote: RemoteLedger) -> ScannedLedger:
        return remote

    @pytest.fixture
    def bank(self, memory: InMemoryLedger) -> MemoryBank:
        return MemoryBank(memory)


def test_a_remote_ledger_that_is_closed_meanwhile_ends_the_scan(
    remote: RemoteLedger, bank: MemoryBank
) -> None:
    fees = remote.transfers_of_code(1, since_ns=0)
    remote.close()

    with pytest.raises(LedgerUnavailableError):
        next(fees)
