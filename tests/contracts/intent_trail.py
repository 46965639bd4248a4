"""What every IntentTrail must do. Inherit; provide an empty ``bench`` fixture."""

from datetime import UTC
from uuid import uuid4

import pytest

from application.errors import RowsRefusedError
from domain.conclusions import StatusChange
from domain.intents import IntentId
from tests.contracts.database_bench import DatabaseBench

INTENT_ID = IntentId(uuid4())
CHANGE = StatusChange(
    status_from="AUTHORIZED", status_to="QP_CONFIRMED", reason="ok", payload_json='{"a": 1}'
)


class BrokenError(Exception):
    """Something went wrong in the block."""


def abandon(bench: DatabaseBench) -> None:
    """Record a change, and leave the transaction by an exception."""
    with bench.trail(in_transaction=True) as trail:
        trail.append(INTENT_ID, CHANGE)
        raise BrokenError


class IntentTrailContract:
    """One row a change, in the hands of the caller's transaction."""

    @pytest.mark.parametrize(
        "change", [CHANGE, StatusChange(status_from=None, status_to="CREATED")]
    )
    def test_a_change_outside_of_a_transaction_is_committed(
        self, bench: DatabaseBench, change: StatusChange
    ) -> None:
        with bench.trail() as trail:
            recorded = trail.append(INTENT_ID, change)
            trail.append(IntentId(uuid4()), CHANGE)

            assert recorded.is_committed
            assert bench.changes(INTENT_ID) == [change]

    def test_a_change_in_a_transaction_is_committed_with_it(self, bench: DatabaseBench) -> None:
        with bench.trail(in_transaction=True) as trail:
            recorded = trail.append(INTENT_ID, CHANGE)

            assert not recorded.is_committed
            assert bench.changes(INTENT_ID) == []

        assert bench.changes(INTENT_ID) == [CHANGE]

    def test_a_change_is_lost_with_its_transaction(self, bench: DatabaseBench) -> None:
        with pytest.raises(BrokenError):
            abandon(bench)

        assert bench.changes(INTENT_ID) == []

    def test_changes_are_told_the_time_in_their_order(self, bench: DatabaseBench) -> None:
        with bench.trail() as trail:
            first = trail.append(INTENT_ID, CHANGE)
            second = trail.append(INTENT_ID, CHANGE)

        assert first.at.tzinfo is UTC
        assert first.at <= second.at

    @pytest.mark.parametrize("payload_json", ["{", '{"why":"\\u0000"}'])
    def test_a_payload_that_is_no_json_is_refused(
        self, bench: DatabaseBench, payload_json: str
    ) -> None:
        change = StatusChange(status_from=None, status_to="CREATED", payload_json=payload_json)

        with bench.trail() as trail, pytest.raises(RowsRefusedError):
            trail.append(INTENT_ID, change)

        assert bench.changes(INTENT_ID) == []
