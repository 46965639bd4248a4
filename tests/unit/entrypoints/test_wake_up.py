"""A hint wakes one lane; without hints nothing but the pace changes."""

import threading
from collections.abc import Callable, Iterator

import pytest
from structlog.testing import capture_logs

from application.errors import (
    DatabaseMisconfiguredError,
    DatabaseUnavailableError,
    OutboxError,
    SharedSessionError,
    WakeUpError,
)
from domain.retry import Backoff
from entrypoints.health import Health, Part
from entrypoints.lanes import Lanes
from entrypoints.loops import Loop, Pace
from entrypoints.wake_up import ListenStep

WAIT_S = 10.0
NEVER_MS = 3_600_000


class FakeArrivals:
    """Implements ``Arrivals`` with what it was given to say, one thing a wait."""

    def __init__(self, *says: bool | OutboxError) -> None:
        self.says = list(says)
        self.closed = 0

    def wait(self, *, timeout_s: float) -> bool:
        said = self.says.pop(0)
        if isinstance(said, OutboxError):
            raise said
        return said

    def close(self) -> None:
        self.closed += 1


class CountedLane:
    """A step that counts how often it looked, and can be held in the middle of it."""

    def __init__(self) -> None:
        self.looked = threading.Semaphore(0)
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def __call__(self) -> bool:
        self.looked.release()
        assert self.may_go_on.wait(WAIT_S)
        return False

    def wait_looked(self) -> None:
        assert self.looked.acquire(timeout=WAIT_S)

    def has_looked(self) -> bool:
        return self.looked.acquire(blocking=False)


class Group:
    """Two lanes that sleep for ever unless they are woken."""

    def __init__(self, *, held: bool = False) -> None:
        self.steps = [CountedLane(), CountedLane()]
        pace = Pace(tick_ms=NEVER_MS, backoff=Backoff(), jitter=lambda _: 0)
        self.lanes = Lanes()
        self.lanes.loops = [
            Loop(f"lane-{number}", step, pace=pace, health=Health(), redis_part=Part.STATUS)
            for number, step in enumerate(self.steps)
        ]
        for step, loop in zip(self.steps, self.lanes.loops, strict=True):
            if held:
                step.may_go_on.clear()
            loop.start()
            step.wait_looked()

    def wait_idle(self) -> None:
        pause = threading.Event()
        while not all(loop.is_idle for loop in self.lanes.loops):
            pause.wait(0.001)

    def stop(self) -> None:
        for step, loop in zip(self.steps, self.lanes.loops, strict=True):
            loop.stop()
            step.may_go_on.set()
            loop.join(WAIT_S)
            assert not loop.is_alive()


@pytest.fixture
def groups() -> Iterator[Callable[..., Group]]:
    made: list[Group] = []

    def make(*, held: bool = False) -> Group:
        made.append(Group(held=held))
        return made[-1]

    yield make
    for group in made:
        group.stop()


def test_one_idle_lane_is_woken_and_no_other(groups: Callable[..., Group]) -> None:
    group = groups()
    group.wait_idle()

    group.lanes.wake_one()

    group.steps[0].wait_looked()
    group.wait_idle()
    assert not group.steps[1].has_looked()


def test_an_idle_lane_is_preferred_to_a_busy_one(groups: Callable[..., Group]) -> None:
    group = groups()
    group.wait_idle()
    group.steps[0].may_go_on.clear()
    group.lanes.wake_one()
    group.steps[0].wait_looked()

    group.lanes.wake_one()

    group.steps[1].wait_looked()


def test_lanes_that_are_all_busy_look_once_more(groups: Callable[..., Group]) -> None:
    group = groups(held=True)

    group.lanes.wake_one()
    for step in group.steps:
        step.may_go_on.set()

    for step in group.steps:
        step.wait_looked()


def test_lanes_that_are_not_made_yet_can_be_woken() -> None:
    Lanes().wake_one()


def listen_step(arrivals: FakeArrivals, health: Health, woken: list[str]) -> ListenStep:
    return ListenStep(arrivals=arrivals, wake_lane=lambda: woken.append("lane"), health=health)


def test_a_hint_wakes_a_lane_and_silence_does_not() -> None:
    woken: list[str] = []
    step = listen_step(FakeArrivals(True, False, True), Health(), woken)

    assert [(step(), len(woken)) for _ in range(3)] == [(True, 1), (True, 1), (True, 2)]


@pytest.mark.parametrize(
    "fault",
    [
        DatabaseUnavailableError("away"),
        DatabaseMisconfiguredError("away"),
        SharedSessionError("away"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_no_fault_of_the_hints_is_one_of_the_database(fault: OutboxError) -> None:
    step = listen_step(FakeArrivals(fault), Health(), [])

    with pytest.raises(WakeUpError, match=r"^polling only: away$"):
        step()


def test_a_listener_that_is_cut_off_says_so_once_and_does_not_make_it_unready() -> None:
    health = Health()
    for part in (Part.DATABASE, Part.LEDGER):
        health.up(part)
    away = DatabaseUnavailableError("away")
    arrivals = FakeArrivals(True, away, away, away, True)
    over = threading.Event()

    def step() -> bool:
        if not arrivals.says:
            over.set()
            return False
        return listen_step(arrivals, health, [])()

    pace = Pace(tick_ms=NEVER_MS, backoff=Backoff(), jitter=lambda _: 0)
    loop = Loop(
        "listener",
        step,
        pace=pace,
        health=health,
        redis_part=Part.STATUS,
        at_end=arrivals.close,
    )
    with capture_logs() as logs:
        loop.start()
        assert over.wait(WAIT_S)
        loop.stop()
        loop.join(WAIT_S)

    assert [(line["event"], line["part"], line["log_level"]) for line in logs] == [
        ("outbox: part is down", "wake_up", "warning"),
        ("outbox: part is up", "wake_up", "info"),
    ]
    assert health.is_ready()
    assert arrivals.closed == 1
