"""One log line an event, in the words that the sources rely on, and the numbers."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from structlog.testing import capture_logs

from application.reporting import BatchReport, report
from application.writing import Written
from domain.conclusions import (
    Acknowledge,
    AuditEvent,
    Conclusion,
    Retry,
    Review,
    Settle,
    StatusMessage,
)
from domain.intents import EventId, IntentId, IntentStatus
from domain.verdicts import RetryReason, ReviewReason


def intent_id(number: int) -> IntentId:
    return IntentId(UUID(int=number))


def settle(number: int, status: IntentStatus = IntentStatus.SETTLED) -> Settle:
    return Settle(
        event_id=EventId(number),
        intent_id=intent_id(number),
        status=status,
        to_name=None,
        settlement_date=None,
        failure_reason="PSP said no" if status is IntentStatus.FAILED else None,
        currency="THB",
        history=(),
        audit=AuditEvent(
            status_from="AUTHORIZED", status_to=status, reason="why", payload_json="{}"
        ),
        jobs=(),
    )


def message(settled: Settle) -> StatusMessage:
    return StatusMessage(
        intent_id=settled.intent_id,
        status=settled.status,
        updated_at=datetime(2026, 5, 29, tzinfo=UTC),
    )


RETRY = Retry(
    event_id=EventId(1),
    intent_id=intent_id(1),
    reason=RetryReason.FEE_REFUSED,
    last_error="fee_refused: exceeds_credits",
    delay_ms=1_000,
    attempts=0,
    generations=(),
)
REVIEW = Review(
    event_id=EventId(1),
    intent_id=intent_id(1),
    reason=ReviewReason.ORPHAN,
    last_error="orphan: there is no intent",
    audit=None,
)


def logged(*conclusions: Conclusion, messages: list[StatusMessage]) -> list[dict[str, object]]:
    with capture_logs() as logs:
        report(claimed=1, written=Written(list(conclusions), messages))
    return [dict(line) for line in logs]


def test_a_settled_intent_is_logged_by_its_id() -> None:
    settled = settle(1)

    assert logged(settled, messages=[message(settled)]) == [
        {
            "event": "outbox: intent settled",
            "log_level": "info",
            "intent_id": str(intent_id(1)),
            "event_id": 1,
        }
    ]


def test_a_failed_intent_is_logged_by_its_id_with_the_reason() -> None:
    failed = settle(1, IntentStatus.FAILED)

    assert logged(failed, messages=[message(failed)]) == [
        {
            "event": "outbox: intent failed",
            "log_level": "info",
            "intent_id": str(intent_id(1)),
            "event_id": 1,
            "failure_reason": "PSP said no",
        }
    ]


def test_a_retry_is_a_warning_that_says_why_and_when() -> None:
    assert logged(RETRY, messages=[]) == [
        {
            "event": "outbox: event will be retried",
            "log_level": "warning",
            "intent_id": str(intent_id(1)),
            "event_id": 1,
            "reason": "fee_refused",
            "last_error": "fee_refused: exceeds_credits",
            "delay_ms": 1_000,
        }
    ]


def test_a_review_is_an_error_that_says_why() -> None:
    assert logged(REVIEW, messages=[]) == [
        {
            "event": "outbox: event needs a person",
            "log_level": "error",
            "intent_id": str(intent_id(1)),
            "event_id": 1,
            "reason": "orphan",
            "last_error": "orphan: there is no intent",
        }
    ]


def test_each_event_is_counted_as_what_became_of_it() -> None:
    settled = [settle(number) for number in (1, 2, 3)]
    failed = [settle(number, IntentStatus.FAILED) for number in (4, 5)]
    acknowledged = Acknowledge(event_id=EventId(6), intent_id=intent_id(6))
    changed: list[Conclusion] = [*settled, *failed]
    written = Written(
        [*changed, acknowledged, replace(RETRY, event_id=EventId(7)), REVIEW],
        [message(each) for each in (*settled, *failed)],
        refused=1,
    )

    with capture_logs() as logs:
        counted = report(claimed=9, written=written)

    assert counted == BatchReport(
        claimed=9, settled=3, failed=2, acknowledged=1, retried=1, reviewed=1, refused=1
    )
    assert counted.written == 8, "what was refused became something else"
    assert len(logs) == 8


def test_a_batch_of_nothing_says_nothing() -> None:
    with capture_logs() as logs:
        assert report(claimed=0, written=Written()) == BatchReport()

    assert logs == []
