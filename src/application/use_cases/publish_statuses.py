"""Publish the live statuses that lanes have queued."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from application.errors import OutageError
from application.ports.status_publisher import StatusPublisher
from application.status_queue import StatusQueue
from domain.conclusions import StatusMessage

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishStatuses:
    """Publish up to ``batch_size`` messages, oldest first; one caller at a time."""

    announcements: StatusQueue
    publisher: StatusPublisher
    batch_size: int

    def __call__(self, *, timeout_s: float) -> int:
        """Wait up to *timeout_s* for messages, publish them, return how many.

        Raises:
            OutageError: the messages are back in the queue, as far as there is room.
        """
        messages = self.announcements.take(limit=self.batch_size, timeout_s=timeout_s)
        if messages:
            self._publish(messages)
        # One line an overflow, however long it lasts.
        lost = self.announcements.take_dropped()
        if lost:
            log.warning("outbox: live statuses were lost", messages=lost)
        return len(messages)

    def _publish(self, messages: Sequence[StatusMessage]) -> None:
        try:
            self.publisher.publish(messages)
        except OutageError:
            self.announcements.put_back(messages)
            raise

    def flush(self) -> None:
        """Publish all that is queued, without waiting for more.

        Raises:
            OutageError: what is left is in the queue.
        """
        while self(timeout_s=0):
            pass
