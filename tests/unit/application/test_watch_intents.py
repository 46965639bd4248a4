"""Watching intents, with each interleaving of settling and watching set up on purpose."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pytest
from structlog.testing import capture_logs

from adapters.memory.database import InMemoryDatabase
from adapters.memory.intent_statuses import InMemoryIntentStatuses
from adapters.memory.status_feed import InMemoryStatusChannels, InMemoryStatusFeed
from application.errors import (
    DatabaseMisconfiguredError,
    DatabaseUnavailableError,
    OutboxError,
    UnknownIntentError,
)
from application.use_cases.watch_intents import WatchIntents
from domain.intents import IntentId
from domain.live_status import StatusUpdate
from tests.contracts.payments import an_intent
from tests.contracts.status_feed import FAILED, PATIENCE_S, SETTLED

NEVER_S = 3_600.0
SOON_S = 0.01
AUTHORIZED = b'{"status":"AUTHORIZED"}'
SETTLING = b'{"status":"SETTLING"}'


def do_nothing() -> None:
    """What happens by default."""


@dataclass(slots=True)
class HookedStatuses:
    """The fake reader, with something that happens right before and right after each read."""

    reader: InMemoryIntentStatuses
    before: Callable[[], None] = do_nothing
    after: Callable[[], None] = do_nothing
    reads: int = 0

    def read(self, intent_ids: Collection[IntentId]) -> Mapping[IntentId, StatusUpdate]:
        self.reads += 1
        self.before()
        try:
            return self.reader.read(intent_ids)
        finally:
            self.after()


@dataclass
class Scene:
    """Intents in a database, their channels, and somebody who watches."""

    database: InMemoryDatabase = field(default_factory=InMemoryDatabase)
    channels: InMemoryStatusChannels = field(default_factory=InMemoryStatusChannels)

    def __post_init__(self) -> None:
        self.statuses = HookedStatuses(InMemoryIntentStatuses(self.database))
        self.intent_id = self.add_intent()

    def add_intent(self, status: str = "AUTHORIZED") -> IntentId:
        intent = an_intent(status=status)
        self.database.add_intent(intent)
        return intent.id

    def set(self, status: str) -> None:
        """Commit a status; nobody is told."""
        self.database.set_intent_status(self.intent_id, status)

    def say(self, body: bytes) -> int:
        """Publish *body*, which need not be true; return how many hear it."""
        return self.channels.publish(self.intent_id, body)

    def settle(self) -> None:
        """Do what a worker does: commit, then publish."""
        self.set("SETTLED")
        self.say(SETTLED)

    def watch(
        self,
        *intent_ids: IntentId,
        poll_interval_s: float = NEVER_S,
        timeout_s: float = PATIENCE_S,
        stop: threading.Event | None = None,
    ) -> Iterator[StatusUpdate]:
        """Watch; what is missed ends it, too, when patience is over."""
        watch_intents = WatchIntents(
            feed=InMemoryStatusFeed(self.channels),
            statuses=self.statuses,
            poll_interval_s=poll_interval_s,
        )
        return watch_intents(intent_ids or (self.intent_id,), timeout_s=timeout_s, stop=stop)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def once(action: Callable[[], object], *, at: int = 1) -> Callable[[], None]:
    """Return a hook that does *action* at its call number *at* only."""
    calls = 0

    def hook() -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            action()

    return hook


def told(updates: Iterator[StatusUpdate]) -> list[tuple[str, str]]:
    """Return status and source of all that comes."""
    return [(update.status, update.source) for update in updates]


# A settlement at each moment. There is no second read that could make up for what was missed.


def test_what_was_final_before_the_watch_is_read_and_ends_it(scene: Scene) -> None:
    scene.settle()

    assert told(scene.watch()) == [("SETTLED", "database")]


def test_a_settlement_between_subscribing_and_reading_is_told_once(scene: Scene) -> None:
    scene.statuses.before = once(scene.settle)

    assert told(scene.watch()) == [("SETTLED", "database")]


def test_a_settlement_between_reading_and_listening_is_heard(scene: Scene) -> None:
    scene.statuses.after = once(scene.settle)

    assert told(scene.watch()) == [("AUTHORIZED", "database"), ("SETTLED", "database")]


def test_a_settlement_while_it_listens_is_heard(scene: Scene) -> None:
    updates = scene.watch()
    assert next(updates).status == "AUTHORIZED"

    scene.settle()

    assert told(updates) == [("SETTLED", "database")]
    assert scene.statuses.reads == 2


@pytest.mark.parametrize("at", [1, 2])
def test_a_message_that_comes_before_its_commit_can_be_read_is_not_lost(
    scene: Scene, at: int
) -> None:
    scene.statuses.before = once(lambda: scene.say(SETTLED))
    scene.statuses.after = once(lambda: scene.set("SETTLED"), at=at)

    assert told(scene.watch())[-1] == ("SETTLED", "database")
    assert scene.statuses.reads <= at + 1


@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(lambda scene: None, id="never sent"),
        pytest.param(lambda scene: scene.channels.go_away(), id="redis away"),
        pytest.param(lambda scene: scene.say(b"{"), id="garbled"),
        pytest.param(lambda scene: scene.say(SETTLING), id="overtaken"),
    ],
)
def test_a_final_status_whose_message_is_lost_is_read_by_the_next_poll(
    scene: Scene, lose: Callable[[Scene], object]
) -> None:
    updates = scene.watch(poll_interval_s=SOON_S)
    assert next(updates).status == "AUTHORIZED"

    scene.set("SETTLED")
    lose(scene)

    *_, last = told(updates)
    assert last == ("SETTLED", "database")


# What is shown, and what is not.


def test_nothing_is_told_twice_however_often_it_is_said_and_read(scene: Scene) -> None:
    updates = scene.watch(poll_interval_s=SOON_S)
    assert next(updates).status == "AUTHORIZED"
    scene.statuses.before = once(scene.settle, at=5)
    for _ in range(3):
        scene.say(AUTHORIZED)

    assert [status for status, _ in told(updates)] == ["SETTLED"]
    assert scene.statuses.reads >= 5


def test_a_late_message_leads_nowhere(scene: Scene) -> None:
    scene.set("SETTLING")
    updates = scene.watch()
    assert next(updates).status == "SETTLING"

    scene.say(AUTHORIZED)
    scene.set("FAILED")
    scene.say(FAILED)
    scene.say(SETTLED)

    assert told(updates) == [("FAILED", "database")]


@pytest.mark.parametrize("body", [SETTLED, FAILED])
def test_a_state_of_the_psp_that_is_called_like_a_final_status_ends_nothing(
    scene: Scene, body: bytes
) -> None:
    updates = scene.watch()
    assert next(updates).status == "AUTHORIZED"

    scene.say(body)
    scene.say(SETTLING)
    shown = next(updates)
    scene.settle()

    assert (shown.status, shown.source) == ("SETTLING", "channel")
    assert told(updates) == [("SETTLED", "database")]


def test_what_the_row_says_is_final_whatever_the_message_says(scene: Scene) -> None:
    updates = scene.watch()
    assert next(updates).status == "AUTHORIZED"

    scene.set("SETTLED")
    scene.say(FAILED)

    assert told(updates) == [("SETTLED", "database")]


def test_a_message_that_is_no_news_is_not_looked_into(scene: Scene) -> None:
    done = scene.add_intent("SETTLED")
    updates = scene.watch(scene.intent_id, done)
    assert [next(updates).status for _ in range(2)] == ["AUTHORIZED", "SETTLED"]

    for _ in range(5):
        scene.channels.publish(done, SETTLED)
    scene.settle()

    assert told(updates) == [("SETTLED", "database")]
    assert scene.statuses.reads == 2


def test_however_many_messages_say_it_the_row_is_read_once_at_a_time(scene: Scene) -> None:
    updates = scene.watch()
    assert next(updates).status == "AUTHORIZED"
    reads = scene.statuses.reads

    for _ in range(100):
        scene.say(SETTLED)
    scene.say(SETTLING)

    assert next(updates).status == "SETTLING"
    assert scene.statuses.reads == reads + 1
    scene.settle()
    assert told(updates) == [("SETTLED", "database")]


def test_a_review_is_shown_and_the_watch_goes_on_wherever_it_leads(scene: Scene) -> None:
    updates = scene.watch(poll_interval_s=SOON_S)
    shown = []

    for status in ("AUTHORIZED", "MANUAL_REVIEW", "AUTHORIZED", "SETTLED"):
        scene.set(status)
        shown.append(next(updates).status)

    assert shown == ["AUTHORIZED", "MANUAL_REVIEW", "AUTHORIZED", "SETTLED"]
    assert list(updates) == []


def test_it_ends_when_each_of_many_is_final(scene: Scene) -> None:
    other, done = scene.add_intent(), scene.add_intent("FAILED")
    updates = scene.watch(scene.intent_id, other, done, other)
    first = list(islice(updates, 3))

    scene.channels.publish(done, SETTLED)
    scene.database.set_intent_status(other, "FAILED")
    scene.channels.publish(other, FAILED)
    assert next(updates).intent_id == other
    scene.channels.publish(other, SETTLED)
    scene.settle()

    assert [update.status for update in first] == ["AUTHORIZED", "AUTHORIZED", "FAILED"]
    assert [(update.intent_id, update.status) for update in updates] == [
        (scene.intent_id, "SETTLED")
    ]


def test_messages_that_make_no_sense_are_counted_in_one_line(scene: Scene) -> None:
    updates = scene.watch()
    next(updates)
    for body in (b"[", b'{"status":"CONFIRM_SENT"}'):
        scene.say(body)
    scene.settle()

    with capture_logs() as logs:
        assert told(updates) == [("SETTLED", "database")]

    assert [(line["event"], line["messages"]) for line in logs] == [
        ("watch: messages were no status of an intent", 2)
    ]


# Ends that are not final.


def test_a_time_out_ends_it_in_order(scene: Scene) -> None:
    assert told(scene.watch(timeout_s=SOON_S)) == [("AUTHORIZED", "database")]
    assert scene.say(SETTLED) == 0


def test_a_time_out_of_nothing_tells_how_things_are(scene: Scene) -> None:
    assert told(scene.watch(timeout_s=0)) == [("AUTHORIZED", "database")]


@pytest.mark.parametrize("is_away", [False, True])
def test_it_stops_when_it_is_told_to(scene: Scene, is_away: bool) -> None:
    if is_away:
        scene.channels.go_away()
    stop = threading.Event()
    updates = scene.watch(timeout_s=NEVER_S, stop=stop)
    assert next(updates).status == "AUTHORIZED"
    threading.Timer(SOON_S, stop.set).start()

    assert list(updates) == []
    assert scene.say(SETTLED) == 0


def test_an_iterator_that_is_closed_listens_no_more(scene: Scene) -> None:
    updates = scene.watch()
    next(updates)
    assert scene.say(AUTHORIZED) == 1

    del updates

    assert scene.say(AUTHORIZED) == 0


def test_an_intent_that_is_not_there_is_named(scene: Scene) -> None:
    missing = an_intent().id

    with pytest.raises(UnknownIntentError, match=str(missing)):
        list(scene.watch(scene.intent_id, missing))
    assert scene.say(SETTLED) == 0


# Parts that are away.


def part_lines(logs: Sequence[Mapping[str, object]]) -> list[tuple[object, object]]:
    return [(line["event"], line["part"]) for line in logs]


DOWN, UP = "watch: part is down", "watch: part is up"


def test_without_redis_from_the_start_it_polls_and_says_so_once(scene: Scene) -> None:
    scene.channels.go_away()
    scene.statuses.before = once(scene.settle, at=5)

    with capture_logs() as logs:
        shown = told(scene.watch(poll_interval_s=SOON_S))

    assert shown == [("AUTHORIZED", "database"), ("SETTLED", "database")]
    assert part_lines(logs) == [(DOWN, "redis")]


def test_a_redis_that_comes_back_is_heard_again(scene: Scene) -> None:
    updates = scene.watch(poll_interval_s=SOON_S)
    assert next(updates).status == "AUTHORIZED"

    def comes_back() -> None:
        assert scene.say(SETTLING) == 0
        scene.channels.come_back()

    def says() -> None:
        if scene.say(SETTLING):
            scene.statuses.after = do_nothing

    # Not in the database: whoever tells it must have heard it.
    scene.channels.go_away()
    scene.statuses.before = once(comes_back, at=3)
    scene.statuses.after = says

    with capture_logs() as logs:
        heard = next(updates)

    assert (heard.status, heard.source) == ("SETTLING", "channel")
    assert part_lines(logs) == [(DOWN, "redis"), (UP, "redis")]


def test_a_settlement_while_redis_is_away_is_read_when_it_is_back(scene: Scene) -> None:
    updates = scene.watch(poll_interval_s=SOON_S)
    assert next(updates).status == "AUTHORIZED"

    scene.channels.go_away()
    scene.settle()
    scene.channels.come_back()

    assert told(updates) == [("SETTLED", "database")]


def test_a_database_that_is_away_in_the_middle_is_waited_for(scene: Scene) -> None:
    updates = scene.watch(poll_interval_s=SOON_S)
    assert next(updates).status == "AUTHORIZED"

    def fail() -> None:
        if scene.statuses.reads < 5:
            raise DatabaseUnavailableError("away")
        scene.set("SETTLED")

    scene.statuses.before = fail

    with capture_logs() as logs:
        assert told(updates) == [("SETTLED", "database")]

    assert part_lines(logs) == [(DOWN, "postgres"), (UP, "postgres")]


def test_messages_are_heard_while_the_database_is_away(scene: Scene) -> None:
    updates = scene.watch(poll_interval_s=SOON_S)
    assert next(updates).status == "AUTHORIZED"

    def fail() -> None:
        if scene.statuses.reads == 4:
            scene.say(SETTLING)
        raise DatabaseUnavailableError("away")

    scene.statuses.before = fail

    heard = next(updates)
    assert (heard.status, heard.source) == ("SETTLING", "channel")


def test_a_final_status_that_cannot_be_read_now_is_read_soon_after(scene: Scene) -> None:
    updates = scene.watch()
    assert next(updates).status == "AUTHORIZED"

    def fail() -> None:
        raise DatabaseUnavailableError("away")

    scene.statuses.before = once(fail)
    scene.settle()

    with capture_logs() as logs:
        assert told(updates) == [("SETTLED", "database")]

    assert part_lines(logs) == [(DOWN, "postgres"), (UP, "postgres")]


@pytest.mark.parametrize(
    ("at", "error"),
    [
        (1, DatabaseUnavailableError("away from the start")),
        (1, DatabaseMisconfiguredError("no such table")),
        (3, DatabaseMisconfiguredError("the password has changed")),
    ],
)
def test_what_nobody_could_wait_for_is_raised(scene: Scene, at: int, error: OutboxError) -> None:
    def fail() -> None:
        raise error

    scene.statuses.before = once(fail, at=at)

    with pytest.raises(type(error)):
        list(scene.watch(poll_interval_s=SOON_S))
    assert scene.say(SETTLED) == 0
