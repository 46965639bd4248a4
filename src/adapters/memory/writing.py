"""Write what became of an event into an in-memory transaction, refusing what Postgres refuses."""

import json
from dataclasses import replace
from datetime import date, timedelta
from typing import Final, assert_never

from adapters.memory.database import Transaction
from adapters.memory.rows import AuditRow, EventRow, HistoryRow, RetryRow
from application.errors import RowsRefusedError
from domain.conclusions import (
    Acknowledge,
    Conclusion,
    Retry,
    Review,
    Settle,
    StatusChange,
    StatusMessage,
)
from domain.intents import UNFINISHED, EventId, IntentId, IntentStatus

TO_NAME_LENGTH_MAX: Final = 255
BIGINT_MAX: Final = 2**63 - 1


def write_one(transaction: Transaction, conclusion: Conclusion) -> StatusMessage | None:
    """Write one conclusion; return the message that follows, if its intent changed.

    Raises:
        RowsRefusedError: Postgres would refuse a value, or find a row not as expected.
    """
    match conclusion:
        case Settle():
            return _settle(transaction, conclusion)
        case Acknowledge():
            _finish(transaction, conclusion.event_id)
        case Retry():
            _retry(transaction, conclusion)
        case Review():
            _review(transaction, conclusion)
        case _:
            assert_never(conclusion)
    return None


def write_audit(transaction: Transaction, intent_id: IntentId, audit: StatusChange) -> None:
    """Add a row to the audit trail of an intent.

    Raises:
        RowsRefusedError: Postgres would refuse a value.
    """
    _refuse_texts(audit.reason)
    if audit.payload_json is not None:
        _refuse_json(audit.payload_json)
        if "\\u0000" in audit.payload_json:
            raise RowsRefusedError("jsonb does not take \\u0000")
    transaction.changes.audit.append(
        AuditRow(intent_id=intent_id, audit=audit, created_at=transaction.database.now)
    )


def _settle(transaction: Transaction, settle: Settle) -> StatusMessage:
    _refuse_unfit(settle)
    row = transaction.intent(settle.intent_id)
    if row is None or row.status not in UNFINISHED:
        raise RowsRefusedError("the intent did not take the update")
    now = transaction.database.now
    transaction.changes.intents[settle.intent_id] = replace(
        row,
        intent=replace(row.intent, status=settle.status),
        to_name=row.to_name if settle.to_name is None else settle.to_name,
        settlement_date=settle.settlement_date or row.settlement_date,
        failure_reason=(
            row.failure_reason if settle.failure_reason is None else settle.failure_reason
        ),
        updated_at=now,
    )
    _finish(transaction, settle.event_id)
    transaction.changes.history += [
        HistoryRow(intent_id=settle.intent_id, currency=settle.currency, line=line)
        for line in settle.history
    ]
    write_audit(transaction, settle.intent_id, settle.audit)
    for job in settle.jobs:
        transaction.changes.jobs.setdefault(job.notification_id, job)
    return StatusMessage(intent_id=settle.intent_id, status=settle.status, updated_at=now)


def _retry(transaction: Transaction, retry: Retry) -> None:
    _refuse_texts(retry.last_error)
    row = _pending(transaction, retry.event_id)
    _count_failure(transaction, row, status="pending")
    transaction.changes.retries[retry.event_id] = RetryRow(
        event_id=retry.event_id,
        intent_id=retry.intent_id,
        attempts=retry.attempts,
        reason=retry.reason,
        last_error=retry.last_error,
        next_attempt_at=transaction.database.now + timedelta(milliseconds=retry.delay_ms),
        generations=retry.generations,
    )


def _review(transaction: Transaction, review: Review) -> None:
    _refuse_texts(review.last_error)
    row = _pending(transaction, review.event_id)
    _count_failure(transaction, row, status="failed")
    earlier = transaction.retry(review.event_id)
    transaction.changes.retries[review.event_id] = RetryRow(
        event_id=review.event_id,
        intent_id=review.intent_id,
        attempts=1 if earlier is None else earlier.attempts + 1,
        reason=review.reason,
        last_error=review.last_error,
        next_attempt_at=(transaction.database.now if earlier is None else earlier.next_attempt_at),
        generations=() if earlier is None else earlier.generations,
    )
    if review.audit is None:
        return
    intent = transaction.intent(review.intent_id)
    if intent is None:
        raise RowsRefusedError("the intent did not take the update")
    if intent.status == IntentStatus.MANUAL_REVIEW:
        return
    transaction.changes.intents[review.intent_id] = replace(
        intent,
        intent=replace(intent.intent, status=review.audit.status_to),
        updated_at=transaction.database.now,
    )
    write_audit(transaction, review.intent_id, review.audit)


def _finish(transaction: Transaction, event_id: EventId) -> None:
    row = _pending(transaction, event_id)
    transaction.changes.events[event_id] = replace(
        row, status="processed", processed_at=transaction.database.now
    )
    transaction.changes.retries[event_id] = None


def _count_failure(transaction: Transaction, row: EventRow, *, status: str) -> None:
    event = replace(row.event, retry_count=row.event.retry_count + 1)
    transaction.changes.events[event.id] = replace(row, event=event, status=status)


def _pending(transaction: Transaction, event_id: EventId) -> EventRow:
    row = transaction.event(event_id)
    if row is None or row.status != "pending":
        raise RowsRefusedError("the event did not take the update")
    return row


def _refuse_unfit(settle: Settle) -> None:
    _refuse_texts(settle.to_name, settle.failure_reason)
    if settle.to_name is not None and len(settle.to_name) > TO_NAME_LENGTH_MAX:
        raise RowsRefusedError(f"to_name is longer than {TO_NAME_LENGTH_MAX}")
    if settle.settlement_date is not None:
        try:
            date.fromisoformat(settle.settlement_date)
        except ValueError as error:
            raise RowsRefusedError(str(error)) from error
    for line in settle.history:
        _refuse_texts(line.account, line.fee_kind)
        if abs(line.amount_satang) > BIGINT_MAX:
            raise RowsRefusedError("amount_satang out of range")
    for job in settle.jobs:
        _refuse_json(job.job_json)


def _refuse_texts(*texts: str | None) -> None:
    for text in filter(None, texts):
        if "\0" in text:
            raise RowsRefusedError("text must not contain NUL")
        try:
            text.encode()
        except UnicodeError as error:
            raise RowsRefusedError(str(error)) from error


def _refuse_json(text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise RowsRefusedError(str(error)) from error
