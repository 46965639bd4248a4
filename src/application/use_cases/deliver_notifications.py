"""Deliver push jobs: lock, deliver, delete what the server confirmed, commit.

The one and only delivery path, so a job is on the stream exactly once as long as nothing
fails in between. A crash between delivery and commit delivers again, with the same
``notificationId``.
"""

from dataclasses import dataclass

from application.ports.notification_queue import NotificationQueue
from application.ports.notifier import Notifier


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryReport:
    """How many jobs were locked, and how many of them the server confirmed."""

    locked: int
    confirmed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverNotifications:
    """Deliver up to ``batch_size`` jobs, oldest first. Safe to run in many places at once."""

    queue: NotificationQueue
    notifier: Notifier
    batch_size: int

    def __call__(self) -> DeliveryReport:
        """Deliver one batch.

        Raises:
            OutageError: the jobs are kept; some may be on the stream and come again.
            MisconfiguredError: likewise.
        """
        with self.queue.lock(limit=self.batch_size) as locked:
            jobs = locked.jobs
            confirmed = self.notifier.deliver(jobs) if jobs else frozenset()
            if confirmed:
                locked.delete(confirmed)
        return DeliveryReport(locked=len(jobs), confirmed=len(confirmed))

    def flush(self) -> None:
        """Deliver all jobs that there are now; raises like a call."""
        while self().confirmed:
            pass
