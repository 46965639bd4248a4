"""Does a worker's memory stay as it is, however much it settles?"""

from typing import Final

import psycopg

from benchmarks.arena import Arena
from benchmarks.contestants import PATIENCE_S, nothing_left, workers
from benchmarks.payments import order
from benchmarks.results import Section
from benchmarks.rounds import Say
from benchmarks.usage import resident_bytes
from entrypoints.sandbox.waiting import wait_until

PORTIONS: Final = 20
_MIB: Final = 2**20


def memory(arena: Arena, *, events: int, say: Say) -> Section:
    """Let one worker settle *events*, in portions; after each it has come to rest."""
    portion = max(events // PORTIONS, 1)
    rows: list[tuple[int, float]] = []
    with (
        arena.field(0) as field,
        workers(field) as (worker,),
        psycopg.connect(field.database_url, autocommit=True) as connection,
    ):
        for done in range(portion, portion * PORTIONS + 1, portion):
            payments = arena.payments(portion)
            arena.add(field.database_url, payments, with_ledger=True)
            order(connection, payments)
            wait_until(nothing_left(connection), timeout_s=PATIENCE_S, what="all is settled")
            arena.valkey.flush()
            rows.append((done, resident_bytes(worker.pid) / _MIB))
            say(f"{done:,} events: {rows[-1][1]:.1f} MiB")
    return Section(
        name="memory",
        title="the worker's resident memory",
        columns=("events settled", "MiB"),
        rows=rows,
        ratios={"memory, last to first": rows[-1][1] / rows[0][1]},
    )
