"""Statuses that only a real database can hold."""

import pytest

from tests.contracts.payments import an_intent
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("moment", ["infinity", "20000-01-01 00:00:00+00"])
def test_a_time_that_python_cannot_hold_is_told_as_text(bench: PostgresBench, moment: str) -> None:
    intent = an_intent()
    bench.add_intent(intent)
    bench.execute(
        "UPDATE pm.intent SET updated_at = %s::timestamptz WHERE id = %s", moment, intent.id
    )

    updated_at = bench.statuses.read([intent.id])[intent.id].updated_at

    assert updated_at == ("infinity" if moment == "infinity" else "20000-01-01T00:00:00.000Z")
