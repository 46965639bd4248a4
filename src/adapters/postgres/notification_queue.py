"""Push jobs in ``pm.notification_outbox``: a row is there until its job is on the stream."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from uuid import UUID

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_errors
from adapters.postgres.pool import Pool, transaction
from application.ports.notification_queue import LockedJobs
from domain.conclusions import PushJob
from domain.intents import IntentId, UserId


@dataclass(frozen=True, slots=True)
class PostgresLockedJobs:
    """``LockedJobs``; their locks are those of the connection's open transaction."""

    _connection: BoundedConnection
    jobs: Sequence[PushJob]

    def delete(self, notification_ids: Collection[UUID]) -> None:
        """See ``LockedJobs.delete``."""
        with translated_errors():
            self._connection.execute(
                "DELETE FROM pm.notification_outbox WHERE notification_id = ANY(%b::uuid[])",
                [list(notification_ids)],
            )


@dataclass(frozen=True, slots=True)
class PostgresNotificationQueue:
    """A ``NotificationQueue`` on *pool*; safe to share between threads."""

    pool: Pool

    def lock(self, *, limit: int) -> AbstractContextManager[LockedJobs]:
        """See ``NotificationQueue.lock``."""
        return self._lock(limit)

    @contextmanager
    def _lock(self, limit: int) -> Iterator[LockedJobs]:
        with transaction(self.pool) as connection:
            rows = connection.execute(
                "SELECT notification_id, intent_id, user_id, job::text"
                " FROM pm.notification_outbox ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED",
                [limit],
            ).fetchall()
            jobs = tuple(
                PushJob(
                    notification_id=notification_id,
                    intent_id=IntentId(intent_id),
                    user_id=UserId(user_id),
                    job_json=job,
                )
                for notification_id, intent_id, user_id, job in rows
            )
            yield PostgresLockedJobs(connection, jobs)
