"""How the process works and how it ends: orderly, within the grace period, or at once."""

import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest
from structlog.testing import capture_logs

from adapters.memory.faulty_ledger import FaultyLedger, unavailable
from adapters.memory.ledger import InMemoryLedger
from application.errors import (
    DatabaseUnavailableError,
    LedgerMisconfiguredError,
    LedgerUnavailableError,
    RedisUnavailableError,
)
from application.ports.outbox_repository import ClaimedBatch
from application.status_queue import StatusQueue
from application.use_cases.deliver_notifications import DeliverNotifications
from application.use_cases.publish_statuses import PublishStatuses
from application.use_cases.settle_batch import SettleBatch
from domain.conclusions import StatusMessage
from domain.intents import ClaimedEvent
from domain.retry import Backoff
from domain.transfers import AccountId
from entrypoints import worker as worker_module
from entrypoints.health import Health, Part
from entrypoints.loops import Loop, Pace
from entrypoints.sandbox.waiting import wait_until
from entrypoints.worker import LANES, PROBE_IDS, DeliveryStep, LaneStep, PublishStep, Worker
from tests.unit.application.test_deliver_notifications import FakeNotifier, FakeQueue
from tests.unit.application.test_publish_statuses import FakePublisher, messages
from tests.unit.application.test_writing import FakeBatch
from tests.unit.domain.claims import a_claim, rules
from tests.unit.memory.memory_bank import MemoryBank

WAIT_S = 10.0


# A lane's step.


@dataclass(slots=True)
class FakeOutbox:
    """Implements ``OutboxRepository``: one batch of ``events``, then nothing; counts calls.

    A batch that is left by an exception is there again.
    """

    events: Sequence[ClaimedEvent] = ()
    mapped: Sequence[AccountId] = ()
    away: bool = False
    claims: int = 0
    rehearsals: int = 0

    def rehearse(self) -> None:
        self.rehearsals += 1
        if self.away:
            raise DatabaseUnavailableError("away")

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        if self.away:
            raise DatabaseUnavailableError("away")
        return self.mapped[:limit]

    @contextmanager
    def claim(self, *, limit: int) -> Iterator[ClaimedBatch]:
        self.claims += 1
        if self.away:
            raise DatabaseUnavailableError("away")
        yield FakeBatch(events=self.events, mapped=self.mapped)
        self.events = ()


def lane_step(
    outbox: FakeOutbox, ledger: FaultyLedger, health: Health, *, batch_size: int = 10
) -> LaneStep:
    settle_batch = SettleBatch(
        outbox=outbox,
        ledger=ledger,
        announcements=StatusQueue(size_max=10),
        rules=rules(),
        batch_size=batch_size,
        ledger_budget_s=60.0,
        jobs_written=lambda: None,
    )
    return LaneStep(outbox=outbox, settle_batch=settle_batch, ledger=ledger, health=health)


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
def ledger() -> FaultyLedger:
    return FaultyLedger(InMemoryLedger())


def test_a_ledger_that_was_not_reached_yet_is_probed_before_anything_is_claimed(
    health: Health, ledger: FaultyLedger
) -> None:
    outbox = FakeOutbox()
    step = lane_step(outbox, ledger, health)

    step()

    assert [(call.method, tuple(call.argument)) for call in ledger.calls] == [("lookup", PROBE_IDS)]
    assert health.is_ready()
    assert outbox.claims == 1


def test_nothing_is_claimed_before_the_database_was_found_in_order(
    health: Health, ledger: FaultyLedger
) -> None:
    outbox = FakeOutbox(away=True)
    step = lane_step(outbox, ledger, health)

    for _ in range(3):
        with pytest.raises(DatabaseUnavailableError):
            step()
    assert (outbox.rehearsals, outbox.claims) == (3, 0)
    outbox.away = False
    step()
    step()

    assert (outbox.rehearsals, outbox.claims) == (4, 2), "and not asked again"


def test_a_ledger_that_is_up_is_not_probed(health: Health, ledger: FaultyLedger) -> None:
    health.up(Part.LEDGER)

    lane_step(FakeOutbox(), ledger, health)()

    assert ledger.calls == []


