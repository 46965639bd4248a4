"""The queue of live statuses: bounded, first in first out, and nobody waits to put."""

import threading
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from application.status_queue import StatusQueue
from domain.conclusions import StatusMessage
from domain.intents import IntentId, IntentStatus

WAIT_S = 10.0


def message(number: int) -> StatusMessage:
    return StatusMessage(
        intent_id=IntentId(UUID(int=number)),
        status=IntentStatus.SETTLED,
        updated_at=datetime(2026, 5, 29, tzinfo=UTC),
    )


def messages(*numbers: int) -> list[StatusMessage]:
    return [message(number) for number in numbers]


def take(queue: StatusQueue, limit: int = 100) -> list[int]:
    return [taken.intent_id.int for taken in queue.take(limit=limit, timeout_s=0)]


def test_messages_come_out_in_the_order_in_which_they_went_in() -> None:
    queue = StatusQueue(size_max=10)
    queue.put(messages(1, 2))
    queue.put(messages(3))

    assert len(queue) == 3
    assert take(queue) == [1, 2, 3]
    assert len(queue) == 0


def test_no_more_than_the_limit_is_taken_and_the_rest_stays() -> None:
    queue = StatusQueue(size_max=10)
    queue.put(messages(1, 2, 3))

    assert take(queue, limit=2) == [1, 2]
    assert take(queue, limit=2) == [3]


def test_an_empty_queue_gives_nothing_once_the_time_is_over() -> None:
    assert take(StatusQueue(size_max=10)) == []


def test_the_oldest_are_dropped_and_counted_on_overflow() -> None:
    queue = StatusQueue(size_max=3)
    queue.put(messages(1, 2))
    queue.put(messages(3, 4, 5))

    assert queue.dropped == 2
    assert take(queue) == [3, 4, 5]
    assert queue.dropped == 2


def test_what_is_put_back_comes_first_again() -> None:
    queue = StatusQueue(size_max=10)
    queue.put(messages(1, 2, 3))
    taken = queue.take(limit=2, timeout_s=0)
    queue.put(messages(4))

    queue.put_back(taken)

    assert take(queue) == [1, 2, 3, 4]
    assert queue.dropped == 0


def test_what_is_put_back_makes_room_for_what_is_newer() -> None:
    queue = StatusQueue(size_max=3)
    queue.put(messages(1, 2, 3))
    taken = queue.take(limit=3, timeout_s=0)
    queue.put(messages(4, 5))

    queue.put_back(taken)

    assert take(queue) == [3, 4, 5]
    assert queue.dropped == 2


def test_a_waiting_taker_is_woken_by_a_message() -> None:
    queue = StatusQueue(size_max=10)
    taken: list[StatusMessage] = []
    taker = threading.Thread(
        target=lambda: taken.extend(queue.take(limit=10, timeout_s=WAIT_S)), daemon=True
    )
    taker.start()

    queue.put(messages(1))
    taker.join(WAIT_S)

    assert not taker.is_alive()
    assert taken == messages(1)


def test_many_putters_lose_nothing() -> None:
    queue = StatusQueue(size_max=10_000)

    def put_hundred(lane: int) -> None:
        for number in range(100):
            queue.put(messages(lane * 1_000 + number))

    lanes = [threading.Thread(target=put_hundred, args=(lane,)) for lane in range(8)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join(WAIT_S)

    taken = take(queue, limit=10_000)
    assert len(taken) == 800
    for lane_number in range(8):
        of_lane = [number for number in taken if number // 1_000 == lane_number]
        assert of_lane == sorted(of_lane)


@given(
    st.integers(min_value=1, max_value=5),
    st.lists(st.one_of(st.integers(1, 4), st.tuples(st.integers(1, 4), st.booleans()))),
)
def test_the_queue_keeps_its_bound_and_counts_every_loss(
    size_max: int, steps: list[int | tuple[int, bool]]
) -> None:
    """A number puts so many messages; a pair takes so many, and may put them back."""
    queue = StatusQueue(size_max=size_max)
    put = published = 0
    for step in steps:
        if isinstance(step, int):
            queue.put(messages(*range(put, put + step)))
            put += step
        else:
            limit, failed = step
            taken = queue.take(limit=limit, timeout_s=0)
            if failed:
                queue.put_back(taken)
            else:
                published += len(taken)
        assert len(queue) <= size_max
        assert put == published + queue.dropped + len(queue)
    left = take(queue)
    assert left == sorted(left)
    assert left == list(range(put - len(left), put))
