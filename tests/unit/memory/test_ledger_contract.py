"""The in-memory ledger fulfils the port's contract."""

import pytest

from adapters.memory.ledger import InMemoryLedger
from tests.contracts.ledger import LedgerContract
from tests.contracts.ledger_accounts import AccountLookupContract
from tests.unit.memory.memory_bank import MemoryBank


class TestInMemoryLedger(LedgerContract):
    @pytest.fixture
    def ledger(self) -> InMemoryLedger:
        return InMemoryLedger()

    @pytest.fixture
    def bank(self, ledger: InMemoryLedger) -> MemoryBank:
        return MemoryBank(ledger)


class TestInMemoryLedgerOfSmallRequests(TestInMemoryLedger):
    """The limit of a development server: many calls take more than one request."""

    @pytest.fixture
    def ledger(self) -> InMemoryLedger:
        return InMemoryLedger(request_events_max=253)


class TestAccountsOfInMemoryLedger(AccountLookupContract):
    @pytest.fixture
    def accounts(self) -> InMemoryLedger:
        return InMemoryLedger()

    @pytest.fixture
    def bank(self, accounts: InMemoryLedger) -> MemoryBank:
        return MemoryBank(accounts)
