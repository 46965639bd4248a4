"""Is the PSP fee charged once, as due, and only where the money is posted?"""

from dataclasses import replace
from uuid import UUID

import pytest

from domain.reconciliation.comparing import needs_search
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.limits import Limits
from domain.reconciliation.record import IntentRecord
from domain.transfers import AccountId, Transfer, TransferFlags
from tests.unit.domain.reconciled import (
    AN_HOUR_AGO_NS,
    AUTHORIZED,
    FAILED,
    FEE_CODE,
    HISTORY,
    IN_REVIEW,
    OTHER_INTENT_ID,
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
    fixes,
    frozen,
    judge,
    kinds,
    known,
    resolved,
)

JUST_AFTER_NS = AN_HOUR_AGO_NS + 2
"""The timestamp after that of the last post."""

POSTED = all_resolved(POST)
POSTED_BY_OTHER = all_resolved(POST, by_worker=False)


def test_a_fee_that_was_charged_as_due_is_fine() -> None:
    assert kinds(SETTLED_WITH_FEE, [*POSTED, fee()]) == []
    assert not needs_search(SETTLED_WITH_FEE, known(SETTLED_WITH_FEE, [*POSTED, fee()]), Limits())


@pytest.mark.parametrize("ledger", [POSTED, POSTED_BY_OTHER])
def test_a_fee_may_have_been_charged_under_another_id(ledger: list[Transfer]) -> None:
    assert kinds(SETTLED_WITH_FEE, [*ledger, fee(by_worker=False)]) == []


def test_a_fee_beside_a_post_of_another_is_the_intents() -> None:
    beside = fee(by_worker=False, user_data_128=0, at_ns=JUST_AFTER_NS)

    assert kinds(SETTLED_WITH_FEE, [*POSTED_BY_OTHER, beside]) == []


@pytest.mark.parametrize(
    "stray",
    [
        fee(by_worker=False, user_data_128=0, at_ns=JUST_AFTER_NS + 1),
        fee(by_worker=False, user_data_128=OTHER_INTENT_ID.int, at_ns=JUST_AFTER_NS),
        replace(fee(by_worker=False), code=FEE_CODE + 1),
        replace(fee(by_worker=False), flags=TransferFlags.PENDING),
        replace(
            fee(by_worker=False, user_data_128=0, at_ns=JUST_AFTER_NS),
            credit_account_id=AccountId(1),
        ),
        replace(fee(), user_data_128=OTHER_INTENT_ID.int),
    ],
)
def test_what_is_not_the_intents_fee_does_not_count(stray: Transfer) -> None:
    without_line = replace(SETTLED_WITH_FEE, lines=HISTORY)

    assert kinds(without_line, [*POSTED_BY_OTHER, stray]) == [Kind.FEE_MISSING]


def test_a_fee_beside_a_post_of_the_worker_is_somebody_elses() -> None:
    beside = fee(by_worker=False, user_data_128=0, at_ns=JUST_AFTER_NS)

    without_line = replace(SETTLED_WITH_FEE, lines=HISTORY)

    assert kinds(without_line, [*POSTED, beside]) == [Kind.FEE_MISSING]


def test_a_fee_that_was_not_charged_needs_a_person() -> None:
    [found] = judge(replace(SETTLED_WITH_FEE, lines=HISTORY), POSTED_BY_OTHER)

    assert (found.kind, found.fix) == (Kind.FEE_MISSING, None)
    assert found.detail == "7 satang are due, none were charged"


def test_a_fee_is_missing_also_where_the_money_is_still_to_be_posted() -> None:
    record = replace(SETTLED_WITH_FEE, lines=HISTORY)

    assert fixes(record, frozen()) == {Kind.SETTLED_NOT_POSTED: POST, Kind.FEE_MISSING: None}
    assert judge(record, frozen())[1].detail == (
        "7 satang are due, none were charged; charge them only after all of the money is posted"
    )


@pytest.mark.parametrize(
    ("ledger", "kind"),
    [
        (all_resolved(VOID), Kind.SETTLED_BUT_RELEASED),
        (frozen(timeout_s=1), Kind.SETTLED_BUT_RELEASED),
        ([*frozen(), resolved(0, POST), resolved(1, VOID)], Kind.SETTLED_BUT_RELEASED),
        ([*POSTED[:3], resolved(1, POST, amount=1, by_worker=False)], Kind.RESOLVED_IN_PART),
        ([frozen()[0], resolved(0, POST)], Kind.TRANSFER_MISSING),
    ],
)
def test_no_fee_is_missing_for_money_that_will_not_be_posted(
    ledger: list[Transfer], kind: Kind
) -> None:
    assert kinds(replace(SETTLED_WITH_FEE, lines=HISTORY), ledger) == [kind]


