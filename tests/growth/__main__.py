"""Measure what a claim costs on a table that grows, and print it.

``python -m tests.growth [--events N]`` starts a Postgres of its own. Each line is a claim of 500
of 1,000 due events: the second of two, so that all it reads is in memory.
"""

import argparse
import sys
from typing import Any, Final

import psycopg

from adapters.postgres.migrations import apply_migrations
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.growth.claim_cost import ClaimCost, claim_cost, vacuum
from tests.helpers.outbox_rows import add_events, add_intents, process

EVENTS: Final = 5_000_000
STEPS: Final = (1_000, 100_000)
"""Finished rows before the last line of all."""
BACKLOG, LIMIT, DEAD = 1_000, 500, 100_000

Connection = psycopg.Connection[Any]


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(prog="make growth")
    parser.add_argument("--events", type=int, default=EVENTS)
    events: int = parser.parse_args().events
    with PostgresServer() as server:
        url = server.url(server.create_database())
        apply_migrations(url)
        with psycopg.connect(url, autocommit=True) as connection:
            print(f"{'finished':>10} {'pages':>8} {'ms':>7}  dead rows")
            finished = 0
            for wanted in sorted({step for step in STEPS if step < events} | {events}):
                _finish(connection, finished + 1, wanted)
                finished = wanted
                vacuum(url, "outbox_event", "intent")
                _measure(connection, url, finished, "none")
            _with_dead_rows(connection, url, finished)


def _finish(connection: Connection, first: int, last: int) -> None:
    add_intents(connection, "SETTLED", first=first, last=last)
    add_events(connection, "processed", first=first, last=last)


def _with_dead_rows(connection: Connection, url: str, finished: int) -> None:
    last = finished + DEAD
    add_intents(connection, "AUTHORIZED", first=finished + 1, last=last)
    add_events(connection, "pending", first=finished + 1, last=last)
    with psycopg.connect(url) as onlooker:
        onlooker.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        onlooker.execute("SELECT FROM pm.intent LIMIT 1")
        process(connection, first=finished + 1, last=last)
        vacuum(url, "outbox_event", "intent")
        _measure(connection, url, last, f"{DEAD:,}, vacuumed in vain: a transaction is older")
    _measure(connection, url, last, f"{DEAD:,}, that transaction has ended")
    vacuum(url, "outbox_event", "intent")
    _measure(connection, url, last, "vacuumed")


def _measure(connection: Connection, url: str, finished: int, dead_rows: str) -> None:
    """Print what a claim costs behind *finished* rows; its backlog goes again."""
    with connection.transaction():
        add_intents(connection, "AUTHORIZED", first=finished + 1, last=finished + BACKLOG)
        add_events(connection, "pending", first=finished + 1, last=finished + BACKLOG)
    claim_cost(url, limit=LIMIT)
    cost: ClaimCost = claim_cost(url, limit=LIMIT)
    # A table of a few pages is rightly read from end to end.
    scans = cost.scanned.keys() & {"outbox_event", "intent"} if finished > STEPS[0] else set()
    if cost.events != LIMIT or scans:
        sys.exit(f"a fault of the claim: {cost}")
    print(f"{finished:>10,} {cost.pages:>8,} {cost.ms:>7.1f}  {dead_rows}", flush=True)
    ids = "BETWEEN lpad(to_hex(%s::int), 32, '0')::uuid AND lpad(to_hex(%s::int), 32, '0')::uuid"
    for table, column in (("outbox_event", "intent_id"), ("intent", "id")):
        connection.execute(
            f"DELETE FROM pm.{table} WHERE {column} {ids}".encode(),
            [finished + 1, finished + BACKLOG],
        )


if __name__ == "__main__":
    main()
