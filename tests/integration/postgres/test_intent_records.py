"""Reading intents from Postgres: the contract, and what only a real database shows."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from adapters.postgres import intent_records
from adapters.postgres.intent_records import APPLICATION_NAME, PostgresIntentRecords
from application.errors import DatabaseMisconfiguredError, DatabaseUnavailableError
from domain.intents import IntentId
from domain.reconciliation.record import ByIds, Period
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.intent_records import IntentRecordsContract, a_line, flat, ids_of
from tests.contracts.payments import an_intent
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration


class TestPostgresIntentRecords(IntentRecordsContract):
    """The contract."""


def add(bench: PostgresBench, count: int = 1) -> list[IntentId]:
    intents = [an_intent() for _ in range(count)]
    for intent in intents:
        bench.add_intent(intent)
    return [intent.id for intent in intents]


def last_hour(bench: PostgresBench) -> Period:
    now = bench.records().now()
    return Period(since=now - timedelta(hours=1), until=now)


def sessions(bench: PostgresBench) -> list[tuple[str, str | None]]:
    """Return the state of each session of the reader, and the snapshot that it pins."""
    return [
        (state, snapshot)
        for state, snapshot in bench.execute(
            "SELECT state, backend_xmin::text FROM pg_stat_activity WHERE application_name = %s"
            " AND datname = current_database()",
            APPLICATION_NAME,
        )
    ]


def test_between_two_pages_no_transaction_and_no_snapshot_is_open(bench: PostgresBench) -> None:
    pages = bench.records(page_intents=1).pages(ByIds(tuple(add(bench, 3))))
    next(pages)

    assert sessions(bench) == [("idle", None)]

    assert len(flat(pages)) == 2
    wait_until(lambda: sessions(bench) == [], what="the session has ended")


def test_an_iterator_that_is_closed_early_leaves_no_session(bench: PostgresBench) -> None:
    pages = bench.records(page_intents=1).pages(ByIds(tuple(add(bench, 3))))
    next(pages)

    pages.close()  # type: ignore[attr-defined]

    wait_until(lambda: sessions(bench) == [], what="the session has ended")


def test_a_page_is_one_snapshot(bench: PostgresBench) -> None:
    (intent_id,) = add(bench)
    bench.add_event(intent_id)
    # To read the events it has to wait, and the history comes after them.
    bench.execute(
        "CREATE FUNCTION pm.waited() RETURNS boolean VOLATILE LANGUAGE plpgsql"
        " AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN true; END'"
    )
    bench.execute("ALTER TABLE pm.outbox_event RENAME TO events")
    bench.execute("CREATE VIEW pm.outbox_event AS SELECT * FROM pm.events WHERE pm.waited()")
    pages = bench.records().pages(ByIds((intent_id,)))

    with ThreadPoolExecutor(1) as threads, psycopg.connect(bench.url) as lock:
        lock.execute("SELECT pg_advisory_xact_lock(1)")
        page = threads.submit(lambda: next(pages))
        wait_until(
            lambda: bench.execute("SELECT FROM pg_locks WHERE NOT granted") != [],
            what="it reads the events",
        )
        bench.add_lines(intent_id, a_line(0))
        lock.commit()

        assert [(record.id, record.lines) for record in page.result()] == [(intent_id, ())]


def test_intents_that_list_many_transfers_are_on_pages_of_their_own(bench: PostgresBench) -> None:
    counts = [0, 2, 3, 1, 9, 5, 1]
    intents = [an_intent(tb_transfer_ids=[uuid4() for _ in range(count)]) for count in counts]
    for intent in intents:
        bench.add_intent(intent)
    records = PostgresIntentRecords(dsn=bench.url, page_transfers=5)

    pages = list(records.pages(last_hour(bench)))

    assert ids_of(pages) == sorted(intent.id for intent in intents)
    listed = [[len(record.tb_transfer_ids) for record in page] for page in pages]
    assert all(sum(counts) <= 5 or len(counts) == 1 for counts in listed)
    assert len(pages) < len(intents)


@pytest.mark.parametrize("time", ["infinity", "-infinity"])
def test_an_infinite_time_is_just_now_and_in_every_period(bench: PostgresBench, time: str) -> None:
    (intent_id,) = add(bench)
    event_id = bench.add_event(intent_id)
    bench.execute("UPDATE pm.intent SET updated_at = %s, status = 'SETTLED'", time)
    bench.execute("UPDATE pm.outbox_event SET created_at = %s", time)

    ((record,),) = bench.records().pages(last_hour(bench))

    assert (record.age_ms, [(one.id, one.age_ms) for one in record.events]) == (0, [(event_id, 0)])


@pytest.mark.parametrize(
    ("time", "is_old"), [("294276-12-31", False), ("4713-01-02 BC", True), ("0001-01-01", True)]
)
def test_the_farthest_times_are_ages_too(bench: PostgresBench, time: str, is_old: bool) -> None:
    (intent_id,) = add(bench)
    bench.add_event(intent_id)
    bench.execute("UPDATE pm.intent SET updated_at = %s", time)
    bench.execute("UPDATE pm.outbox_event SET created_at = %s", time)

    ((record,),) = bench.records().pages(ByIds((intent_id,)))

    assert (record.age_ms > 0) is is_old
    assert (record.events[0].age_ms > 0) is is_old


def test_what_a_table_of_somebody_elses_allows_costs_nothing_but_its_own_intent(
    bench: PostgresBench,
) -> None:
    strange, usual = add(bench, 2)
    for column in ("status", "amount_satang", "currency", "tb_transfer_ids", "updated_at"):
        bench.execute(f"ALTER TABLE pm.intent ALTER {column} DROP NOT NULL")
        bench.execute(f"UPDATE pm.intent SET {column} = NULL WHERE id = %s", strange)
    for column in ("line_no", "kind", "amount_satang"):
        bench.execute(f"ALTER TABLE pm.tx_history ALTER {column} DROP NOT NULL")
    bench.execute("ALTER TABLE pm.tx_history ALTER currency DROP NOT NULL")
    bench.execute("INSERT INTO pm.tx_history (intent_id) VALUES (%s)", strange)

    records = {one.id: one for one in flat(bench.records().pages(last_hour(bench)))}

    assert records[usual].status == "AUTHORIZED"
    assert (records[strange].status, records[strange].tb_transfer_ids) == ("", ())
    assert records[strange].age_ms == 0
    assert [(line.line_no, line.kind) for line in records[strange].lines] == [(-1, "")]


def test_an_array_of_arrays_is_read_as_the_ids_in_it(bench: PostgresBench) -> None:
    (intent_id,) = add(bench)
    bench.execute(
        "UPDATE pm.intent SET tb_transfer_ids = ARRAY[ARRAY[%s], ARRAY[%s]]::uuid[][]",
        UUID(int=1),
        UUID(int=2),
    )

    ((record,),) = bench.records().pages(ByIds((intent_id,)))

    assert record.tb_transfer_ids == (UUID(int=1), UUID(int=2))


def test_our_own_tables_are_not_needed(bench: PostgresBench) -> None:
    ids = add(bench, 2)
    bench.execute("DROP TABLE pm.outbox_retry, pm.notification_outbox, pm.outbox_migration")

    assert ids_of(bench.records().pages(ByIds(tuple(ids)))) == sorted(ids)


def test_it_needs_no_right_but_to_read(bench: PostgresBench) -> None:
    ids = add(bench, 2)
    bench.execute("DROP ROLE IF EXISTS pm_reader")
    bench.execute("CREATE ROLE pm_reader LOGIN")
    bench.execute("GRANT USAGE ON SCHEMA pm TO pm_reader")
    bench.execute(
        "GRANT SELECT ON pm.intent, pm.outbox_event, pm.outbox_event_archive, pm.psp_tx_map,"
        " pm.tx_history TO pm_reader"
    )
    records = PostgresIntentRecords(dsn=psycopg.conninfo.make_conninfo(bench.url, user="pm_reader"))

    assert ids_of(records.pages(ByIds(tuple(ids)))) == sorted(ids)


def test_a_right_that_is_missing_is_a_misconfiguration(bench: PostgresBench) -> None:
    bench.execute("DROP ROLE IF EXISTS pm_nobody")
    bench.execute("CREATE ROLE pm_nobody LOGIN")
    records = PostgresIntentRecords(dsn=psycopg.conninfo.make_conninfo(bench.url, user="pm_nobody"))

    with pytest.raises(DatabaseMisconfiguredError, match=r"docs/running\.md"):
        next(records.pages(ByIds((IntentId(uuid4()),))))


def test_a_column_that_is_missing_is_a_misconfiguration(bench: PostgresBench) -> None:
    bench.execute("ALTER TABLE pm.intent DROP COLUMN tb_transfer_ids")

    with pytest.raises(DatabaseMisconfiguredError, match="tb_transfer_ids"):
        next(bench.records().shared_transfers(ByIds(())))


def test_a_server_that_goes_away_between_two_pages_is_an_outage(
    bench: PostgresBench, proxy_to: Callable[[str], TcpProxy]
) -> None:
    proxy = proxy_to(bench.url)
    records = PostgresIntentRecords(dsn=proxy.url, page_intents=1)
    pages = records.pages(ByIds(tuple(add(bench, 2))))
    next(pages)

    proxy.refuse()
    proxy.cut()

    with pytest.raises(DatabaseUnavailableError):
        next(pages)


def test_a_server_that_freezes_between_two_pages_is_an_outage_in_the_end(
    bench: PostgresBench, proxy_to: Callable[[str], TcpProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intent_records, "ANSWER_MARGIN_S", 0)
    proxy = proxy_to(bench.url)
    records = PostgresIntentRecords(dsn=proxy.url, page_intents=1, statement_timeout_ms=500)
    pages = records.pages(ByIds(tuple(add(bench, 2))))
    next(pages)

    proxy.blackhole()

    with pytest.raises(DatabaseUnavailableError):
        next(pages)


def test_a_pooler_that_takes_the_session_away_is_named(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As one does that was not noticed at the start: the cursor is gone.
    declare = sql.SQL("DECLARE selected NO SCROLL CURSOR FOR {query}")
    monkeypatch.setattr(intent_records, "_DECLARE", declare)

    with pytest.raises(DatabaseMisconfiguredError, match="pooler"):
        next(bench.records().pages(ByIds((IntentId(uuid4()),))))


def test_its_transactions_cannot_write(bench: PostgresBench) -> None:
    with (
        bench.records()._connection() as connection,
        connection.begun(),
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        connection.execute("DELETE FROM pm.intent")
