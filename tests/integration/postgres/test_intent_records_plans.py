"""What reading for reconciling costs on big tables: the plans that Postgres chooses.

A page is read by indexes, however large the tables are. What has to look at every intent looks
at each once or twice, and joins them by a hash or by sorting: twice the intents take twice as long.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql

from adapters.postgres import intent_records
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

INTENTS: Final = 50_000
PERIOD: Final = {
    "since": datetime(2026, 1, 1, tzinfo=UTC),
    "until": datetime(2100, 1, 1, tzinfo=UTC),
}


@pytest.fixture
def intents(bench: PostgresBench) -> PostgresBench:
    """A database of many settled intents."""
    bench.execute(
        "INSERT INTO pm.intent (id, status, amount_satang, currency, user_id, operation_type,"
        " tb_transfer_ids, metadata) SELECT gen_random_uuid(), 'SETTLED', 100, 'THB',"
        " gen_random_uuid(), 'ADMIN', ARRAY[gen_random_uuid(), gen_random_uuid()], '{}'"
        " FROM generate_series(1, %s)",
        INTENTS,
    )
    bench.execute("ANALYZE pm.intent")
    return bench


@pytest.fixture
def rows(intents: PostgresBench) -> PostgresBench:
    """The same, with an event, a PSP row and a line of history for each."""
    for statement in (
        "INSERT INTO pm.outbox_event (intent_id, action, status)"
        " SELECT id, 'post_pending', 'processed' FROM pm.intent",
        "INSERT INTO pm.outbox_event_archive (id, intent_id, action, status, retry_count,"
        " created_at, archived_at)"
        " SELECT id, intent_id, action, status, retry_count, created_at, now()"
        " FROM pm.outbox_event",
        "INSERT INTO pm.psp_tx_map (intent_id, psp) SELECT id, 'IPPS' FROM pm.intent",
        "INSERT INTO pm.tx_history (intent_id, line_no, kind, amount_satang, currency)"
        " SELECT id, 0, 'PRINCIPAL', 100, 'THB' FROM pm.intent",
        "ANALYZE pm.outbox_event, pm.outbox_event_archive, pm.psp_tx_map, pm.tx_history",
    ):
        intents.execute(statement)
    return intents


def plan_of(
    bench: PostgresBench, query: str | sql.Composable, parameters: Mapping[str, object]
) -> list[dict[str, Any]]:
    """Return the nodes of the plan of *query*."""
    statement = sql.SQL(query) if isinstance(query, str) else query
    with psycopg.connect(bench.url) as connection:
        explain = sql.SQL("EXPLAIN (FORMAT JSON) {}").format(statement)
        rows = connection.execute(explain, parameters).fetchall()
    (((plan,),),) = rows
    return list(nodes(plan["Plan"]))


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def tables_read(plan: list[dict[str, Any]], how: str | None = None) -> Counter[str]:
    """Count how often each table is scanned, of the scans that are of kind *how*."""
    return Counter(
        node["Relation Name"]
        for node in plan
        if "Relation Name" in node and how in (None, node["Node Type"])
    )


def test_a_page_is_read_by_indexes(rows: PostgresBench) -> None:
    ids = some_ids(rows, intent_records.PAGE_INTENTS)
    parameters = {"ids": f"{{{','.join(ids)}}}"}
    queries: list[tuple[str | sql.Composable, set[str]]] = [
        (intent_records._READ_INTENTS, {"intent", "psp_tx_map"}),
        (intent_records._READ_EVENTS, {"outbox_event", "outbox_event_archive"}),
        (intent_records._READ_LINES, {"tx_history"}),
    ]

    plans = [plan_of(rows, query, parameters) for query, _ in queries]

    assert [set(tables_read(plan)) for plan in plans] == [tables for _, tables in queries]
    assert [tables_read(plan, "Seq Scan") for plan in plans] == [Counter()] * 3


def test_which_intents_are_selected_takes_one_scan(intents: PostgresBench) -> None:
    query = intent_records._SELECT.format(selected=intent_records._IN_PERIOD)

    assert tables_read(plan_of(intents, query, PERIOD)) == {"intent": 1}


def test_which_transfers_are_shared_takes_three_scans(intents: PostgresBench) -> None:
    query = intent_records._SHARED.format(selected=intent_records._IN_PERIOD)

    plan = plan_of(intents, query, PERIOD)

    assert tables_read(plan) == {"intent": 3}
    assert_joined_at_once(plan)


def test_who_else_lists_the_money_takes_one_scan_for_any_number_of_intents(
    intents: PostgresBench,
) -> None:
    ids = some_ids(intents, 10_000)

    plan = plan_of(intents, intent_records._SHARING, {"ids": ids})

    assert tables_read(plan) == {"intent": 2}, "those that are asked about, and all"
    assert tables_read(plan, "Seq Scan") == {"intent": 1}
    assert_joined_at_once(plan)


def some_ids(bench: PostgresBench, count: int) -> list[str]:
    return [id_ for (id_,) in bench.execute("SELECT id::text FROM pm.intent LIMIT %s", count)]


def assert_joined_at_once(plan: list[dict[str, Any]]) -> None:
    """Assert that intents are joined with each other by a hash or by sorting.

    What a nested loop repeats is no more than a row's own array.
    """
    assert {"Hash Join", "Merge Join"} & {node["Node Type"] for node in plan}
    for node in plan:
        if node["Node Type"] == "Nested Loop":
            _, inner = node["Plans"]
            assert inner["Node Type"] == "Function Scan"
