"""What every ``StatusFeed`` must do."""

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

import pytest

from application.errors import RedisUnavailableError
from application.ports.status_feed import StatusFeed
from domain.intents import IntentId
from domain.live_status import StatusUpdate
from entrypoints.sandbox.waiting import wait_until

PATIENCE_S = 10.0
SETTLED = b'{"status":"SETTLED"}'
FAILED = b'{"status":"FAILED"}'
FULL = (
    b'{"intentId":"00000000-0000-0000-0000-000000000001","status":"SETTLED",'
    b'"updatedAt":"2026-05-29T10:15:30.123Z"}'
)


def intent(number: int) -> IntentId:
    """Return the id of the intent *number*."""
    return IntentId(UUID(int=number))


def told(updates: Iterable[StatusUpdate]) -> list[tuple[int, str]]:
    """Return number and status of each update."""
    return [(update.intent_id.int, update.status) for update in updates]


def next_of(feed: StatusFeed) -> StatusUpdate:
    """Return the next update, which must come."""
    update = feed.hear(timeout_s=PATIENCE_S)
    assert update is not None, "nothing was heard"
    return update


class StatusSpeaker(Protocol):
    """What the contract needs of the other side: the worker, and the line to it."""

    def publish(self, intent_id: IntentId, body: bytes) -> int:
        """Publish on an intent's channel; return how many hear it."""
        ...

    def cut_line(self) -> None:
        """Keep the feed from its server, until ``mend_line``."""
        ...

    def mend_line(self) -> None:
        """Undo ``cut_line``."""
        ...


class StatusFeedContract:
    """Inherit; provide the fixtures ``feed`` and ``speaker``."""

    @pytest.mark.parametrize("body", [SETTLED, FULL])
    def test_either_form_of_a_message_is_heard(
        self, feed: StatusFeed, speaker: StatusSpeaker, body: bytes
    ) -> None:
        feed.subscribe([intent(1)])
        speaker.publish(intent(1), body)

        update = next_of(feed)

        assert (update.intent_id, update.status) == (intent(1), "SETTLED")
        assert update.updated_at == (None if body == SETTLED else "2026-05-29T10:15:30.123Z")
        assert feed.ignored == 0

    def test_a_subscription_stands_when_the_call_returns(
        self, feed: StatusFeed, speaker: StatusSpeaker
    ) -> None:
        for number in range(1, 50):
            feed.subscribe([intent(number)])

            assert speaker.publish(intent(number), SETTLED) == 1

    def test_messages_are_heard_in_the_order_of_publishing(
        self, feed: StatusFeed, speaker: StatusSpeaker
    ) -> None:
        numbers = [number % 3 for number in range(300)]
        feed.subscribe([intent(number) for number in range(3)])
        for number in numbers:
            speaker.publish(intent(number), SETTLED)

        heard = [next_of(feed) for _ in numbers]

        assert [update.intent_id.int for update in heard] == numbers

    def test_what_was_published_before_the_subscription_is_lost(
        self, feed: StatusFeed, speaker: StatusSpeaker
    ) -> None:
        assert speaker.publish(intent(1), SETTLED) == 0
        feed.subscribe([intent(1)])
        speaker.publish(intent(1), FAILED)

        assert told([next_of(feed)]) == [(1, "FAILED")]

    def test_others_are_not_heard(self, feed: StatusFeed, speaker: StatusSpeaker) -> None:
        feed.subscribe([intent(1)])

        assert speaker.publish(intent(2), SETTLED) == 0
        assert feed.hear(timeout_s=0.01) is None

    def test_subscribing_again_adds_and_loses_nothing(
        self, feed: StatusFeed, speaker: StatusSpeaker
    ) -> None:
        feed.subscribe([intent(1)])
        speaker.publish(intent(1), SETTLED)
        feed.subscribe([intent(1), intent(2)])
        speaker.publish(intent(2), FAILED)
        feed.subscribe([intent(2)])
        speaker.publish(intent(1), FAILED)

        heard = [next_of(feed) for _ in range(3)]

        assert told(heard) == [(1, "SETTLED"), (2, "FAILED"), (1, "FAILED")]
        assert feed.hear(timeout_s=0.01) is None

    def test_a_message_that_makes_no_sense_is_counted_and_stops_nothing(
        self, feed: StatusFeed, speaker: StatusSpeaker
    ) -> None:
        feed.subscribe([intent(1)])
        for body in (b"", b"\xff", b'{"status":"CONFIRM_SENT"}', b"[[[", SETTLED):
            speaker.publish(intent(1), body)

        heard = [feed.hear(timeout_s=PATIENCE_S) for _ in range(5)]

        assert heard[:4] == [None] * 4
        assert heard[4] is not None
        assert feed.ignored == 4

    def test_silence_is_no_fault(self, feed: StatusFeed) -> None:
        feed.subscribe([intent(1)])

        assert feed.hear(timeout_s=0) is None
        assert feed.hear(timeout_s=0.01) is None

    def test_without_a_subscription_nothing_can_be_heard(self, feed: StatusFeed) -> None:
        with pytest.raises(RedisUnavailableError):
            feed.hear(timeout_s=0)

    def test_a_cut_line_ends_the_subscription_until_it_is_made_anew(
        self, feed: StatusFeed, speaker: StatusSpeaker
    ) -> None:
        feed.subscribe([intent(1)])
        speaker.cut_line()
        with pytest.raises(RedisUnavailableError):
            feed.hear(timeout_s=PATIENCE_S)
        with pytest.raises(RedisUnavailableError):
            feed.subscribe([intent(1)])
        speaker.mend_line()
        with pytest.raises(RedisUnavailableError):
            feed.hear(timeout_s=0)
        assert speaker.publish(intent(1), SETTLED) == 0

        feed.subscribe([intent(1)])
        speaker.publish(intent(1), FAILED)

        assert told([next_of(feed)]) == [(1, "FAILED")]

    def test_a_line_that_was_cut_unheard_is_found_by_subscribing_again(
        self, feed: StatusFeed, speaker: StatusSpeaker
    ) -> None:
        feed.subscribe([intent(1)])
        speaker.cut_line()

        with pytest.raises(RedisUnavailableError):
            feed.subscribe([intent(1)])

    def test_a_closed_feed_hears_nothing_and_can_begin_anew(
        self, feed: StatusFeed, speaker: StatusSpeaker
    ) -> None:
        feed.subscribe([intent(1)])
        speaker.publish(intent(1), SETTLED)
        feed.close()
        feed.close()
        wait_until(lambda: speaker.publish(intent(1), SETTLED) == 0, what="nobody listens")

        feed.subscribe([intent(2)])

        assert speaker.publish(intent(1), FAILED) == 0
        speaker.publish(intent(2), FAILED)
        assert told([next_of(feed)]) == [(2, "FAILED")]
