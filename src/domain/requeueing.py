"""Decide whether an event may be ordered again, and what changes by it (DESIGN §8)."""

from typing import Final

from domain.audit import audit_event
from domain.conclusions import AuditEvent
from domain.intents import EventId, IntentId, IntentStatus
from domain.named_events import NamedEvent, NothingToDo, Operator, Refused
from domain.values import value

REQUEUE: Final = "requeue"
"""``pm.intent_event.reason`` of what an operator ordered again."""


@value
class Requeue:
    """The event becomes pending and is due at once, as if it had never failed.

    ``intent_status`` is what the intent is set back to; None: it stays as it is. ``audit`` is
    None for an orphan.
    """

    event_id: EventId
    intent_id: IntentId
    intent_status: IntentStatus | None
    audit: AuditEvent | None


def requeue_of(named: NamedEvent, by: Operator) -> Requeue | NothingToDo | Refused:
    """Return what ordering *named* again changes, or why it is not done."""
    event, intent = named.claimed.event, named.claimed.intent
    if named.status == "processed":
        return Refused("it is processed: its effects have happened, so it never goes back")
    if named.status not in ("pending", "failed"):
        return Refused(f"its status is {named.status!r}, which is not known here")
    restored: IntentStatus | None = None
    if named.is_in_review:
        before = _before_review(named.status_before_review)
        if before is None:
            return Refused(
                "the audit trail of its intent does not tell what it was before MANUAL_REVIEW:"
                " set the intent's status by hand, then requeue the event"
            )
        restored = before
    elif named.status == "pending" and event.retry_count == 0:
        return NothingToDo("it is pending, and no failure of it is counted")
    return Requeue(
        event_id=event.id,
        intent_id=event.intent_id,
        intent_status=restored,
        audit=None
        if intent is None
        else audit_event(
            named.claimed,
            intent,
            restored or intent.status,
            reason=REQUEUE,
            databaseUser=named.database_user,
            **by.facts,
        ),
    )


def _before_review(status: str | None) -> IntentStatus | None:
    """Return *status* if it is one that an intent can be set back to.

    PM's own audit rows may hold states of a PSP in its place.
    """
    if status not in tuple(IntentStatus) or status == IntentStatus.MANUAL_REVIEW:
        return None
    return IntentStatus(status)
