"""What the database says of intents, for comparing it with the ledger."""

from collections.abc import Collection, Iterator, Sequence, Set
from datetime import datetime
from typing import Protocol

from domain.intents import IntentId
from domain.reconciliation.record import IntentRecord, Selection
from domain.reconciliation.shared_transfers import SharedTransfer


class IntentRecords(Protocol):
    """Read-only, in pages of bounded size; nothing is locked, and no snapshot outlives a page.

    Every method raises DatabaseUnavailableError or DatabaseMisconfiguredError like
    ``OutboxRepository.claim``.
    """

    def now(self) -> datetime:
        """Return the database's time."""
        ...

    def pages(self, selection: Selection) -> Iterator[Sequence[IntentRecord]]:
        """Yield the selected intents, each once, a page at a time, each page one snapshot.

        Which intents are selected is decided at the start. One that is gone by its page, or
        never was there, is left out. Close the iterator to end early.
        """
        ...

    def shared_transfers(self, selection: Selection) -> Iterator[SharedTransfer]:
        """Yield, for each selected intent, the pending transfers that are listed more than once.

        Whoever lists one too counts, selected or not, however old. Each pair of a transfer and
        a selected intent comes once.
        """
        ...

    def sharing(self, intent_ids: Collection[IntentId]) -> Set[IntentId]:
        """Return those of *intent_ids* that list a pending transfer which another intent lists.

        Whoever lists it too counts, however old. Reads all intents, once.
        """
        ...
