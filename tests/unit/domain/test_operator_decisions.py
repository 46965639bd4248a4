"""What an operator may have done with an event, and what is written of it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.conclusions import Review
from domain.giving_up import give_up_of
from domain.intents import Action, ClaimedEvent, EventId, IntentStatus, OutboxEvent, RetryState
from domain.moved_money import Moved, ids_to_look_up, moved_of, pending_ids_of, search_of
from domain.named_events import NamedEvent, NothingToDo, Operator, Refused
from domain.requeueing import Requeue, requeue_of
from domain.transfer_ids import resolution_id
from domain.transfers import Transfer, TransferFlags, TransferId
from tests.contracts.payments import an_intent

SOMCHAI = Operator(name="somchai", reason="ticket 4711")
INTENT = an_intent()
PENDING_7, PENDING_8 = TransferId(7), TransferId(8)


def an_event(
    *,
    status: str = "pending",
    intent_status: str | None = "AUTHORIZED",
    retry_count: int = 1,
    before: str | None = None,
    action: str = "post_pending",
    generations: tuple[int, ...] | None = None,
) -> NamedEvent:
    """An event as an operator finds it."""
    return NamedEvent(
        claimed=ClaimedEvent(
            event=OutboxEvent(
                id=EventId(12),
                intent_id=INTENT.id,
                action=action,
                payload_json=None,
                retry_count=retry_count,
            ),
            intent=None if intent_status is None else replace(INTENT, status=intent_status),
            retry=None
            if generations is None
            else RetryState(reason="ids_burned", attempts=1, generations=generations),
        ),
        status=status,
        status_before_review=before,
    )


# Ordering again.


@pytest.mark.parametrize("before", [one for one in IntentStatus if one != "MANUAL_REVIEW"])
def test_an_intent_in_review_becomes_what_it_was(before: IntentStatus) -> None:
    requeue = requeue_of(
        an_event(status="failed", intent_status="MANUAL_REVIEW", before=before), SOMCHAI
    )

    assert isinstance(requeue, Requeue)
    assert requeue.intent_status is before
    assert requeue.audit is not None
    assert (requeue.audit.status_from, requeue.audit.status_to) == ("MANUAL_REVIEW", before)


@pytest.mark.parametrize("before", [None, "", "MANUAL_REVIEW", "PSP_CONFIRMED", "CANCELLED"])
def test_an_intent_whose_old_status_is_not_known_is_left_to_a_person(before: str | None) -> None:
    refused = requeue_of(
        an_event(status="failed", intent_status="MANUAL_REVIEW", before=before), SOMCHAI
    )

    assert isinstance(refused, Refused)


@pytest.mark.parametrize("status", ["AUTHORIZED", "SETTLED", "CANCELLED"])
@pytest.mark.parametrize("event_status", ["pending", "failed"])
def test_an_intent_that_is_not_in_review_stays_as_it_is(status: str, event_status: str) -> None:
    requeue = requeue_of(
        an_event(status=event_status, intent_status=status, before="SETTLING"), SOMCHAI
    )

    assert isinstance(requeue, Requeue)
    assert requeue.intent_status is None
    assert requeue.audit is not None
    assert (requeue.audit.status_from, requeue.audit.status_to) == (status, status)


def test_an_orphan_is_requeued_without_audit() -> None:
    requeue = requeue_of(an_event(status="failed", intent_status=None), SOMCHAI)

    assert isinstance(requeue, Requeue)
    assert (requeue.intent_status, requeue.audit) == (None, None)


@pytest.mark.parametrize("status", ["processed", "odd"])
def test_what_is_neither_pending_nor_failed_never_goes_back(status: str) -> None:
    assert isinstance(requeue_of(an_event(status=status), SOMCHAI), Refused)


@pytest.mark.parametrize("intent_status", ["AUTHORIZED", None])
def test_a_pending_event_without_failures_needs_nothing(intent_status: str | None) -> None:
    fresh = an_event(retry_count=0, intent_status=intent_status)

    assert isinstance(requeue_of(fresh, SOMCHAI), NothingToDo)


def test_a_pending_event_without_failures_takes_its_intent_out_of_review() -> None:
    waiting = an_event(retry_count=0, intent_status="MANUAL_REVIEW", before="SETTLING")

    requeue = requeue_of(waiting, SOMCHAI)

    assert isinstance(requeue, Requeue)
    assert requeue.intent_status is IntentStatus.SETTLING


@given(name=st.text(), reason=st.none() | st.text())
def test_the_audit_row_says_who_and_why_whatever_they_wrote(name: str, reason: str | None) -> None:
    requeue = requeue_of(an_event(), Operator(name=name, reason=reason))

    assert isinstance(requeue, Requeue)
    assert requeue.audit is not None
    payload = json.loads(requeue.audit.payload_json)
    assert ("note" in payload) is (reason is not None)
    assert "\\u0000" not in requeue.audit.payload_json
    for text in (payload["operator"], payload.get("note", "")):
        assert text == "" or text.isprintable()


# Giving up.


def test_giving_up_is_what_a_worker_writes_with_the_name_of_a_person() -> None:
    review = give_up_of(an_event(intent_status="SETTLING"), (), SOMCHAI)

    assert isinstance(review, Review)
    assert review.last_error == "given_up_by_hand: by somchai, ticket 4711"
    assert review.audit is not None
    assert review.audit.status_from == "SETTLING"
    assert review.audit.status_to == "MANUAL_REVIEW"
    assert json.loads(review.audit.payload_json)["operator"] == "somchai"


def test_an_orphan_is_given_up_without_audit() -> None:
    review = give_up_of(an_event(intent_status=None), (), Operator(name="somchai"))

    assert isinstance(review, Review)
    assert review.audit is None
    assert review.last_error == "given_up_by_hand: by somchai"


def test_only_a_pending_event_is_given_up() -> None:
    assert isinstance(give_up_of(an_event(status="failed"), (), SOMCHAI), NothingToDo)
    assert isinstance(give_up_of(an_event(status="processed"), (), SOMCHAI), Refused)


@pytest.mark.parametrize("moved", Action)
@pytest.mark.parametrize("ordered", Action)
def test_moved_money_is_named_and_left_to_the_worker(ordered: Action, moved: Action) -> None:
    by_other = Moved(pending_id=PENDING_7, action=moved, amount=100, by=TransferId(99))

    refused = give_up_of(an_event(action=ordered), (by_other,), SOMCHAI)

    assert isinstance(refused, Refused)
    assert f"{PENDING_7:032x}" in refused.detail
    assert "outbox-worker requeue 12" in refused.detail
    assert ("the worker finishes it" in refused.detail) is (ordered is moved)


# What has moved.


def resolver(pending_id: int, flags: TransferFlags, *, id_: int = 99) -> Transfer:
    return Transfer(id=TransferId(id_), pending_id=TransferId(pending_id), amount=100, flags=flags)


def test_each_id_by_which_we_may_have_moved_money_is_looked_up() -> None:
    claimed = an_event(generations=(3, 0, 5)).claimed

    ids = ids_to_look_up(claimed)

    assert ids[:2] == (PENDING_7, PENDING_8)
    assert set(ids[2:]) == {
        resolution_id(INTENT.id, action, pending_id, generation=generation)
        for action in Action
        for pending_id, generation in ((PENDING_7, 0), (PENDING_7, 3), (PENDING_8, 0))
    }
    assert len(ids) == len(set(ids))


def test_missing_and_repeated_ids_are_nothing_to_look_up() -> None:
    intent = replace(INTENT, tb_transfer_ids=(None, *INTENT.tb_transfer_ids[:1] * 2))
    claimed = replace(an_event().claimed, intent=intent)

    assert pending_ids_of(claimed) == (PENDING_7,)
    assert ids_to_look_up(an_event(intent_status=None).claimed) == ()


def test_only_what_the_ledger_knows_is_searched_for() -> None:
    claimed = an_event().claimed
    pending = Transfer(id=PENDING_8, flags=TransferFlags.PENDING)

    search = search_of(claimed, {PENDING_8: pending}, fee_code=50)

    assert search is not None
    assert search.pendings == (pending,)
    assert search_of(claimed, {}, fee_code=50) is None


def test_a_resolver_of_another_intents_money_and_a_fee_are_not_taken_for_ours() -> None:
    others = [
        resolver(9, TransferFlags.POST_PENDING_TRANSFER),
        resolver(0, TransferFlags.NONE),
        resolver(7, TransferFlags.NONE),
    ]

    assert moved_of(an_event().claimed, others) == ()


def test_what_was_posted_and_voided_is_told_in_the_order_of_the_intent() -> None:
    found = [
        resolver(8, TransferFlags.VOID_PENDING_TRANSFER),
        resolver(7, TransferFlags.POST_PENDING_TRANSFER, id_=98),
    ]

    moved = moved_of(an_event().claimed, found)

    assert [str(one) for one in moved] == [
        f"pending transfer {7:032x} is posted (100 satang) by transfer {98:032x}",
        f"pending transfer {8:032x} is voided by transfer {99:032x}",
    ]
