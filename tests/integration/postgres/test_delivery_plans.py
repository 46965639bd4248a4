"""Of a long queue, delivery reads its batch and no more, whatever the planner knows of it."""

import pytest

from adapters.postgres.arrays import BigIntegers
from adapters.postgres.notification_queue import DELETE, LOCK
from adapters.postgres.own_connection import own_connection

pytestmark = pytest.mark.integration

BATCH = 500
FILL = """
    INSERT INTO pm.notification_outbox (notification_id, intent_id, user_id, job, created_at)
    SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '{}', now()
    FROM generate_series(1, %s)
"""


@pytest.mark.parametrize("statement", [LOCK, DELETE])
@pytest.mark.parametrize("is_analyzed", [True, False])
def test_a_batch_is_found_by_the_primary_key(
    database_url: str, statement: str, is_analyzed: bool
) -> None:
    parameter: object = BATCH if statement is LOCK else BigIntegers(range(1, BATCH + 1))
    with own_connection(database_url, answer_timeout_s=60) as connection:
        connection.execute(FILL, [40 * BATCH])
        if is_analyzed:
            connection.execute("ANALYZE pm.notification_outbox")
        plan = "\n".join(
            line for (line,) in connection.execute(f"EXPLAIN {statement}".encode(), [parameter])
        )

    assert "notification_outbox_pkey" in plan
    assert "Seq Scan" not in plan
    assert "Sort" not in plan
