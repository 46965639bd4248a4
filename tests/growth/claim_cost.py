"""What a claim costs: every statement of it, explained by the server just before it runs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import Cursor, sql
from psycopg.abc import Params, Query
from psycopg.rows import TupleRow

from adapters.postgres.claimed_rows import read_held
from adapters.postgres.claiming import lock_due
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.pool import worker_conninfo
from adapters.postgres.untried_search import UntriedSearch

Plan = dict[str, Any]


@dataclass(slots=True)
class ClaimCost:
    """Of all statements of a claim together; *scanned* are tables read from end to end."""

    events: int = 0
    pages: int = 0
    ms: float = 0.0
    scanned: Counter[str] = field(default_factory=Counter)

    def add(self, explained: Plan) -> None:
        """Add a statement's."""
        plan = explained["Plan"]
        self.pages += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        self.ms += explained["Execution Time"]
        self.scanned.update(
            node["Relation Name"] for node in _nodes(plan) if node["Node Type"] == "Seq Scan"
        )


def claim_cost(url: str, *, limit: int) -> ClaimCost:
    """Claim as a worker does, and let it all go again."""
    with _ExplainingConnection.connect(worker_conninfo(url), prepare_threshold=None) as connection:
        held = lock_due(connection, limit=limit, search=UntriedSearch())
        connection.cost.events = len(read_held(connection, held))
        connection.rollback()
        return connection.cost


class _ExplainingConnection(BoundedConnection):
    """Runs each statement twice, the first time explained; whatever it locks it locks anyway."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.cost = ClaimCost()

    def execute(
        self,
        query: Query,
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool = False,
    ) -> Cursor[TupleRow]:
        statement = query if isinstance(query, sql.SQL | sql.Composed) else sql.SQL(str(query))
        explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {}").format(statement)
        ((plans,),) = super().execute(explain, params).fetchall()
        self.cost.add(plans[0])
        return super().execute(statement, params, prepare=prepare, binary=binary)


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)


def vacuum(url: str, *tables: str) -> None:
    """Vacuum *tables* of schema pm, and leave their statistics alone."""
    with psycopg.connect(url, autocommit=True) as connection:
        for table in tables:
            connection.execute(sql.SQL("VACUUM pm.{}").format(sql.Identifier(table)))
