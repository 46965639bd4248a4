"""Publishing what lanes have announced: nothing is lost while Redis is away."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from application.errors import RedisUnavailableError
from application.status_queue import StatusQueue
from application.use_cases.publish_statuses import PublishStatuses
from domain.conclusions import StatusMessage
from domain.intents import IntentId, IntentStatus


@dataclass(slots=True)
class FakePublisher:
    """Keeps each batch that is published; while ``away``, every call fails."""

    away: bool = False
    batches: list[list[int]] = field(default_factory=list)

    def publish(self, messages: Sequence[StatusMessage]) -> None:
        if self.away:
            raise RedisUnavailableError("away")
        self.batches.append([message.intent_id.int for message in messages])


def messages(*numbers: int) -> list[StatusMessage]:
    return [
        StatusMessage(
            intent_id=IntentId(UUID(int=number)),
            status=IntentStatus.SETTLED,
            updated_at=datetime(2026, 5, 29, tzinfo=UTC),
        )
        for number in numbers
    ]


@pytest.fixture
def queue() -> StatusQueue:
    return StatusQueue(size_max=5)


@pytest.fixture
def publisher() -> FakePublisher:
    return FakePublisher()


@pytest.fixture
def publish(queue: StatusQueue, publisher: FakePublisher) -> PublishStatuses:
    return PublishStatuses(announcements=queue, publisher=publisher, batch_size=2)


def test_messages_are_published_in_order_a_batch_at_a_time(
    queue: StatusQueue, publisher: FakePublisher, publish: PublishStatuses
) -> None:
    queue.put(messages(1, 2, 3))

    assert [publish(timeout_s=0) for _ in range(3)] == [2, 1, 0]
    assert publisher.batches == [[1, 2], [3]]


def test_redis_is_left_alone_when_there_is_nothing_to_publish(
    publisher: FakePublisher, publish: PublishStatuses
) -> None:
    publisher.away = True

    assert publish(timeout_s=0) == 0


def test_what_redis_did_not_take_comes_again_in_order(
    queue: StatusQueue, publisher: FakePublisher, publish: PublishStatuses
) -> None:
    queue.put(messages(1, 2, 3))
    publisher.away = True
    for _ in range(3):
        with pytest.raises(RedisUnavailableError):
            publish(timeout_s=0)
    publisher.away = False

    publish.flush()

    assert publisher.batches == [[1, 2], [3]]
    assert queue.dropped == 0


def test_flushing_publishes_all_and_ends(
    queue: StatusQueue, publisher: FakePublisher, publish: PublishStatuses
) -> None:
    queue.put(messages(1, 2, 3, 4, 5))

    publish.flush()

    assert publisher.batches == [[1, 2], [3, 4], [5]]
    assert len(queue) == 0


def test_flushing_stops_at_the_first_failure_and_keeps_the_rest(
    queue: StatusQueue, publisher: FakePublisher, publish: PublishStatuses
) -> None:
    queue.put(messages(1, 2, 3))
    publisher.away = True

    with pytest.raises(RedisUnavailableError):
        publish.flush()

    assert len(queue) == 3


def test_what_was_lost_is_said_once_when_redis_is_back(
    queue: StatusQueue, publisher: FakePublisher, publish: PublishStatuses
) -> None:
    publisher.away = True
    queue.put(messages(*range(8)))
    with capture_logs() as while_away, pytest.raises(RedisUnavailableError):
        publish(timeout_s=0)
    publisher.away = False

    with capture_logs() as logs:
        publish.flush()

    assert while_away == []
    assert [(line["event"], line["messages"]) for line in logs] == [
        ("outbox: live statuses were lost", 3)
    ]


def test_an_overflow_is_one_line_however_long_it_lasts(
    queue: StatusQueue, publish: PublishStatuses
) -> None:
    with capture_logs() as logs:
        for _ in range(3):
            queue.put(messages(*range(7)))
            publish(timeout_s=0)
        assert logs == []
        publish.flush()
        publish.flush()

    assert [line["messages"] for line in logs] == [queue.dropped]
