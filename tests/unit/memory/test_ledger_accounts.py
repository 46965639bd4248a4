"""Creating accounts, in TigerBeetle's order of checks."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.ledger_account_status import AccountStatus
from domain.transfers import U128_MAX, Account, AccountFlags, AccountId, TransferFlags
from tests.unit.memory.memory_bank import MemoryBank

S = AccountStatus
ACCOUNT = Account(id=AccountId(1), ledger=1, code=1)
BOTH_LIMITS = (
    AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS | AccountFlags.CREDITS_MUST_NOT_EXCEED_DEBITS
)


@pytest.fixture
def ledger() -> InMemoryLedger:
    return InMemoryLedger()


def test_an_account_starts_with_what_was_sent_and_its_time(ledger: InMemoryLedger) -> None:
    sent = replace(ACCOUNT, user_data_128=2, user_data_64=3, flags=AccountFlags.HISTORY)

    assert ledger.create_accounts([sent]) == [S.CREATED]
    account = ledger.lookup_accounts([sent.id])[sent.id]
    assert account == replace(sent, timestamp_ns=account.timestamp_ns)
    assert account.timestamp_ns > 0


def test_an_account_that_does_not_fit_names_its_first_fault_in_order(
    ledger: InMemoryLedger,
) -> None:
    faults: list[tuple[str, Any, Any, AccountStatus]] = [
        ("timestamp_ns", 1, 0, S.TIMESTAMP_MUST_BE_ZERO),
        ("flags", AccountFlags(1 << 6), BOTH_LIMITS, S.RESERVED_FLAG),
        ("id", 0, U128_MAX, S.ID_MUST_NOT_BE_ZERO),
        ("id", U128_MAX, 1, S.ID_MUST_NOT_BE_INT_MAX),
        ("flags", BOTH_LIMITS, AccountFlags.NONE, S.FLAGS_ARE_MUTUALLY_EXCLUSIVE),
        ("debits_pending", 1, 0, S.DEBITS_PENDING_MUST_BE_ZERO),
        ("debits_posted", 1, 0, S.DEBITS_POSTED_MUST_BE_ZERO),
        ("credits_pending", 1, 0, S.CREDITS_PENDING_MUST_BE_ZERO),
        ("credits_posted", 1, 0, S.CREDITS_POSTED_MUST_BE_ZERO),
        ("ledger", 0, 1, S.LEDGER_MUST_NOT_BE_ZERO),
        ("code", 0, 1, S.CODE_MUST_NOT_BE_ZERO),
    ]
    wrong = ACCOUNT
    for field, fault, _, _ in reversed(faults):
        wrong = replace(wrong, **{field: fault})

    named = []
    for field, _, cure, _ in faults:
        named += ledger.create_accounts([wrong])
        wrong = replace(wrong, **{field: cure})

    assert named == [status for *_, status in faults]
    assert ledger.create_accounts([wrong]) == [S.CREATED]


def test_an_account_sent_again_names_its_first_difference_in_order(
    ledger: InMemoryLedger,
) -> None:
    differences: list[tuple[str, Any, AccountStatus]] = [
        ("flags", AccountFlags.HISTORY, S.EXISTS_WITH_DIFFERENT_FLAGS),
        ("user_data_128", 7, S.EXISTS_WITH_DIFFERENT_USER_DATA_128),
        ("user_data_64", 7, S.EXISTS_WITH_DIFFERENT_USER_DATA_64),
        ("user_data_32", 7, S.EXISTS_WITH_DIFFERENT_USER_DATA_32),
        ("ledger", 7, S.EXISTS_WITH_DIFFERENT_LEDGER),
        ("code", 7, S.EXISTS_WITH_DIFFERENT_CODE),
    ]
    ledger.create_accounts([ACCOUNT])
    wrong = replace(ACCOUNT, **{field: value for field, value, _ in differences})

    named = []
    for field, _, _ in differences:
        named += ledger.create_accounts([wrong])
        wrong = replace(wrong, **{field: getattr(ACCOUNT, field)})

    assert named == [status for *_, status in differences]
    assert ledger.create_accounts([wrong]) == [S.EXISTS]


def test_an_account_closed_since_differs_from_what_was_sent(ledger: InMemoryLedger) -> None:
    bank = MemoryBank(ledger)
    ledger.create_accounts([ACCOUNT])
    bank.freeze(ACCOUNT.id, bank.open_account(), 0, flags=TransferFlags.CLOSING_DEBIT)

    assert ledger.create_accounts([ACCOUNT]) == [S.EXISTS_WITH_DIFFERENT_FLAGS]


def test_linked_accounts_are_created_all_or_none(ledger: InMemoryLedger) -> None:
    first = replace(ACCOUNT, flags=AccountFlags.LINKED)
    faulty = Account(id=AccountId(2), ledger=1, code=0)

    assert ledger.create_accounts([first, faulty, first]) == [
        S.LINKED_EVENT_FAILED,
        S.CODE_MUST_NOT_BE_ZERO,
        S.LINKED_EVENT_CHAIN_OPEN,
    ]
    assert ledger.all_accounts() == []
    assert ledger.create_accounts([first, replace(faulty, code=1)]) == [S.CREATED] * 2
