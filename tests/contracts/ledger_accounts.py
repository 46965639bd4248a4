"""What every ``LedgerAccounts`` must do, every ``Ledger`` among them."""

import pytest

from application.errors import LedgerUnavailableError
from application.ports.ledger_accounts import LedgerAccounts
from domain.transfers import AccountId
from tests.contracts.ledger import Bank, new_id

SEVERAL_REQUESTS = 10_000


class AccountLookupContract:
    """Inherit; provide ``accounts`` and ``bank``, on the same ledger."""

    def test_an_account_is_found_with_its_ledger(
        self, accounts: LedgerAccounts, bank: Bank
    ) -> None:
        ours, theirs = bank.open_account(ledger=1), bank.open_account(ledger=2)

        found = accounts.lookup_accounts([ours, theirs])

        assert {account_id: found[account_id].ledger for account_id in found} == {
            ours: 1,
            theirs: 2,
        }

    def test_what_does_not_exist_is_not_found(self, accounts: LedgerAccounts, bank: Bank) -> None:
        ours = bank.open_account(ledger=1)
        wrapped = AccountId(ours + 2**128)

        assert accounts.lookup_accounts([AccountId(new_id()), AccountId(0), wrapped]) == {}
        assert accounts.lookup_accounts([]) == {}

    def test_more_than_a_request_holds_is_found(self, accounts: LedgerAccounts, bank: Bank) -> None:
        ours = bank.open_account(ledger=1)
        strangers = [AccountId(new_id()) for _ in range(SEVERAL_REQUESTS)]

        assert list(accounts.lookup_accounts([*strangers, ours])) == [ours]


class LedgerAccountsContract(AccountLookupContract):
    """For adapters that have something to close; inherit likewise."""

    def test_after_the_end_nothing_is_answered(self, accounts: LedgerAccounts) -> None:
        accounts.close()
        accounts.close()

        with pytest.raises(LedgerUnavailableError):
            accounts.lookup_accounts([AccountId(1)])
