"""Transfers that move money, at once or as a reservation (LEDGER_OUTCOMES §8)."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.memory.ledger import InMemoryLedger
from domain.transfer_status import TransferStatus
from domain.transfers import AMOUNT_MAX, U128_MAX, AccountFlags, Transfer, TransferFlags, TransferId
from tests.unit.memory.ledger_scene import Scene
from tests.unit.memory.memory_bank import MemoryBank

S = TransferStatus
F = TransferFlags


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"id": 0}, S.ID_MUST_NOT_BE_ZERO),
        ({"id": U128_MAX}, S.ID_MUST_NOT_BE_INT_MAX),
        ({"flags": F(1 << 15)}, S.RESERVED_FLAG),
        ({"debit_account_id": 0}, S.DEBIT_ACCOUNT_ID_MUST_NOT_BE_ZERO),
        ({"debit_account_id": U128_MAX}, S.DEBIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX),
        ({"credit_account_id": 0}, S.CREDIT_ACCOUNT_ID_MUST_NOT_BE_ZERO),
        ({"credit_account_id": U128_MAX}, S.CREDIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX),
        ({"debit_account_id": 9, "credit_account_id": 9}, S.ACCOUNTS_MUST_BE_DIFFERENT),
        ({"pending_id": 1}, S.PENDING_ID_MUST_BE_ZERO),
        ({"timeout_s": 1}, S.TIMEOUT_RESERVED_FOR_PENDING_TRANSFER),
        ({"flags": F.CLOSING_DEBIT}, S.CLOSING_TRANSFER_MUST_BE_PENDING),
        ({"flags": F.CLOSING_CREDIT}, S.CLOSING_TRANSFER_MUST_BE_PENDING),
        ({"ledger": 0}, S.LEDGER_MUST_NOT_BE_ZERO),
        ({"code": 0}, S.CODE_MUST_NOT_BE_ZERO),
        ({"debit_account_id": 9}, S.DEBIT_ACCOUNT_NOT_FOUND),
        ({"credit_account_id": 9}, S.CREDIT_ACCOUNT_NOT_FOUND),
        ({"ledger": 2}, S.TRANSFER_MUST_HAVE_THE_SAME_LEDGER_AS_ACCOUNTS),
    ],
)
def test_a_payment_that_does_not_fit_is_refused(
    scene: Scene, changes: dict[str, Any], status: TransferStatus
) -> None:
    assert scene.send(scene.payment(**changes)) == [status]


def test_accounts_of_two_ledgers_cannot_pay_each_other(scene: Scene) -> None:
    foreign = scene.bank.open_account(ledger=2)

    assert scene.send(scene.payment(credit_account_id=foreign)) == [
        S.ACCOUNTS_MUST_HAVE_THE_SAME_LEDGER
    ]


def test_of_several_faults_the_first_in_order_is_named(scene: Scene) -> None:
    faults: list[tuple[str, Any, Any]] = [
        ("flags", F(1 << 15), F.NONE),
        ("id", 0, 1),
        ("debit_account_id", 0, scene.payer),
        ("credit_account_id", U128_MAX, 9),
        ("pending_id", 7, 0),
        ("timeout_s", 1, 0),
        ("ledger", 0, 2),
        ("code", 0, 1),
        ("credit_account_id", 9, scene.payee),
        ("ledger", 2, 1),
    ]
    wrong = scene.payment()
    for field, fault, _ in reversed(faults):
        wrong = replace(wrong, **{field: fault})

    named = []
    for field, _, cure in faults:
        named += scene.send(wrong)
        wrong = replace(wrong, **{field: cure})
    named += scene.send(wrong)

    assert named == [
        S.RESERVED_FLAG,
        S.ID_MUST_NOT_BE_ZERO,
        S.DEBIT_ACCOUNT_ID_MUST_NOT_BE_ZERO,
        S.CREDIT_ACCOUNT_ID_MUST_NOT_BE_INT_MAX,
        S.PENDING_ID_MUST_BE_ZERO,
        S.TIMEOUT_RESERVED_FOR_PENDING_TRANSFER,
        S.LEDGER_MUST_NOT_BE_ZERO,
        S.CODE_MUST_NOT_BE_ZERO,
        S.CREDIT_ACCOUNT_NOT_FOUND,
        # From here on the id is burned, which hides the wrong ledger.
        S.ID_ALREADY_FAILED,
        S.ID_ALREADY_FAILED,
    ]


def test_frozen_money_counts_against_the_limit_of_an_account(scene: Scene) -> None:
    spender = scene.bank.open_account(flags=AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS)
    taker = scene.bank.open_account(flags=AccountFlags.CREDITS_MUST_NOT_EXCEED_DEBITS)
    scene.send(
        scene.payment(1, credit_account_id=spender), scene.payment(2, debit_account_id=taker)
    )
    scene.send(
        scene.pending(3, debit_account_id=spender, amount=6),
        scene.pending(4, credit_account_id=taker, amount=6),
    )

    statuses = scene.send(
        scene.payment(5, debit_account_id=spender, amount=5),
        scene.payment(6, debit_account_id=spender, amount=4),
        scene.payment(7, credit_account_id=taker, amount=5),
        scene.payment(8, credit_account_id=taker, amount=4),
    )

    assert statuses == [S.EXCEEDS_CREDITS, S.CREATED, S.EXCEEDS_DEBITS, S.CREATED]


def test_balances_never_overflow(scene: Scene) -> None:
    empty = [scene.bank.open_account() for _ in range(6)]

    def move(id_: int, debit: int, credit: int, amount: int, flags: F = F.NONE) -> Transfer:
        return scene.payment(
            id_,
            debit_account_id=empty[debit],
            credit_account_id=empty[credit],
            amount=amount,
            flags=flags,
        )

    assert scene.send(
        move(1, 0, 1, U128_MAX, F.PENDING),
        move(2, 0, 2, 1, F.PENDING),
        move(3, 2, 1, 1, F.PENDING),
        move(4, 0, 2, 1),
        move(5, 2, 1, 1),
        move(6, 3, 4, U128_MAX),
        move(7, 3, 5, 1),
        move(8, 5, 4, 1),
    ) == [
        S.CREATED,
        S.OVERFLOWS_DEBITS_PENDING,
        S.OVERFLOWS_CREDITS_PENDING,
        S.OVERFLOWS_DEBITS,
        S.OVERFLOWS_CREDITS,
        S.CREATED,
        S.OVERFLOWS_DEBITS_POSTED,
        S.OVERFLOWS_CREDITS_POSTED,
    ]


def test_a_timeout_beyond_the_end_of_time_is_refused() -> None:
    ledger = InMemoryLedger(now_ns=lambda: 2**63 - 1_000)
    bank = MemoryBank(ledger)
    debit, credit = bank.open_account(), bank.open_account()
    pending = Transfer(
        id=TransferId(1),
        debit_account_id=debit,
        credit_account_id=credit,
        timeout_s=1,
        ledger=1,
        code=1,
        flags=F.PENDING,
    )

    assert ledger.create_transfers([pending]) == [S.OVERFLOWS_TIMEOUT]


@pytest.mark.parametrize(
    ("flags", "amount", "moved"),
    [
        (F.BALANCING_DEBIT, AMOUNT_MAX, 60),
        (F.BALANCING_DEBIT, 10, 10),
        (F.BALANCING_CREDIT, AMOUNT_MAX, 25),
        (F.BALANCING_DEBIT | F.BALANCING_CREDIT, 40, 25),
        (F.BALANCING_DEBIT | F.PENDING, 70, 60),
    ],
)
def test_a_balancing_transfer_moves_at_most_what_balances(
    scene: Scene, flags: TransferFlags, amount: int, moved: int
) -> None:
    rich, owed = scene.bank.open_account(), scene.bank.open_account()
    scene.send(
        scene.payment(1, credit_account_id=rich, amount=100),
        scene.pending(2, debit_account_id=rich, amount=40),
        scene.payment(3, debit_account_id=owed, amount=25),
    )

    balancing = scene.payment(
        4, debit_account_id=rich, credit_account_id=owed, amount=amount, flags=flags
    )

    assert scene.send(balancing) == [S.CREATED]
    assert scene.ledger.lookup_transfers([TransferId(4)])[0].amount == moved
    assert scene.send(
        replace(balancing, amount=amount),
        replace(balancing, amount=moved),
        replace(balancing, amount=moved - 1),
    ) == [S.EXISTS, S.EXISTS, S.EXISTS_WITH_DIFFERENT_AMOUNT]


def test_a_balancing_transfer_with_nothing_to_balance_moves_0(scene: Scene) -> None:
    assert scene.send(scene.payment(1, flags=F.BALANCING_DEBIT)) == [S.CREATED]
    assert scene.ledger.lookup_transfers([TransferId(1)])[0].amount == 0


def test_a_closed_account_takes_nothing_but_voids(scene: Scene) -> None:
    other = scene.bank.freeze(scene.payer, scene.payee, 7)
    closing = scene.pending(1, amount=0, flags=F.PENDING | F.CLOSING_DEBIT)

    assert scene.send(
        closing,
        scene.payment(2),
        scene.payment(3, debit_account_id=scene.payee, credit_account_id=scene.payer),
        scene.post(4),
        scene.void(5),
        scene.void(6, pending_id=1),
        scene.post(7, pending_id=other),
    ) == [
        S.CREATED,
        S.DEBIT_ACCOUNT_ALREADY_CLOSED,
        S.CREDIT_ACCOUNT_ALREADY_CLOSED,
        S.DEBIT_ACCOUNT_ALREADY_CLOSED,
        S.CREATED,
        S.CREATED,
        S.CREATED,
    ]


def test_a_closing_transfer_cannot_be_posted_while_it_keeps_its_account_closed(
    scene: Scene,
) -> None:
    scene.send(scene.pending(1, flags=F.PENDING | F.CLOSING_CREDIT))

    assert scene.send(scene.post(2, pending_id=1)) == [S.CREDIT_ACCOUNT_ALREADY_CLOSED]
