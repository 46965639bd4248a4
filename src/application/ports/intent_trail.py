"""The audit trail of intents, for whoever changes their statuses: PM, a PSP's worker."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from domain.conclusions import StatusChange
from domain.intents import IntentId


@dataclass(frozen=True, slots=True)
class Recorded:
    """When a change was recorded, by the database's clock, and whether others can see it yet."""

    at: datetime
    is_committed: bool


class IntentTrail(Protocol):
    """``pm.intent_event`` over the caller's own connection; it alone ends its transactions."""

    def append(self, intent_id: IntentId, change: StatusChange) -> Recorded:
        """Insert a row, as part of the caller's transaction or, without one, for good.

        Idempotency: none; a repeat is a row more.

        Raises:
            RowsRefusedError: the database does not take the row.
            DatabaseUnavailableError, DatabaseMisconfiguredError: the row is not there, or
                nobody knows; a transaction is lost.
        """
        ...
