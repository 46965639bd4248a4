"""Does an intent's status agree with what became of its money?"""

from dataclasses import replace
from uuid import UUID

import pytest

from domain.intents import Action
from domain.reconciliation.differences import DifferenceKind as Kind
from domain.reconciliation.limits import Limits
from domain.reconciliation.record import IntentRecord
from domain.transfers import Transfer, TransferFlags
from tests.unit.domain.reconciled import (
    AN_HOUR_AGO_NS,
    AUTHORIZED,
    FAILED,
    IN_REVIEW,
    MINUTE_MS,
    NOW_NS,
    NS_PER_MS,
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
    pending_id_of,
    resolved,
)

HALF_POSTED = [*frozen(), resolved(0, POST)]
HALF_VOIDED = [*frozen(), resolved(0, VOID)]
POSTED_IN_PART = [*frozen(), resolved(0, POST, amount=40, by_worker=False), resolved(1, POST)]
EXPIRED = frozen(timeout_s=60)
FIRST, SECOND = (str(UUID(int=pending_id_of(number))) for number in range(2))
BOTH = f"{FIRST}, {SECOND}"
POST_ORDERED = a_record("AUTHORIZED", an_event(POST, "processed"))
POSTED_NOW = all_resolved(POST, at_ns=NOW_NS - 59_000 * NS_PER_MS)

by_anybody = pytest.mark.parametrize("by_worker", [True, False])
unfinished = pytest.mark.parametrize("record", [AUTHORIZED, SETTLING])
actions = pytest.mark.parametrize("action", Action)


# Settled.


@by_anybody
def test_a_settled_intent_whose_money_is_posted_is_fine(by_worker: bool) -> None:
    assert kinds(SETTLED, all_resolved(POST, by_worker=by_worker)) == []


@pytest.mark.parametrize("ledger", [frozen(), HALF_POSTED])
def test_money_of_a_settled_intent_that_is_still_frozen_can_be_posted(
    ledger: list[Transfer],
) -> None:
    assert fixes(SETTLED, ledger) == {Kind.SETTLED_NOT_POSTED: POST}


def test_how_much_is_still_frozen_is_told() -> None:
    [found] = judge(SETTLED, HALF_POSTED)

    assert found.detail == f"20 of 120 satang are still frozen: {SECOND}"
    assert found.status == "SETTLED"


def test_how_long_it_stays_frozen_is_told_where_it_expires() -> None:
    expiring = [replace(one, timestamp_ns=NOW_NS, timeout_s=600) for one in frozen()]

    [settled], [failed] = judge(SETTLED, expiring), judge(FAILED, expiring)

    assert settled.detail == (
        f"120 of 120 satang are still frozen, the first of it for 10 min: {BOTH}"
    )
    assert failed.detail == settled.detail


@by_anybody
def test_money_of_a_settled_intent_that_was_voided_needs_a_person(by_worker: bool) -> None:
    ledger = all_resolved(VOID, by_worker=by_worker)

    assert fixes(SETTLED, ledger) == {Kind.SETTLED_BUT_RELEASED: None}


def test_money_of_a_settled_intent_that_has_expired_needs_a_person() -> None:
    [found] = judge(SETTLED, EXPIRED)

    assert (found.kind, found.fix) == (Kind.SETTLED_BUT_RELEASED, None)
    assert found.detail == f"120 of 120 satang are expired: {BOTH}"


def test_of_a_settled_intent_the_worst_of_its_money_is_told() -> None:
    assert kinds(SETTLED, HALF_VOIDED) == [Kind.SETTLED_BUT_RELEASED]


def test_a_settled_intent_that_was_posted_in_part_tells_the_parts() -> None:
    [found] = judge(SETTLED, POSTED_IN_PART)

    assert (found.kind, found.fix) == (Kind.RESOLVED_IN_PART, None)
    assert found.detail == f"of 120 satang: 60 posted, 60 released; not posted in full: {FIRST}"


