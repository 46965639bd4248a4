"""What the database says of intents that somebody waits for."""

from collections.abc import Collection, Mapping
from typing import Protocol

from domain.intents import IntentId
from domain.live_status import StatusUpdate


class IntentStatuses(Protocol):
    """Read-only; locks nothing and waits for nobody's lock. Safe to share between threads."""

    def read(self, intent_ids: Collection[IntentId]) -> Mapping[IntentId, StatusUpdate]:
        """Return the committed status of those of *intent_ids* that are there.

        Raises:
            DatabaseUnavailableError, DatabaseMisconfiguredError: as of
                ``OutboxRepository.claim``.
        """
        ...
