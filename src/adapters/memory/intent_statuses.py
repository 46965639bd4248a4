"""The status of intents, from the in-memory database."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from adapters.memory.database import InMemoryDatabase
from adapters.memory.rows import utc
from domain.intents import IntentId
from domain.live_status import StatusSource, StatusUpdate


@dataclass(frozen=True, slots=True)
class InMemoryIntentStatuses:
    """An ``IntentStatuses`` on *database*."""

    database: InMemoryDatabase

    def read(self, intent_ids: Collection[IntentId]) -> Mapping[IntentId, StatusUpdate]:
        """See ``IntentStatuses.read``."""
        with self.database.transaction() as transaction:
            found = {intent_id: transaction.intent(intent_id) for intent_id in intent_ids}
        return {
            intent_id: StatusUpdate(
                intent_id=intent_id,
                status=row.status,
                updated_at=utc(row.updated_at),
                source=StatusSource.DATABASE,
            )
            for intent_id, row in found.items()
            if row is not None
        }