@pytest.mark.parametrize("fee_satang", [None, 0, -5])
def test_where_no_fee_is_due_none_is_missing(fee_satang: int | None) -> None:
    assert kinds(replace(SETTLED, psp=a_psp(fee_satang)), POSTED) == []


def test_a_fee_of_another_amount_is_told() -> None:
    lines = (*HISTORY, a_line(2, "PSP_FEE", 9))

    [found] = judge(replace(SETTLED_WITH_FEE, lines=lines), [*POSTED, fee(9)])

    assert (found.kind, found.detail) == (
        Kind.FEE_AMOUNT_DIFFERS,
        "9 satang charged, 7 are due",
    )


@pytest.mark.parametrize("fee_satang", [None, 0, -5])
def test_a_fee_that_is_not_due_any_more_is_told(fee_satang: int | None) -> None:
    record = replace(SETTLED_WITH_FEE, psp=a_psp(fee_satang))

    assert kinds(record, [*POSTED, fee()]) == [Kind.FEE_AMOUNT_DIFFERS]
    # Under an id that is not looked up: the history says that there is one.
    assert kinds(record, [*POSTED, fee(by_worker=False)]) == [Kind.FEE_AMOUNT_DIFFERS]


@pytest.mark.parametrize(
    ("record", "ledger"),
    [
        (SETTLED_WITH_FEE, POSTED_BY_OTHER),
        (replace(FAILED, psp=a_psp(7)), all_resolved(VOID)),
        (replace(IN_REVIEW, psp=a_psp(7)), frozen()),
        (a_record("AUTHORIZED", an_event(POST, "pending", retry_count=1)), frozen()),
    ],
)
def test_two_fees_are_told_as_that_and_nothing_else(
    record: IntentRecord, ledger: list[Transfer]
) -> None:
    second = fee(9, by_worker=False, at_ns=AN_HOUR_AGO_NS + 20)

    [found] = judge(record, [*ledger, fee(), second])

    assert (found.kind, found.fix) == (Kind.FEE_TWICE, None)
    assert found.detail == f"2 fees, of 7, 9 satang: {UUID(int=fee().id)}, {UUID(int=second.id)}"


@pytest.mark.parametrize(
    ("record", "ledger"),
    [
        (replace(FAILED, psp=a_psp(7)), all_resolved(VOID)),
        (replace(FAILED, psp=a_psp(7)), frozen(timeout_s=1)),
        (IN_REVIEW, frozen()),
        (a_record("AUTHORIZED", an_event(POST, "pending", retry_count=1)), frozen()),
    ],
)
def test_a_fee_of_money_that_is_not_posted_is_told(
    record: IntentRecord, ledger: list[Transfer]
) -> None:
    [found] = judge(record, [*ledger, fee(by_worker=False)])

    assert (found.kind, found.fix) == (Kind.FEE_WITHOUT_POST, None)
    charge = UUID(int=fee(by_worker=False).id)
    assert found.detail.startswith(f"7 satang charged by {charge}, ")


def test_a_fee_of_a_settled_intent_whose_money_is_not_posted_is_told() -> None:
    half = [*frozen(), resolved(0, POST)]

    for amount in (7, 9):
        record = replace(SETTLED_WITH_FEE, lines=(*HISTORY, a_line(2, "PSP_FEE", amount)))
        assert kinds(record, [*half, fee(amount)]) == [
            Kind.SETTLED_NOT_POSTED,
            Kind.FEE_WITHOUT_POST,
        ]


def test_a_fee_while_the_worker_may_be_at_it_is_given_time() -> None:
    young = a_record("AUTHORIZED", an_event(POST, "pending", retry_count=1, age_ms=0))

    assert kinds(young, [*frozen(), fee(by_worker=False)]) == []


def test_a_fee_of_posted_money_is_none_of_those() -> None:
    waiting = a_record("AUTHORIZED", an_event(POST, "pending"), psp=a_psp(7))

    assert kinds(waiting, [*POSTED, fee()]) == [Kind.EVENT_DONE]
    assert kinds(AUTHORIZED, [*POSTED, fee()]) == [Kind.POSTED_NOT_SETTLED]


def test_an_intent_without_transfers_pays_no_fee() -> None:
    assert kinds(replace(SETTLED_WITH_FEE, tb_transfer_ids=()), []) == [Kind.AMOUNT_DIFFERS]
