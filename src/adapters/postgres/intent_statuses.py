"""The status of intents, by their primary key."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from psycopg import sql

from adapters.postgres.errors import translated_errors
from adapters.postgres.listing import utc
from adapters.postgres.pool import Pool, transaction
from domain.intents import IntentId
from domain.live_status import StatusSource, StatusUpdate

_STATUSES: Final = sql.SQL("""
    SELECT i.id, COALESCE(i.status, ''), {updated_at}
    FROM pm.intent i
    WHERE i.id = ANY(%(intents)s::uuid[])
""").format(updated_at=utc("i", "updated_at"))


@dataclass(frozen=True, slots=True)
class PostgresIntentStatuses:
    """An ``IntentStatuses`` on *pool*."""

    pool: Pool

    def read(self, intent_ids: Collection[IntentId]) -> Mapping[IntentId, StatusUpdate]:
        """See ``IntentStatuses.read``."""
        with transaction(self.pool) as connection, translated_errors():
            rows = connection.execute(_STATUSES, {"intents": list(intent_ids)}).fetchall()
        return {
            IntentId(intent_id): StatusUpdate(
                intent_id=IntentId(intent_id),
                status=status,
                updated_at=updated_at,
                source=StatusSource.DATABASE,
            )
            for intent_id, status, updated_at in rows
        }
