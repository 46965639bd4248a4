"""What is ordered again, and what is not."""

import json
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import pytest

from application.use_cases.order_again import OrderAgain
from domain.intents import Action, EventId, Intent, IntentId
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.fixing import NotOrdered, Obstacle
from tests.contracts.payments import an_intent
from tests.unit.memory.memory_bench import InMemoryBench

POST, VOID = Action.POST_PENDING, Action.VOID_PENDING
SPLITS = '{"feeSplits":[{"account":"a","amountSatang":15,"kind":"k"}]}'


@pytest.fixture
def bench() -> Iterator[InMemoryBench]:
    bench = InMemoryBench()
    yield bench
    # Whatever came of it, the intent's status is nobody's business here.
    assert {row.status for row in bench.database.tables.intents.values()} <= {"SETTLED", "FAILED"}


def a_settled(bench: InMemoryBench, status: str = "SETTLED") -> Intent:
    intent = an_intent(status=status)
    bench.add_intent(intent)
    return intent


def not_posted(intent_id: IntentId, **changes: object) -> Difference:
    difference = Difference(
        intent_id=intent_id,
        kind=DifferenceKind.SETTLED_NOT_POSTED,
        detail="120 satang",
        status="SETTLED",
        fix=POST,
    )
    return replace(difference, **changes)  # type: ignore[arg-type]


def order(bench: InMemoryBench, difference: Difference) -> EventId | NotOrdered:
    sharing = bench.records().sharing([difference.intent_id])
    with bench.producer() as store:
        return OrderAgain(store=store, sharing=sharing)(difference)


def test_the_order_is_pending_and_its_reason_is_in_the_audit_trail(bench: InMemoryBench) -> None:
    intent = a_settled(bench)

    event_id = order(bench, not_posted(intent.id))

    assert not isinstance(event_id, NotOrdered)
    row = bench.database.event(event_id)
    assert (row.status, row.event.action, row.event.payload_json) == ("pending", POST, None)
    [audit] = bench.audit(intent.id)
    assert (audit.status_from, audit.status_to, audit.reason) == (
        "SETTLED",
        "SETTLED",
        "reconcile",
    )
    assert json.loads(audit.payload_json) == {
        "by": "outbox-worker",
        "eventId": event_id,
        "action": "post_pending",
        "kind": "settled_not_posted",
        "detail": "120 satang",
    }


@pytest.mark.parametrize("status", ["processed", "failed"])
def test_the_payload_of_the_latest_order_is_ordered_again(
    bench: InMemoryBench, status: str
) -> None:
    intent = a_settled(bench)
    bench.add_event(intent.id, POST, status=status, payload_json=SPLITS, created_after_s=2)
    bench.add_event(intent.id, POST, status=status, payload_json="{}", created_after_s=1)

    event_id = order(bench, not_posted(intent.id))

    assert not isinstance(event_id, NotOrdered)
    assert bench.database.event(event_id).event.payload_json == SPLITS


@pytest.mark.parametrize("payload_json", ["[]", SPLITS.replace("15", "99999")])
def test_an_order_that_the_worker_could_not_read_is_not_repeated(
    bench: InMemoryBench, payload_json: str
) -> None:
    intent = a_settled(bench)
    bench.add_event(intent.id, POST, status="failed", payload_json=payload_json)

    assert_not_ordered(
        bench, not_posted(intent.id), Obstacle.PAYLOAD_UNREADABLE, "the payload of event 1 "
    )


def test_what_needs_a_person_is_not_ordered(bench: InMemoryBench) -> None:
    needs_person = not_posted(a_settled(bench).id, fix=None)

    assert_not_ordered(bench, needs_person, Obstacle.NEEDS_A_PERSON, "cannot put it right")


def test_an_intent_that_is_gone_is_not_ordered(bench: InMemoryBench) -> None:
    assert_not_ordered(bench, not_posted(IntentId(UUID(int=1))), Obstacle.INTENT_GONE, "is gone")


def test_an_intent_that_has_moved_on_is_not_ordered(bench: InMemoryBench) -> None:
    moved_on = not_posted(a_settled(bench, "FAILED").id)

    assert_not_ordered(bench, moved_on, Obstacle.STATUS_CHANGED, "the intent is FAILED by now")


def test_an_intent_with_a_pending_order_gets_no_other(bench: InMemoryBench) -> None:
    intent = a_settled(bench)
    bench.add_event(intent.id, POST, status="processed", created_after_s=2)
    bench.add_event(intent.id, POST, created_after_s=3)

    assert_not_ordered(bench, not_posted(intent.id), Obstacle.EVENT_PENDING, "event 2 is pending")


@pytest.mark.parametrize("status", ["processed", "failed"])
def test_nothing_is_ordered_against_an_earlier_order(bench: InMemoryBench, status: str) -> None:
    intent = a_settled(bench)
    bench.add_event(intent.id, VOID, status=status)

    assert_not_ordered(
        bench, not_posted(intent.id), Obstacle.CONTRADICTS, "event 1 asked for the opposite"
    )


def test_nothing_is_ordered_for_money_that_another_intent_lists(bench: InMemoryBench) -> None:
    intent = a_settled(bench)
    bench.add_intent(an_intent(status="FAILED", tb_transfer_ids=intent.tb_transfer_ids[:1]))

    assert_not_ordered(bench, not_posted(intent.id), Obstacle.TRANSFER_SHARED, "another intent")


def assert_not_ordered(
    bench: InMemoryBench, difference: Difference, obstacle: Obstacle, words: str
) -> None:
    events = dict(bench.database.tables.events)

    answer = order(bench, difference)

    assert isinstance(answer, NotOrdered)
    assert answer.obstacle is obstacle
    assert words in answer.detail
    assert bench.database.tables.events == events
    assert bench.audit(difference.intent_id) == []