# Failed.


@by_anybody
def test_a_failed_intent_whose_money_was_voided_is_fine(by_worker: bool) -> None:
    assert kinds(FAILED, all_resolved(VOID, by_worker=by_worker)) == []


def test_a_failed_intent_whose_money_has_expired_is_fine() -> None:
    assert kinds(FAILED, EXPIRED) == []


@pytest.mark.parametrize("ledger", [frozen(), HALF_VOIDED])
def test_money_of_a_failed_intent_that_is_still_frozen_can_be_voided(
    ledger: list[Transfer],
) -> None:
    assert fixes(FAILED, ledger) == {Kind.FAILED_NOT_RELEASED: VOID}


@pytest.mark.parametrize(
    "ledger",
    [
        all_resolved(POST, by_worker=False),
        HALF_POSTED,
        POSTED_IN_PART,
        [*frozen(), resolved(0, POST, amount=1, by_worker=False), resolved(1, VOID)],
    ],
)
def test_money_of_a_failed_intent_that_was_posted_needs_a_person(ledger: list[Transfer]) -> None:
    [found] = judge(FAILED, ledger)

    assert (found.kind, found.fix) == (Kind.FAILED_BUT_POSTED, None)
    assert f"are posted: {FIRST}" in found.detail


def test_a_post_of_nothing_takes_no_money_from_a_failed_intent() -> None:
    nothing = [resolved(number, POST, amount=0, by_worker=False) for number in range(2)]

    assert kinds(FAILED, [*frozen(), *nothing]) == []
    assert fixes(FAILED, [*frozen(), nothing[0]]) == {Kind.FAILED_NOT_RELEASED: None}


# Neither.


@unfinished
@by_anybody
def test_posted_money_of_an_unfinished_intent_can_be_settled_as_it_was_ordered(
    record: IntentRecord, by_worker: bool
) -> None:
    ledger = all_resolved(POST, by_worker=by_worker)
    ordered = replace(record, events=(an_event(POST, "failed"),))

    assert fixes(ordered, ledger) == {Kind.POSTED_NOT_SETTLED: POST}


@unfinished
def test_where_no_event_says_how_the_amount_is_split_the_manager_has_to_order(
    record: IntentRecord,
) -> None:
    assert fixes(record, all_resolved(POST)) == {Kind.POSTED_NOT_SETTLED: None}


@unfinished
@by_anybody
def test_voided_money_of_an_unfinished_intent_can_be_failed(
    record: IntentRecord, by_worker: bool
) -> None:
    ledger = all_resolved(VOID, by_worker=by_worker)

    assert fixes(record, ledger) == {Kind.RELEASED_NOT_FAILED: VOID}


def test_money_that_ran_out_of_time_is_failed_only_where_that_was_ordered() -> None:
    ordered = a_record("AUTHORIZED", an_event(VOID, "processed"))

    assert fixes(AUTHORIZED, EXPIRED) == {Kind.RELEASED_NOT_FAILED: None}
    assert fixes(ordered, EXPIRED) == {Kind.RELEASED_NOT_FAILED: VOID}


@pytest.mark.parametrize(
    ("ledger", "parts", "ids"),
    [
        (HALF_POSTED, "100 posted, 20 still frozen", SECOND),
        (HALF_VOIDED, "20 still frozen, 100 released", BOTH),
        (POSTED_IN_PART, "60 posted, 60 released", FIRST),
        (
            [*frozen(), resolved(0, POST), resolved(1, VOID)],
            "100 posted, 20 released",
            SECOND,
        ),
        ([*EXPIRED, resolved(0, POST)], "100 posted, 20 expired", SECOND),
        (
            [*frozen(), *(resolved(n, POST, amount=0, by_worker=False) for n in range(2))],
            "120 released",
            BOTH,
        ),
    ],
)
def test_money_that_went_both_ways_needs_a_person(
    ledger: list[Transfer], parts: str, ids: str
) -> None:
    [found] = judge(AUTHORIZED, ledger)

    assert (found.kind, found.fix) == (Kind.RESOLVED_IN_PART, None)
    assert found.detail == f"of 120 satang: {parts}; not posted in full: {ids}"


