"""The stream of push jobs that the Notifications Service reads."""

from collections.abc import Mapping
from typing import Protocol

from application.ports.notification_queue import JobKey


class Notifier(Protocol):
    """Hand push jobs over; at least once.

    Idempotency: none at the server. A job sent twice is on the stream twice, with the
    same ``notificationId``, by which the reader drops the second. So nothing below this
    port repeats a job by itself.
    """

    def deliver(self, jobs: Mapping[JobKey, str]) -> frozenset[JobKey]:
        """Append *jobs*, the JSON of each, to the stream in order.

        Returns the keys of those that the server confirmed. Others may or may not be on the
        stream: keep them and deliver them again.

        Raises:
            RedisUnavailableError: none was confirmed.
        """
        ...

    def probe(self) -> None:
        """Find out whether the stream's server is there; appends nothing.

        It may refuse jobs all the same, for example when it is full.

        Raises:
            RedisUnavailableError: it does not answer, or does not let us in.
        """
        ...
