"""Is ``tx_history`` what the ledger moved?"""

from dataclasses import replace

import pytest

from domain.conclusions import RecordedLine
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.record import IntentRecord
from domain.transfers import Transfer
from tests.unit.domain.reconciled import (
    AUTHORIZED,
    FAILED,
    HISTORY,
    HISTORY_WITH_FEE,
    IN_REVIEW,
    POST,
    SETTLED,
    SETTLED_WITH_FEE,
    VOID,
    a_line,
    a_psp,
    a_record,
    all_resolved,
    an_event,
    fee,
    frozen,
    judge,
    kinds,
)

PRINCIPAL, PART = HISTORY
POSTED = all_resolved(POST)


def test_the_order_in_which_lines_are_read_does_not_matter() -> None:
    assert kinds(replace(SETTLED, lines=(PART, PRINCIPAL)), POSTED) == []


@pytest.mark.parametrize(
    ("lines", "detail"),
    [
        ((), "no lines of history"),
        ((PRINCIPAL, PART, PART), "lines are missing or doubled: 0, 1, 1"),
        ((PRINCIPAL, replace(PART, line_no=2)), "lines are missing or doubled: 0, 2"),
        ((PART,), "lines are missing or doubled: 1"),
        ((PRINCIPAL,), "history has 105 satang, the ledger posted 120"),
        ((PRINCIPAL, a_line(1, "FEE", 16)), "history has 121 satang, the ledger posted 120"),
        (HISTORY_WITH_FEE, "history has a fee of 7 satang, the ledger charged 0"),
        (
            tuple(a_line(7, "FEE", 1) for _ in range(9)),
            "lines are missing or doubled: 7, 7, 7, 7, 7 …",
        ),
    ],
)
def test_history_that_does_not_add_up_is_told(lines: tuple[RecordedLine, ...], detail: str) -> None:
    [found] = judge(replace(SETTLED, lines=lines), POSTED)

    assert (found.kind, found.fix, found.detail) == (Kind.HISTORY_DIFFERS, None, detail)


@pytest.mark.parametrize("lines", [HISTORY, (*HISTORY, a_line(2, "PSP_FEE", 8))])
def test_a_fee_that_history_tells_otherwise_is_told(lines: tuple[RecordedLine, ...]) -> None:
    assert kinds(replace(SETTLED_WITH_FEE, lines=lines), [*POSTED, fee()]) == [Kind.HISTORY_DIFFERS]


def test_lines_of_a_kind_that_we_do_not_write_do_not_count() -> None:
    cashback = replace(a_line(2, "FEE", 50), kind="CASHBACK")

    assert kinds(replace(SETTLED, lines=(*HISTORY, cashback)), POSTED) == []


@pytest.mark.parametrize(
    ("record", "ledger"),
    [(FAILED, all_resolved(VOID)), (a_record("CREATED"), frozen())]
    + [
        (a_record(status, an_event(POST, "pending")), frozen())
        for status in ("AUTHORIZED", "SETTLING")
    ],
)
def test_history_without_a_settlement_is_told(record: IntentRecord, ledger: list[Transfer]) -> None:
    [found] = judge(replace(record, lines=HISTORY), ledger)

    assert (found.kind, found.detail) == (
        Kind.HISTORY_DIFFERS,
        "2 lines of history without a settlement",
    )


def test_history_of_an_intent_that_the_worker_may_be_at_is_given_time() -> None:
    young = a_record("AUTHORIZED", an_event(POST, "pending", age_ms=0), lines=HISTORY)

    assert kinds(young, frozen()) == []


def test_an_intent_in_review_keeps_the_history_that_it_had() -> None:
    assert kinds(replace(IN_REVIEW, lines=HISTORY), frozen()) == []


@pytest.mark.parametrize("lines", [HISTORY, (a_line(0, "PRINCIPAL", 100),)])
def test_where_the_amounts_differ_history_may_have_either(lines: tuple[RecordedLine, ...]) -> None:
    record = replace(SETTLED, amount_satang=100, lines=lines)

    assert kinds(record, POSTED) == [Kind.AMOUNT_DIFFERS]


def test_history_of_the_amount_is_right_while_the_money_is_not_posted() -> None:
    assert kinds(SETTLED, frozen()) == [Kind.SETTLED_NOT_POSTED]


def test_history_with_one_fee_of_two_is_not_told_beside_them() -> None:
    record = replace(SETTLED_WITH_FEE, psp=a_psp(7))
    ledger = [*all_resolved(POST, by_worker=False), fee(), fee(by_worker=False)]

    assert kinds(record, ledger) == [Kind.FEE_TWICE]


def test_an_unfinished_intent_has_none() -> None:
    assert kinds(replace(AUTHORIZED, lines=()), frozen()) == [Kind.NO_EVENT]
