"""The fakes keep the contracts."""

from collections.abc import Callable
from uuid import UUID

import pytest

from adapters.memory.ledger import InMemoryLedger
from domain.fees import MappedAccount
from domain.transfers import AccountId
from tests.contracts.account_map import AccountMapContract
from tests.contracts.ledger_accounts import LedgerAccountsContract
from tests.unit.application.account_fakes import FakeAccountMap, FakeLedgerAccounts
from tests.unit.memory.memory_bank import MemoryBank


class TestFakeAccountMap(AccountMapContract):
    @pytest.fixture
    def account_map(self) -> FakeAccountMap:
        return FakeAccountMap()

    @pytest.fixture
    def map_account(self, account_map: FakeAccountMap) -> Callable[[str, UUID, int], None]:
        def add(code: str, account_id: UUID, ledger: int) -> None:
            mapped = MappedAccount(account_id=AccountId(account_id.int), ledger=ledger)
            account_map.rows[code] = mapped

        return add


class TestFakeLedgerAccounts(LedgerAccountsContract):
    @pytest.fixture
    def ledger(self) -> InMemoryLedger:
        return InMemoryLedger()

    @pytest.fixture
    def accounts(self, ledger: InMemoryLedger) -> FakeLedgerAccounts:
        return FakeLedgerAccounts(ledger)

    @pytest.fixture
    def bank(self, ledger: InMemoryLedger) -> MemoryBank:
        return MemoryBank(ledger)