def test_nothing_is_claimed_while_the_ledger_is_away(health: Health, ledger: FaultyLedger) -> None:
    # A claim's locks would block the Payment Manager.
    outbox = FakeOutbox(events=[a_claim()])
    step = lane_step(outbox, ledger, health)
    ledger.before = unavailable(times=3)

    for _ in range(3):
        with pytest.raises(LedgerUnavailableError):
            step()

    assert outbox.claims == 0
    assert not health.is_up(Part.LEDGER)
    assert step()
    assert outbox.claims == 1


def test_nothing_is_claimed_while_the_ledger_is_not_the_one_with_our_accounts(
    health: Health,
) -> None:
    own = InMemoryLedger()
    ours = MemoryBank(own).open_account()
    ledger = FaultyLedger(InMemoryLedger())
    outbox = FakeOutbox(events=[a_claim(psp=None)], mapped=[ours])
    lane = Loop(
        "lane-1",
        lane_step(outbox, ledger, health),
        pace=Pace(tick_ms=1, backoff=Backoff(first_ms=1, max_ms=1), jitter=lambda _: 1),
        health=health,
        redis_part=Part.STATUS,
        owner=LANES,
    )

    with capture_logs() as logs:
        lane.start()
        # Found out by the first claim. From then on it asks for the accounts alone.
        wait_until(lambda: len(ledger.calls) > 20, what="it has asked many times")
        claims, faults = outbox.claims, health.faults()
        ledger.ledger = own
        wait_until(lambda: outbox.claims > claims, what="it claims again")
        lane.stop()
        lane.join(WAIT_S)

    assert claims == 1
    assert "none of the accounts in pm.tb_account_map" in faults[Part.LEDGER]
    assert [line["event"] for line in logs if line.get("part") == Part.LEDGER] == [
        "outbox: part is up",
        "outbox: part is down",
        "outbox: part is up",
    ]


def test_an_unfit_ledger_stays_red_while_the_map_cannot_be_read(
    health: Health, ledger: FaultyLedger
) -> None:
    outbox = FakeOutbox(away=True)
    health.down(Part.LEDGER, "another environment's", owner=LANES)

    with pytest.raises(DatabaseUnavailableError):
        lane_step(outbox, ledger, health)()

    assert not health.is_up(Part.LEDGER)
    assert outbox.claims == 0


def test_a_map_that_was_emptied_lets_the_lanes_go_on(health: Health, ledger: FaultyLedger) -> None:
    health.down(Part.LEDGER, "another environment's", owner=LANES)

    lane_step(FakeOutbox(mapped=[]), ledger, health)()

    assert health.is_up(Part.LEDGER)


def test_a_database_that_is_away_leaves_the_ledger_up(health: Health, ledger: FaultyLedger) -> None:
    step = lane_step(FakeOutbox(away=True), ledger, health)

    with pytest.raises(DatabaseUnavailableError):
        step()

    assert health.is_up(Part.LEDGER)
    assert not health.is_up(Part.DATABASE)


def test_a_lane_has_more_to_do_only_after_events_were_finished(
    health: Health, ledger: FaultyLedger
) -> None:
    step = lane_step(FakeOutbox(events=[a_claim(intent=None, psp=None)]), ledger, health)

    with capture_logs():
        assert [step(), step()] == [True, False]


@dataclass(slots=True)
class Backlog(FakeOutbox):
    """As many events as are asked for, until none are left; notes how many."""

    left: int = 0
    refused: set[int] = field(default_factory=set)
    limits: list[int] = field(default_factory=list)

    @contextmanager
    def claim(self, *, limit: int) -> Iterator[ClaimedBatch]:
        self.limits.append(limit)
        taken = min(limit, self.left)
        self.left -= taken
        yield FakeBatch(events=[a_claim(intent=None, psp=None)] * taken, refused=self.refused)


