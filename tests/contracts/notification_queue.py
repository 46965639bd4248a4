"""What every NotificationQueue must do. Inherit; provide an empty ``bench`` fixture."""

from collections.abc import Sequence

import pytest

from application.ports.notification_queue import JobKey, LockedJobs
from domain.conclusions import PushJob
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.payments import a_job


class BrokenError(Exception):
    """Something went wrong in the block."""


def add_jobs(bench: DatabaseBench, count: int) -> list[PushJob]:
    """Queue *count* jobs."""
    jobs = [a_job(job_json=f'{{"number":{number}}}') for number in range(count)]
    for job in jobs:
        bench.add_job(job)
    return jobs


def texts(jobs: Sequence[PushJob]) -> list[str]:
    """Return what tells *jobs* apart for whoever locks them."""
    return [job.job_json for job in jobs]


def locked_texts(locked: LockedJobs) -> list[str]:
    """Return the same of jobs that are locked."""
    return list(locked.jobs.values())


def abandon(bench: DatabaseBench) -> None:
    """Lock all jobs, delete them, and leave the block by an exception."""
    with bench.notifications.lock(limit=10) as locked:
        locked.delete(list(locked.jobs))
        raise BrokenError


class NotificationQueueContract:
    """Jobs stay until somebody who holds them deletes them, and commits."""

    def test_an_empty_queue_gives_no_jobs(self, bench: DatabaseBench) -> None:
        with bench.notifications.lock(limit=10) as locked:
            assert not locked.jobs

    def test_the_oldest_jobs_come_first_and_no_more_than_the_limit(
        self, bench: DatabaseBench
    ) -> None:
        jobs = add_jobs(bench, 5)

        with bench.notifications.lock(limit=3) as locked:
            assert locked_texts(locked) == texts(jobs[:3])

    def test_a_job_keeps_every_letter_of_its_text(self, bench: DatabaseBench) -> None:
        job = a_job(job_json='{"b":"\\u0000 \\ud83d\\ude00","a":1.0,  "a":"ผัดไทย"}')
        bench.add_job(job)

        with bench.notifications.lock(limit=1) as locked:
            assert locked_texts(locked) == [job.job_json]

    def test_jobs_that_others_hold_are_skipped(self, bench: DatabaseBench) -> None:
        jobs = add_jobs(bench, 4)

        with (
            bench.notifications.lock(limit=2) as locked,
            bench.notifications.lock(limit=10) as others,
        ):
            assert locked_texts(locked) == texts(jobs[:2])
            assert locked_texts(others) == texts(jobs[2:])

    def test_deleted_jobs_are_gone_when_the_block_ends(self, bench: DatabaseBench) -> None:
        first, second, third = add_jobs(bench, 3)

        with bench.notifications.lock(limit=10) as locked:
            first_key, _, third_key = locked.jobs
            locked.delete([third_key, first_key])
            assert list(bench.jobs()) == [first, second, third]

        assert list(bench.jobs()) == [second]

    def test_jobs_that_were_not_deleted_come_again(self, bench: DatabaseBench) -> None:
        jobs = add_jobs(bench, 2)
        with bench.notifications.lock(limit=10) as locked:
            locked.delete([])

        with bench.notifications.lock(limit=10) as locked:
            assert locked_texts(locked) == texts(jobs)

    def test_leaving_by_an_exception_deletes_nothing(self, bench: DatabaseBench) -> None:
        jobs = add_jobs(bench, 2)
        with pytest.raises(BrokenError):
            abandon(bench)

        with bench.notifications.lock(limit=10) as locked:
            assert locked_texts(locked) == texts(jobs)

    def test_a_job_that_came_in_between_stays(self, bench: DatabaseBench) -> None:
        add_jobs(bench, 1)

        with bench.notifications.lock(limit=10) as locked:
            late = a_job()
            bench.add_job(late)
            locked.delete(list(locked.jobs))

        assert list(bench.jobs()) == [late]

    def test_deleting_a_job_that_is_gone_is_harmless(self, bench: DatabaseBench) -> None:
        jobs = add_jobs(bench, 1)

        with bench.notifications.lock(limit=10) as locked:
            locked.delete([JobKey(2**62)])

        assert list(bench.jobs()) == jobs
