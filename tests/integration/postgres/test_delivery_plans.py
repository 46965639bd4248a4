"""Of a long queue, delivery reads its batch and no more, whatever the planner knows of it."""

import psycopg
import pytest

from adapters.postgres.notification_queue import DELETE, LOCK

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
    parameter: object = BATCH if statement is LOCK else list(range(1, BATCH + 1))
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(FILL, [40 * BATCH])
        if is_analyzed:
            connection.execute("ANALYZE pm.notification_outbox")
        plan = "\n".join(
            line for (line,) in connection.execute(f"EXPLAIN {statement}".encode(), [parameter])
        )

    assert "notification_outbox_pkey" in plan
    assert "Seq Scan" not in plan
    assert "Sort" not in plan
