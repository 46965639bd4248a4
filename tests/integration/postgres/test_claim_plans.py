"""Exactly as many events as asked for, the oldest, whatever the planner makes of the claim."""

from urllib.parse import quote

import pytest

from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import build_pool
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

PENDING, LIMIT = 200, 20

PLANS = {
    "sequential scans": "enable_indexscan=off enable_indexonlyscan=off enable_bitmapscan=off",
    "bitmap scans": "enable_indexscan=off enable_indexonlyscan=off enable_seqscan=off",
    "no nested loops": "enable_nestloop=off enable_material=off enable_memoize=off",
    "only nested loops": "enable_hashjoin=off enable_mergejoin=off",
    "loops that keep nothing": "enable_hashjoin=off enable_mergejoin=off enable_material=off"
    " enable_hashagg=off enable_memoize=off",
    "generic plans": "plan_cache_mode=force_generic_plan",
    "parallel": "min_parallel_table_scan_size=0 parallel_setup_cost=0 parallel_tuple_cost=0",
    "absurd costs": "seq_page_cost=0 random_page_cost=1e9 cpu_operator_cost=1e9",
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_no_plan_claims_more_or_others(bench: PostgresBench, database_url: str, plan: str) -> None:
    bench.execute(
        "WITH intents AS ("
        " INSERT INTO pm.intent (id, status, operation_type, amount_satang)"
        " SELECT gen_random_uuid(), 'AUTHORIZED', 'QR', 100 FROM generate_series(1, %s)"
        " RETURNING id)"
        # Stored in another order than that of their age.
        " INSERT INTO pm.outbox_event (intent_id, action, created_at)"
        " SELECT id, 'post_pending', now() - random() * interval '1 day' FROM intents",
        PENDING,
    )
    by_age = [
        event_id
        for (event_id,) in bench.execute("SELECT id FROM pm.outbox_event ORDER BY created_at, id")
    ]
    options = quote(" ".join(f"-c {setting}" for setting in plan.split()))

    with build_pool(f"{database_url}?options={options}", size_max=2) as pool:
        outbox = PostgresOutboxRepository(pool)
        with outbox.claim(limit=LIMIT) as first, outbox.claim(limit=LIMIT) as second:
            free = [
                len(bench.execute(f"SELECT FROM pm.{table} FOR UPDATE SKIP LOCKED"))
                for table in ("outbox_event", "intent")
            ]

    assert [one.event.id for one in first.events] == by_age[:LIMIT]
    assert [one.event.id for one in second.events] == by_age[LIMIT : 2 * LIMIT]
    assert free == [PENDING - 2 * LIMIT] * 2
