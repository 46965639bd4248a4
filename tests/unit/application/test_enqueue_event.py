"""What a producer may order, and what it is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from application.ports.event_store import LockedIntent, StoredEvent
from application.use_cases.enqueue_event import EnqueueEvent, EnqueueRefusedError
from domain.conclusions import AuditEvent
from domain.intents import Action, EventId, IntentId, IntentStatus
from domain.payloads import InvalidPayloadError

INTENT_ID = IntentId(UUID("550e8400-e29b-41d4-a716-446655440000"))
OTHER = {Action.POST_PENDING: Action.VOID_PENDING, Action.VOID_PENDING: Action.POST_PENDING}
SPLIT = '{"feeSplits":[{"account":"a","amountSatang":100,"kind":"k"}]}'

actions = pytest.mark.parametrize("action", Action)


@dataclass(slots=True)
class FakeStore:
    """Implements ``EventStore`` for one intent; events may be read only under its lock."""

    intent: LockedIntent | None
    events: list[StoredEvent] = field(default_factory=list)
    locked: bool = False

    def lock_intent(self, intent_id: IntentId) -> LockedIntent | None:
        self.locked = True
        return self.intent if self.intent and self.intent.id == intent_id else None

    def events_of(self, intent_id: IntentId) -> Sequence[StoredEvent]:
        assert self.locked
        return tuple(self.events)

    def insert(self, intent_id: IntentId, action: Action, payload_json: str | None) -> EventId:
        assert self.locked
        event = StoredEvent(
            id=EventId(len(self.events) + 1),
            action=action,
            status="pending",
            payload_json=payload_json,
        )
        self.events.append(event)
        return event.id

    def note(self, intent_id: IntentId, audit: AuditEvent) -> None:
        raise AssertionError("a producer's order is not audited")


def a_store(
    status: str = "AUTHORIZED", *events: StoredEvent, amount_satang: int = 100
) -> FakeStore:
    intent = LockedIntent(id=INTENT_ID, status=status, amount_satang=amount_satang)
    return FakeStore(intent, list(events))


def an_event(action: Action, status: str) -> StoredEvent:
    return StoredEvent(id=EventId(7), action=action, status=status, payload_json=None)


@actions
@pytest.mark.parametrize("status", ["AUTHORIZED", "SETTLING"])
@pytest.mark.parametrize("payload_json", [None, "{}", SPLIT])
def test_an_order_is_inserted_with_its_payload_as_it_is(
    action: Action, status: str, payload_json: str | None
) -> None:
    store = a_store(status)

    event_id = EnqueueEvent(store=store)(INTENT_ID, action, payload_json=payload_json)

    assert store.events == [
        StoredEvent(id=event_id, action=action, status="pending", payload_json=payload_json)
    ]


@actions
@pytest.mark.parametrize("event_status", ["pending", "processed", "failed"])
@pytest.mark.parametrize("intent_status", list(IntentStatus))
@pytest.mark.parametrize("payload_json", [None, "[]"])
def test_the_same_order_again_gives_the_event_that_is_there(
    action: Action, event_status: str, intent_status: str, payload_json: str | None
) -> None:
    store = a_store(intent_status, an_event(action, event_status))

    assert EnqueueEvent(store=store)(INTENT_ID, action, payload_json=payload_json) == 7
    assert len(store.events) == 1


@actions
@pytest.mark.parametrize("event_status", ["pending", "processed", "failed"])
def test_the_other_order_is_refused_and_names_the_event(action: Action, event_status: str) -> None:
    store = a_store("AUTHORIZED", an_event(OTHER[action], event_status))

    with pytest.raises(EnqueueRefusedError, match=f"event 7, {OTHER[action]}"):
        EnqueueEvent(store=store)(INTENT_ID, action)

    assert len(store.events) == 1


@actions
@pytest.mark.parametrize("status", ["CREATED", "SETTLED", "FAILED", "MANUAL_REVIEW", "BOGUS", ""])
def test_an_intent_that_is_not_authorized_takes_no_order(action: Action, status: str) -> None:
    store = a_store(status)

    with pytest.raises(EnqueueRefusedError, match=f"is {status};"):
        EnqueueEvent(store=store)(INTENT_ID, action)

    assert store.events == []


@actions
def test_an_intent_that_does_not_exist_takes_no_order(action: Action) -> None:
    store = FakeStore(None)

    with pytest.raises(EnqueueRefusedError, match=str(INTENT_ID)):
        EnqueueEvent(store=store)(INTENT_ID, action)

    assert store.events == []


@actions
@pytest.mark.parametrize("payload_json", ["", "[]", '"x"', '{"feeSplits":"x"}', "{", SPLIT])
def test_a_payload_that_the_worker_could_not_read_is_refused(
    action: Action, payload_json: str
) -> None:
    store = a_store(amount_satang=99)

    with pytest.raises(InvalidPayloadError):
        EnqueueEvent(store=store)(INTENT_ID, action, payload_json=payload_json)

    assert store.events == []


def test_a_refusal_is_an_error_of_the_producers_values() -> None:
    assert issubclass(EnqueueRefusedError, ValueError)
    assert issubclass(InvalidPayloadError, ValueError)
