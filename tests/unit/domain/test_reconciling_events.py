"""Is there an order where one is wanted, none where none is, and is it in time?"""

from dataclasses import replace

import pytest

from domain.intents import Action, EventId
from domain.reconciliation.comparing import needs_search
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.limits import Limits
from domain.reconciliation.record import IntentRecord
from domain.reconciliation.wording import duration_text
from domain.transfers import NS_PER_S, Transfer
from tests.unit.domain.reconciled import (
    AUTHORIZED,
    DAY_MS,
    FAILED,
    HOUR_MS,
    IN_REVIEW,
    MINUTE_MS,
    NOW_NS,
    POST,
    SETTLED,
    SETTLING,
    VOID,
    a_record,
    all_resolved,
    an_event,
    fixes,
    frozen,
    judge,
    kinds,
    known,
    resolved,
)

unfinished = pytest.mark.parametrize("record", [AUTHORIZED, SETTLING])


# No order.


@unfinished
def test_an_intent_that_nobody_ordered_for_long_is_told(record: IntentRecord) -> None:
    [found] = judge(record, frozen())

    assert (found.kind, found.fix) == (Kind.NO_EVENT, None)
    assert found.detail == f"{record.status} for 24 h without an event"


@unfinished
@pytest.mark.parametrize("status", ["processed", "failed", "bogus"])
def test_an_order_that_is_over_is_as_good_as_none(record: IntentRecord, status: str) -> None:
    [found] = judge(replace(record, events=(an_event(POST, status),)), frozen())

    assert found.kind is Kind.NO_EVENT
    assert found.detail.endswith(f"its last event, 7, post_pending, is {status}")


def test_an_intent_may_be_without_an_order_for_a_while() -> None:
    young = replace(AUTHORIZED, age_ms=15 * MINUTE_MS - 1)

    assert kinds(young, frozen()) == []
    assert kinds(replace(young, age_ms=15 * MINUTE_MS), frozen()) == [Kind.NO_EVENT]


@pytest.mark.parametrize("unordered_after_ms", [0, 1_000])
def test_how_long_an_intent_may_be_without_an_order_is_a_setting(unordered_after_ms: int) -> None:
    limits = Limits(unordered_after_ms=unordered_after_ms)

    assert kinds(replace(AUTHORIZED, age_ms=1_000), frozen(), limits) == [Kind.NO_EVENT]


def test_an_intent_without_transfers_wants_an_order_too() -> None:
    assert kinds(replace(AUTHORIZED, tb_transfer_ids=()), []) == [Kind.NO_EVENT]
    assert kinds(a_record("AUTHORIZED", an_event(VOID, "pending"), tb_transfer_ids=()), []) == []


# Orders whose work is done.


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("status", ["AUTHORIZED", "SETTLING"])
def test_an_order_whose_work_is_done_is_left_to_the_worker(action: Action, status: str) -> None:
    record = a_record(status, an_event(action, "pending"))

    assert fixes(record, all_resolved(action)) == {Kind.EVENT_DONE: None}


def test_an_order_against_what_was_done_is_none_of_those() -> None:
    record = a_record("AUTHORIZED", an_event(VOID, "pending"))

    assert fixes(record, all_resolved(POST)) == {Kind.POSTED_NOT_SETTLED: None}


def test_the_first_of_several_orders_counts() -> None:
    orders = an_event(VOID, "pending"), replace(an_event(POST, "pending"), id=EventId(8))

    assert kinds(a_record("AUTHORIZED", *orders), all_resolved(POST)) == [Kind.POSTED_NOT_SETTLED]


@pytest.mark.parametrize(("record", "action"), [(SETTLED, POST), (FAILED, VOID)])
def test_an_order_for_a_final_intent_with_nothing_left_to_do_is_told(
    record: IntentRecord, action: Action
) -> None:
    ordered = replace(record, events=(*record.events, an_event(action, "pending", age_ms=HOUR_MS)))
    waiting = an_event(action, "pending", age_ms=15 * MINUTE_MS - 1)
    young = replace(record, events=(waiting,))
    failed = replace(record, events=(replace(waiting, retry_count=1),))
    just_failed = replace(record, events=(replace(waiting, retry_count=1, age_ms=MINUTE_MS - 1),))
    other = replace(record, events=(an_event(VOID if action is POST else POST, "pending"),))

    [found] = judge(ordered, all_resolved(action))

    assert (found.kind, found.fix) == (Kind.EVENT_DONE, None)
    assert "60 min" in found.detail
    assert kinds(young, all_resolved(action)) == []
    assert kinds(failed, all_resolved(action)) == [Kind.EVENT_DONE]
    assert kinds(just_failed, all_resolved(action)) == []
    assert kinds(other, all_resolved(action)) == []


@pytest.mark.parametrize("action", Action)
def test_an_order_that_was_given_up_and_is_carried_out_now_can_be_requeued(action: Action) -> None:
    record = a_record("MANUAL_REVIEW", an_event(action, "failed"))
    other = VOID if action is POST else POST

    [found] = judge(record, all_resolved(action, by_worker=False))

    assert (found.kind, found.fix) == (Kind.EVENT_DONE, None)
    assert "requeue" in found.detail
    assert kinds(record, all_resolved(other)) == []
    assert kinds(record, [*frozen(), resolved(0, action)]) == []
    assert kinds(replace(record, tb_transfer_ids=()), []) == []
    assert kinds(a_record("MANUAL_REVIEW", an_event(action, "pending")), all_resolved(action)) == []


