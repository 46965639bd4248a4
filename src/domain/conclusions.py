"""What one attempt at an event writes, all in the claim's transaction.

Each conclusion belongs to one event. Effects of ``Settle`` other than those on the
event follow only where the intent's conditional UPDATE took hold (DESIGN §6).
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from domain.intents import EventId, IntentId, IntentStatus, UserId
from domain.values import value
from domain.verdicts import RetryReason, ReviewReason


class LineKind(StrEnum):
    """``pm.tx_history.kind``."""

    PRINCIPAL = "PRINCIPAL"
    FEE = "FEE"
    PSP_FEE = "PSP_FEE"


@value
class RecordedLine:
    """A row of ``pm.tx_history`` as it was read; whoever wrote it may have put in anything.

    ``line_no`` starts at 0 within its intent. ``fee_kind`` is what the producer called a split,
    for example ``PLATFORM_FEE``.
    """

    line_no: int
    kind: str
    account: str | None
    amount_satang: int
    fee_kind: str | None = None


@value
class HistoryLine(RecordedLine):
    """A row of ``pm.tx_history`` that we write."""

    kind: LineKind


@value
class StatusChange:
    """A row of ``pm.intent_event``, whoever wrote it; either status may be a PSP's state."""

    status_from: str | None
    status_to: str
    reason: str | None = None
    payload_json: str | None = None


@value
class AuditEvent(StatusChange):
    """A row of ``pm.intent_event`` that we write; ``payload_json`` is a JSON object."""

    status_from: str
    reason: str
    payload_json: str


@value
class PushJob:
    """One push message for one user; repeats carry the same ``notification_id``."""

    notification_id: UUID
    intent_id: IntentId
    user_id: UserId
    job_json: str


@value
class StatusMessage:
    """The live status of an intent, or a PSP's state; ``updated_at`` is the database's time."""

    intent_id: IntentId
    status: str
    updated_at: datetime


@value
class Settle:
    """The intent becomes final: ``SETTLED`` after a post, ``FAILED`` after a void.

    ``to_name``, ``settlement_date`` and ``failure_reason``: None keeps the old value.
    """

    event_id: EventId
    intent_id: IntentId
    status: IntentStatus
    to_name: str | None
    settlement_date: str | None
    failure_reason: str | None
    currency: str
    history: tuple[HistoryLine, ...]
    audit: AuditEvent
    jobs: tuple[PushJob, ...]


@value
class Acknowledge:
    """The intent was final already and agrees: only the event is finished."""

    event_id: EventId
    intent_id: IntentId


@value
class Retry:
    """The event stays pending and is due again after ``delay_ms`` of database time."""

    event_id: EventId
    intent_id: IntentId
    reason: RetryReason
    last_error: str
    delay_ms: int
    attempts: int
    generations: tuple[int, ...]


@value
class Review:
    """The event becomes ``failed``; the intent, if there is one, ``MANUAL_REVIEW``.

    ``audit`` is None for an orphan.
    """

    event_id: EventId
    intent_id: IntentId
    reason: ReviewReason
    last_error: str
    audit: AuditEvent | None


Conclusion = Settle | Acknowledge | Retry | Review
