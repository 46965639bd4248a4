"""What others commit between the lock and the read, and many claims at once."""

import threading
from collections import Counter
from itertools import pairwise
from uuid import uuid4

import pytest

from adapters.postgres.claiming import Held, read_held
from adapters.postgres.pool import Pool, build_pool, transaction
from domain.intents import EventId, Intent, IntentId
from tests.contracts.payments import a_retry, a_settle, an_acknowledge, an_intent
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

LANES = 4
JOIN_TIMEOUT_S = 60.0


def read(pool: Pool, *, events: list[EventId], intents: list[IntentId]) -> list[int]:
    """Which of the events locked are still claimed after the fresh read."""
    with transaction(pool) as connection:
        claimed = read_held(connection, Held(events=tuple(events), intents=tuple(intents)))
        return [one.event.id for one in claimed]


class TestFreshRead:
    """Taking a lock re-reads the locked row alone; the fresh read sees the rest."""

    @pytest.fixture
    def intent(self, bench: PostgresBench) -> Intent:
        intent = an_intent()
        bench.add_intent(intent)
        return intent

    def test_a_backoff_that_was_just_noted_counts(
        self, bench: PostgresBench, pool: Pool, intent: Intent
    ) -> None:
        event_id = bench.add_event(intent.id)
        with bench.outbox.claim(limit=1) as batch:
            batch.write([a_retry(batch.events[0], delay_ms=60_000)])

        assert read(pool, events=[event_id], intents=[intent.id]) == []

    def test_a_manual_review_that_was_just_decided_counts(
        self, bench: PostgresBench, pool: Pool, intent: Intent
    ) -> None:
        event_id = bench.add_event(intent.id)
        bench.set_intent_status(intent.id, "MANUAL_REVIEW")

        assert read(pool, events=[event_id], intents=[intent.id]) == []

    def test_an_earlier_event_that_just_came_goes_first(
        self, bench: PostgresBench, pool: Pool, intent: Intent
    ) -> None:
        event_id = bench.add_event(intent.id, created_after_s=1)
        bench.add_event(intent.id, created_after_s=0)

        assert read(pool, events=[event_id], intents=[intent.id]) == []

    def test_an_event_that_was_just_finished_is_left(
        self, bench: PostgresBench, pool: Pool, intent: Intent
    ) -> None:
        event_id = bench.add_event(intent.id, status="processed")

        assert read(pool, events=[event_id], intents=[intent.id]) == []

    def test_an_intent_that_exists_and_is_not_held_is_left_and_no_orphan(
        self, bench: PostgresBench, pool: Pool, intent: Intent
    ) -> None:
        left = bench.add_event(intent.id)
        orphan = bench.add_event(IntentId(uuid4()), created_after_s=1)

        assert read(pool, events=[left, orphan], intents=[]) == [orphan]


def test_lanes_side_by_side_neither_overlap_nor_overtake(
    bench: PostgresBench, database_url: str
) -> None:
    events: dict[IntentId, list[EventId]] = {}
    with build_pool(database_url, size_max=LANES) as pool, pool.connection() as connection:
        # 500 events of 200 intents: some have one, some have four.
        rows = connection.execute(
            "WITH intents AS ("
            " INSERT INTO pm.intent (id, status, operation_type, amount_satang)"
            " SELECT gen_random_uuid(), 'AUTHORIZED', 'QR', 100 FROM generate_series(1, 200)"
            " RETURNING id),"
            " numbered AS (SELECT id, row_number() OVER () AS number FROM intents)"
            " INSERT INTO pm.outbox_event (intent_id, action, created_at)"
            " SELECT id, 'post_pending', timestamptz '2026-01-01' + round * interval '1 s'"
            " FROM numbered, generate_series(1, 1 + number::integer % 4) AS round"
            " ORDER BY round, number RETURNING intent_id, id"
        ).fetchall()
    for intent_id, event_id in rows:
        events.setdefault(intent_id, []).append(event_id)
    seen: list[EventId] = []
    tried: list[EventId] = []

    def lane() -> None:
        while True:
            with bench.outbox.claim(limit=7) as batch:
                conclusions = []
                for claimed in batch.events:
                    # Appended while the event is held, so the list has the order of holding.
                    seen.append(claimed.event.id)
                    is_last = claimed.event.id == events[claimed.event.intent_id][-1]
                    if is_last and claimed.event.id % 3 == 0:
                        tried.append(claimed.event.id)
                        conclusions.append(a_retry(claimed, delay_ms=3_600_000))
                    elif claimed.intent is not None and claimed.intent.status == "AUTHORIZED":
                        conclusions.append(a_settle(claimed))
                    else:
                        conclusions.append(an_acknowledge(claimed))
                batch.write(conclusions)
            if not batch.events and not bench.execute(
                "SELECT FROM pm.outbox_event WHERE status = 'pending' AND retry_count = 0 LIMIT 1"
            ):
                return

    threads = [threading.Thread(target=lane) for _ in range(LANES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(JOIN_TIMEOUT_S)

    assert len(rows) == 500
    assert Counter(seen) == Counter(event_id for _, event_id in rows)
    assert set(tried) == {
        event_id for (event_id,) in bench.execute("SELECT event_id FROM pm.outbox_retry")
    }
    position = {event_id: n for n, event_id in enumerate(seen)}
    for of_one_intent in events.values():
        assert all(position[one] < position[next_] for one, next_ in pairwise(of_one_intent))
    ((settled, lines),) = bench.execute(
        "SELECT count(*) FILTER (WHERE status = 'SETTLED'),"
        " (SELECT count(*) FROM pm.tx_history WHERE line_no = 0) FROM pm.intent"
    )
    assert settled == lines