def test_an_unfinished_intent_with_all_its_money_frozen_and_an_order_is_fine() -> None:
    assert kinds(a_record("AUTHORIZED", an_event(POST, "pending")), frozen()) == []


@pytest.mark.parametrize("status", ["CREATED", "REFUNDED", ""])
def test_an_intent_that_the_manager_is_still_at_is_left_alone(status: str) -> None:
    assert kinds(a_record(status), []) == []
    assert kinds(a_record(status), frozen()) == []


@pytest.mark.parametrize("status", ["CREATED", "REFUNDED"])
def test_money_that_moved_for_an_intent_of_such_a_status_needs_a_person(status: str) -> None:
    assert fixes(a_record(status), HALF_POSTED) == {Kind.POSTED_NOT_SETTLED: None}
    assert kinds(a_record(status), POSTED_NOW) == []


@pytest.mark.parametrize("ledger", [frozen(), HALF_POSTED, all_resolved(VOID)])
def test_an_intent_in_review_may_have_its_money_anywhere(ledger: list[Transfer]) -> None:
    assert kinds(IN_REVIEW, ledger) == []


# In flight.


def test_money_that_moved_just_now_is_given_time() -> None:
    ledger = all_resolved(POST, at_ns=NOW_NS - 59_000 * NS_PER_MS - 1)

    assert kinds(AUTHORIZED, ledger) == []
    assert kinds(AUTHORIZED, ledger, Limits(grace_ms=59_001)) == []
    assert kinds(AUTHORIZED, ledger, Limits(grace_ms=59_000)) == [Kind.POSTED_NOT_SETTLED]


def test_money_that_expired_just_now_is_given_time() -> None:
    just_now = [replace(one, timestamp_ns=NOW_NS - 90_000 * NS_PER_MS) for one in EXPIRED]

    assert kinds(AUTHORIZED, just_now) == []


@actions
@pytest.mark.parametrize("ledger", [all_resolved(POST), all_resolved(VOID), HALF_POSTED])
def test_an_order_that_came_just_now_is_given_time(action: Action, ledger: list[Transfer]) -> None:
    young, old = (an_event(action, "pending", age_ms=age) for age in (MINUTE_MS - 1, MINUTE_MS))

    assert kinds(a_record("AUTHORIZED", young), ledger) == []
    assert kinds(a_record("AUTHORIZED", old), ledger) != []


@pytest.mark.parametrize(
    ("record", "action", "kind"),
    [(SETTLED, POST, Kind.SETTLED_NOT_POSTED), (FAILED, VOID, Kind.FAILED_NOT_RELEASED)],
)
def test_an_order_for_a_final_intent_is_given_time(
    record: IntentRecord, action: Action, kind: Kind
) -> None:
    young = an_event(action, "pending", age_ms=MINUTE_MS - 1)

    assert kinds(replace(record, events=(young,)), frozen()) == []
    assert fixes(replace(record, events=(replace(young, age_ms=MINUTE_MS),)), frozen()) == {
        kind: None
    }


# What cannot be fixed by an order.


fixable = pytest.mark.parametrize(
    ("record", "ledger", "kind", "action"),
    [
        (SETTLED, frozen(), Kind.SETTLED_NOT_POSTED, POST),
        (FAILED, frozen(), Kind.FAILED_NOT_RELEASED, VOID),
        (POST_ORDERED, all_resolved(POST), Kind.POSTED_NOT_SETTLED, POST),
        (AUTHORIZED, all_resolved(VOID), Kind.RELEASED_NOT_FAILED, VOID),
    ],
)


