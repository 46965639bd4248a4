"""A change of status is recorded first and told after, and being told of it costs nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from adapters.memory.database import InMemoryDatabase
from adapters.memory.intent_trail import InMemoryIntentTrail
from application.errors import RedisUnavailableError, RowsRefusedError
from application.use_cases.write_intent_event import WriteIntentEvent
from domain.conclusions import StatusChange, StatusMessage
from domain.intents import IntentId

INTENT_ID = IntentId(UUID(int=7))
CHANGE = StatusChange(status_from="CREATED", status_to="AUTHORIZED")


@dataclass(slots=True)
class Listener:
    """A ``publish_fn`` that notes what it is told, and how many rows were committed by then."""

    database: InMemoryDatabase
    heard: list[StatusMessage] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    fault: Exception | None = None

    def __call__(self, messages: Sequence[StatusMessage]) -> None:
        self.heard += messages
        self.rows.append(len(self.database.audit(INTENT_ID)))
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def database() -> InMemoryDatabase:
    return InMemoryDatabase()


@pytest.fixture
def listener(database: InMemoryDatabase) -> Listener:
    return Listener(database)


@pytest.fixture
def write(database: InMemoryDatabase, listener: Listener) -> WriteIntentEvent:
    return WriteIntentEvent(trail=InMemoryIntentTrail(database), publish_fn=listener)


def message(database: InMemoryDatabase) -> StatusMessage:
    return StatusMessage(intent_id=INTENT_ID, status="AUTHORIZED", updated_at=database.now)


def test_a_change_is_published_once_its_row_is_committed(
    database: InMemoryDatabase, listener: Listener, write: WriteIntentEvent
) -> None:
    write(INTENT_ID, CHANGE)

    assert database.audit(INTENT_ID) == [CHANGE]
    assert listener.heard == [message(database)]
    assert listener.rows == [1]


def test_a_change_in_a_transaction_is_published_when_the_caller_has_committed(
    database: InMemoryDatabase, listener: Listener
) -> None:
    with database.transaction() as transaction:
        write = WriteIntentEvent(trail=InMemoryIntentTrail(transaction), publish_fn=listener)
        announcement = write(INTENT_ID, CHANGE)
    assert listener.heard == []

    announcement.publish()

    assert listener.heard == [message(database)]
    assert listener.rows == [1]


def test_a_change_that_was_published_is_not_published_again(
    listener: Listener, write: WriteIntentEvent
) -> None:
    write(INTENT_ID, CHANGE).publish()

    assert len(listener.heard) == 1


def test_a_row_that_is_refused_is_not_published(
    listener: Listener, write: WriteIntentEvent
) -> None:
    with pytest.raises(RowsRefusedError):
        write(INTENT_ID, StatusChange(status_from=None, status_to="CREATED", payload_json="{"))

    assert listener.heard == []


@pytest.mark.parametrize("fault", [RedisUnavailableError("away"), ValueError("a\nbug")])
def test_a_failure_to_publish_is_only_logged(
    database: InMemoryDatabase, listener: Listener, write: WriteIntentEvent, fault: Exception
) -> None:
    listener.fault = fault

    with capture_logs() as logs:
        write(INTENT_ID, CHANGE).publish()

    assert database.audit(INTENT_ID) == [CHANGE]
    assert [
        (line["log_level"], line["event"], line["intent_id"], line["status"]) for line in logs
    ] == [("warning", "outbox: live status was not published", str(INTENT_ID), "AUTHORIZED")]
    assert logs[0]["fault"].startswith(type(fault).__name__)
    assert "\n" not in logs[0]["fault"]


def test_without_somebody_to_tell_the_row_is_all(database: InMemoryDatabase) -> None:
    write = WriteIntentEvent(trail=InMemoryIntentTrail(database))

    write(INTENT_ID, CHANGE).publish()

    assert database.audit(INTENT_ID) == [CHANGE]
