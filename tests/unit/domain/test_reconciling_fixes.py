"""Is a fix offered only where it leaves nothing to tell of the intent?"""

from dataclasses import replace

import pytest

from domain.conclusions import HistoryLine
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.record import IntentRecord
from domain.transfers import Transfer
from tests.unit.domain.reconciled import (
    FAILED,
    HISTORY,
    HISTORY_WITH_FEE,
    POST,
    SETTLED,
    VOID,
    a_psp,
    a_record,
    all_resolved,
    an_event,
    fee,
    fixes,
    frozen,
    judge,
)

POST_ORDERED = a_record("AUTHORIZED", an_event(POST, "processed"))
VOID_ORDERED = a_record("AUTHORIZED", an_event(VOID, "processed"))
POSTED, POSTED_BY_OTHER = (all_resolved(POST, by_worker=ours) for ours in (True, False))

fixable = pytest.mark.parametrize(
    ("record", "ledger", "kind"),
    [
        (SETTLED, frozen(), Kind.SETTLED_NOT_POSTED),
        (FAILED, frozen(), Kind.FAILED_NOT_RELEASED),
        (POST_ORDERED, POSTED, Kind.POSTED_NOT_SETTLED),
        (VOID_ORDERED, all_resolved(VOID), Kind.RELEASED_NOT_FAILED),
    ],
)


def why_not(record: IntentRecord, ledger: list[Transfer], kind: Kind) -> str:
    """Return why no fix of *kind* is offered."""
    [found] = [one for one in judge(record, ledger) if one.kind is kind]
    assert found.fix is None
    return found.detail.partition("; no fix: ")[2]


@fixable
@pytest.mark.parametrize("amount_satang", [40, 119, 121, 1_000])
def test_no_fix_where_what_was_frozen_is_not_the_intents_amount(
    record: IntentRecord, ledger: list[Transfer], kind: Kind, amount_satang: int
) -> None:
    reason = why_not(replace(record, amount_satang=amount_satang), ledger, kind)

    assert reason == f"120 satang were frozen, the intent has {amount_satang}"


@pytest.mark.parametrize("lines", [HISTORY, HISTORY[:1], HISTORY_WITH_FEE])
@pytest.mark.parametrize(
    ("record", "ledger", "kind"),
    [
        (POST_ORDERED, POSTED, Kind.POSTED_NOT_SETTLED),
        (VOID_ORDERED, all_resolved(VOID), Kind.RELEASED_NOT_FAILED),
        (FAILED, frozen(), Kind.FAILED_NOT_RELEASED),
    ],
)
def test_no_fix_where_there_is_history_that_the_event_would_double_or_leave(
    record: IntentRecord, ledger: list[Transfer], kind: Kind, lines: tuple[HistoryLine, ...]
) -> None:
    reason = why_not(replace(record, lines=lines), ledger, kind)

    assert reason.startswith("the event would leave history_differs: ")


@pytest.mark.parametrize("lines", [(), HISTORY[:1], HISTORY_WITH_FEE])
def test_no_fix_of_a_settled_intent_whose_history_is_wrong(lines: tuple[HistoryLine, ...]) -> None:
    reason = why_not(replace(SETTLED, lines=lines), frozen(), Kind.SETTLED_NOT_POSTED)

    assert reason.startswith("the event would leave history_differs: ")


@pytest.mark.parametrize(
    ("record", "ledger", "kind"),
    [
        (FAILED, frozen(), Kind.FAILED_NOT_RELEASED),
        (VOID_ORDERED, all_resolved(VOID), Kind.RELEASED_NOT_FAILED),
    ],
)
def test_no_fix_that_leaves_a_fee_beside_money_that_is_not_posted(
    record: IntentRecord, ledger: list[Transfer], kind: Kind
) -> None:
    record = replace(record, psp=a_psp(7))

    reason = why_not(record, [*ledger, fee(by_worker=False)], kind)

    assert reason.startswith("the event would leave fee_without_post: 7 satang charged, ")


def test_the_worker_settles_what_it_posted_itself_and_charges_the_fee() -> None:
    record = replace(POST_ORDERED, psp=a_psp(7))

    assert fixes(record, POSTED) == {Kind.POSTED_NOT_SETTLED: POST}
    assert fixes(record, [*POSTED, fee()]) == {Kind.POSTED_NOT_SETTLED: POST}


def test_no_fix_where_another_has_posted_and_the_fee_would_never_be_charged() -> None:
    record = replace(POST_ORDERED, psp=a_psp(7))

    reason = why_not(record, POSTED_BY_OTHER, Kind.POSTED_NOT_SETTLED)

    assert reason == "the event would leave fee_missing: 7 satang are due, none were charged"
    charged = [*POSTED_BY_OTHER, fee(by_worker=False)]
    assert fixes(record, charged) == {Kind.POSTED_NOT_SETTLED: POST}


def test_no_fix_that_leaves_a_fee_of_another_amount() -> None:
    reason = why_not(
        replace(POST_ORDERED, psp=a_psp(9)), [*POSTED, fee(7)], Kind.POSTED_NOT_SETTLED
    )

    assert reason.startswith("the event would leave fee_amount_differs: ")


def test_frozen_money_is_posted_before_the_fee_that_it_is_to_be_charged_for() -> None:
    record = replace(SETTLED, psp=a_psp(7))

    assert fixes(record, frozen()) == {Kind.SETTLED_NOT_POSTED: POST, Kind.FEE_MISSING: None}
