"""Why an event waits, told from what the database says of it.

It must agree with the claim (DESIGN §6), which decides in SQL: what is due here is what a
worker takes next.
"""

from enum import StrEnum

from domain.intents import EventId, IntentId, IntentStatus
from domain.values import value


class Wait(StrEnum):
    """What has to happen before an event is tried."""

    DUE = "due"
    """Nothing: a worker takes it next."""
    BACKOFF = "backoff"
    """The time of its next attempt comes."""
    BEHIND = "behind"
    """An earlier event of its intent ends."""
    IN_REVIEW = "in_review"
    """A person takes its intent out of ``MANUAL_REVIEW``."""
    GIVEN_UP = "given_up"
    """A person orders it again: it is ``failed``."""
    NOTHING = "nothing"
    """It is ``processed``."""


@value
class RetryNote:
    """What the latest failure of an event left behind.

    ``is_over``: ``next_attempt_at`` has come, by the database's clock.
    """

    reason: str
    last_error: str
    next_attempt_at: str
    is_over: bool


@value
class ListedEvent:
    """A row of ``pm.outbox_event`` in a list.

    Times are UTC in ISO 8601, or as the database prints what has no such form (``infinity``);
    then there is no age either. ``intent_status`` is None for an orphan. ``head_id`` is the
    intent's first pending event, where that is an earlier one.
    """

    id: EventId
    intent_id: IntentId
    action: str
    status: str
    retry_count: int
    created_at: str
    age_s: int | None
    intent_status: str | None
    head_id: EventId | None = None
    retry: RetryNote | None = None


@value
class Page:
    """The first of the events that were asked for, and how many there are in all."""

    events: tuple[ListedEvent, ...]
    total: int


@value
class Stuck:
    """Events that do not get on.

    ``waiting`` are pending for long. ``failed`` need a person: their intents are not final, or
    not there. ``behind`` are pending, too, not for long, and held up with the intent of a failed
    one in ``MANUAL_REVIEW``.
    """

    waiting: Page
    failed: Page
    behind: Page

    @property
    def is_any(self) -> bool:
        """Is there any such event?"""
        return bool(self.waiting.total or self.failed.total)


@value
class ActionStatistics:
    """Events of one action and status; the latencies, in ms, are of those that have ended."""

    action: str
    status: str
    count: int
    latency_average_ms: int | None
    latency_p50_ms: int | None
    latency_p99_ms: int | None


def wait_of(event: ListedEvent) -> Wait:
    """Return what *event* waits for, first of all."""
    if event.status == "failed":
        return Wait.GIVEN_UP
    if event.status != "pending":
        return Wait.NOTHING
    if event.intent_status == IntentStatus.MANUAL_REVIEW:
        return Wait.IN_REVIEW
    if event.head_id is not None:
        return Wait.BEHIND
    # retry_count 0 ends any backoff: the sources re-enqueue like that.
    if event.retry is not None and event.retry_count != 0 and not event.retry.is_over:
        return Wait.BACKOFF
    return Wait.DUE
