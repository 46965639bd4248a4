"""What every ``AccountMap`` must do."""

from collections.abc import Callable
from uuid import UUID

from application.ports.account_map import AccountMap
from domain.fees import AccountCode, MappedAccount
from domain.transfers import AccountId

MapAccount = Callable[[AccountCode, UUID, int], None]
"""Adds a row: code, account id, ledger."""


class AccountMapContract:
    """Inherit; provide ``account_map``, empty, and ``map_account``, which adds a row to it."""

    def test_an_empty_map_has_no_accounts(self, account_map: AccountMap) -> None:
        assert account_map.read(first=["revenue.THB"], limit=10) == {}

    def test_a_row_is_read_as_it_is(self, account_map: AccountMap, map_account: MapAccount) -> None:
        largest = UUID(int=2**128 - 2)
        map_account("revenue.THB", largest, 764)

        mapped = MappedAccount(account_id=AccountId(largest.int), ledger=764)
        assert account_map.read(first=[], limit=10) == {"revenue.THB": mapped}

    def test_what_is_wanted_first_comes_before_the_limit_is_reached(
        self, account_map: AccountMap, map_account: MapAccount
    ) -> None:
        for number, code in enumerate(("b", "a", "z", "c"), start=1):
            map_account(code, UUID(int=number), 1)

        assert list(account_map.read(first=["z", "unmapped"], limit=3)) == ["z", "a", "b"]
