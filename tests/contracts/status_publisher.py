"""What every ``StatusPublisher`` must do."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID

import pytest

from application.errors import RedisUnavailableError
from application.ports.status_publisher import StatusPublisher
from domain.conclusions import StatusMessage
from domain.intents import IntentId, IntentStatus


def a_message(number: int, status: IntentStatus = IntentStatus.SETTLED) -> StatusMessage:
    """Return a message of the intent *number*."""
    return StatusMessage(
        intent_id=IntentId(UUID(int=number)),
        status=status,
        updated_at=datetime(2026, 5, 29, 10, 15, 30, 123_456, tzinfo=UTC),
    )


class StatusListener(Protocol):
    """What the contract needs of the other side: a client that watches all intents."""

    def heard(self) -> Sequence[tuple[IntentId, str]]:
        """Return everything heard so far, in order; waits for what is on its way."""
        ...

    def cut_line(self) -> None:
        """Keep the publisher from reaching the listener's server, until ``mend_line``."""
        ...

    def mend_line(self) -> None:
        """Undo ``cut_line``."""
        ...


class StatusPublisherContract:
    """Inherit; provide the fixtures ``publisher`` and ``listener``."""

    def test_each_message_is_heard_on_its_intent_in_order(
        self, publisher: StatusPublisher, listener: StatusListener
    ) -> None:
        messages = [
            a_message(2),
            a_message(1, IntentStatus.FAILED),
            a_message(3, IntentStatus.MANUAL_REVIEW),
        ]

        publisher.publish(messages)

        assert listener.heard() == [
            (IntentId(UUID(int=2)), "SETTLED"),
            (IntentId(UUID(int=1)), "FAILED"),
            (IntentId(UUID(int=3)), "MANUAL_REVIEW"),
        ]

    def test_a_repeat_is_heard_again(
        self, publisher: StatusPublisher, listener: StatusListener
    ) -> None:
        publisher.publish([a_message(1)])
        publisher.publish([a_message(1)])

        assert listener.heard() == [(IntentId(UUID(int=1)), "SETTLED")] * 2

    def test_a_thousand_messages_are_heard_in_order(
        self, publisher: StatusPublisher, listener: StatusListener
    ) -> None:
        publisher.publish([a_message(number) for number in range(1_000)])

        assert [intent_id.int for intent_id, _ in listener.heard()] == list(range(1_000))

    def test_no_messages_need_no_line(
        self, publisher: StatusPublisher, listener: StatusListener
    ) -> None:
        listener.cut_line()

        publisher.publish([])

        listener.mend_line()
        assert listener.heard() == []

    def test_a_cut_line_is_an_outage_that_ends_by_itself(
        self, publisher: StatusPublisher, listener: StatusListener
    ) -> None:
        publisher.publish([a_message(1)])
        listener.cut_line()
        with pytest.raises(RedisUnavailableError):
            publisher.publish([a_message(2)])
        listener.mend_line()

        publisher.publish([a_message(3)])

        assert [intent_id.int for intent_id, _ in listener.heard()] == [1, 3]
