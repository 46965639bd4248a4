"""The fake notifier keeps its port's contract, and fails as it is told."""

from collections.abc import Sequence

import pytest

from adapters.memory.notifier import InMemoryNotifier
from application.errors import RedisUnavailableError
from tests.contracts.notifier import NotifierContract, StreamReader, a_job, jobs, keys


class MemoryReader:
    """Reads the stream of an ``InMemoryNotifier``."""

    def __init__(self, notifier: InMemoryNotifier) -> None:
        self._notifier = notifier

    def jobs(self) -> Sequence[str]:
        return self._notifier.stream

    def cut_line(self) -> None:
        self._notifier.unavailable = True

    def lose_answers(self) -> None:
        self._notifier.loses_answers = True

    def mend_line(self) -> None:
        self._notifier.unavailable = False
        self._notifier.loses_answers = False


class TestInMemoryNotifier(NotifierContract):
    @pytest.fixture
    def notifier(self) -> InMemoryNotifier:
        return InMemoryNotifier()

    @pytest.fixture
    def reader(self, notifier: InMemoryNotifier) -> StreamReader:
        return MemoryReader(notifier)


def test_refused_jobs_are_neither_confirmed_nor_on_the_stream() -> None:
    notifier = InMemoryNotifier()
    notifier.refused |= keys(2)

    assert notifier.deliver(jobs(1, 2, 3)) == keys(1, 3)
    assert notifier.stream == [a_job(1), a_job(3)]


def test_when_every_job_is_refused_the_stream_counts_as_away() -> None:
    notifier = InMemoryNotifier()
    notifier.refused |= keys(1)

    with pytest.raises(RedisUnavailableError):
        notifier.deliver(jobs(1))
