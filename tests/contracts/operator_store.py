"""What every OperatorStore must do. Inherit; provide an empty ``bench`` fixture."""

from uuid import uuid4

import pytest

from application.errors import HeldByOthersError
from application.ports.operator_store import HeldEvent
from domain.conclusions import Review
from domain.intents import ClaimedEvent, EventId, IntentId, IntentStatus
from domain.named_events import NamedEvent, UnfinishedEvent
from domain.requeueing import Requeue
from domain.verdicts import ReviewReason
from tests.contracts.database_bench import DatabaseBench, EventState, StoredRetry
from tests.contracts.payments import a_retry, a_review, a_settle, an_audit, an_intent


class BrokenError(Exception):
    """Something went wrong in the block."""


def add_event(bench: DatabaseBench, *, status: str = "AUTHORIZED") -> EventId:
    """An intent and an order to post it."""
    intent = an_intent(status=status)
    bench.add_intent(intent)
    return bench.add_event(intent.id)


def conclude(bench: DatabaseBench, event_id: EventId, *, review: bool) -> ClaimedEvent:
    """Have a worker give *event_id* up, or let it wait."""
    with bench.outbox.claim(limit=10) as batch:
        [claimed] = [one for one in batch.events if one.event.id == event_id]
        if review:
            batch.write([a_review(claimed)])
        else:
            batch.write([a_retry(claimed, delay_ms=60_000, generations=(2, 0))])
    return claimed


def named(bench: DatabaseBench, event_id: EventId) -> NamedEvent:
    """What is stored of an event."""
    found = bench.operators.read(event_id)
    assert found is not None
    return found


def a_requeue(
    found: NamedEvent, *, intent_status: IntentStatus | None = None, audited: bool = True
) -> Requeue:
    """Order *found* again."""
    return Requeue(
        event_id=found.claimed.event.id,
        intent_id=found.claimed.event.intent_id,
        intent_status=intent_status,
        audit=an_audit(status_to=intent_status or IntentStatus.AUTHORIZED) if audited else None,
    )


def give_up(held: HeldEvent) -> None:
    """Give the held event up."""
    claimed = held.named.claimed
    status = claimed.intent.status if claimed.intent is not None else ""
    held.give_up(
        Review(
            event_id=claimed.event.id,
            intent_id=claimed.event.intent_id,
            reason=ReviewReason.GIVEN_UP_BY_HAND,
            last_error="by somchai",
            audit=an_audit(status_from=status, status_to=IntentStatus.MANUAL_REVIEW)
            if claimed.intent is not None
            else None,
        )
    )


def break_after_requeue(bench: DatabaseBench, event_id: EventId) -> None:
    """Order an event again, and leave the block by an exception."""
    with bench.operators.hold(event_id) as held:
        assert held is not None
        held.requeue(a_requeue(held.named, intent_status=IntentStatus.AUTHORIZED))
        raise BrokenError


