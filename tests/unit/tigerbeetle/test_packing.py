"""How chains are put into requests."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from adapters.tigerbeetle.packing import RequestLimit, leading_pack


@given(st.lists(st.integers(1, 12), min_size=1, max_size=40), st.integers(1, 10))
def test_a_pack_is_as_full_as_the_order_allows(sizes: list[int], events_max: int) -> None:
    count = leading_pack(sizes, events_max=events_max)

    assert 1 <= count <= len(sizes)
    assert count == 1 or sum(sizes[:count]) <= events_max
    assert count == len(sizes) or sum(sizes[: count + 1]) > events_max


def test_a_limit_only_ever_goes_down_and_stays_above_zero() -> None:
    limit = RequestLimit(100, requests="query")

    with capture_logs() as logs:
        for events, then in ((50, 50), (70, 50), (0, 1), (-5, 1)):
            limit.lower_to(events)
            assert limit.events == then

    assert [(line["event"], line["requests"], line["events_max"]) for line in logs] == [
        ("ledger_request_limit_lowered", "query", 50),
        ("ledger_request_limit_lowered", "query", 1),
    ]


def test_lanes_that_learn_the_same_lower_the_limit_once() -> None:
    limit = RequestLimit(8189, requests="create")
    start = threading.Barrier(4)

    def lower() -> None:
        start.wait()
        limit.lower_to(4094)

    lanes = [threading.Thread(target=lower) for _ in range(4)]
    with capture_logs() as logs:
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()

    assert limit.events == 4094
    assert [line["events_max"] for line in logs] == [4094]


def test_a_limit_below_one_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        RequestLimit(0, requests="create")
