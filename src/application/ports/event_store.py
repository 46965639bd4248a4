"""What a producer needs to order the settling of an intent, and an operator to order it again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from domain.conclusions import AuditEvent
from domain.intents import Action, EventId, IntentId


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedIntent:
    """An intent that the caller's transaction holds locked."""

    id: IntentId
    status: str
    amount_satang: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An outbox event of the intent, in whatever status."""

    id: EventId
    action: str
    status: str
    payload_json: str | None


class EventStore(Protocol):
    """Outbox rows inside the producer's own transaction; it alone commits.

    Every method raises DatabaseUnavailableError or DatabaseMisconfiguredError like
    ``OutboxRepository.claim``; the producer's transaction is lost then.
    """

    def lock_intent(self, intent_id: IntentId) -> LockedIntent | None:
        """Lock the intent's row until the producer's transaction ends; None: no such intent.

        Waits for another producer or worker that holds the row, so two producers of one
        intent see each other's events.
        """
        ...

    def events_of(self, intent_id: IntentId) -> Sequence[StoredEvent]:
        """Return the intent's events, oldest first."""
        ...

    def insert(self, intent_id: IntentId, action: Action, payload_json: str | None) -> EventId:
        """Insert a pending event and return its id.

        Raises:
            RowsRefusedError: the database does not take *payload_json*.
        """
        ...

    def note(self, intent_id: IntentId, audit: AuditEvent) -> None:
        """Insert a row into the intent's audit trail.

        Raises:
            RowsRefusedError: the database does not take the row.
        """
        ...
