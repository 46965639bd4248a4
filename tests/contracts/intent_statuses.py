"""What every IntentStatuses must do. Inherit; provide an empty ``bench`` fixture."""

import re
from uuid import uuid4

import pytest

from domain.intents import IntentId, IntentStatus
from domain.live_status import StatusSource
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.outbox_reader import ISO_UTC
from tests.contracts.payments import an_intent


class IntentStatusesContract:
    """The committed status of intents, by their ids."""

    @pytest.mark.parametrize("status", IntentStatus)
    def test_an_intent_is_told_with_its_status_and_time(
        self, bench: DatabaseBench, status: IntentStatus
    ) -> None:
        intent = an_intent(status=status)
        bench.add_intent(intent)

        update = bench.statuses.read([intent.id])[intent.id]

        assert (update.intent_id, update.status) == (intent.id, status)
        assert update.source is StatusSource.DATABASE
        assert update.updated_at is not None
        assert re.fullmatch(ISO_UTC, update.updated_at)

    def test_those_that_are_not_there_are_left_out(self, bench: DatabaseBench) -> None:
        intents = [an_intent(), an_intent()]
        for intent in intents:
            bench.add_intent(intent)
        bench.add_intent(an_intent())

        found = bench.statuses.read([*(intent.id for intent in intents), IntentId(uuid4())])

        assert set(found) == {intent.id for intent in intents}

    def test_reading_waits_for_nobody_and_sees_what_is_committed(
        self, bench: DatabaseBench
    ) -> None:
        intent = an_intent()
        bench.add_intent(intent)

        with bench.hold_intent(intent.id):
            assert bench.statuses.read([intent.id])[intent.id].status == "AUTHORIZED"

        bench.set_intent_status(intent.id, "SETTLED")
        assert bench.statuses.read([intent.id])[intent.id].status == "SETTLED"
