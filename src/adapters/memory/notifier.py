"""The stream of push jobs, kept in a list."""

from collections.abc import Mapping

from application.errors import RedisUnavailableError
from application.ports.notification_queue import JobKey


class InMemoryNotifier:
    """``Notifier`` for tests: ``stream`` is what its reader finds, repeats included.

    - ``unavailable``: nothing is appended, every call fails.
    - ``loses_answers``: everything is appended, every call fails all the same.
    - ``refused``: jobs with these keys are neither appended nor confirmed.
    """

    def __init__(self) -> None:
        self.stream: list[str] = []
        self.unavailable = False
        self.loses_answers = False
        self.refused: set[JobKey] = set()

    def deliver(self, jobs: Mapping[JobKey, str]) -> frozenset[JobKey]:
        if not jobs:
            return frozenset()
        if self.unavailable:
            raise RedisUnavailableError("told to be away")
        accepted = {key: job for key, job in jobs.items() if key not in self.refused}
        self.stream.extend(accepted.values())
        if self.loses_answers:
            raise RedisUnavailableError("told to lose its answers")
        if not accepted:
            raise RedisUnavailableError("told to refuse these jobs")
        return frozenset(accepted)

    def probe(self) -> None:
        if self.unavailable or self.loses_answers:
            raise RedisUnavailableError("told to be away")