def lanes_on(backlog: Backlog, ledger: FaultyLedger, health: Health) -> tuple[LaneStep, list[str]]:
    """Return a step with batches of up to 200, and who it has woken."""
    woken: list[str] = []
    step = lane_step(backlog, ledger, health, batch_size=200)
    step.wake_another = lambda: woken.append("lane")
    return step, woken


def test_batches_grow_under_load_and_shrink_when_it_is_over(
    health: Health, ledger: FaultyLedger
) -> None:
    backlog = Backlog(left=64 + 128 + 200 + 10)
    step, woken = lanes_on(backlog, ledger, health)

    with capture_logs():
        for _ in range(6):
            step()

    assert backlog.limits == [64, 128, 200, 200, 100, 64]
    assert woken == ["lane"] * 3, "by full batches only"


def test_batches_stay_small_while_the_database_refuses_what_they_write(
    health: Health, ledger: FaultyLedger
) -> None:
    # Each row that is refused costs a write, and the batch's locks are held meanwhile.
    backlog = Backlog(left=1_000, refused={a_claim().event.id})
    step, _ = lanes_on(backlog, ledger, health)

    with capture_logs():
        step()
        step()
        backlog.refused = set()
        step()
        step()

    assert backlog.limits == [64, 64, 64, 128]


def test_each_lane_has_batches_of_its_own_size(health: Health, ledger: FaultyLedger) -> None:
    backlog = Backlog(left=64)
    step, _ = lanes_on(backlog, ledger, health)
    other = replace(step)

    with capture_logs():
        step()
        other()
        step()

    assert backlog.limits == [64, 64, 128]


def test_a_lane_that_may_not_claim_only_sees_to_its_surroundings(
    health: Health, ledger: FaultyLedger
) -> None:
    outbox = FakeOutbox(events=[a_claim()])
    step = lane_step(outbox, ledger, health)
    step.may_claim = lambda: False

    assert [step(), step()] == [False, False]

    assert health.is_ready()
    assert (outbox.rehearsals, outbox.claims) == (1, 0)
    assert len(ledger.calls) == 2, "a stand-by notices at each look that the ledger is away"


def test_a_lane_that_may_not_claim_is_not_content_with_another_environments_ledger(
    health: Health, ledger: FaultyLedger
) -> None:
    health.down(Part.LEDGER, "another environment's", owner=LANES)
    step = lane_step(FakeOutbox(mapped=[AccountId(7)]), ledger, health)
    step.may_claim = lambda: False

    with pytest.raises(LedgerMisconfiguredError):
        step()

    assert not health.is_up(Part.LEDGER)


def test_a_turn_that_ends_while_the_ledger_is_asked_is_not_used(
    health: Health, ledger: FaultyLedger
) -> None:
    outbox = FakeOutbox(events=[a_claim()])
    step = lane_step(outbox, ledger, health)
    step.may_claim = lambda: not ledger.calls

    step()

    assert ledger.calls
    assert outbox.claims == 0


# The steps of the helpers.


def delivery_step(queue: FakeQueue, notifier: FakeNotifier, health: Health) -> DeliveryStep:
    deliver = DeliverNotifications(queue=queue, notifier=notifier, batch_size=2)
    return DeliveryStep(deliver=deliver, health=health)


def test_delivery_has_more_to_do_as_long_as_jobs_are_confirmed(health: Health) -> None:
    step = delivery_step(FakeQueue([1, 2, 3]), FakeNotifier(), health)

    assert [step(), step(), step()] == [True, True, False]
    assert health.is_up(Part.DATABASE)
    assert health.is_up(Part.NOTIFICATIONS)


def test_jobs_that_are_not_confirmed_wait_for_the_next_tick(health: Health) -> None:
    step = delivery_step(FakeQueue([1]), FakeNotifier(unconfirmed={1}), health)

    assert not step()
    assert not health.is_up(Part.NOTIFICATIONS)


def test_a_delivery_without_jobs_says_nothing_of_redis(health: Health) -> None:
    step = delivery_step(FakeQueue([]), FakeNotifier(away=True), health)

    assert not step()
    assert health.is_up(Part.DATABASE)
    assert not health.is_up(Part.NOTIFICATIONS)


