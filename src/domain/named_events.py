"""An event that an operator named, and what may come of an order about it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from domain.intents import Action, ClaimedEvent, EventId, IntentStatus
from domain.sanitising import sanitise
from domain.values import value

_CARRIED_OUT: Final = frozenset((str(action), str(action.final_status)) for action in Action)


@value
class Operator:
    """Who gives an order, and why; both go into the audit trail."""

    name: str
    reason: str | None = None

    @property
    def facts(self) -> dict[str, str | None]:
        """What the audit row tells of the operator, fit for a column."""
        return {
            "operator": sanitise(self.name),
            "note": None if self.reason is None else sanitise(self.reason),
        }


@value
class NamedEvent:
    """An event in whatever status, with all that decides what may be done with it.

    ``status_before_review`` is what the audit row keeps by which the intent came under review.
    None where no row tells: there is none, a later one says that the intent has left it since,
    or of some that bear the same time it is not known which is the later. ``database_user`` is
    whom the database takes the operator for, where it tells.
    """

    claimed: ClaimedEvent
    status: str
    status_before_review: str | None = None
    database_user: str | None = None

    @property
    def is_in_review(self) -> bool:
        """Does the intent wait for a person?"""
        intent = self.claimed.intent
        return intent is not None and intent.status == IntentStatus.MANUAL_REVIEW

    @property
    def is_carried_out(self) -> bool:
        """Is the intent final already, and in the way that the event orders?"""
        event, intent = self.claimed.event, self.claimed.intent
        return intent is not None and (event.action, intent.status) in _CARRIED_OUT

    def after(self, status: IntentStatus) -> "NamedEvent":
        """Return the event as it will be when its intent has become *status*."""
        if self.claimed.intent is None:
            return self
        intent = replace(self.claimed.intent, status=status)
        return replace(self, claimed=replace(self.claimed, intent=intent))


@value(kw_only=False)
class UnfinishedEvent:
    """An event that is not ``processed``, as one of its intent's."""

    id: EventId
    status: str


@value(kw_only=False)
class Refused:
    """The order must not be carried out; *detail* says why, and what to do instead."""

    detail: str


@value(kw_only=False)
class NothingToDo:
    """All is as ordered already."""

    detail: str


def unknown(event_id: EventId) -> Refused:
    """Return what comes of an order about an event that is not there."""
    return Refused(f"there is no event {event_id}")


def older_failed(
    events: Sequence[UnfinishedEvent], event_id: EventId, ordered: Collection[EventId]
) -> list[EventId]:
    """Return which of an intent's *events*, oldest first, failed before *event_id* and stay so.

    *ordered* are those that are ordered again with it.
    """
    ids = [one.id for one in events]
    older = events[: ids.index(event_id)] if event_id in ids else ()
    return [one.id for one in older if one.status == "failed" and one.id not in ordered]


def other_pending(events: Sequence[UnfinishedEvent], event_id: EventId) -> list[EventId]:
    """Return which of an intent's *events* wait when *event_id* is given up, too."""
    return [one.id for one in events if one.status == "pending" and one.id != event_id]
