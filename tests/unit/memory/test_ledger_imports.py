"""Imported events: accounts and transfers that bring their own timestamps."""

from dataclasses import replace

import pytest

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.ledger_account_status import AccountStatus
from domain.transfer_status import TransferStatus
from domain.transfers import Account, AccountFlags, AccountId, Transfer, TransferFlags, TransferId

S = TransferStatus
NOW_NS = 1_000_000


@pytest.fixture
def ledger() -> InMemoryLedger:
    """A ledger with accounts 1 and 2, imported for the times 10 and 20 ns."""
    ledger = InMemoryLedger(now_ns=lambda: NOW_NS)
    assert ledger.create_accounts([account(1, 10), account(2, 20)]) == [AccountStatus.CREATED] * 2
    return ledger


def account(id_: int, at_ns: int) -> Account:
    return Account(
        id=AccountId(id_), ledger=1, code=1, flags=AccountFlags.IMPORTED, timestamp_ns=at_ns
    )


def transfer(id_: int, at_ns: int, debit: int = 1, credit: int = 2) -> Transfer:
    return Transfer(
        id=TransferId(id_),
        debit_account_id=AccountId(debit),
        credit_account_id=AccountId(credit),
        amount=1,
        ledger=1,
        code=1,
        flags=TransferFlags.IMPORTED,
        timestamp_ns=at_ns,
    )


def regular(id_: int) -> Transfer:
    return replace(transfer(id_, 0), flags=TransferFlags.NONE)


def test_the_first_event_decides_whether_a_request_is_an_import(ledger: InMemoryLedger) -> None:
    assert ledger.create_transfers([transfer(1, 30), regular(2)]) == [
        S.CREATED,
        S.IMPORTED_EVENT_EXPECTED,
    ]
    assert ledger.create_transfers([regular(3), transfer(4, 40)]) == [
        S.CREATED,
        S.IMPORTED_EVENT_NOT_EXPECTED,
    ]


@pytest.mark.parametrize(
    ("at_ns", "status"),
    [
        (0, S.IMPORTED_EVENT_TIMESTAMP_OUT_OF_RANGE),
        (2**63, S.IMPORTED_EVENT_TIMESTAMP_OUT_OF_RANGE),
        (2**63 - 1, S.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_ADVANCE),
        (NOW_NS + 1, S.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_ADVANCE),
        (NOW_NS, S.CREATED),
        (10, S.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS),
        (15, S.IMPORTED_EVENT_TIMESTAMP_MUST_POSTDATE_CREDIT_ACCOUNT),
        (5, S.IMPORTED_EVENT_TIMESTAMP_MUST_POSTDATE_DEBIT_ACCOUNT),
        (21, S.CREATED),
    ],
)
def test_the_timestamp_must_lie_after_the_accounts_and_before_now(
    at_ns: int, status: TransferStatus
) -> None:
    ledger = InMemoryLedger(now_ns=lambda: NOW_NS - 3)
    ledger.create_accounts([account(1, 10), account(2, 20)])

    assert ledger.create_transfers([transfer(1, at_ns)]) == [status]


def test_transfers_are_imported_in_order_of_time(ledger: InMemoryLedger) -> None:
    post = replace(
        transfer(3, 60),
        pending_id=TransferId(2),
        flags=TransferFlags.IMPORTED | TransferFlags.POST_PENDING_TRANSFER,
    )
    pending = replace(
        transfer(2, 50), flags=TransferFlags.IMPORTED | TransferFlags.PENDING, timeout_s=0
    )

    assert ledger.create_transfers(
        [transfer(1, 50), pending, replace(pending, timestamp_ns=55), post, post]
    ) == [S.CREATED, S.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS, S.CREATED, S.CREATED, S.EXISTS]
    assert [stored.timestamp_ns for stored in ledger.all_transfers()] == [50, 55, 60]


def test_an_imported_post_may_not_lie_before_another_transfer(ledger: InMemoryLedger) -> None:
    pending = replace(transfer(1, 50), flags=TransferFlags.IMPORTED | TransferFlags.PENDING)
    post = replace(
        transfer(2, 50),
        pending_id=TransferId(1),
        flags=TransferFlags.IMPORTED | TransferFlags.POST_PENDING_TRANSFER,
    )

    assert ledger.create_transfers([pending, post]) == [
        S.CREATED,
        S.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS,
    ]


def test_an_import_cannot_expire(ledger: InMemoryLedger) -> None:
    pending = replace(
        transfer(1, 30), flags=TransferFlags.IMPORTED | TransferFlags.PENDING, timeout_s=1
    )

    assert ledger.create_transfers([pending]) == [S.IMPORTED_EVENT_TIMEOUT_MUST_BE_ZERO]


def test_accounts_are_imported_in_order_of_time_and_never_onto_a_transfer(
    ledger: InMemoryLedger,
) -> None:
    ledger.create_transfers([transfer(1, 30)])

    assert ledger.create_accounts(
        [account(3, 20), account(3, 30), account(3, 31), account(4, 25)]
    ) == [
        AccountStatus.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS,
        AccountStatus.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS,
        AccountStatus.CREATED,
        AccountStatus.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS,
    ]


def test_a_broken_chain_of_imports_leaves_its_time_free(ledger: InMemoryLedger) -> None:
    linked = replace(transfer(1, 90), flags=TransferFlags.IMPORTED | TransferFlags.LINKED)

    ledger.create_transfers([linked, replace(transfer(2, 91), code=0)])

    assert ledger.create_transfers([transfer(3, 80)]) == [S.CREATED]


def test_the_port_refuses_an_import_since_it_would_change_other_chains(
    ledger: InMemoryLedger,
) -> None:
    refused, created = ledger.create_chains([(transfer(1, 30),), (regular(2),)])

    assert "import" in str(refused)
    assert created == (S.CREATED,)