# Money that is about to be released.


def expiring(*, in_ms: int) -> list[Transfer]:
    return [
        replace(one, timestamp_ns=NOW_NS + in_ms * 1_000_000 - 7_200 * NS_PER_S)
        for one in frozen(timeout_s=7_200)
    ]


FAILED_BEFORE = an_event(POST, "pending", retry_count=1)


@pytest.mark.parametrize(
    "record",
    [
        a_record("AUTHORIZED", FAILED_BEFORE),
        a_record("SETTLING", FAILED_BEFORE),
        a_record("AUTHORIZED", an_event(POST, "processed"), age_ms=MINUTE_MS),
        replace(AUTHORIZED, age_ms=MINUTE_MS),
        IN_REVIEW,
    ],
)
def test_money_that_expires_soon_is_told(record: IntentRecord) -> None:
    [found] = judge(record, expiring(in_ms=20 * MINUTE_MS))

    assert found.kind is Kind.EXPIRES_SOON
    assert found.detail == "120 of 120 satang are frozen, the first of it for 20 min"
    assert kinds(record, expiring(in_ms=HOUR_MS)) == [Kind.EXPIRES_SOON]
    assert kinds(record, expiring(in_ms=HOUR_MS + 1)) == []
    assert kinds(record, frozen()) == []


def test_money_whose_order_waits_its_turn_expires_soon_in_the_last_quarter_of_its_time() -> None:
    record = a_record("AUTHORIZED", an_event(POST, "pending"))
    both = a_record("AUTHORIZED", an_event(POST, "pending"), FAILED_BEFORE)

    assert kinds(record, expiring(in_ms=30 * MINUTE_MS)) == [Kind.EXPIRES_SOON]
    assert kinds(record, expiring(in_ms=30 * MINUTE_MS + 1)) == []
    assert kinds(both, expiring(in_ms=30 * MINUTE_MS + 1)) == [Kind.EXPIRES_SOON]


def test_money_is_not_told_to_expire_while_an_order_that_just_came_may_be_in_flight() -> None:
    young, old = (
        a_record("AUTHORIZED", an_event(POST, "pending", age_ms=age_ms))
        for age_ms in (MINUTE_MS - 1, MINUTE_MS)
    )

    assert kinds(young, expiring(in_ms=1_000)) == []
    assert kinds(old, expiring(in_ms=1_000)) == [Kind.EXPIRES_SOON]


def test_how_soon_is_soon_is_a_setting() -> None:
    record = a_record("AUTHORIZED", FAILED_BEFORE)
    limits = Limits(expiring_within_ms=MINUTE_MS)

    assert kinds(record, expiring(in_ms=MINUTE_MS), limits) == [Kind.EXPIRES_SOON]
    assert kinds(record, expiring(in_ms=MINUTE_MS + 1), limits) == []


def test_only_what_is_still_frozen_can_expire() -> None:
    first, second = expiring(in_ms=MINUTE_MS)
    record = a_record("AUTHORIZED", replace(FAILED_BEFORE, age_ms=0))

    [found] = judge(record, [first, second, resolved(0, POST)])

    assert found.detail.startswith("20 of 120")
    assert kinds(SETTLED, expiring(in_ms=MINUTE_MS)) == [Kind.SETTLED_NOT_POSTED]
    assert kinds(a_record("CREATED"), expiring(in_ms=MINUTE_MS)) == []


# What is searched for.


def test_a_healthy_backlog_is_not_searched() -> None:
    for age_ms in (0, HOUR_MS):
        record = a_record("AUTHORIZED", an_event(POST, "pending", age_ms=age_ms))
        assert not is_searched(record, frozen())
    assert not is_searched(a_record("CREATED"), frozen())
    assert not is_searched(replace(AUTHORIZED, age_ms=1_000), frozen())
    assert not is_searched(replace(AUTHORIZED, tb_transfer_ids=()), [])


def test_what_the_worker_did_itself_is_not_searched() -> None:
    assert not is_searched(SETTLED, all_resolved(POST))
    assert not is_searched(FAILED, all_resolved(VOID))


@pytest.mark.parametrize(
    ("record", "ledger"),
    [
        (SETTLED, all_resolved(POST, by_worker=False)),
        (FAILED, frozen(timeout_s=1)),
        (IN_REVIEW, frozen()),
        (AUTHORIZED, frozen()),
        (a_record("AUTHORIZED", an_event(POST, "pending", retry_count=1)), frozen()),
        (a_record("AUTHORIZED", an_event(POST, "pending")), frozen(timeout_s=1)),
        (a_record("AUTHORIZED", an_event(POST, "pending")), [*frozen(), resolved(0, POST)]),
    ],
)
def test_where_others_may_have_acted_is_searched(
    record: IntentRecord, ledger: list[Transfer]
) -> None:
    assert is_searched(record, ledger)


def is_searched(record: IntentRecord, ledger: list[Transfer]) -> bool:
    return needs_search(record, known(record, ledger), Limits())


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0 s"),
        (119_999, "119 s"),
        (120_000, "2 min"),
        (2 * HOUR_MS - 1, "119 min"),
        (2 * HOUR_MS, "2 h"),
        (2 * DAY_MS, "2 d"),
        (-90_000, "-90 s"),
    ],
)
def test_durations_are_told_in_the_unit_that_fits(duration_ms: int, text: str) -> None:
    assert duration_text(duration_ms) == text
