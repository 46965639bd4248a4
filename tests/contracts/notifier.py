"""What every ``Notifier`` must do."""

from collections.abc import Sequence
from typing import Protocol

import pytest

from application.errors import RedisUnavailableError
from application.ports.notification_queue import JobKey
from application.ports.notifier import Notifier


def a_job(number: int) -> str:
    """Return the JSON of the job *number*."""
    return f'{{"body":"ชำระเงิน ฿1.00","data":{{"notificationId":"{number}"}}}}'


def jobs(*numbers: int) -> dict[JobKey, str]:
    """Return the jobs *numbers*, each of which is its own key."""
    return {JobKey(number): a_job(number) for number in numbers}


def keys(*numbers: int) -> frozenset[JobKey]:
    """Return the keys of the jobs *numbers*."""
    return frozenset(map(JobKey, numbers))


class StreamReader(Protocol):
    """What the contract needs of the other side: the stream, and the way to it."""

    def jobs(self) -> Sequence[str]:
        """Return the JSON of every job on the stream, oldest first."""
        ...

    def cut_line(self) -> None:
        """Keep the notifier from reaching the stream, until ``mend_line``."""
        ...

    def lose_answers(self) -> None:
        """Let everything reach the stream and no answer come back, until ``mend_line``."""
        ...

    def mend_line(self) -> None:
        """Undo ``cut_line`` and ``lose_answers``."""
        ...


class NotifierContract:
    """Inherit; provide the fixtures ``notifier`` and ``reader``, with an empty stream."""

    def test_jobs_are_on_the_stream_in_order_and_confirmed(
        self, notifier: Notifier, reader: StreamReader
    ) -> None:
        confirmed = notifier.deliver(jobs(3, 1, 2))

        assert confirmed == keys(1, 2, 3)
        assert reader.jobs() == [a_job(3), a_job(1), a_job(2)]

    def test_a_repeat_is_on_the_stream_again(
        self, notifier: Notifier, reader: StreamReader
    ) -> None:
        assert notifier.deliver(jobs(1)) == keys(1)
        assert notifier.deliver(jobs(1)) == keys(1)

        assert reader.jobs() == [a_job(1)] * 2

    def test_a_thousand_jobs_are_on_the_stream_in_order(
        self, notifier: Notifier, reader: StreamReader
    ) -> None:
        assert notifier.deliver(jobs(*range(1_000))) == keys(*range(1_000))
        assert reader.jobs() == [a_job(number) for number in range(1_000)]

    def test_no_jobs_need_no_line(self, notifier: Notifier, reader: StreamReader) -> None:
        reader.cut_line()

        assert notifier.deliver({}) == frozenset()

    def test_a_cut_line_is_an_outage_that_ends_by_itself(
        self, notifier: Notifier, reader: StreamReader
    ) -> None:
        notifier.deliver(jobs(1))
        reader.cut_line()
        with pytest.raises(RedisUnavailableError):
            notifier.deliver(jobs(2))
        reader.mend_line()

        assert notifier.deliver(jobs(3)) == keys(3)
        assert reader.jobs() == [a_job(1), a_job(3)]

    def test_a_lost_answer_confirms_nothing_and_leaves_the_job_there_once(
        self, notifier: Notifier, reader: StreamReader
    ) -> None:
        reader.lose_answers()
        with pytest.raises(RedisUnavailableError):
            notifier.deliver(jobs(1))
        reader.mend_line()

        assert reader.jobs() == [a_job(1)]
        assert notifier.deliver(jobs(2)) == keys(2)

    def test_a_probe_finds_the_server_and_leaves_nothing_on_the_stream(
        self, notifier: Notifier, reader: StreamReader
    ) -> None:
        notifier.probe()
        notifier.deliver(jobs(1))
        notifier.probe()

        assert reader.jobs() == [a_job(1)]

    def test_a_probe_of_a_cut_line_fails_until_it_is_mended(
        self, notifier: Notifier, reader: StreamReader
    ) -> None:
        notifier.deliver(jobs(1))
        reader.cut_line()
        with pytest.raises(RedisUnavailableError):
            notifier.probe()
        reader.mend_line()

        notifier.probe()
