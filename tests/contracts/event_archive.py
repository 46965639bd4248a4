"""What every EventArchive must do. Inherit; provide an empty ``bench`` fixture.

Also what the other ports say of an event that was moved: just what they said before.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import uuid4

import pytest

from application.ports.event_archive import Portion, Position
from application.use_cases.enqueue_event import EnqueueEvent, EnqueueRefusedError
from application.use_cases.requeue_event import RequeueEvent
from domain.intents import Action, EventId, IntentId
from domain.named_events import Operator, Refused
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.payments import an_intent

DAY_MS = 86_400_000
AGE = timedelta(days=90)
ME = Operator(name="me")


def finished(
    bench: DatabaseBench,
    *,
    status: str = "SETTLED",
    age_days: float = 100,
    action: str = "post_pending",
    payload_json: str | None = None,
) -> EventId:
    """An intent whose only event was processed so long ago."""
    intent = an_intent(status=status)
    bench.add_intent(intent)
    return finished_of(bench, intent.id, age_days, action=action, payload_json=payload_json)


def finished_of(
    bench: DatabaseBench,
    intent_id: IntentId,
    age_days: float = 100,
    *,
    action: str = "post_pending",
    payload_json: str | None = None,
) -> EventId:
    """One more event of an intent that was processed so long ago."""
    event_id = bench.add_event(intent_id, action, payload_json=payload_json)
    bench.finish_event(event_id, int(age_days * DAY_MS))
    return event_id


def intent_of(bench: DatabaseBench, event_id: EventId) -> IntentId:
    """The intent of an event."""
    found = bench.reader.intent_of(event_id)
    assert found is not None
    return found


def find_all(bench: DatabaseBench, *, before: datetime, limit: int = 100) -> list[EventId]:
    """The ids of all portions, in order."""
    return [id_ for portion in portions(bench, before, limit) for id_ in portion.event_ids]


def portions(bench: DatabaseBench, before: datetime, limit: int) -> Sequence[Portion]:
    """All portions, in order."""
    found: list[Portion] = []
    position: Position | None = Position()
    while position is not None:
        found.append(bench.archive.find(before=before, after=position, limit=limit))
        position = found[-1].end
    return found


def move_all(bench: DatabaseBench) -> int:
    """Move all that may go."""
    before = bench.archive.cutoff(AGE)
    return bench.archive.move(find_all(bench, before=before), before=before)


class EventArchiveContract:
    """Which events go, how they go, and that nobody misses them."""

    # Which.

    def test_the_cutoff_is_so_long_before_the_time_of_the_database(
        self, bench: DatabaseBench
    ) -> None:
        before, earlier = bench.archive.cutoff(AGE), bench.archive.cutoff(2 * AGE)

        assert before.utcoffset() is not None
        assert abs(before - earlier - AGE) < timedelta(minutes=1)

    @pytest.mark.parametrize("status", ["SETTLED", "FAILED"])
    def test_what_was_processed_long_ago_goes(self, bench: DatabaseBench, status: str) -> None:
        old = finished(bench, status=status)
        young = finished(bench, status=status, age_days=80)

        assert move_all(bench) == 1

        assert (bench.archive_ids(), bench.outbox_ids()) == ([old], [young])

    @pytest.mark.parametrize("status", ["pending", "failed"])
    def test_what_is_not_processed_stays_however_old(
        self, bench: DatabaseBench, status: str
    ) -> None:
        intent = an_intent(status="SETTLED")
        bench.add_intent(intent)
        event_id = bench.add_event(intent.id, status=status)
        bench.set_event_age(event_id, 100 * DAY_MS)

        assert move_all(bench) == 0
        assert bench.archive.move([event_id], before=bench.archive.cutoff(AGE)) == 0

    @pytest.mark.parametrize("status", ["CREATED", "AUTHORIZED", "SETTLING", "MANUAL_REVIEW"])
    def test_an_event_of_an_intent_that_is_not_final_stays(
        self, bench: DatabaseBench, status: str
    ) -> None:
        event_id = finished(bench, status=status)

        assert move_all(bench) == 0
        assert bench.archive.move([event_id], before=bench.archive.cutoff(AGE)) == 0

    def test_an_event_whose_intent_is_gone_goes(self, bench: DatabaseBench) -> None:
        event_id = finished_of(bench, IntentId(uuid4()))

        assert move_all(bench) == 1
        assert bench.archive_ids() == [event_id]

    def test_an_event_that_does_not_say_when_it_was_processed_stays(
        self, bench: DatabaseBench
    ) -> None:
        intent = an_intent(status="SETTLED")
        bench.add_intent(intent)
        event_id = bench.add_event(intent.id, status="processed")
        bench.set_event_age(event_id, 100 * DAY_MS)

        assert move_all(bench) == 0

    @pytest.mark.parametrize("other", ["pending", "failed", "young"])
    def test_the_events_of_an_intent_stay_together_until_all_are_over(
        self, bench: DatabaseBench, other: str
    ) -> None:
        intent = an_intent(status="SETTLED")
        bench.add_intent(intent)
        first = finished_of(bench, intent.id)
        second = (
            finished_of(bench, intent.id, age_days=80)
            if other == "young"
            else bench.add_event(intent.id, status=other)
        )

        assert move_all(bench) == 0
        bench.finish_event(second, 95 * DAY_MS)
        assert move_all(bench) == 2

        assert bench.archive_ids() == sorted([first, second])

    # How.

    def test_portions_walk_once_over_all_in_the_order_of_creation(
        self, bench: DatabaseBench
    ) -> None:
        ages = [100, 103, 101, 102, 104, 100.5]
        events = {age: finished(bench, age_days=age) for age in ages}
        finished(bench, status="AUTHORIZED", age_days=102.5)
        finished(bench, age_days=10)
        before = bench.archive.cutoff(AGE)

        found = portions(bench, before, limit=2)

        assert all(len(portion.event_ids) <= 2 for portion in found)
        moved = [id_ for portion in found for id_ in portion.event_ids]
        assert moved == [events[age] for age in sorted(ages, reverse=True)]
        assert len(found) == 4

    def test_events_of_the_same_moment_are_in_one_portion_each(self, bench: DatabaseBench) -> None:
        intent = an_intent(status="SETTLED")
        bench.add_intent(intent)
        for _ in range(3):
            finished_of(bench, intent.id)
        before = bench.archive.cutoff(AGE)

        moved = find_all(bench, before=before, limit=1)

        assert moved == bench.outbox_ids()
        assert all(first < second for first, second in pairwise(moved))

    def test_finding_changes_nothing(self, bench: DatabaseBench) -> None:
        event_id = finished(bench)

        with bench.hold_event(event_id):
            assert find_all(bench, before=bench.archive.cutoff(AGE)) == [event_id]

        assert (bench.outbox_ids(), bench.archive_ids()) == ([event_id], [])

    def test_moving_again_does_nothing(self, bench: DatabaseBench) -> None:
        event_id = finished(bench)
        before = bench.archive.cutoff(AGE)

        assert bench.archive.move([event_id, EventId(4711)], before=before) == 1
        assert bench.archive.move([event_id, EventId(4711)], before=before) == 0

        assert (bench.outbox_ids(), bench.archive_ids()) == ([], [event_id])

    def test_what_somebody_holds_stays_and_nobody_waits(self, bench: DatabaseBench) -> None:
        held, free = finished(bench), finished(bench)

        with bench.hold_event(held), bench.hold_intent(intent_of(bench, free)):
            assert move_all(bench) == 1

        assert (bench.outbox_ids(), bench.archive_ids()) == ([held], [free])

    def test_what_became_unfinished_since_it_was_found_stays(self, bench: DatabaseBench) -> None:
        event_id = finished(bench)
        before = bench.archive.cutoff(AGE)
        found = find_all(bench, before=before)
        bench.set_intent_status(intent_of(bench, event_id), "AUTHORIZED")

        assert bench.archive.move(found, before=before) == 0
        assert bench.outbox_ids() == [event_id]

    # Who still sees it.

    def test_an_archived_event_is_shown_with_its_intent_and_marked(
        self, bench: DatabaseBench
    ) -> None:
        intent = an_intent(status="SETTLED")
        bench.add_intent(intent)
        event_id = finished_of(bench, intent.id, payload_json='{"feeSplits": []}')
        move_all(bench)
        later = bench.add_event(intent.id, "void_pending")
        bench.set_event_age(later, 1_000)

        dossier = bench.reader.dossier(intent.id)

        assert bench.reader.intent_of(event_id) == intent.id
        assert dossier is not None
        first, second = dossier.events
        assert (first.event.id, first.event.status) == (event_id, "processed")
        assert first.payload_json == '{"feeSplits": []}'
        assert first.processed_at is not None
        assert first.archived_at is not None
        assert (second.event.id, second.archived_at) == (later, None)

    def test_an_archived_orphan_is_shown(self, bench: DatabaseBench) -> None:
        intent_id = IntentId(uuid4())
        finished_of(bench, intent_id)
        move_all(bench)

        dossier = bench.reader.dossier(intent_id)

        assert dossier is not None
        assert dossier.intent is None

    def test_the_same_order_again_returns_the_archived_event_and_the_other_is_refused(
        self, bench: DatabaseBench
    ) -> None:
        event_id = finished(bench)
        intent_id = intent_of(bench, event_id)
        move_all(bench)
        # As a person may set it: its status alone would not keep a second order away.
        bench.set_intent_status(intent_id, "AUTHORIZED")

        with bench.producer() as store:
            assert EnqueueEvent(store=store)(intent_id, Action.POST_PENDING) == event_id
        with bench.producer() as store, pytest.raises(EnqueueRefusedError, match="contradict"):
            EnqueueEvent(store=store)(intent_id, Action.VOID_PENDING)

        assert bench.outbox_ids() == []

    def test_an_archived_event_is_as_processed_to_an_operator_as_before(
        self, bench: DatabaseBench
    ) -> None:
        event_id = finished(bench)
        requeue = RequeueEvent(store=bench.operators)
        before = (requeue.plan([event_id], ME)[event_id], requeue(event_id, ME))
        move_all(bench)

        after = (requeue.plan([event_id], ME)[event_id], requeue(event_id, ME))

        assert after == before
        assert all(isinstance(one, Refused) and "processed" in one.detail for one in after)
        assert list(bench.operators.unfinished(intent_of(bench, event_id))) == []

    def test_a_new_order_for_an_intent_with_archived_events_is_claimed(
        self, bench: DatabaseBench
    ) -> None:
        intent_id = intent_of(bench, finished(bench))
        move_all(bench)
        event_id = bench.add_event(intent_id)

        with bench.outbox.claim(limit=10) as batch:
            assert [claimed.event.id for claimed in batch.events] == [event_id]
