"""Deliver push jobs: lock, deliver, delete what the server confirmed, commit.

The one and only delivery path, so a job is on the stream exactly once as long as nothing
fails in between. A crash between delivery and commit delivers again, with the same
``notificationId``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from application.errors import OutageError
from application.ports.notification_queue import JobKey, NotificationQueue
from application.ports.notifier import Notifier


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryReport:
    """How many jobs were locked, and how many of them the server confirmed.

    ``reached``: it has shown that it is there, by a confirmation or, without jobs, a probe.
    """

    locked: int
    confirmed: int
    reached: bool


@dataclass(slots=True, kw_only=True)
class DeliverNotifications:
    """Deliver up to ``batch_size`` jobs, oldest first. Safe to run in many places at once.

    After a failure the server is probed before any job is locked, since others may reach it and
    need not wait for our time-outs. Then a single job goes first: of many, a server that stops
    refusing in the middle would take only the younger ones.
    """

    queue: NotificationQueue
    notifier: Notifier
    batch_size: int
    _must_probe: bool = field(default=False, init=False)

    def __call__(self) -> DeliveryReport:
        """Deliver one batch.

        Raises:
            OutageError: the jobs are kept; some may be on the stream and come again.
            MisconfiguredError: likewise.
        """
        has_probed = self._must_probe
        if has_probed:
            self.notifier.probe()
        with self.queue.lock(limit=1 if has_probed else self.batch_size) as locked:
            jobs = locked.jobs
            self._must_probe = False
            confirmed = self._deliver(jobs) if jobs else frozenset()
            if confirmed:
                locked.delete(confirmed)
        return DeliveryReport(
            locked=len(jobs),
            confirmed=len(confirmed),
            reached=bool(confirmed) or (has_probed and not jobs),
        )

    def flush(self) -> None:
        """Deliver all jobs that there are now; raises like a call."""
        while self().confirmed:
            pass

    def _deliver(self, jobs: Mapping[JobKey, str]) -> frozenset[JobKey]:
        try:
            confirmed = self.notifier.deliver(jobs)
        except OutageError:
            self._must_probe = True
            raise
        self._must_probe = len(confirmed) < len(jobs)
        return confirmed
