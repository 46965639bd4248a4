"""A loop goes on at once, waits or slows down, and outlives whatever its step raises."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from application.errors import (
    DatabaseMisconfiguredError,
    DatabaseUnavailableError,
    LedgerMisconfiguredError,
    LedgerUnavailableError,
    OutboxError,
    RedisUnavailableError,
    WakeUpError,
)
from domain.retry import Backoff
from entrypoints import health as health_module
from entrypoints import loops
from entrypoints.health import Health, Part
from entrypoints.loops import Loop, Pace

WAIT_S = 10.0
NEVER_MS = 3_600_000
"""A pause that no test waits for: a loop that goes on has not made it."""


@dataclass(slots=True)
class Script:
    """A step that does one thing of a list after the other, then is idle for ever.

    ``True`` and ``False`` are returned, an exception is raised, a function is called.
    """

    script: list[bool | Exception | Callable[[], bool]]
    steps: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> bool:
        self.steps += 1
        if not self.script:
            self.over.set()
            return False
        item = self.script.pop(0)
        if isinstance(item, Exception):
            raise item
        return item if isinstance(item, bool) else item()

    def wait_until_over(self) -> None:
        assert self.over.wait(WAIT_S)


class Pauses:
    """A jitter that notes the bound it is given, and never waits."""

    def __init__(self) -> None:
        self.bounds_ms: list[int] = []

    def __call__(self, bound_ms: int) -> int:
        self.bounds_ms.append(bound_ms)
        return 0


@pytest.fixture
def health() -> Health:
    health = Health()
    for part in Part:
        health.up(part)
    return health


@pytest.fixture
def start(health: Health) -> Iterator[Callable[..., Loop]]:
    started: list[Loop] = []

    def start(
        step: Callable[[], bool],
        *,
        tick_ms: int = NEVER_MS,
        jitter: Callable[[int], int] = lambda _: 0,
        owner: str = "",
    ) -> Loop:
        pace = Pace(tick_ms=tick_ms, backoff=Backoff(first_ms=100, max_ms=1_000), jitter=jitter)
        loop = Loop("test", step, pace=pace, health=health, redis_part=Part.STATUS, owner=owner)
        started.append(loop)
        loop.start()
        return loop

    yield start
    for loop in started:
        loop.stop()
        loop.join(WAIT_S)
        assert not loop.is_alive()


def this_loop() -> Loop:
    """Return the loop whose step is asking."""
    thread = threading.current_thread()
    assert isinstance(thread, Loop)
    return thread


def test_a_loop_goes_on_at_once_while_there_is_work(start: Callable[..., Loop]) -> None:
    step = Script([True] * 100)

    start(step)

    step.wait_until_over()
    assert step.steps == 101


def test_a_loop_without_work_looks_again_at_the_next_tick(start: Callable[..., Loop]) -> None:
    step = Script([False, False, False])

    start(step, tick_ms=1)

    step.wait_until_over()


def test_pauses_grow_while_there_is_no_work() -> None:
    pace = Pace(tick_ms=200, first_pause_ms=50, backoff=Backoff(), jitter=lambda _: 0)

    assert [pace.idle_ms(looks) for looks in (1, 2, 3, 4)] == [50, 100, 200, 200]


def test_without_a_first_pause_all_are_as_long() -> None:
    pace = Pace(tick_ms=200, backoff=Backoff(), jitter=lambda _: 0)

    assert [pace.idle_ms(looks) for looks in (1, 2, 3)] == [200, 200, 200]


def test_pauses_begin_anew_after_work_but_not_after_being_woken_for_nothing(
    start: Callable[..., Loop], monkeypatch: pytest.MonkeyPatch
) -> None:
    vain_looks: list[int] = []

    def noted(_: Pace, looks: int) -> int:
        vain_looks.append(looks)
        return 0

    monkeypatch.setattr(Pace, "idle_ms", noted)

    def is_woken() -> bool:
        this_loop().wake()
        return False

    step = Script([False, is_woken, False, True, False])
    start(step)
    step.wait_until_over()

    assert vain_looks[:5] == [1, 2, 3, 1, 2]


def test_a_loop_is_idle_while_it_waits_for_work(start: Callable[..., Loop]) -> None:
    was_idle: list[bool] = []

    def looks() -> bool:
        was_idle.append(this_loop().is_idle)
        return False

    step = Script([looks])
    loop = start(step)
    while not loop.is_idle:
        time.sleep(0.001)
    loop.wake()
    step.wait_until_over()

    assert was_idle == [False]


def test_whatever_ends_a_loop_its_end_is_called(health: Health) -> None:
    ended = threading.Event()
    pace = Pace(tick_ms=1, backoff=Backoff(), jitter=lambda _: 0)

    def at_end() -> None:
        ended.set()
        raise DatabaseUnavailableError("away")

    loop = Loop("test", Script([]), pace=pace, health=health, redis_part=Part.STATUS, at_end=at_end)
    loop.start()
    assert not ended.is_set()
    loop.stop()
    loop.join(WAIT_S)

    assert ended.is_set()
    assert health.dead_loops() == []


def test_waking_ends_the_wait_for_the_next_tick(start: Callable[..., Loop]) -> None:
    idle = threading.Event()

    def sees_no_work() -> bool:
        idle.set()
        return False

    step = Script([sees_no_work])
    loop = start(step)
    assert idle.wait(WAIT_S)

    loop.wake()

    step.wait_until_over()


def test_waking_during_a_step_is_not_lost(start: Callable[..., Loop]) -> None:
    looked, woken = threading.Event(), threading.Event()

    def sees_no_work_and_is_woken() -> bool:
        looked.set()
        assert woken.wait(WAIT_S)
        return False

    step = Script([sees_no_work_and_is_woken])
    loop = start(step)
    assert looked.wait(WAIT_S)

    loop.wake()
    woken.set()

    step.wait_until_over()


def test_stopping_ends_the_wait_for_the_next_tick(start: Callable[..., Loop]) -> None:
    step = Script([])
    loop = start(step)
    step.wait_until_over()

    loop.stop()
    loop.join(WAIT_S)

    assert not loop.is_alive()
    assert step.steps == 1


def test_stopping_lets_the_step_in_flight_finish_and_begins_no_other(
    start: Callable[..., Loop],
) -> None:
    begun, go_on, finished = threading.Event(), threading.Event(), threading.Event()

    def in_flight() -> bool:
        begun.set()
        assert go_on.wait(WAIT_S)
        finished.set()
        return True

    step = Script([in_flight])
    loop = start(step)
    assert begun.wait(WAIT_S)

    loop.stop()
    go_on.set()
    loop.join(WAIT_S)

    assert finished.is_set()
    assert step.steps == 1


def test_a_loop_that_was_stopped_before_its_start_does_nothing(health: Health) -> None:
    step = Script([])
    pace = Pace(tick_ms=1, backoff=Backoff(), jitter=lambda _: 0)
    loop = Loop("test", step, pace=pace, health=health, redis_part=Part.STATUS)

    loop.stop()
    loop.start()
    loop.join(WAIT_S)

    assert not loop.is_alive()
    assert step.steps == 0


def test_a_loop_does_not_keep_the_process_alive(health: Health) -> None:
    pace = Pace(tick_ms=1, backoff=Backoff(), jitter=lambda _: 0)

    assert Loop("test", Script([]), pace=pace, health=health, redis_part=Part.STATUS).daemon


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (LedgerUnavailableError("no answer"), Part.LEDGER),
        (LedgerMisconfiguredError("no answer"), Part.LEDGER),
        (DatabaseUnavailableError("no answer"), Part.DATABASE),
        (DatabaseMisconfiguredError("no answer"), Part.DATABASE),
        (RedisUnavailableError("no answer"), Part.STATUS),
        (OutboxError("no answer"), Part.STATUS),
        (WakeUpError("no answer"), Part.WAKE_UP),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_of_a_port_turns_its_part_red_and_the_loop_goes_on(
    start: Callable[..., Loop], health: Health, error: OutboxError, part: Part
) -> None:
    step = Script([error])

    start(step)

    step.wait_until_over()
    assert health.faults() == {part: "no answer"}


@pytest.mark.parametrize(
    ("error", "is_over"),
    [
        (DatabaseUnavailableError("refused"), True),
        (DatabaseMisconfiguredError("no table"), False),
    ],
)
def test_only_what_is_not_as_the_loop_needs_it_outlasts_the_success_of_another(
    start: Callable[..., Loop], health: Health, error: OutboxError, is_over: bool
) -> None:
    step = Script([error])
    start(step, owner="lanes")
    step.wait_until_over()

    health.up(Part.DATABASE, owner="delivery")

    assert health.is_up(Part.DATABASE) is is_over


def test_an_unforeseen_error_is_logged_with_its_traceback_and_the_loop_goes_on(
    start: Callable[..., Loop], health: Health
) -> None:
    step = Script([ZeroDivisionError("by zero")])

    with capture_logs() as logs:
        start(step)
        step.wait_until_over()

    assert [(line["event"], line["loop"], line["exc_info"]) for line in logs] == [
        ("outbox: unforeseen error", "test", True)
    ]
    assert health.faults() == {}


def test_a_fault_that_cannot_be_told_does_not_end_the_loop(
    start: Callable[..., Loop], health: Health, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(loops.log, "exception", fails, raising=False)
    monkeypatch.setattr(health_module.log, "error", fails, raising=False)
    step = Script([ZeroDivisionError("by zero"), LedgerUnavailableError("away"), True])

    loop = start(step)

    step.wait_until_over()
    assert loop.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_loop_that_dies_is_told(start: Callable[..., Loop], health: Health) -> None:
    class NobodyCatchesThisError(BaseException):
        pass

    def dies() -> bool:
        raise NobodyCatchesThisError

    start(dies).join(WAIT_S)

    assert health.dead_loops() == ["test"]


def test_a_loop_that_ends_since_it_was_stopped_is_not_dead(
    start: Callable[..., Loop], health: Health
) -> None:
    loop = start(Script([]))

    loop.stop()
    loop.join(WAIT_S)

    assert health.dead_loops() == []


def test_the_pause_doubles_while_it_fails_and_begins_anew_after_a_success(
    start: Callable[..., Loop],
) -> None:
    pauses = Pauses()
    away = LedgerUnavailableError("away")
    step = Script([*[away] * 6, True, away, away])

    start(step, jitter=pauses)

    step.wait_until_over()
    assert pauses.bounds_ms == [100, 200, 400, 800, 1_000, 1_000, 100, 200]


def test_stopping_ends_the_pause_after_a_failure(start: Callable[..., Loop]) -> None:
    paused = threading.Event()

    def long_pause(_: int) -> int:
        paused.set()
        return NEVER_MS

    loop = start(Script([LedgerUnavailableError("away")]), jitter=long_pause)
    assert paused.wait(WAIT_S)

    loop.stop()
    loop.join(WAIT_S)

    assert not loop.is_alive()


def test_waking_does_not_end_the_pause_after_a_failure(start: Callable[..., Loop]) -> None:
    # Work that arrives while a part is away must not make a hot loop of it.
    paused = threading.Event()
    pause_ms = 100

    def pause(_: int) -> int:
        paused.set()
        return pause_ms

    step = Script([LedgerUnavailableError("away")])
    begin_s = time.monotonic()
    loop = start(step, jitter=pause)
    assert paused.wait(WAIT_S)

    loop.wake()

    step.wait_until_over()
    assert time.monotonic() - begin_s >= pause_ms / 1_000
