"""Push jobs that are committed and not yet on the stream."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import NewType, Protocol

JobKey = NewType("JobKey", int)
"""What the queue calls a job that waits in it. It means nothing to anybody else."""


class LockedJobs(Protocol):
    """Jobs that this caller alone holds, until the block of ``lock`` ends."""

    @property
    def jobs(self) -> Mapping[JobKey, str]:
        """The ``job_json`` of each locked job, oldest first."""
        ...

    def delete(self, keys: Collection[JobKey]) -> None:
        """Delete delivered jobs; final when the block ends normally."""
        ...


class NotificationQueue(Protocol):
    """The rows that ``DeliverNotifications`` drains."""

    def lock(self, *, limit: int) -> AbstractContextManager[LockedJobs]:
        """Lock up to *limit* jobs for the length of the block; skip jobs locked by others.

        Leaving normally commits the deletions; by an exception, nothing is deleted.

        Raises, on entry or on leaving:
            DatabaseUnavailableError: deletions may be lost; those jobs come again.
            DatabaseMisconfiguredError: wrong password, database, schema or rights.
        """
        ...
