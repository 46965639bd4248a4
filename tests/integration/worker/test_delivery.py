"""Push jobs from their rows to the stream, by worker processes that share the work or die at it."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, cast

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from redis import Redis

from entrypoints.sandbox.waiting import wait_until
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import PATIENCE_S, WorkerProcess
from tests.integration.redis.clients import FIELD, STREAM
from tests.integration.worker.conftest import StartWorker

pytestmark = pytest.mark.integration

JOBS: Final = int(os.environ.get("DELIVERY_JOBS", "10000"))
JOBS_A_SECOND_MIN: Final = 500
"""What even the slowest machine manages."""
WORKERS: Final = 3
BATCH: Final = 50
PAGE: Final = 10_000
ATTEMPTS: Final = 3


class JobTable:
    """The rows of jobs, which nothing but these tests adds to."""

    def __init__(self, url: str) -> None:
        self._url = url

    def add(self, count: int) -> list[str]:
        """Queue so many jobs, by one transaction; return their ids, oldest first."""
        with psycopg.connect(self._url) as connection:
            rows = connection.execute(
                "INSERT INTO pm.notification_outbox"
                " (notification_id, intent_id, user_id, job, created_at)"
                " SELECT id, gen_random_uuid(), gen_random_uuid(),"
                " json_build_object('data', json_build_object('notificationId', id)), now()"
                " FROM (SELECT gen_random_uuid() FROM generate_series(1, %s)) AS new (id)"
                " RETURNING notification_id::text",
                [count],
            ).fetchall()
        return [notification_id for (notification_id,) in rows]

    def ids(self) -> list[str]:
        """Return the ids of the jobs that wait, oldest first."""
        with psycopg.connect(self._url) as connection:
            return [
                notification_id
                for (notification_id,) in connection.execute(
                    "SELECT notification_id::text FROM pm.notification_outbox ORDER BY id"
                )
            ]

    def is_empty(self) -> bool:
        """Is every job delivered?"""
        with psycopg.connect(self._url) as connection:
            found = connection.execute("SELECT FROM pm.notification_outbox LIMIT 1").fetchone()
        return found is None

    def is_unlocked(self) -> bool:
        """Does nobody hold a job?"""
        try:
            with psycopg.connect(self._url) as connection:
                connection.execute("SELECT FROM pm.notification_outbox FOR UPDATE NOWAIT")
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    @contextmanager
    def refusing_deletions(self) -> Iterator[None]:
        """Let jobs be locked and read; whoever deletes them waits for the end of the block."""
        with psycopg.connect(self._url) as connection:
            connection.execute("LOCK TABLE pm.notification_outbox IN SHARE MODE")
            yield


@pytest.fixture
def jobs(database_url: str) -> JobTable:
    return JobTable(database_url)


def ids_on_stream(redis: Redis) -> Sequence[str]:
    """Return the id of each job on the stream, repeats included, oldest first."""
    ids: list[str] = []
    last = "-"
    while page := cast(
        list[tuple[bytes, dict[bytes, bytes]]], redis.xrange(STREAM, last, "+", PAGE)
    ):
        ids += [json.loads(job[FIELD.encode()])["data"]["notificationId"] for _, job in page]
        last = f"({page[-1][0].decode()}"
    return ids


def wait_delivered(jobs: JobTable, *workers: WorkerProcess) -> None:
    wait_until(
        jobs.is_empty,
        timeout_s=PATIENCE_S + JOBS / JOBS_A_SECOND_MIN,
        what="every job is delivered",
    )
    for worker in workers:
        assert worker.stop() == 0


def test_jobs_reach_the_stream_once_each_through_three_workers(
    jobs: JobTable, start_worker: StartWorker, settings: dict[str, str], redis: Redis
) -> None:
    workers = [start_worker(**settings) for _ in range(WORKERS)]
    for worker in workers:
        worker.wait_for("outbox: part is up", part="database")
    added = jobs.add(JOBS)
    wait_until(lambda: len(redis.client_list()) > WORKERS, what="each worker delivers")

    wait_delivered(jobs, *workers)

    on_stream = ids_on_stream(redis)
    assert len(on_stream) == JOBS
    assert Counter(on_stream) == Counter(added)


def test_a_worker_alone_delivers_the_oldest_first(
    jobs: JobTable, start_worker: StartWorker, settings: dict[str, str], redis: Redis
) -> None:
    jobs.add(10 * BATCH)
    added = jobs.ids()

    worker = start_worker(**settings, OUTBOX_NOTIFICATIONS_BATCH_SIZE=str(BATCH))
    wait_delivered(jobs, worker)

    assert ids_on_stream(redis) == added


def test_jobs_of_a_worker_killed_between_stream_and_deletion_come_again_with_the_same_id(
    jobs: JobTable, start_worker: StartWorker, settings: dict[str, str], redis: Redis
) -> None:
    settings |= {
        "OUTBOX_NOTIFICATIONS_BATCH_SIZE": str(BATCH),
        # It waits for as long as we like.
        "DATABASE_URL": make_conninfo(settings["DATABASE_URL"], options="-c lock_timeout=0"),
    }
    jobs.add(2 * BATCH)
    added = jobs.ids()
    with jobs.refusing_deletions():
        worker = start_worker(**settings)
        worker.wait_until(lambda: redis.xlen(STREAM) == BATCH, what="a batch is on the stream")
        worker.send(signal.SIGKILL)
        worker.wait()
    assert jobs.ids() == added

    wait_delivered(jobs, start_worker(**settings))

    assert ids_on_stream(redis) == [*added[:BATCH], *added]


def test_a_worker_that_cannot_reach_redis_keeps_no_job_from_others(
    jobs: JobTable,
    start_worker: StartWorker,
    settings: dict[str, str],
    redis: Redis,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    proxy = proxy_to(settings["REDIS_URL"])
    proxy.blackhole()
    jobs.add(BATCH)
    cut_off = start_worker(**settings | {"REDIS_URL": proxy.url})
    cut_off.wait_for("outbox: part is down", part="notifications")
    tried = proxy.connections_total

    def has_tried_again() -> bool:
        assert jobs.is_unlocked()
        return proxy.connections_total >= tried + ATTEMPTS

    cut_off.wait_until(has_tried_again, what="more attempts, which lock nothing")

    wait_delivered(jobs, start_worker(**settings), cut_off)
    assert len(ids_on_stream(redis)) == BATCH