@fixable
@pytest.mark.parametrize("status", ["processed", "failed"])
def test_an_order_that_has_come_to_its_end_is_given_again(
    record: IntentRecord, ledger: list[Transfer], kind: Kind, action: Action, status: str
) -> None:
    ordered = replace(record, events=(an_event(action, status),))

    assert fixes(ordered, ledger) == {kind: action}


@fixable
@pytest.mark.parametrize("status", ["processed", "failed", "pending"])
def test_no_order_is_given_that_contradicts_an_earlier_one(
    record: IntentRecord, ledger: list[Transfer], kind: Kind, action: Action, status: str
) -> None:
    other = VOID if action is POST else POST
    contradicted = replace(record, events=(an_event(other, status),))

    assert fixes(contradicted, ledger) == {kind: None}


@fixable
def test_no_order_is_given_for_a_list_that_the_worker_would_refuse(
    record: IntentRecord, ledger: list[Transfer], kind: Kind, action: Action
) -> None:
    first, second = record.tb_transfer_ids
    for ids in ((first, second, first), (first, second, None)):
        assert fixes(replace(record, tb_transfer_ids=ids), ledger)[kind] is None


@fixable
def test_no_order_is_given_for_an_amount_that_the_worker_would_refuse(
    record: IntentRecord, ledger: list[Transfer], kind: Kind, action: Action
) -> None:
    assert fixes(replace(record, amount_satang=-1), ledger)[kind] is None


@pytest.mark.parametrize(
    ("record", "kind"),
    [(SETTLED, Kind.SETTLED_NOT_POSTED), (FAILED, Kind.FAILED_NOT_RELEASED)],
)
def test_no_order_is_given_while_a_transfer_is_missing(record: IntentRecord, kind: Kind) -> None:
    assert fixes(record, frozen()[:1])[kind] is None


@pytest.mark.parametrize(
    ("record", "ledger", "why_not"),
    [
        (
            replace(SETTLED, events=(an_event(POST, "pending"),)),
            frozen(),
            "event 7 is pending",
        ),
        (
            replace(FAILED, events=(an_event(POST, "processed"),)),
            frozen(),
            "event 7 asked for the opposite, post_pending",
        ),
        (
            AUTHORIZED,
            all_resolved(POST),
            "PM has to insert the event: only PM knows the fee splits",
        ),
        (AUTHORIZED, EXPIRED, "nobody has asked for it, and the PSP may have paid"),
        (
            FAILED,
            [*frozen(), resolved(0, POST, amount=0, by_worker=False)],
            "the rest was released by a post of nothing",
        ),
        (replace(FAILED, amount_satang=-1), frozen(), "the intent's amount is negative"),
        (
            replace(FAILED, tb_transfer_ids=(*FAILED.tb_transfer_ids, None)),
            frozen(),
            "tb_transfer_ids has a NULL or an id twice",
        ),
        (FAILED, frozen()[:1], "a transfer is missing"),
        (a_record("CREATED"), HALF_POSTED, "the worker settles no intent of this status"),
    ],
)
def test_where_no_event_can_put_it_right_the_detail_says_why(
    record: IntentRecord, ledger: list[Transfer], why_not: str
) -> None:
    found = judge(record, ledger)[0]

    assert found.fix is None
    assert found.detail.endswith(f"; no fix: {why_not}")


# Missing transfers.


@pytest.mark.parametrize("record", [SETTLED, AUTHORIZED, SETTLING])
def test_a_transfer_that_is_not_in_the_ledger_is_missing(record: IntentRecord) -> None:
    found = {one.kind: one for one in judge(record, [frozen()[0], resolved(0, POST)])}

    assert found[Kind.TRANSFER_MISSING].detail.endswith(SECOND)


@pytest.mark.parametrize("ledger", [[], [*frozen()[:1], resolved(0, VOID)]])
def test_an_intent_may_have_failed_since_money_could_not_be_frozen(ledger: list[Transfer]) -> None:
    assert kinds(FAILED, ledger) == []
    assert kinds(replace(FAILED, tb_transfer_ids=(None,)), []) == []


