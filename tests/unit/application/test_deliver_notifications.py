"""Delivering push jobs: at least once, and exactly once as long as nothing fails."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from application.errors import DatabaseUnavailableError, RedisUnavailableError
from application.ports.notification_queue import JobKey
from application.use_cases.deliver_notifications import DeliverNotifications, DeliveryReport


@dataclass(slots=True)
class FakeQueue:
    """Implements ``NotificationQueue`` on a list of numbers, each a job's key and its JSON.

    Deletions count only when the block ends well.
    """

    jobs: list[int]
    commit_fails: bool = False
    limits: list[int] = field(default_factory=list)

    @contextmanager
    def lock(self, *, limit: int) -> Iterator["FakeLockedJobs"]:
        self.limits.append(limit)
        locked = FakeLockedJobs({JobKey(job): str(job) for job in self.jobs[:limit]})
        yield locked
        if self.commit_fails:
            raise DatabaseUnavailableError("the commit's answer was lost")
        self.jobs = [job for job in self.jobs if job not in locked.deleted]


@dataclass(slots=True)
class FakeLockedJobs:
    """Implements ``LockedJobs``."""

    jobs: Mapping[JobKey, str]
    deleted: set[JobKey] = field(default_factory=set)

    def delete(self, keys: Collection[JobKey]) -> None:
        assert keys, "an empty deletion is a wasted round trip"
        self.deleted |= set(keys)


@dataclass(slots=True)
class FakeNotifier:
    """Keeps what was appended; confirms all but ``unconfirmed``.

    While ``away`` every call fails; while ``full`` it answers, and takes nothing.
    """

    away: bool = False
    unconfirmed: set[int] = field(default_factory=set)
    full: bool = False
    stream: list[int] = field(default_factory=list)
    probes: int = 0

    def probe(self) -> None:
        self.probes += 1
        if self.away:
            raise RedisUnavailableError("away")

    def deliver(self, jobs: Mapping[JobKey, str]) -> frozenset[JobKey]:
        assert jobs, "nothing to deliver is no reason to call"
        if self.away or self.full:
            raise RedisUnavailableError("away")
        confirmed = [key for key in jobs if key not in self.unconfirmed]
        self.stream += [int(jobs[key]) for key in confirmed]
        return frozenset(confirmed)


def delivery(queue: FakeQueue, notifier: FakeNotifier) -> DeliverNotifications:
    return DeliverNotifications(queue=queue, notifier=notifier, batch_size=2)


def test_jobs_are_delivered_in_order_and_then_deleted() -> None:
    queue, notifier = FakeQueue([1, 2, 3]), FakeNotifier()
    deliver = delivery(queue, notifier)

    assert deliver() == DeliveryReport(locked=2, confirmed=2, reached=True)
    assert queue.jobs == [3]
    assert deliver() == DeliveryReport(locked=1, confirmed=1, reached=True)
    assert queue.jobs == []
    assert notifier.stream == [1, 2, 3]
    assert queue.limits == [2, 2]


def test_redis_is_left_alone_when_there_is_no_job() -> None:
    deliver = delivery(FakeQueue([]), FakeNotifier(away=True))

    assert deliver() == DeliveryReport(locked=0, confirmed=0, reached=False)


def test_only_what_the_server_confirmed_is_deleted() -> None:
    queue, notifier = FakeQueue([1, 2]), FakeNotifier(unconfirmed={1})

    assert delivery(queue, notifier)() == DeliveryReport(locked=2, confirmed=1, reached=True)
    assert queue.jobs == [1]


def test_nothing_is_deleted_when_nothing_was_confirmed() -> None:
    queue, notifier = FakeQueue([1]), FakeNotifier(unconfirmed={1})

    assert delivery(queue, notifier)() == DeliveryReport(locked=1, confirmed=0, reached=False)
    assert queue.jobs == [1]


def test_jobs_are_kept_while_redis_is_away() -> None:
    queue, notifier = FakeQueue([1]), FakeNotifier(away=True)
    deliver = delivery(queue, notifier)
    with pytest.raises(RedisUnavailableError):
        deliver()
    notifier.away = False

    assert deliver() == DeliveryReport(locked=1, confirmed=1, reached=True)
    assert notifier.stream == [1]


def test_jobs_whose_deletion_was_lost_come_again_with_the_same_id() -> None:
    queue, notifier = FakeQueue([1], commit_fails=True), FakeNotifier()
    deliver = delivery(queue, notifier)
    with pytest.raises(DatabaseUnavailableError):
        deliver()
    queue.commit_fails = False

    deliver()

    assert notifier.stream == [1, 1]
    assert queue.jobs == []


def test_no_job_is_locked_before_a_server_that_was_away_has_answered_a_probe() -> None:
    queue, notifier = FakeQueue([1]), FakeNotifier(away=True)
    deliver = delivery(queue, notifier)
    for _ in range(3):
        with pytest.raises(RedisUnavailableError):
            deliver()
    assert (len(queue.limits), notifier.probes) == (1, 2)
    notifier.away = False

    assert deliver() == DeliveryReport(locked=1, confirmed=1, reached=True)
    assert deliver() == DeliveryReport(locked=0, confirmed=0, reached=False)
    assert notifier.probes == 3, "a healthy server is not probed"


def test_a_server_that_answers_and_takes_nothing_is_not_reached() -> None:
    queue, notifier = FakeQueue([1]), FakeNotifier(full=True)
    deliver = delivery(queue, notifier)

    for _ in range(3):
        with pytest.raises(RedisUnavailableError):
            deliver()

    assert notifier.probes == 2


def test_a_probe_tells_that_the_server_is_back_though_others_delivered_every_job() -> None:
    queue, notifier = FakeQueue([1]), FakeNotifier(away=True)
    deliver = delivery(queue, notifier)
    with pytest.raises(RedisUnavailableError):
        deliver()
    queue.jobs.clear()
    with pytest.raises(RedisUnavailableError):
        deliver()
    notifier.away = False

    assert deliver() == DeliveryReport(locked=0, confirmed=0, reached=True)
    assert deliver() == DeliveryReport(locked=0, confirmed=0, reached=False)
    assert notifier.probes == 2, "and is left alone from then on"


def test_a_server_that_refused_a_part_is_probed_before_the_rest() -> None:
    queue, notifier = FakeQueue([1, 2]), FakeNotifier(unconfirmed={1})
    deliver = delivery(queue, notifier)
    deliver()
    notifier.unconfirmed.clear()

    deliver.flush()

    assert (notifier.probes, queue.jobs) == (1, [])


def test_a_single_job_goes_first_after_a_failure_and_then_as_many_as_ever() -> None:
    queue, notifier = FakeQueue([1, 2, 3]), FakeNotifier(full=True)
    deliver = delivery(queue, notifier)
    for _ in range(2):
        with pytest.raises(RedisUnavailableError):
            deliver()
    notifier.full = False

    deliver.flush()

    assert queue.limits == [2, 1, 1, 2, 2]
    assert notifier.stream == [1, 2, 3]