def test_redis_is_up_again_when_a_probe_finds_it_though_others_delivered_all(
    health: Health,
) -> None:
    queue, notifier = FakeQueue([1]), FakeNotifier(away=True)
    step = delivery_step(queue, notifier, health)
    with pytest.raises(RedisUnavailableError):
        step()
    queue.jobs.clear()
    notifier.away = False

    assert not step()
    assert health.is_up(Part.NOTIFICATIONS)


def publish_step(publisher: FakePublisher, health: Health, *statuses: StatusMessage) -> PublishStep:
    queue = StatusQueue(size_max=10)
    queue.put(statuses)
    publish = PublishStatuses(announcements=queue, publisher=publisher, batch_size=10)
    return PublishStep(publish=publish, health=health, timeout_s=0)


def test_the_publisher_comes_back_at_once_since_it_waits_in_the_queue(health: Health) -> None:
    publisher = FakePublisher()
    step = publish_step(publisher, health, *messages(1, 2))

    assert step()
    assert publisher.batches == [[1, 2]]
    assert health.is_up(Part.STATUS)


def test_a_publisher_without_messages_says_nothing_of_redis(health: Health) -> None:
    step = publish_step(FakePublisher(away=True), health)

    assert step()
    assert not health.is_up(Part.STATUS)


# The process.


@pytest.fixture(autouse=True)
def signal_handlers() -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@dataclass(slots=True)
class Diary:
    """Who did what, in order."""

    entries: list[str] = field(default_factory=list)

    def note(self, entry: str) -> Callable[[], None]:
        return lambda: self.entries.append(entry)


def a_loop(name: str, step: Callable[[], bool]) -> Loop:
    pace = Pace(tick_ms=3_600_000, backoff=Backoff(), jitter=lambda _: 0)
    return Loop(name, step, pace=pace, health=Health(), redis_part=Part.STATUS)


def idle() -> bool:
    return False


def a_worker(
    *lanes: Loop,
    helpers: Sequence[Loop] = (),
    flush: Callable[[], None] = lambda: None,
    abandon: Callable[[], None] = lambda: None,
    ledger_is_away: bool = False,
    grace_s: float = WAIT_S,
) -> Worker:
    return Worker(
        lanes=lanes,
        helpers=helpers,
        flushes=[flush],
        abandon=abandon,
        ledger_is_away=lambda: ledger_is_away,
        grace_s=grace_s,
    )


def test_all_loops_work_until_the_worker_is_stopped_and_have_ended_when_it_returns() -> None:
    started = threading.Barrier(4)

    def step() -> bool:
        started.wait(WAIT_S)
        return False

    loops = [a_loop(name, step) for name in ("lane-1", "lane-2", "helper")]
    worker = a_worker(*loops[:2], helpers=loops[2:])

    def stop_once_all_work() -> None:
        started.wait(WAIT_S)
        worker.stop()

    threading.Thread(target=stop_once_all_work, daemon=True).start()

    with capture_logs() as logs:
        worker.run()

    assert not any(loop.is_alive() for loop in loops)
    assert [line["event"] for line in logs] == [
        "outbox: worker started",
        "outbox: worker stopping",
        "outbox: worker stopped",
    ]


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_orderly(signal_number: signal.Signals) -> None:
    diary = Diary()

    def step() -> bool:
        os.kill(os.getpid(), signal_number)
        return False

    a_worker(a_loop("lane", step), flush=diary.note("flush"), abandon=diary.note("abandon")).run()

    assert diary.entries == ["flush"]


def test_what_is_in_flight_is_finished_and_what_it_announced_is_flushed() -> None:
    diary = Diary()
    stopping = threading.Event()

    def in_flight() -> bool:
        worker.stop()
        assert stopping.wait(WAIT_S)
        diary.entries.append("batch committed")
        return True

    def helper() -> bool:
        return False

    class Helper(Loop):
        def stop(self) -> None:
            super().stop()
            stopping.set()

    pace = Pace(tick_ms=3_600_000, backoff=Backoff(), jitter=lambda _: 0)
    publisher = Helper("publisher", helper, pace=pace, health=Health(), redis_part=Part.STATUS)
    worker = a_worker(
        a_loop("lane", in_flight),
        helpers=[publisher],
        flush=diary.note("flush"),
        abandon=diary.note("abandon"),
    )

    worker.run()

    assert diary.entries == ["batch committed", "flush"]


