"""An exclusive worker claims only in its turn, and its turn ends before another's begins."""

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from application.errors import DatabaseUnavailableError, OutboxError, SharedSessionError
from application.ports.exclusive_lock import LEASE_S
from entrypoints.exclusive import HoldStep, Turn
from entrypoints.health import Health, Part


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


class FakeLock:
    """Implements ``ExclusiveLock`` by what a test says of it; taking it takes ``takes_s``."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_free = True
        self.fault: OutboxError | None = None
        self.fault_later: OutboxError | None = None
        self.takes_s = 0.0
        self.seen: list[bool] = []
        self.is_ours: Callable[[], bool] = lambda: False

    def check(self) -> None:
        if self.fault is not None:
            raise self.fault

    def hold(self) -> bool:
        self.check()
        self.clock.now_s += self.takes_s
        return self.is_free

    def watch(self, *, timeout_s: float) -> None:
        self.seen.append(self.is_ours())
        if self.fault_later is not None:
            raise self.fault_later

    def release(self) -> None:
        pass


class Bench:
    """A step with everything around it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.turn = Turn(self.clock)
        self.lock = FakeLock(self.clock)
        self.lock.is_ours = self.turn.is_ours
        self.health = Health()
        for part in (Part.DATABASE, Part.LEDGER):
            self.health.up(part)
        self.woken = 0
        self.step = HoldStep(
            lock=self.lock, turn=self.turn, wake_lane=self._wake, health=self.health
        )

    def _wake(self) -> None:
        self.woken += 1


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_it_is_nobodys_turn_at_first(bench: Bench) -> None:
    assert not bench.turn.is_ours()


def test_whoever_gets_the_lock_has_the_turn_and_looks_at_once(bench: Bench) -> None:
    assert bench.step()

    assert bench.turn.is_ours()
    assert bench.lock.seen == [True], "while it waits for the next sign of life"
    assert bench.health.role == "active"
    assert bench.woken == 1


def test_whoever_does_not_get_it_stands_by_and_is_ready(bench: Bench) -> None:
    bench.lock.is_free = False

    assert not bench.step()

    assert not bench.turn.is_ours()
    assert bench.health.role == "stand-by"
    assert bench.health.is_ready()
    assert bench.woken == 0


def test_a_turn_lasts_no_longer_than_its_last_sign_of_life_allows(bench: Bench) -> None:
    bench.step()

    bench.clock.now_s += LEASE_S - 0.01
    assert bench.turn.is_ours()
    bench.clock.now_s += 0.02

    assert not bench.turn.is_ours(), "as after a process was frozen"


def test_a_turn_counts_from_when_the_sign_of_life_was_begun(bench: Bench) -> None:
    bench.lock.takes_s = LEASE_S

    assert not bench.step()
    assert not bench.turn.is_ours()


@pytest.mark.parametrize(
    "fault",
    [DatabaseUnavailableError("away"), SharedSessionError("away")],
    ids=lambda fault: type(fault).__name__,
)
@pytest.mark.parametrize("is_later", [False, True])
def test_a_fault_ends_the_turn_and_makes_it_unready(
    bench: Bench, fault: OutboxError, is_later: bool
) -> None:
    bench.step()
    if is_later:
        bench.lock.fault_later = fault
    else:
        bench.lock.fault = fault

    assert not bench.step()

    assert not bench.turn.is_ours()
    assert bench.health.faults()[Part.DATABASE] == "away"
    bench.health.up(Part.DATABASE, owner="lanes")
    assert not bench.health.is_ready(), "lanes that reach the database do not help"


def test_a_fault_is_over_when_the_lock_can_be_asked_for_again(bench: Bench) -> None:
    bench.lock.fault = DatabaseUnavailableError("away")
    bench.step()
    bench.lock.fault = None
    bench.lock.is_free = False

    bench.step()

    assert bench.health.is_ready()


def test_a_change_of_roles_is_one_line(bench: Bench) -> None:
    with capture_logs() as logs:
        for is_free in (False, False, True, True, False):
            bench.lock.is_free = is_free
            bench.step()

    assert [line["event"] for line in logs] == [
        "outbox: worker is now stand-by",
        "outbox: worker is now active",
        "outbox: worker is now stand-by",
    ]
