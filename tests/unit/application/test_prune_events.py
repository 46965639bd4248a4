"""Walking through the finished events, a batch at a time, until told to stop."""

import threading
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice

import pytest

from adapters.memory.database import Step
from application.errors import DatabaseUnavailableError
from application.use_cases.prune_events import PruneEvents
from domain.intents import EventId
from tests.contracts.event_archive import AGE, finished
from tests.unit.memory.memory_bench import InMemoryBench


class Pauses(threading.Event):
    """A wish to stop that nobody waits for; it counts how often it was waited for."""

    count = 0

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout == 0.1
        self.count += 1
        return self.is_set()


@dataclass
class Scene:
    """Five events that may go, one in their middle that may not."""

    bench: InMemoryBench = field(default_factory=InMemoryBench)
    stop: Pauses = field(default_factory=Pauses)
    events: list[EventId] = field(default_factory=list)

    def __post_init__(self) -> None:
        for day in range(110, 105, -1):
            self.events.append(finished(self.bench, age_days=day))
        finished(self.bench, age_days=108.5, status="MANUAL_REVIEW")

    def prune(self, batch_events: int = 2) -> PruneEvents:
        return PruneEvents(
            archive=self.bench.archive, batch_events=batch_events, pause_s=0.1, stop=self.stop
        )


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize("batch_events", [1, 2, 3, 6, 100])
def test_all_that_may_go_is_counted_and_moved(scene: Scene, batch_events: int) -> None:
    prune = scene.prune(batch_events)
    before = prune.before(AGE)

    assert prune.count(before) == 5
    assert scene.bench.archive_ids() == []
    moved = list(prune(before))

    assert sum(moved) == 5
    assert all(0 < count <= batch_events for count in moved)
    assert scene.bench.archive_ids() == scene.events


def test_it_pauses_between_two_batches_and_not_after_the_last(scene: Scene) -> None:
    prune = scene.prune(4)

    assert list(prune(prune.before(AGE))) == [3, 2]

    assert scene.stop.count == 1


def test_told_to_stop_it_ends_after_the_batch_at_hand_and_goes_on_the_next_time(
    scene: Scene,
) -> None:
    prune = scene.prune()
    before = prune.before(AGE)

    for _ in prune(before):
        scene.stop.set()

    assert scene.bench.archive_ids() == scene.events[:2]
    assert prune.count(before) is None
    scene.stop.clear()
    assert sum(prune(before)) == 3


@pytest.mark.parametrize("batch_events", [2, 100])
def test_told_to_stop_while_it_counts_it_gives_no_count_to_act_on(
    scene: Scene, batch_events: int
) -> None:
    prune = scene.prune(batch_events)
    before = prune.before(AGE)
    scene.stop.set()

    assert prune.count(before) is None


def test_an_outage_ends_it_between_two_batches_that_are_whole(scene: Scene) -> None:
    prune = scene.prune()
    before = prune.before(AGE)
    batches = prune(before)
    list(islice(batches, 1))
    scene.bench.database.fail_once(Step.COMMIT, DatabaseUnavailableError("gone"))

    with pytest.raises(DatabaseUnavailableError):
        next(batches)

    assert scene.bench.archive_ids() == scene.events[:2]
    assert sum(prune(before)) == 3


def test_what_is_finished_meanwhile_is_for_the_next_time(scene: Scene) -> None:
    prune = scene.prune()
    before = prune.before(AGE)
    scene.bench.database.advance(timedelta(days=365))
    young = finished(scene.bench, age_days=100)

    assert sum(prune(before)) == 5
    assert young in scene.bench.outbox_ids()
