"""The stream of push jobs, kept in a list."""

from collections.abc import Sequence
from uuid import UUID

from application.errors import RedisUnavailableError
from domain.conclusions import PushJob


class InMemoryNotifier:
    """``Notifier`` for tests: ``stream`` is what its reader finds, repeats included.

    - ``unavailable``: nothing is appended, every call fails.
    - ``loses_answers``: everything is appended, every call fails all the same.
    - ``refused``: jobs with these ids are neither appended nor confirmed.
    """

    def __init__(self) -> None:
        self.stream: list[PushJob] = []
        self.unavailable = False
        self.loses_answers = False
        self.refused: set[UUID] = set()

    def deliver(self, jobs: Sequence[PushJob]) -> frozenset[UUID]:
        if not jobs:
            return frozenset()
        if self.unavailable:
            raise RedisUnavailableError("told to be away")
        accepted = [job for job in jobs if job.notification_id not in self.refused]
        self.stream.extend(accepted)
        if self.loses_answers:
            raise RedisUnavailableError("told to lose its answers")
        if not accepted:
            raise RedisUnavailableError("told to refuse these jobs")
        return frozenset(job.notification_id for job in accepted)

    def probe(self) -> None:
        if self.unavailable or self.loses_answers:
            raise RedisUnavailableError("told to be away")
