"""Exactly as many events as asked for, the oldest, whatever the planner makes of the claim."""

from dataclasses import dataclass
from urllib.parse import quote

import psycopg
import pytest

from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import build_pool
from application.ports.outbox_repository import ClaimedBatch
from domain.intents import IntentId
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

LIMIT = 20

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


# Every 10th intent does not exist, every 3rd has another event behind the first. In the order of
# their age: what backs off or is under review, what failed before, what was never tried.
SEED = """
    CREATE TEMP TABLE seed AS
        SELECT gen_random_uuid() AS intent_id, number,
               number % 10 <> 0 AS exists,
               number BETWEEN 11 AND 19 AS is_in_review,
               number BETWEEN 1 AND 10 AS backs_off,
               number BETWEEN 20 AND 80 AS was_tried
        FROM generate_series(1, 200) AS number;
    INSERT INTO pm.intent (id, status, operation_type, amount_satang)
        SELECT intent_id, CASE WHEN is_in_review THEN 'MANUAL_REVIEW' ELSE 'AUTHORIZED' END,
               'QR', 100
        FROM seed WHERE exists ORDER BY random();
    -- Stored in another order than that of their age.
    INSERT INTO pm.outbox_event (intent_id, action, retry_count, created_at)
        SELECT intent_id, 'post_pending', (backs_off OR was_tried)::integer,
               timestamptz '2026-01-01' + number * interval '1 minute'
        FROM seed ORDER BY random();
    INSERT INTO pm.outbox_retry (event_id, intent_id, attempts, reason, last_error,
                                 next_attempt_at, first_failed_at, updated_at)
        SELECT e.id, intent_id, 1, 'ledger_refused', '',
               now() + CASE WHEN backs_off THEN interval '1 day' ELSE interval '-1 s' END,
               now(), now()
        FROM pm.outbox_event e JOIN seed USING (intent_id) WHERE retry_count > 0;
    INSERT INTO pm.outbox_event (intent_id, action, created_at)
        SELECT intent_id, 'void_pending', timestamptz '2026-01-01' + number * interval '61 s'
        FROM seed WHERE number % 3 = 0 ORDER BY random();
    SELECT e.id, e.intent_id, was_tried, exists
        FROM pm.outbox_event e JOIN seed USING (intent_id)
        WHERE action = 'post_pending' AND NOT (backs_off OR is_in_review)
        ORDER BY created_at, e.id
"""


@dataclass(frozen=True, slots=True)
class Due:
    """An event that a claim may take."""

    id: int
    intent_id: IntentId
    was_tried: bool
    has_intent: bool


def seed(url: str) -> tuple[list[Due], list[Due]]:
    """Fill the database; return what is due of the tried and of the untried, oldest first."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(SEED)
        while cursor.nextset():
            pass
        due = [Due(*row) for row in cursor.fetchall()]
    return [one for one in due if one.was_tried], [one for one in due if not one.was_tried]


@pytest.mark.parametrize("held", [0, 4], ids="{} intents held by others".format)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_no_plan_claims_more_or_others(
    bench: PostgresBench, database_url: str, plan: str, held: int
) -> None:
    tried, untried = seed(database_url)
    in_use = [*with_intent(tried)[:held], *with_intent(untried)[:held]]
    free_tried, free_untried = (
        [one for one in due if one not in in_use] for due in (tried, untried)
    )
    options = quote(" ".join(f"-c {setting}" for setting in plan.split()))

    with (
        bench.hold_intent(*(one.intent_id for one in in_use)),
        build_pool(f"{database_url}?options={options}", size_max=2) as pool,
    ):
        outbox = PostgresOutboxRepository(pool)
        with outbox.claim(limit=LIMIT) as first, outbox.claim(limit=LIMIT) as second:
            free = {
                table: set(bench.execute(f"SELECT id FROM pm.{table} FOR UPDATE SKIP LOCKED"))
                for table in ("outbox_event", "intent")
            }

    # Half of each is tried events. The first passes by the untried ones whose intents are held,
    # and stops without them; the second does not even begin with those.
    half = LIMIT // 2
    expected = [
        free_tried[:half] + free_untried[: half - held],
        free_tried[half:LIMIT] + free_untried[half - held :][:half],
    ]
    assert [ids(first), ids(second)] == [[one.id for one in batch] for batch in expected]
    claimed = [one for batch in expected for one in batch]
    for table, taken in (
        ("outbox_event", [one.id for one in claimed]),
        ("intent", [one.intent_id for one in with_intent(claimed) + in_use]),
    ):
        rows = {id_ for (id_,) in bench.execute(f"SELECT id FROM pm.{table}")}
        assert rows - {id_ for (id_,) in free[table]} == set(taken)


def with_intent(due: list[Due]) -> list[Due]:
    """Leave out the orphans."""
    return [one for one in due if one.has_intent]


def ids(batch: ClaimedBatch) -> list[int]:
    """Return which events were claimed."""
    return [claimed.event.id for claimed in batch.events]