def test_a_transfer_that_froze_nothing_is_missing() -> None:
    first, second = frozen()
    ledger = [first, replace(second, flags=TransferFlags.NONE), resolved(0, POST)]

    assert kinds(SETTLED, ledger) == [Kind.TRANSFER_MISSING]


def test_an_id_that_is_null_is_missing() -> None:
    record = replace(SETTLED, tb_transfer_ids=(*SETTLED.tb_transfer_ids, None))

    [found] = judge(record, all_resolved(POST))

    assert (found.kind, found.detail) == (Kind.TRANSFER_MISSING, "tb_transfer_ids has a NULL")


def test_of_many_missing_transfers_the_first_are_named() -> None:
    ids = tuple(UUID(int=number) for number in range(1, 5_001))
    record = replace(SETTLED, tb_transfer_ids=ids)

    [missing] = judge(record, [])

    assert missing.detail.endswith(f"{UUID(int=3)} and 4997 more")


@pytest.mark.parametrize("status", ["CREATED", "MANUAL_REVIEW", "REFUNDED"])
def test_a_transfer_may_be_missing_before_and_in_review(status: str) -> None:
    assert kinds(a_record(status), frozen()[:1]) == []


def test_a_transfer_of_a_new_intent_is_given_time() -> None:
    young = replace(AUTHORIZED, age_ms=MINUTE_MS - 1)

    assert kinds(young, []) == []
    assert kinds(replace(young, age_ms=MINUTE_MS), []) == [Kind.TRANSFER_MISSING]


# Amounts.


@pytest.mark.parametrize("amount_satang", [0, 119, 121, -120])
@pytest.mark.parametrize(
    ("record", "ledger"),
    [
        (SETTLED, all_resolved(POST)),
        (a_record("AUTHORIZED", an_event(POST, "pending")), frozen()),
        (a_record("SETTLING", an_event(POST, "pending", age_ms=0)), all_resolved(POST)),
    ],
)
def test_an_amount_that_was_not_frozen_is_told(
    record: IntentRecord, ledger: list[Transfer], amount_satang: int
) -> None:
    assert kinds(replace(record, amount_satang=amount_satang), ledger) == [Kind.AMOUNT_DIFFERS]


def test_the_amount_of_a_failed_intent_does_not_matter() -> None:
    assert kinds(replace(FAILED, amount_satang=1), all_resolved(VOID)) == []


def test_an_intent_that_is_not_settled_may_be_without_transfers() -> None:
    for status in ("CREATED", "FAILED", "MANUAL_REVIEW"):
        assert kinds(a_record(status, tb_transfer_ids=()), []) == []


def test_an_intent_that_was_settled_without_any_money_is_told() -> None:
    [found] = judge(replace(SETTLED, tb_transfer_ids=()), [])

    assert (found.kind, found.fix) == (Kind.AMOUNT_DIFFERS, None)
    assert found.detail == "0 satang were frozen, the intent has 120"
    assert kinds(replace(SETTLED, tb_transfer_ids=(), amount_satang=0), []) == []
    assert kinds(replace(SETTLED, tb_transfer_ids=(None,)), []) == [Kind.TRANSFER_MISSING]


# Resolvers.


def test_a_transfer_under_our_id_that_resolves_another_one_is_no_resolver() -> None:
    stray = replace(resolved(0, POST), pending_id=pending_id_of(5))

    assert kinds(SETTLED, [*frozen(), stray, resolved(1, POST)]) == [Kind.SETTLED_NOT_POSTED]


def test_what_has_a_time_to_live_is_open_until_it_is_over() -> None:
    over, alive = (
        [replace(one, timestamp_ns=AN_HOUR_AGO_NS + more_ns) for one in frozen(timeout_s=3_600)]
        for more_ns in (0, 1)
    )

    assert kinds(FAILED, alive) == [Kind.FAILED_NOT_RELEASED]
    assert kinds(FAILED, over) == []
