"""What others commit between the lock and the read, and many claims at once."""

import threading
from collections import Counter
from uuid import uuid4

import psycopg
import pytest

from adapters.postgres.claimed_rows import Held, read_held
from adapters.postgres.claiming import PAGES_MAX
from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import Pool, build_pool, transaction
from domain.conclusions import Conclusion
from domain.intents import ClaimedEvent, EventId, Intent, IntentId
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


class TestHeldIntents:
    """What a claim passes over, since somebody else holds the intents, it does not keep."""

    @pytest.mark.parametrize("limit", [1, 10, 100])
    def test_no_more_is_held_than_is_claimed(
        self, bench: PostgresBench, database_url: str, limit: int
    ) -> None:
        held = [an_intent() for _ in range(5)]
        for intent in held:
            bench.add_intent(intent)
            bench.add_event(intent.id)
        free = [an_intent() for _ in range(limit)]
        for number, intent in enumerate(free):
            bench.add_intent(intent)
            bench.add_event(intent.id, created_after_s=1 + number)

        with bench.hold_intent(*(one.id for one in held)), bench.outbox.claim(limit=limit) as batch:
            claimed = [each.event.id for each in batch.events]
            unlocked = bench.execute("SELECT id FROM pm.outbox_event FOR UPDATE SKIP LOCKED")

        assert 0 < len(claimed) <= limit
        assert len(unlocked) == len(held) + len(free) - len(claimed)

    def test_an_intent_is_not_kept_whose_retry_row_somebody_holds(
        self, bench: PostgresBench, database_url: str
    ) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        bench.add_event(intent.id)
        with bench.outbox.claim(limit=1) as batch:
            batch.write([a_retry(batch.events[0], delay_ms=0)])

        with psycopg.connect(database_url) as operator:
            operator.execute("DELETE FROM pm.outbox_retry")
            with bench.outbox.claim(limit=10) as batch:
                unlocked = bench.execute("SELECT id FROM pm.intent FOR UPDATE SKIP LOCKED")
            operator.rollback()

        assert batch.events == ()
        assert unlocked == [(intent.id,)]

    def test_it_does_not_look_for_ever(self, bench: PostgresBench) -> None:
        held = [an_intent() for _ in range(2 * PAGES_MAX)]
        for number, intent in enumerate(held):
            bench.add_intent(intent)
            bench.add_event(intent.id, created_after_s=number)

        with bench.hold_intent(*(one.id for one in held)), bench.outbox.claim(limit=1) as batch:
            assert batch.events == ()
            assert len(bench.execute("SELECT id FROM pm.outbox_event FOR UPDATE SKIP LOCKED")) == 16


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


class Lanes:
    """Threads that empty an outbox, and what they saw of it."""

    def __init__(self, bench: PostgresBench, outbox: PostgresOutboxRepository) -> None:
        self.bench = bench
        self.outbox = outbox
        self.seen: list[EventId] = []

    def run(self) -> None:
        """Empty the outbox with several threads; return when all are done."""
        threads = [threading.Thread(target=self._run_one) for _ in range(LANES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(JOIN_TIMEOUT_S)

    def _run_one(self) -> None:
        while self.bench.execute(
            "SELECT FROM pm.outbox_event WHERE status = 'pending' AND retry_count = 0 LIMIT 1"
        ):
            with self.outbox.claim(limit=7) as batch:
                # Noted while the events are held, so that the list has the order of holding.
                self.seen.extend(claimed.event.id for claimed in batch.events)
                batch.write([self._conclude(claimed) for claimed in batch.events])

    def _conclude(self, claimed: ClaimedEvent) -> Conclusion:
        if claimed.event.action == "void_pending":
            return a_retry(claimed, delay_ms=3_600_000)
        if claimed.intent is not None and claimed.intent.status == "AUTHORIZED":
            return a_settle(claimed)
        return an_acknowledge(claimed)


def test_lanes_side_by_side_neither_overlap_nor_overtake(
    bench: PostgresBench, database_url: str
) -> None:
    # 500 events of 200 intents, which have one to four each; the fourth is to back off.
    events = bench.execute(
        "WITH intents AS ("
        " INSERT INTO pm.intent (id, status, operation_type, amount_satang)"
        " SELECT gen_random_uuid(), 'AUTHORIZED', 'QR', 100 FROM generate_series(1, 200)"
        " RETURNING id),"
        " numbered AS (SELECT id, row_number() OVER () AS number FROM intents)"
        " INSERT INTO pm.outbox_event (intent_id, action, created_at)"
        " SELECT id, CASE round WHEN 4 THEN 'void_pending' ELSE 'post_pending' END,"
        " timestamptz '2026-01-01' + round * interval '1 s'"
        " FROM numbered, generate_series(1, 1 + number::integer %% 4) AS round"
        " ORDER BY round, number RETURNING intent_id, id"
    )
    with build_pool(database_url, size_max=LANES) as pool:
        lanes = Lanes(bench, PostgresOutboxRepository(pool))
        lanes.run()

    assert len(events) == 500
    assert Counter(lanes.seen) == Counter(event_id for _, event_id in events)
    position = {event_id: n for n, event_id in enumerate(lanes.seen)}
    of_one_intent: dict[IntentId, list[EventId]] = {}
    for intent_id, event_id in events:
        of_one_intent.setdefault(intent_id, []).append(event_id)
    for ids in of_one_intent.values():
        assert ids == sorted(ids, key=position.__getitem__)
    ((settled, principals, backed_off),) = bench.execute(
        "SELECT (SELECT count(*) FROM pm.intent WHERE status = 'SETTLED'),"
        " (SELECT count(*) FROM pm.tx_history WHERE line_no = 0),"
        " (SELECT count(*) FROM pm.outbox_event WHERE status = 'pending' AND retry_count = 1)"
    )
    assert (settled, principals, backed_off) == (200, 200, 50)