def test_what_outlasts_the_grace_period_is_abandoned_before_the_rest_is_flushed() -> None:
    diary = Diary()
    answered = threading.Event()

    def hangs_in_the_ledger() -> bool:
        worker.stop()
        assert answered.wait(WAIT_S)
        diary.entries.append("rolled back")
        raise LedgerUnavailableError("closed")

    def abandon() -> None:
        diary.entries.append("abandon")
        answered.set()

    lane = a_loop("lane", hangs_in_the_ledger)
    worker = a_worker(lane, flush=diary.note("flush"), abandon=abandon, grace_s=0.01)

    with capture_logs() as logs:
        worker.run()

    assert diary.entries == ["abandon", "rolled back", "flush"]
    assert not lane.is_alive()
    assert "outbox: grace period is over; unfinished batches are rolled back" in [
        line["event"] for line in logs
    ]


def test_a_thread_that_never_comes_back_does_not_keep_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_module, "_CLOSING_S", 0.01)
    diary = Diary()
    for_ever = threading.Event()

    def hangs() -> bool:
        worker.stop()
        for_ever.wait(WAIT_S)
        return False

    lane = a_loop("lane", hangs)
    worker = a_worker(lane, flush=diary.note("flush"), abandon=diary.note("abandon"), grace_s=0.01)

    worker.run()

    assert diary.entries == ["abandon", "flush"]
    assert lane.is_alive()
    for_ever.set()
    lane.join(WAIT_S)


def test_a_redis_that_is_away_does_not_spoil_the_end() -> None:
    def flush() -> None:
        raise RedisUnavailableError("away")

    worker = a_worker(a_loop("lane", idle), flush=flush)
    worker.stop()

    with capture_logs() as logs:
        worker.run()

    assert logs[-1]["event"] == "outbox: worker stopped"


def test_stopping_twice_is_stopping_once() -> None:
    diary = Diary()
    worker = a_worker(a_loop("lane", idle), flush=diary.note("flush"))
    worker.stop()
    worker.stop()

    worker.run()

    assert diary.entries == ["flush"]


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_process_at_once(
    monkeypatch: pytest.MonkeyPatch, second: signal.Signals
) -> None:
    exit_codes: list[int] = []
    released = threading.Event()

    def exit_at_once(code: int) -> None:
        exit_codes.append(code)
        released.set()

    monkeypatch.setattr(os, "_exit", exit_at_once)
    stopping = threading.Event()

    def hangs() -> bool:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopping.wait(WAIT_S)
        # A signal that comes just before the main thread goes to sleep is not seen at once.
        while not released.wait(0.05):
            os.kill(os.getpid(), second)
        return False

    class Lane(Loop):
        def stop(self) -> None:
            super().stop()
            stopping.set()

    pace = Pace(tick_ms=3_600_000, backoff=Backoff(), jitter=lambda _: 0)
    lane = Lane("lane", hangs, pace=pace, health=Health(), redis_part=Part.STATUS)

    a_worker(lane).run()

    assert set(exit_codes) == {128 + second}


def test_a_ledger_that_is_away_is_not_waited_for() -> None:
    # A lane that probes it would hang for the whole deadline, holding nothing.
    closed = threading.Event()
    probing = threading.Event()

    def probe() -> bool:
        probing.set()
        assert closed.wait(WAIT_S)
        return False

    worker = a_worker(a_loop("lane", probe), abandon=closed.set, ledger_is_away=True)

    def stop_while_it_probes() -> None:
        probing.wait(WAIT_S)
        worker.stop()

    stopper = threading.Thread(target=stop_while_it_probes)
    stopper.start()

    with capture_logs() as logs:
        assert worker.run()

    stopper.join()
    assert "grace period is over" not in str(logs)