class OperatorStoreContract:
    """One event at a time, read and changed under its intent's lock."""

    def test_an_event_that_is_not_there_is_none(self, bench: DatabaseBench) -> None:
        assert bench.operators.read(EventId(4711)) is None
        with bench.operators.hold(EventId(4711)) as held:
            assert held is None

    def test_an_event_is_read_with_what_decides_about_it(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench, status="SETTLING")
        claimed = conclude(bench, event_id, review=False)

        found = named(bench, event_id)

        assert (found.status, found.status_before_review) == ("pending", None)
        assert found.claimed.intent == claimed.intent
        assert found.claimed.event.retry_count == 1
        assert found.claimed.retry is not None
        assert found.claimed.retry.generations == (2, 0)

    def test_the_latest_review_tells_what_the_intent_was(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench)
        conclude(bench, event_id, review=True)
        with bench.operators.hold(event_id) as held:
            assert held is not None
            held.requeue(a_requeue(held.named, intent_status=IntentStatus.SETTLING))
        conclude(bench, event_id, review=True)

        found = named(bench, event_id)

        assert found.status == "failed"
        assert found.is_in_review
        assert found.status_before_review == "SETTLING"

    def test_a_review_that_has_ended_tells_nothing_of_the_next(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench)
        intent_id = conclude(bench, event_id, review=True).event.intent_id
        with bench.operators.hold(event_id) as held:
            assert held is not None
            held.requeue(a_requeue(held.named, intent_status=IntentStatus.AUTHORIZED))
        with bench.outbox.claim(limit=1) as batch:
            batch.write([a_settle(claimed) for claimed in batch.events])

        # As a person may: without a row in the trail.
        bench.set_intent_status(intent_id, "MANUAL_REVIEW")

        found = named(bench, bench.add_event(intent_id, created_after_s=9))
        assert found.is_in_review
        assert found.status_before_review is None

    def test_a_row_that_kept_the_status_tells_nothing_of_what_it_was(
        self, bench: DatabaseBench
    ) -> None:
        event_id = add_event(bench)
        conclude(bench, event_id, review=True)
        intent_id = named(bench, event_id).claimed.event.intent_id
        with bench.operators.hold(bench.add_event(intent_id, created_after_s=9)) as held:
            assert held is not None
            give_up(held)

        assert [audit.status_from for audit in bench.audit(intent_id)] == [
            "AUTHORIZED",
            "MANUAL_REVIEW",
        ]
        assert named(bench, event_id).status_before_review == "AUTHORIZED"

    def test_unfinished_events_are_listed_oldest_first(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        young = bench.add_event(intent.id, created_after_s=3)
        old = bench.add_event(intent.id, created_after_s=1, status="failed")
        bench.add_event(intent.id, created_after_s=2, status="processed")
        bench.add_event(an_intent().id)

        assert list(bench.operators.unfinished(intent.id)) == [
            UnfinishedEvent(old, "failed"),
            UnfinishedEvent(young, "pending"),
        ]
        assert list(bench.operators.unfinished(IntentId(uuid4()))) == []

    def test_requeueing_a_failed_event_makes_it_as_new(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench)
        intent_id = conclude(bench, event_id, review=True).event.intent_id

        with bench.operators.hold(event_id) as held:
            assert held is not None
            requeue = a_requeue(held.named, intent_status=IntentStatus.AUTHORIZED)
            held.requeue(requeue)

        assert bench.event(event_id) == EventState(status="pending")
        assert bench.retry(event_id) is None
        assert bench.intent(intent_id).status == "AUTHORIZED"
        assert bench.audit(intent_id)[-1] == requeue.audit
        with bench.outbox.claim(limit=1) as batch:
            assert [one.event.id for one in batch.events] == [event_id]

    def test_requeueing_a_waiting_event_ends_its_backoff_and_keeps_its_hints(
        self, bench: DatabaseBench
    ) -> None:
        event_id = add_event(bench, status="SETTLING")
        intent_id = conclude(bench, event_id, review=False).event.intent_id

        with bench.operators.hold(event_id) as held:
            assert held is not None
            held.requeue(a_requeue(held.named))

        assert bench.event(event_id) == EventState(status="pending")
        assert bench.intent(intent_id).status == "SETTLING"
        with bench.outbox.claim(limit=1) as batch:
            [claimed] = batch.events
        assert claimed.retry is not None
        assert claimed.retry.generations == (2, 0)

    def test_an_orphan_is_requeued_without_an_audit_row(self, bench: DatabaseBench) -> None:
        intent_id = IntentId(uuid4())
        event_id = bench.add_event(intent_id, status="failed", retry_count=1)

        with bench.operators.hold(event_id) as held:
            assert held is not None
            held.requeue(a_requeue(held.named, audited=False))

        assert bench.event(event_id) == EventState(status="pending")
        assert list(bench.audit(intent_id)) == []

    def test_giving_up_writes_what_a_workers_review_writes(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench)

        with bench.operators.hold(event_id) as held:
            assert held is not None
            give_up(held)

        intent_id = named(bench, event_id).claimed.event.intent_id
        assert bench.event(event_id) == EventState(status="failed", retry_count=1)
        assert bench.retry(event_id) == StoredRetry(
            attempts=1, reason="given_up_by_hand", last_error="by somchai", generations=()
        )
        assert bench.intent(intent_id).status == "MANUAL_REVIEW"
        [audit] = bench.audit(intent_id)
        assert (audit.status_from, audit.status_to) == ("AUTHORIZED", "MANUAL_REVIEW")
        assert list(bench.jobs()) == []

    def test_leaving_by_an_exception_leaves_all_as_it_was(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench)
        intent_id = conclude(bench, event_id, review=True).event.intent_id

        with pytest.raises(BrokenError):
            break_after_requeue(bench, event_id)

        assert bench.event(event_id).status == "failed"
        assert bench.retry(event_id) is not None
        assert bench.intent(intent_id).status == "MANUAL_REVIEW"
        assert len(bench.audit(intent_id)) == 1

    def test_a_held_event_is_out_of_the_reach_of_claims(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench)
        orphan = bench.add_event(IntentId(uuid4()))

        with (
            bench.operators.hold(event_id),
            bench.operators.hold(orphan),
            bench.outbox.claim(limit=2) as batch,
        ):
            assert list(batch.events) == []

    def test_an_event_that_a_worker_is_at_is_refused_after_a_while(
        self, bench: DatabaseBench
    ) -> None:
        event_id = add_event(bench)
        orphan = bench.add_event(IntentId(uuid4()))

        with bench.outbox.claim(limit=2) as batch:
            assert len(batch.events) == 2
            for held_event in (event_id, orphan):
                with pytest.raises(HeldByOthersError), bench.operators.hold(held_event):
                    pytest.fail("it was held twice")

        with bench.operators.hold(event_id) as held:
            assert held is not None
