"""Push jobs in ``pm.notification_outbox``: a row is there until its job is on the stream.

Only what delivery needs is read, and in binary form, which costs the driver less: the key and
the text. Both statements find their rows by the primary key.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

from adapters.postgres.arrays import BigIntegers
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_errors
from adapters.postgres.pool import Pool, transaction
from application.ports.notification_queue import JobKey, LockedJobs

LOCK: Final = """
    SELECT id, job::text FROM pm.notification_outbox
    ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
DELETE: Final = "DELETE FROM pm.notification_outbox WHERE id = ANY(%b::bigint[])"


@dataclass(frozen=True, slots=True)
class PostgresLockedJobs:
    """``LockedJobs``; their locks are those of the connection's open transaction."""

    _connection: BoundedConnection
    jobs: Mapping[JobKey, str]

    def delete(self, keys: Collection[JobKey]) -> None:
        """See ``LockedJobs.delete``."""
        with translated_errors():
            self._connection.execute(DELETE, [BigIntegers(keys)])


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
            rows = connection.execute(LOCK, [limit], binary=True).fetchall()
            yield PostgresLockedJobs(connection, dict(rows))
