"""Decide whether an event may be given up by hand (DESIGN §8)."""

from collections.abc import Sequence

from domain.audit import audit_event
from domain.conclusions import Review
from domain.intents import IntentStatus
from domain.moved_money import Moved
from domain.named_events import NamedEvent, NothingToDo, Operator, Refused
from domain.sanitising import sanitise
from domain.verdicts import ReviewReason


def give_up_of(
    named: NamedEvent, moved: Sequence[Moved] | None, by: Operator
) -> Review | NothingToDo | Refused:
    """Return what giving *named* up writes, or why it is not done.

    *moved* is what the ledger says of the intent's pending transfers; None: it could not be
    found out.
    """
    event, intent = named.claimed.event, named.claimed.intent
    if named.status == "failed":
        return NothingToDo("it is failed already")
    if named.status != "pending":
        return Refused(f"it is {named.status}: there is nothing left to give up")
    if intent is not None and named.is_carried_out:
        return Refused(
            f"its intent is {intent.status} already: the worker finishes the event, and puts the"
            " intent under review if the ledger says otherwise"
        )
    if moved is None:
        return Refused(
            "whether its money has moved is not known: an account of it is so busy that the search"
            " had to end early; try again when there is less going on"
        )
    if moved:
        return Refused(_why_not(named, moved))
    reason = ReviewReason.GIVEN_UP_BY_HAND
    last_error = sanitise(f"{reason}: by {by.name}" + (f", {by.reason}" if by.reason else ""))
    return Review(
        event_id=event.id,
        intent_id=event.intent_id,
        reason=reason,
        last_error=last_error,
        audit=None
        if intent is None
        else audit_event(
            named.claimed,
            intent,
            IntentStatus.MANUAL_REVIEW,
            reason=reason,
            lastError=last_error,
            databaseUser=named.database_user,
            **by.facts,
        ),
    )


def _why_not(named: NamedEvent, moved: Sequence[Moved]) -> str:
    event = named.claimed.event
    facts = "; ".join(map(str, moved))
    if all(one.action == event.action for one in moved):
        remedy = "the worker finishes it, and moves nothing twice"
    else:
        remedy = (
            "against this event; the worker finds that out, too, and puts the intent under"
            " review unless OUTBOX_GIVE_UP=never"
        )
    return f"{facts}: {remedy}. Instead, let it try now: outbox-worker requeue {event.id}"
