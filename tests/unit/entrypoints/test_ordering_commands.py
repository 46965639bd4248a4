"""``requeue`` and ``fail`` over a database in memory: their order, their reports, their faults."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from adapters.memory.database import InMemoryDatabase, Step
from adapters.memory.ledger import InMemoryLedger
from adapters.memory.operator_store import InMemoryOperatorStore
from application.errors import (
    DatabaseMisconfiguredError,
    DatabaseUnavailableError,
    LedgerUnavailableError,
    OutboxError,
)
from application.ports.operator_store import HeldEvent
from application.use_cases.fail_event import FailEvent
from application.use_cases.requeue_event import RequeueEvent
from domain.intents import EventId
from entrypoints import cli, ordering_commands
from tests.contracts.payments import an_intent

AWAY = DatabaseUnavailableError("the server is away")


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakingStore(InMemoryOperatorStore):
    """A store that breaks at an event."""

    at: EventId
    step: Step
    error: OutboxError

    def hold(self, event_id: EventId) -> AbstractContextManager[HeldEvent | None]:
        if event_id == self.at:
            self.database.fail_once(self.step, self.error)
        return super(BreakingStore, self).hold(event_id)


class Desk:
    """A database, and the commands on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.database = InMemoryDatabase()
        self.store = InMemoryOperatorStore(database=self.database)
        self._intent = an_intent(tb_transfer_ids=())
        self.database.add_intent(self._intent)
        monkeypatch.setattr(ordering_commands, "requeueing", self._requeueing)
        monkeypatch.setattr(ordering_commands, "failing", self._failing)

    @contextmanager
    def _requeueing(self) -> Iterator[RequeueEvent]:
        yield RequeueEvent(store=self.store)

    @contextmanager
    def _failing(self) -> Iterator[FailEvent]:
        yield FailEvent(store=self.store, ledger=InMemoryLedger(), fee_code=50, mapped=())

    def add_event(self, *, status: str = "failed", retry_count: int = 1) -> EventId:
        """One more event of the only intent, younger than those before."""
        return self.database.add_event(
            self._intent.id, "post_pending", status=status, retry_count=retry_count
        )

    def break_at(self, event_id: EventId, step: Step, error: OutboxError) -> None:
        """Let the order about an event end in a fault."""
        self.store = BreakingStore(database=self.database, at=event_id, step=step, error=error)

    def run(self, *arguments: object) -> Result:
        """Run a command."""
        return CliRunner().invoke(cli.app, list(map(str, arguments)))

    def results(self, done: Result) -> list[dict[str, Any]]:
        """What a command with ``--json`` tells."""
        assert done.stderr == ""
        results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
        return results

    def status(self, event_id: EventId) -> str:
        """An event's status."""
        return self.database.event(event_id).status


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(monkeypatch)


def test_events_of_an_intent_are_ordered_again_oldest_first(desk: Desk) -> None:
    older, younger = desk.add_event(), desk.add_event()

    done = desk.run("requeue", younger, older, younger, "--yes")

    assert done.exit_code == 0
    assert [int(line.split()[1][:-1]) for line in done.stdout.splitlines()] == [
        *(older, younger),
        *(older, younger),
    ]


def test_an_older_event_that_stays_failed_is_told(desk: Desk) -> None:
    older, middle, younger = (desk.add_event() for _ in range(3))

    alone = desk.run("requeue", younger)
    both = desk.results(desk.run("requeue", younger, middle, "--yes", "--json"))

    assert f"; of its intent, older events {older}, {middle} will not be tried\n" in alone.stdout
    notes = {one["event_id"]: one["note"] for one in both}
    assert notes == dict.fromkeys(
        (middle, younger), f"of its intent, older event {older} will not be tried"
    )


def test_the_oldest_event_has_nothing_to_be_told(desk: Desk) -> None:
    older, _ = desk.add_event(), desk.add_event()

    [one] = desk.results(desk.run("requeue", older, "--yes", "--json"))

    assert one["note"] is None


def test_giving_up_names_the_other_events_that_will_wait(desk: Desk) -> None:
    earlier, event_id = (desk.add_event(status="pending") for _ in range(2))
    desk.add_event(status="failed")

    done = desk.run("fail", event_id)

    assert f"; of its intent, event {earlier} will wait, too\n" in done.stdout


@pytest.mark.parametrize(
    ("step", "error", "outcome", "code"),
    [
        (Step.COMMIT_ANSWER, AWAY, "unknown", 69),
        (Step.BEGIN, DatabaseMisconfiguredError("no rights"), "not_done", 78),
        (Step.BEGIN, LedgerUnavailableError("no answer"), "not_done", 69),
    ],
)
def test_a_fault_in_the_middle_leaves_the_report_whole(
    desk: Desk, step: Step, error: OutboxError, outcome: str, code: int
) -> None:
    first, second, third = (desk.add_event() for _ in range(3))
    desk.break_at(second, step, error)

    done = desk.run("requeue", first, second, third, "--yes", "--json")

    assert done.exit_code == code
    results = desk.results(done)
    assert [(one["event_id"], one["outcome"]) for one in results] == [
        (first, "requeued"),
        (second, outcome),
        (third, "not_tried"),
    ]
    assert str(error) in results[1]["detail"]
    assert (desk.status(first), desk.status(third)) == ("pending", "failed")


def test_a_fault_is_told_to_a_person_with_its_event(desk: Desk) -> None:
    event_id = desk.add_event()
    desk.break_at(event_id, Step.COMMIT_ANSWER, AWAY)

    done = desk.run("requeue", event_id, "--yes")

    assert done.exit_code == 69
    assert done.stderr == (
        f"event {event_id}: whether it was done is not known: the server is away\n"
    )


def test_an_intent_without_events_is_an_empty_list_for_programs(desk: Desk) -> None:
    done = desk.run("requeue", "--intent", uuid4(), "--yes", "--json")

    assert (done.exit_code, desk.results(done)) == (1, [])


@pytest.mark.parametrize("command", ["requeue", "fail"])
def test_what_cannot_be_asked_is_refused_before_anything_is_opened(command: str) -> None:
    # There are no settings at all.
    done = CliRunner().invoke(cli.app, [command, "5", "--json"])

    assert (done.exit_code, done.stdout) == (2, "")
    assert "--yes" in done.stderr


@pytest.mark.parametrize("by", ["option", "variable"])
@pytest.mark.parametrize("command", ["requeue", "fail"])
def test_who_gave_the_order_can_be_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, command: str, by: str
) -> None:
    event_id = desk.add_event(status="pending")
    arguments: list[object] = [command, event_id, "--yes"]
    if by == "option":
        arguments += ["--operator", "somchai"]
    else:
        monkeypatch.setenv("OUTBOX_OPERATOR", "somchai")

    assert desk.run(*arguments).exit_code == 0

    [row] = desk.database.tables.audit
    assert json.loads(row.audit.payload_json or "")["operator"] == "somchai"
