"""What a claim takes beside much that is finished; the claims of all databases are interleaved."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

import psycopg

from adapters.postgres.claimed_rows import read_held
from adapters.postgres.claiming import lock_due
from adapters.postgres.pool import Pool, build_pool, transaction
from adapters.postgres.untried_search import UntriedSearch
from benchmarks.arena import Arena
from benchmarks.contestants import BATCH_SIZE
from benchmarks.payments import PAYLOAD
from benchmarks.results import Section, Summary
from benchmarks.rounds import Say

FINISHED: Final = (0, 1_000_000, 5_000_000)
BACKLOG: Final = 5_000
CLAIMS: Final = 41
_FINISHED_INTENTS: Final = (
    "INSERT INTO pm.intent (id, status, operation_type, amount_satang, user_id, metadata,"
    " tb_transfer_ids) SELECT lpad(to_hex(n), 32, '0')::uuid, 'SETTLED', 'INVOICE_PAYMENT', 123456,"
    " gen_random_uuid(), '{}', ARRAY[gen_random_uuid(), gen_random_uuid()]"
    " FROM generate_series(1, %s) AS n"
)
_FINISHED_EVENTS: Final = (
    "INSERT INTO pm.outbox_event (intent_id, action, status, payload, created_at, processed_at)"
    " SELECT lpad(to_hex(n), 32, '0')::uuid, 'post_pending', 'processed', %s::jsonb,"
    " now() - interval '100 days' + n * interval '1 ms', now()"
    " FROM generate_series(1, %s) AS n"
)


def claims(arena: Arena, *, finished: Sequence[int] = FINISHED, say: Say) -> Section:
    """Compare claims of a full batch from the same backlog."""
    with ExitStack() as stack:
        pools: dict[int, Pool] = {}
        for count in finished:
            field = stack.enter_context(arena.field(BACKLOG, with_ledger=False))
            _finish(field.database_url, count)
            field.order()
            pools[count] = stack.enter_context(build_pool(field.database_url, size_max=1))
            say(f"{count:,} finished rows are there")
        times: dict[int, list[float]] = {count: [] for count in finished}
        for _ in range(CLAIMS):
            for count, pool in pools.items():
                times[count].append(_claim_ms(pool))
    medians = {count: Summary.of(samples) for count, samples in times.items()}
    first = medians[finished[0]].median
    return Section(
        name="claims",
        title=f"claiming {BATCH_SIZE} of {BACKLOG:,} events, median of {CLAIMS}",
        columns=("finished rows", "ms", f"to {finished[0]:,}"),
        rows=[(count, one.median, one.median / first) for count, one in medians.items()],
        ratios={f"claim at {count}": one.median / first for count, one in medians.items()},
    )


def _finish(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_FINISHED_INTENTS, [count])
        connection.execute(_FINISHED_EVENTS, [PAYLOAD, count])
        connection.execute("VACUUM ANALYZE")


def _claim_ms(pool: Pool) -> float:
    with transaction(pool) as connection:
        started = time.perf_counter()
        claimed = read_held(
            connection, lock_due(connection, limit=BATCH_SIZE, search=UntriedSearch())
        )
        took_s = time.perf_counter() - started
        connection.rollback()
    if len(claimed) != BATCH_SIZE:
        raise RuntimeError(f"{len(claimed)} events were claimed")
    return took_s * 1_000
