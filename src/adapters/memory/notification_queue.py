"""The queue of push jobs in memory."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from adapters.memory.database import InMemoryDatabase, Step, Transaction
from application.ports.notification_queue import LockedJobs
from domain.conclusions import PushJob


@dataclass(frozen=True, slots=True)
class InMemoryLockedJobs:
    """``LockedJobs``; their locks are those of their open transaction."""

    _transaction: Transaction
    jobs: Sequence[PushJob]

    def delete(self, notification_ids: Collection[UUID]) -> None:
        """See ``LockedJobs.delete``."""
        self._transaction.step(Step.WRITE)
        self._transaction.changes.jobs |= dict.fromkeys(notification_ids)


@dataclass(frozen=True, slots=True)
class InMemoryNotificationQueue:
    """A ``NotificationQueue`` on *database*."""

    database: InMemoryDatabase

    def lock(self, *, limit: int) -> AbstractContextManager[LockedJobs]:
        """See ``NotificationQueue.lock``."""
        return self._lock(limit)

    @contextmanager
    def _lock(self, limit: int) -> Iterator[LockedJobs]:
        with self.database.transaction() as transaction:
            with transaction.exclusively():
                free = (
                    job
                    for job in self.database.tables.jobs.values()
                    if transaction.try_lock(("job", job.notification_id))
                )
                jobs = tuple(islice(free, limit))
            yield InMemoryLockedJobs(transaction, jobs)
