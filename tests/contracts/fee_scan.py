"""What every ``FeeScan`` must do. Inherit; provide its fixtures, all on one ledger."""

import random
from collections.abc import Sequence
from typing import Protocol

import pytest

from application.ports.fee_scan import FeeScan
from application.ports.ledger import Ledger
from domain.transfers import AccountId, Transfer, TransferId
from tests.contracts.ledger import CREATED, LEDGER, Bank, payment


class ScannedLedger(Ledger, FeeScan, Protocol):
    """A ledger that is also scanned."""


def a_code() -> int:
    """Return a code that no other test uses: a real server keeps everything."""
    return random.randint(1_000, 2**16 - 1)


class FeeScanContract:
    """Inherit; provide the fixtures ``ledger`` and, on the same ledger, ``bank``."""

    PAGE_TRANSFERS = 1_000
    """How many transfers the ledger under test reads at a time."""

    @pytest.fixture
    def ledger(self) -> ScannedLedger:
        raise NotImplementedError

    @pytest.fixture
    def bank(self, ledger: ScannedLedger) -> Bank:
        raise NotImplementedError

    @pytest.fixture
    def accounts(self, bank: Bank) -> tuple[AccountId, AccountId]:
        return bank.open_account(ledger=LEDGER), bank.open_account(ledger=LEDGER)

    def pay(
        self, ledger: ScannedLedger, accounts: tuple[AccountId, AccountId], codes: Sequence[int]
    ) -> list[TransferId]:
        """Move one satang for each of *codes* and return the transfers' ids."""
        transfers = [payment(*accounts, 1, code=code) for code in codes]
        answers = ledger.create_chains([(transfer,) for transfer in transfers])
        assert set(answers) <= {(CREATED,)}
        return [transfer.id for transfer in transfers]

    def scanned(self, ledger: ScannedLedger, code: int, since_ns: int = 0) -> list[Transfer]:
        return list(ledger.transfers_of_code(code, since_ns=since_ns))

    def test_a_code_that_nobody_used_gives_nothing(self, ledger: ScannedLedger) -> None:
        assert self.scanned(ledger, a_code()) == []

    def test_all_transfers_of_the_code_come_oldest_first_and_whole(
        self, ledger: ScannedLedger, accounts: tuple[AccountId, AccountId]
    ) -> None:
        code = a_code()
        first, _, third = self.pay(ledger, accounts, [code, code - 1, code])
        (fourth,) = self.pay(ledger, accounts, [code])

        found = self.scanned(ledger, code)

        assert [transfer.id for transfer in found] == [first, third, fourth]
        assert found == list(ledger.lookup([first, third, fourth]).values())

    def test_the_time_from_which_on_is_itself_included(
        self, ledger: ScannedLedger, accounts: tuple[AccountId, AccountId]
    ) -> None:
        code = a_code()
        ids = self.pay(ledger, accounts, [code] * 3)
        second_ns = ledger.lookup(ids)[ids[1]].timestamp_ns

        assert [one.id for one in self.scanned(ledger, code, second_ns)] == ids[1:]
        assert [one.id for one in self.scanned(ledger, code, second_ns + 1)] == ids[2:]

    @pytest.mark.parametrize(("since_ns", "found"), [(-1, 1), (2**63 - 1, 0), (2**80, 0)])
    def test_any_time_may_be_asked_for(
        self,
        ledger: ScannedLedger,
        accounts: tuple[AccountId, AccountId],
        since_ns: int,
        found: int,
    ) -> None:
        code = a_code()
        self.pay(ledger, accounts, [code])

        assert len(self.scanned(ledger, code, since_ns)) == found

    def test_no_transfer_has_the_code_zero(
        self, ledger: ScannedLedger, accounts: tuple[AccountId, AccountId]
    ) -> None:
        self.pay(ledger, accounts, [a_code()])

        assert self.scanned(ledger, 0) == []

    @pytest.mark.parametrize("more", [-1, 0, 1])
    def test_no_transfer_is_lost_or_doubled_between_pages(
        self, ledger: ScannedLedger, accounts: tuple[AccountId, AccountId], more: int
    ) -> None:
        code = a_code()
        ids = self.pay(ledger, accounts, [code] * (self.PAGE_TRANSFERS + more))

        assert [transfer.id for transfer in self.scanned(ledger, code)] == ids
