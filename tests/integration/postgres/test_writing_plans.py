"""What the server does to write a batch: its work grows with the batch, not with its square."""

from collections.abc import Sequence
from typing import Any, cast

import psycopg
import pytest

from adapters.postgres import writing
from adapters.postgres.claimed_rows import read_held
from adapters.postgres.claiming import lock_due
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.pool import build_pool, transaction
from adapters.postgres.untried_search import UntriedSearch
from domain.intents import ClaimedEvent
from tests.contracts.payments import a_retry, a_review, a_settle, an_acknowledge

pytestmark = pytest.mark.integration

EVENTS = 400


class _Nothing:
    def fetchall(self) -> Sequence[tuple[Any, ...]]:
        return ()


class _Explaining:
    """Takes the place of a connection: explains what it is told to do, having done it."""

    def __init__(self, connection: BoundedConnection) -> None:
        self._connection = connection
        self.rows = 0

    def execute(self, query: str, parameters: dict[str, Any]) -> _Nothing:
        statement = cast(Any, f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {query}")
        [[plan]] = self._connection.execute(statement, parameters).fetchall()
        self.rows += _rows_of(plan[0]["Plan"])
        return _Nothing()


def _rows_of(node: dict[str, Any]) -> int:
    """All rows that *node* and those under it made or threw away."""
    kinds = ("Actual Rows", "Rows Removed by Join Filter", "Rows Removed by Filter")
    own = sum(node.get(kind, 0) for kind in kinds) * node.get("Actual Loops", 1)
    return int(own) + sum(_rows_of(child) for child in node.get("Plans", ()))


@pytest.fixture(params=["never analysed", "analysed when empty", "fresh statistics"])
def url(request: pytest.FixtureRequest, database_url: str) -> str:
    """A database with a backlog, and statistics of some hour."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        if request.param == "analysed when empty":
            connection.execute("ANALYZE")
        connection.execute(
            "INSERT INTO pm.intent (id, status, operation_type, amount_satang)"
            " SELECT lpad(to_hex(number), 32, '0')::uuid, 'AUTHORIZED', 'QR', 100"
            " FROM generate_series(1, %s) AS number",
            [EVENTS],
        )
        connection.execute(
            "INSERT INTO pm.outbox_event (intent_id, action)"
            " SELECT id, 'post_pending' FROM pm.intent"
        )
        if request.param == "fresh statistics":
            connection.execute("ANALYZE")
    return database_url


@pytest.mark.parametrize("kind", ["settle", "acknowledge", "retry", "review"])
def test_the_work_of_writing_grows_with_the_batch_and_not_with_its_square(
    url: str, kind: str
) -> None:
    with build_pool(url, size_max=1) as pool, transaction(pool) as connection:
        events = read_held(connection, lock_due(connection, limit=EVENTS, search=UntriedSearch()))
        explaining = _Explaining(connection)
        _write(kind, cast(BoundedConnection, explaining), events)

        assert len(events) == EVENTS
        assert explaining.rows <= 40 * EVENTS


def _write(kind: str, connection: BoundedConnection, events: Sequence[ClaimedEvent]) -> None:
    match kind:
        case "settle":
            writing.settle(connection, [a_settle(event) for event in events])
        case "acknowledge":
            writing.acknowledge(connection, [an_acknowledge(event) for event in events])
        case "retry":
            writing.retry(connection, [a_retry(event) for event in events])
        case _:
            writing.review(connection, [a_review(event) for event in events])
