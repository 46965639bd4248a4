"""What an event waits for, first of all."""

from dataclasses import replace
from uuid import UUID

import pytest

from domain.intents import EventId, IntentId
from domain.waiting import ListedEvent, RetryNote, Wait, wait_of

RUNNING = RetryNote(
    reason="ledger_refused", last_error="", next_attempt_at="infinity", is_over=False
)
OVER = replace(RUNNING, is_over=True)
EVENT = ListedEvent(
    id=EventId(2),
    intent_id=IntentId(UUID(int=1)),
    action="post_pending",
    status="pending",
    retry_count=1,
    created_at="infinity",
    age_s=None,
    intent_status="AUTHORIZED",
)


@pytest.mark.parametrize(
    ("event", "wait"),
    [
        (EVENT, Wait.DUE),
        (replace(EVENT, intent_status=None), Wait.DUE),
        (replace(EVENT, retry=OVER), Wait.DUE),
        (replace(EVENT, retry=RUNNING), Wait.BACKOFF),
        (replace(EVENT, retry=RUNNING, retry_count=0), Wait.DUE),
        (replace(EVENT, retry=RUNNING, retry_count=-5), Wait.BACKOFF),
        (replace(EVENT, retry=RUNNING, head_id=EventId(1)), Wait.BEHIND),
        (replace(EVENT, head_id=EventId(1), intent_status="MANUAL_REVIEW"), Wait.IN_REVIEW),
        (replace(EVENT, status="failed", intent_status="MANUAL_REVIEW"), Wait.GIVEN_UP),
        (replace(EVENT, status="processed"), Wait.NOTHING),
        (replace(EVENT, status="odd"), Wait.NOTHING),
    ],
)
def test_the_first_thing_in_its_way_is_told(event: ListedEvent, wait: Wait) -> None:
    assert wait_of(event) is wait
