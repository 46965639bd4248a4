"""A claim costs the same however much is finished: pages counted by the server.

The real claim, all of its statements, on the same backlog behind little and behind much that is
finished, whatever the planner was told of the tables.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from entrypoints.sandbox.postgres_server import PostgresServer
from tests.growth.claim_cost import ClaimCost, claim_cost, vacuum
from tests.helpers.outbox_rows import add_events, add_intents, process

pytestmark = pytest.mark.integration

FEW, MANY = 100, 100_000
BACKLOG, LIMIT = 1_000, 500
DEAD, FEW_EVENTS = 30_000, 10
DEEPER = 2
"""Bigger indexes have a level more: each look-up reads one page more, never twice as many."""

Connection = psycopg.Connection[Any]


def never_analysed(connection: Connection, finished: int) -> None:
    add_intents(connection, "SETTLED", first=1, last=finished)
    add_events(connection, "processed", first=1, last=finished)


def analysed_when_empty(connection: Connection, finished: int) -> None:
    connection.execute("ANALYZE")
    never_analysed(connection, finished)


def analysed_when_all_was_pending(connection: Connection, finished: int) -> None:
    add_intents(connection, "AUTHORIZED", first=1, last=finished)
    add_events(connection, "pending", first=1, last=finished)
    connection.execute("ANALYZE")
    process(connection, first=1, last=finished)


def analysed_when_all_was_finished(connection: Connection, finished: int) -> None:
    never_analysed(connection, finished)
    connection.execute("ANALYZE")


STATISTICS = [
    never_analysed,
    analysed_when_empty,
    analysed_when_all_was_pending,
    analysed_when_all_was_finished,
]


@pytest.fixture
def fresh_url(
    postgres_server: PostgresServer, migrated_template: str
) -> Iterator[Callable[[], str]]:
    """Make a fresh, migrated database."""
    with ExitStack() as databases:

        def make() -> str:
            name = postgres_server.create_database(template=migrated_template)
            databases.callback(postgres_server.drop_database, name)
            return postgres_server.url(name)

        yield make


def add_backlog(connection: Connection, *, behind: int) -> None:
    add_intents(connection, "AUTHORIZED", first=behind + 1, last=behind + BACKLOG)
    add_events(connection, "pending", first=behind + 1, last=behind + BACKLOG)


def cost_behind(
    url: str, finish: Callable[[Connection, int], None], finished: int, *, fresh: bool = False
) -> ClaimCost:
    """Return what it costs to claim of a backlog behind *finished* events."""
    with psycopg.connect(url, autocommit=True) as connection:
        # An index that the payment manager may well have, and that must not lead astray.
        connection.execute("CREATE INDEX ON pm.intent (status)")
        finish(connection, finished)
        add_backlog(connection, behind=finished)
        if fresh:
            connection.execute("ANALYZE")
    vacuum(url, "outbox_event", "intent")
    return claim_cost(url, limit=LIMIT)


def assert_as_cheap(big: ClaimCost, small: ClaimCost) -> None:
    assert (big.events, small.events) == (LIMIT, LIMIT)
    assert big.scanned.keys().isdisjoint({"outbox_event", "intent"})
    assert big.pages < DEEPER * small.pages


@pytest.mark.parametrize("finish", STATISTICS, ids=lambda one: one.__name__)
def test_a_claim_costs_the_same_behind_a_thousand_times_as_many_finished_events(
    fresh_url: Callable[[], str], finish: Callable[[Connection, int], None]
) -> None:
    small, big = (cost_behind(fresh_url(), finish, finished) for finished in (FEW, MANY))

    assert_as_cheap(big, small)


def test_a_claim_costs_the_same_with_fresh_statistics(fresh_url: Callable[[], str]) -> None:
    small, big = (
        cost_behind(fresh_url(), never_analysed, finished, fresh=True) for finished in (FEW, MANY)
    )

    assert_as_cheap(big, small)


def test_dead_rows_cost_pages_only_while_somebody_may_still_see_them(
    fresh_url: Callable[[], str],
) -> None:
    url = fresh_url()
    with psycopg.connect(url, autocommit=True) as connection:
        add_intents(connection, "AUTHORIZED", first=1, last=DEAD)
        add_events(connection, "pending", first=1, last=DEAD)
        connection.execute("ANALYZE")
        with psycopg.connect(url) as onlooker:
            onlooker.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            onlooker.execute("SELECT count(*) FROM pm.intent")
            process(connection, first=1, last=DEAD)
            add_backlog(connection, behind=DEAD)
            vacuum(url, "outbox_event", "intent")
            pinned = [claim_cost(url, limit=FEW_EVENTS) for _ in range(2)]
        first, second = (claim_cost(url, limit=FEW_EVENTS) for _ in range(2))
    vacuum(url, "outbox_event", "intent")
    swept = claim_cost(url, limit=FEW_EVENTS)

    # Vacuum could take none of them away, so that every claim walks over all of them.
    assert all(cost.pages > 2 * swept.pages for cost in pinned)
    # The first to come when nobody can see them any more marks them as gone.
    assert first.pages > 2 * swept.pages
    assert second.pages < 2 * swept.pages
    assert {cost.events for cost in (*pinned, first, second, swept)} == {FEW_EVENTS}
