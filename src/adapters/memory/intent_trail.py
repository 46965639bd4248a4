"""The audit trail of intents, in a producer's own in-memory transaction."""

from dataclasses import dataclass

from adapters.memory.database import InMemoryDatabase, Transaction
from adapters.memory.writing import write_audit
from application.ports.intent_trail import Recorded
from domain.conclusions import StatusChange
from domain.intents import IntentId


@dataclass(frozen=True, slots=True)
class InMemoryIntentTrail:
    """An ``IntentTrail`` on *where*: a transaction, or a database for a transaction a row."""

    where: Transaction | InMemoryDatabase

    def append(self, intent_id: IntentId, change: StatusChange) -> Recorded:
        """See ``IntentTrail.append``."""
        if isinstance(self.where, Transaction):
            write_audit(self.where, intent_id, change)
            return Recorded(self.where.database.now, is_committed=False)
        with self.where.transaction() as transaction:
            write_audit(transaction, intent_id, change)
        return Recorded(self.where.now, is_committed=True)
