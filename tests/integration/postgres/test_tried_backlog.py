"""A backlog of events that all failed before, as an outage of the ledger's leaves it."""

from typing import Any

import pytest

from adapters.postgres.claimed_rows import Held
from adapters.postgres.claiming import lock_due
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.pool import Pool, transaction
from adapters.postgres.untried_search import SEARCHES_A_ROUND, UntriedSearch
from domain.pacing import BatchSizes
from tests.contracts.payments import an_acknowledge
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

TRIED, LIMIT = 3_000, 100
SLACK = 100
"""So many events are made in the second before the last: a search reads those again."""


def add_events(bench: PostgresBench, count: int, *, retry_count: int, start_s: int) -> None:
    """Add orders, 10 ms apart."""
    bench.execute(
        "WITH events AS ("
        " INSERT INTO pm.outbox_event (intent_id, action, retry_count, created_at)"
        " SELECT gen_random_uuid(), 'post_pending', %s,"
        "        timestamptz '2026-01-01' + %s * interval '1 s' + number * interval '10 ms'"
        " FROM generate_series(1, %s) AS number RETURNING intent_id)"
        " INSERT INTO pm.intent (id, status, operation_type, amount_satang)"
        " SELECT intent_id, 'SETTLED', 'QR', 100 FROM events",
        retry_count,
        start_s,
        count,
    )


@pytest.fixture(autouse=True)
def _tried(bench: PostgresBench) -> None:
    add_events(bench, TRIED, retry_count=1, start_s=0)


@pytest.fixture
def search() -> UntriedSearch:
    return UntriedSearch()


def claim(pool: Pool, search: UntriedSearch) -> tuple[Held, int]:
    """Return what a claim would hold now, and how many events it read."""
    with transaction(pool) as connection:
        before = rows_read(connection)
        held = lock_due(connection, limit=LIMIT, search=search)
        return held, rows_read(connection) - before


def rows_read(connection: BoundedConnection) -> int:
    """Of the table of events, by this session so far."""
    ((count,),) = connection.execute(
        "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables"
        " WHERE relname = 'outbox_event'"
    ).fetchall()
    return int(count)


def test_it_is_worked_off_in_batches_that_grow(bench: PostgresBench) -> None:
    sizes = BatchSizes(max=500)
    size = sizes.first
    claimed: list[int] = []
    while len(claimed) <= TRIED and (not claimed or claimed[-1]):
        with bench.outbox.claim(limit=size) as batch:
            batch.write([an_acknowledge(one) for one in batch.events])
        claimed.append(len(batch.events))
        size = sizes.after(size, claimed=claimed[-1])

    assert claimed == [64, 128, 256, 500, 500, 500, 500, 500, 52, 0]


@pytest.mark.parametrize("others", [0, 10, 3 * LIMIT], ids="{} others behind it".format)
def test_it_is_not_read_again_for_every_batch(
    bench: PostgresBench, pool: Pool, search: UntriedSearch, others: int
) -> None:
    add_events(bench, others, retry_count=0, start_s=3_600)

    held, fetched = claim(pool, search)
    assert len(held.events) == LIMIT
    assert fetched > TRIED

    for _ in range(SEARCHES_A_ROUND - 1):
        held, fetched = claim(pool, search)
        assert len(held.events) == LIMIT
        assert fetched < 8 * LIMIT + SLACK


def test_what_somebody_sets_back_in_the_midst_of_it_is_found_within_a_round(
    bench: PostgresBench, pool: Pool, search: UntriedSearch
) -> None:
    claim(pool, search)
    ((set_back,),) = bench.execute(
        "UPDATE pm.outbox_event SET retry_count = 0 WHERE id ="
        " (SELECT id FROM pm.outbox_event ORDER BY created_at OFFSET %s LIMIT 1) RETURNING id",
        TRIED // 2,
    )

    found = [set_back in claim(pool, search)[0].events for _ in range(SEARCHES_A_ROUND)]

    assert found[-1]


@pytest.mark.parametrize("tried", [0, LIMIT // 2])
def test_a_claim_of_what_is_due_for_the_first_time_asks_no_more_for_it(
    bench: PostgresBench, pool: Pool, monkeypatch: pytest.MonkeyPatch, tried: int
) -> None:
    bench.execute("DELETE FROM pm.outbox_event WHERE id > %s", tried)
    add_events(bench, LIMIT, retry_count=0, start_s=3_600)
    asked: list[object] = []
    execute = BoundedConnection.execute

    def noting(self: BoundedConnection, query: Any, *args: Any) -> Any:
        if query:  # the pool asks nothing, to see whether the connection is alive
            asked.append(query)
        return execute(self, query, *args)

    monkeypatch.setattr(BoundedConnection, "execute", noting)
    with bench.outbox.claim(limit=LIMIT) as batch:
        pass

    assert len(batch.events) == LIMIT
    # BEGIN, the planner's settings, events, intents, all afresh; retry rows, if there are any.
    assert len(asked) == (6 if tried else 5)
