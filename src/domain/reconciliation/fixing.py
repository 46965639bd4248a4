"""May an event be inserted for an intent, for the worker to put it right? The one rule of that.

It is asked of what a page shows, to say what --fix would do, and of the locked rows once more
before the event is inserted.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from domain.intents import UNFINISHED, Action, EventId
from domain.values import value


class Obstacle(StrEnum):
    """Why no event is inserted."""

    NEEDS_A_PERSON = "needs_a_person"
    """The difference is of no kind that the worker puts right."""
    EVENT_PENDING = "event_pending"
    CONTRADICTS = "contradicts"
    """An earlier event asked for the opposite."""
    SPLITS_UNKNOWN = "splits_unknown"
    """No earlier event says how the amount is split, and settling writes that down."""
    AMOUNT_NEGATIVE = "amount_negative"
    TRANSFERS_UNFIT = "transfers_unfit"
    """The worker would refuse the list of transfers, or what became of some of them."""
    TRANSFER_SHARED = "transfer_shared"
    """Another intent lists the same pending transfer."""
    INTENT_GONE = "intent_gone"
    STATUS_CHANGED = "status_changed"
    PAYLOAD_UNREADABLE = "payload_unreadable"
    """That of the earlier event, which would be inserted again."""


@value(kw_only=False)
class NotOrdered:
    """No event is inserted; *detail* says why, for people."""

    obstacle: Obstacle
    detail: str


TRANSFER_SHARED = NotOrdered(
    Obstacle.TRANSFER_SHARED, "another intent lists the same pending transfer"
)


class Event(Protocol):
    """An event of the intent, however it was read."""

    @property
    def id(self) -> EventId:
        """Its id."""
        ...

    @property
    def action(self) -> str:
        """What it asks for."""
        ...

    @property
    def status(self) -> str:
        """How far it is."""
        ...


def obstacle_to(
    action: Action, *, status: str, amount_satang: int, events: Sequence[Event]
) -> NotOrdered | None:
    """Return what is in the way of an event of *action*, None where nothing is.

    *events* are all that the intent has, oldest first; the payload of the last is inserted
    again. An event that is over is no reason
    not to insert another: the worker does nothing twice.
    """
    for event in events:
        if event.status == "pending":
            return NotOrdered(Obstacle.EVENT_PENDING, f"event {event.id} is pending")
        if event.action != action:
            return NotOrdered(
                Obstacle.CONTRADICTS, f"event {event.id} asked for the opposite, {event.action}"
            )
    if action is Action.POST_PENDING and status in UNFINISHED and not events:
        # Without a payload all of the amount would become PRINCIPAL, and nobody would see it.
        return NotOrdered(
            Obstacle.SPLITS_UNKNOWN, "PM has to insert the event: only PM knows the fee splits"
        )
    if amount_satang < 0:
        return NotOrdered(Obstacle.AMOUNT_NEGATIVE, "the intent's amount is negative")
    return None
