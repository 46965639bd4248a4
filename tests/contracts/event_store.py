"""What every EventStore must do. Inherit; provide an empty ``bench`` fixture."""

import threading
from dataclasses import replace
from uuid import uuid4

import pytest

from application.errors import RowsRefusedError
from application.ports.event_store import LockedIntent, StoredEvent
from domain.intents import Action, IntentId, IntentStatus
from tests.contracts.database_bench import DatabaseBench, EventState
from tests.contracts.payments import an_audit, an_intent

ANSWER_TIMEOUT_S = 10.0


class BrokenError(Exception):
    """Something went wrong in the block."""


def abandon(bench: DatabaseBench, intent_id: IntentId) -> None:
    """Insert an event that nobody else sees, and leave the block by an exception."""
    with bench.producer() as store:
        store.insert(intent_id, Action.POST_PENDING, None)
        with bench.outbox.claim(limit=1) as batch:
            assert list(batch.events) == []
        raise BrokenError


class EventStoreContract:
    """Reads and writes of a producer, inside the transaction that it alone ends."""

    def test_a_locked_intent_tells_what_a_producer_must_know(self, bench: DatabaseBench) -> None:
        intent = an_intent(status="SETTLING", amount_satang=77)
        bench.add_intent(intent)

        with bench.producer() as store:
            assert store.lock_intent(intent.id) == LockedIntent(
                id=intent.id, status="SETTLING", amount_satang=77
            )

    def test_an_intent_that_does_not_exist_is_none(self, bench: DatabaseBench) -> None:
        with bench.producer() as store:
            assert store.lock_intent(IntentId(uuid4())) is None

    def test_a_locked_intent_is_out_of_the_reach_of_claims(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        bench.add_event(intent.id)

        with bench.producer() as store:
            store.lock_intent(intent.id)
            with bench.outbox.claim(limit=1) as batch:
                assert list(batch.events) == []
        with bench.outbox.claim(limit=1) as batch:
            assert len(batch.events) == 1

    def test_all_events_of_the_intent_are_listed_oldest_first(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_event(intent.id, "void_pending", created_after_s=2)
        bench.add_event(intent.id, status="processed", created_after_s=1)
        bench.add_event(intent.id, status="failed", created_after_s=0)
        bench.add_event(an_intent().id)

        with bench.producer() as store:
            events = store.events_of(intent.id)

        assert [(event.action, event.status) for event in events] == [
            ("post_pending", "failed"),
            ("post_pending", "processed"),
            ("void_pending", "pending"),
        ]

    def test_an_inserted_event_is_pending_and_carries_its_payload(
        self, bench: DatabaseBench
    ) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        with bench.producer() as store:
            event_id = store.insert(intent.id, Action.VOID_PENDING, '{"feeSplits": []}')
            assert store.events_of(intent.id) == [
                StoredEvent(
                    id=event_id,
                    action="void_pending",
                    status="pending",
                    payload_json='{"feeSplits": []}',
                )
            ]

        assert bench.event(event_id) == EventState(status="pending")
        with bench.outbox.claim(limit=1) as batch:
            assert batch.events[0].event.id == event_id
            assert batch.events[0].event.payload_json == '{"feeSplits": []}'

    def test_an_event_needs_no_payload(self, bench: DatabaseBench) -> None:
        with bench.producer() as store:
            store.insert(IntentId(uuid4()), Action.POST_PENDING, None)

        with bench.outbox.claim(limit=1) as batch:
            assert batch.events[0].event.payload_json is None

    def test_a_note_is_part_of_the_audit_trail(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        audit = an_audit(status_from="SETTLED", status_to=IntentStatus.SETTLED)

        with bench.producer() as store:
            store.note(intent.id, audit)
            store.note(IntentId(uuid4()), audit)

        assert list(bench.audit(intent.id)) == [audit]

    @pytest.mark.parametrize("payload_json", ["{", '{"why":"\\u0000"}'])
    def test_a_note_that_is_no_json_is_refused(
        self, bench: DatabaseBench, payload_json: str
    ) -> None:
        intent = an_intent()
        audit = replace(an_audit(status_to=IntentStatus.SETTLED), payload_json=payload_json)

        with pytest.raises(RowsRefusedError), bench.producer() as store:
            store.note(intent.id, audit)

        assert list(bench.audit(intent.id)) == []

    def test_the_producer_decides_whether_an_event_is_kept(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)

        with pytest.raises(BrokenError):
            abandon(bench, intent.id)

        with bench.producer() as store:
            assert list(store.events_of(intent.id)) == []

    def test_two_producers_of_an_intent_see_each_others_events(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        started = threading.Event()
        seen: list[StoredEvent] = []

        def second() -> None:
            with bench.producer() as store:
                started.set()
                store.lock_intent(intent.id)
                seen.extend(store.events_of(intent.id))

        thread = threading.Thread(target=second)
        with bench.producer() as store:
            store.lock_intent(intent.id)
            thread.start()
            assert started.wait(ANSWER_TIMEOUT_S)
            event_id = store.insert(intent.id, Action.POST_PENDING, None)
        thread.join(ANSWER_TIMEOUT_S)

        assert [event.id for event in seen] == [event_id]
