"""Accounts that are mapped and missing, or of another ledger, are named before money waits."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from adapters.memory.ledger import InMemoryLedger
from application.accounts_probe import ACCOUNTS_MAX, AccountsProbe
from application.errors import DatabaseUnavailableError, LedgerUnavailableError
from domain.fees import MappedAccount
from domain.findings import Finding
from domain.transfers import AccountId
from tests.helpers.findings import faults, of
from tests.unit.application.account_fakes import FakeAccountMap, FakeLedgerAccounts
from tests.unit.memory.memory_bank import MemoryBank

REVENUE, NOSTRO = "revenue.THB", "nostro.ipps.THB"
FEES, IN_LEDGER = "of PSP fees", "in the ledger"


@dataclass(slots=True)
class Scene:
    """A map and a ledger that agree, until a test changes one of them."""

    account_map: FakeAccountMap
    ledger: FakeLedgerAccounts
    bank: MemoryBank

    def open(self, code: str, *, ledger: int = 1, mapped_as: int | None = None) -> None:
        account_id = self.bank.open_account(ledger=ledger)
        self.account_map.rows[code] = MappedAccount(
            account_id=account_id, ledger=ledger if mapped_as is None else mapped_as
        )

    def map_nothing(self, code: str) -> None:
        self.account_map.rows[code] = MappedAccount(account_id=AccountId(7), ledger=1)

    def examine(self) -> Sequence[Finding]:
        return AccountsProbe(
            account_map=self.account_map, ledger=self.ledger, fee_codes=(REVENUE, NOSTRO)
        ).examine()


@pytest.fixture
def scene() -> Scene:
    ledger = InMemoryLedger()
    scene = Scene(FakeAccountMap(), FakeLedgerAccounts(ledger), MemoryBank(ledger))
    scene.open(REVENUE)
    scene.open(NOSTRO)
    return scene


def test_accounts_that_agree_are_green(scene: Scene) -> None:
    scene.open("wallet.USD", ledger=2)

    findings = scene.examine()

    assert faults(findings) == []
    assert of(findings, IN_LEDGER).detail.startswith("all 3 ")


def test_fee_accounts_that_are_not_mapped_are_named_with_their_settings(scene: Scene) -> None:
    del scene.account_map.rows[NOSTRO]

    (fault,) = faults(scene.examine())

    assert (fault.what, fault.detail) == (FEES, f"not in pm.tb_account_map: {NOSTRO}")
    assert "OUTBOX_PSP_FEE_CREDIT_ACCOUNT" in fault.remedy


def test_fee_accounts_of_different_ledgers_are_red(scene: Scene) -> None:
    scene.open(NOSTRO, ledger=2)

    (fault,) = faults(scene.examine())

    assert fault.what == FEES
    assert "different ledgers" in fault.detail


def test_an_account_that_does_not_exist_is_named(scene: Scene) -> None:
    scene.map_nothing("wallet.THB")

    (fault,) = faults(scene.examine())

    assert (fault.what, fault.detail) == (IN_LEDGER, "without an account: wallet.THB")
    assert "pm.tb_account_map" in fault.remedy
    assert "TIGERBEETLE_ADDRESSES" in fault.remedy


def test_an_account_of_another_ledger_is_named_with_both(scene: Scene) -> None:
    scene.open("wallet.THB", ledger=2, mapped_as=1)

    (fault,) = faults(scene.examine())

    assert fault.detail == "of another ledger: wallet.THB (ledger 2, mapped as 1)"


def test_many_missing_accounts_are_counted_not_listed(scene: Scene) -> None:
    for number in range(1_000):
        scene.map_nothing(f"wallet.{number:04}")

    (fault,) = faults(scene.examine())

    assert "wallet.0004 and 995 more" in fault.detail
    assert "wallet.0005" not in fault.detail


def test_a_long_map_is_looked_at_in_part_and_says_so(scene: Scene) -> None:
    some = scene.account_map.rows[REVENUE]
    # The fee accounts come after all of them in the alphabet.
    scene.account_map.rows |= {f"a.{number:05}": some for number in range(ACCOUNTS_MAX)}

    findings = scene.examine()

    assert faults(findings) == []
    assert "first 8,000" in of(findings, IN_LEDGER).detail


def test_without_the_map_nothing_is_asked_of_the_ledger(scene: Scene) -> None:
    scene.account_map.fault = DatabaseUnavailableError("away")

    (fault,) = scene.examine()

    assert fault.detail == "not checked: away"
    assert "Postgres" in fault.remedy
    assert scene.ledger.calls == 0


def test_without_the_ledger_the_map_is_judged_all_the_same(scene: Scene) -> None:
    scene.ledger.fault = LedgerUnavailableError("away")

    findings = scene.examine()

    assert of(findings, FEES).is_ok
    assert of(findings, IN_LEDGER).detail == "not checked: away"
    assert "TigerBeetle" in of(findings, IN_LEDGER).remedy


def test_an_empty_map_only_lacks_the_fee_accounts(scene: Scene) -> None:
    scene.account_map.rows.clear()

    (fault,) = scene.examine()

    assert fault.what == FEES
    assert scene.ledger.calls == 0
