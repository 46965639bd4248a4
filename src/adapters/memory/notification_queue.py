"""The queue of push jobs in memory."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from adapters.memory.database import InMemoryDatabase, Step, Transaction
from application.ports.notification_queue import JobKey, LockedJobs


@dataclass(frozen=True, slots=True)
class InMemoryLockedJobs:
    """``LockedJobs``; their locks are those of their open transaction."""

    _transaction: Transaction
    jobs: Mapping[JobKey, str]

    def delete(self, keys: Collection[JobKey]) -> None:
        """See ``LockedJobs.delete``."""
        self._transaction.step(Step.WRITE)
        self._transaction.changes.jobs |= dict.fromkeys(UUID(int=key) for key in keys)


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
                jobs = {
                    JobKey(job.notification_id.int): job.job_json for job in islice(free, limit)
                }
            yield InMemoryLockedJobs(transaction, jobs)
