"""What a batch reads, with much history and many backed-off events: rows counted by the server."""

from collections.abc import Iterator

import psycopg
import pytest

from adapters.postgres.claimed_rows import read_held
from adapters.postgres.claiming import lock_due
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.outbox_repository import PostgresClaimedBatch
from adapters.postgres.pool import build_pool, transaction
from adapters.postgres.untried_search import UntriedSearch
from domain.conclusions import Conclusion
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.contracts.payments import a_retry, a_review, a_settle, an_acknowledge
from tests.helpers.outbox_rows import add_events, add_intents

pytestmark = pytest.mark.integration

FINISHED, BACKED_OFF, DUE, LIMIT = 200_000, 20_000, 5_000, 100


@pytest.fixture(scope="module")
def quiet_hour(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    """A database with much that is finished, many that wait, and due ones behind them.

    Its statistics are from before there was anything to do.
    """
    name = postgres_server.create_database(template=migrated_template)
    backed_off = (FINISHED + 1, FINISHED + BACKED_OFF)
    due = (FINISHED + BACKED_OFF + 1, FINISHED + BACKED_OFF + DUE)
    with psycopg.connect(postgres_server.url(name), autocommit=True) as connection:
        # An index on the status, as the payment manager may well have, must not lead astray.
        connection.execute("CREATE INDEX ON pm.intent (status)")
        add_intents(connection, "SETTLED", first=1, last=FINISHED)
        add_events(connection, "processed", first=1, last=FINISHED)
        connection.execute("ANALYZE")
        add_intents(connection, "AUTHORIZED", first=backed_off[0], last=due[1])
        add_events(connection, "pending", first=backed_off[0], last=backed_off[1], retry_count=3)
        add_events(connection, "pending", first=due[0], last=due[1])
        connection.execute(
            "INSERT INTO pm.outbox_retry (event_id, intent_id, attempts, reason, last_error,"
            " next_attempt_at, first_failed_at, updated_at)"
            " SELECT id, intent_id, 3, 'ledger_refused', '', now() + interval '1 day', now(), now()"
            " FROM pm.outbox_event WHERE retry_count = 3"
        )
    yield name
    postgres_server.drop_database(name)


@pytest.fixture(params=["statistics of a quiet hour", "fresh statistics"])
def big_url(
    request: pytest.FixtureRequest, postgres_server: PostgresServer, quiet_hour: str
) -> Iterator[str]:
    """A copy of the big database."""
    name = postgres_server.create_database(template=quiet_hour)
    url = postgres_server.url(name)
    if request.param == "fresh statistics":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE")
    yield url
    postgres_server.drop_database(name)


def test_a_batch_reads_each_waiting_event_once_and_never_scans_a_table(big_url: str) -> None:
    with build_pool(big_url, size_max=1) as pool, transaction(pool) as connection:
        held = lock_due(connection, limit=LIMIT, search=UntriedSearch())
        batch = PostgresClaimedBatch(connection, read_held(connection, held))
        assert [claimed.event.retry_count for claimed in batch.events] == [0] * LIMIT

        reads = connection.execute(
            "SELECT relname, seq_scan, idx_tup_fetch FROM pg_stat_xact_user_tables"
            " WHERE relname IN ('outbox_event', 'intent', 'outbox_retry')"
        ).fetchall()

    assert {name: scans for name, scans, _ in reads} == {
        "outbox_event": 0,
        "intent": 0,
        "outbox_retry": 0,
    }
    fetched = {name: rows for name, _, rows in reads}
    # The events that wait lie in front in the only index there is: each is looked at once, and
    # its retry row. For what is claimed, and a few of the same moment, some reads more.
    assert fetched["outbox_event"] < BACKED_OFF + 8 * LIMIT
    assert fetched["outbox_retry"] <= BACKED_OFF + 2 * LIMIT
    assert fetched["intent"] < 8 * LIMIT


def test_a_backlog_in_a_table_without_statistics_is_read_no_further_than_the_batch(
    database_url: str,
) -> None:
    # The planner thinks of a handful, and would rather read and judge all of them, and sort.
    with psycopg.connect(database_url, autocommit=True) as connection:
        add_intents(connection, "AUTHORIZED", first=1, last=DUE)
        add_events(connection, "pending", first=1, last=DUE)
    with build_pool(database_url, size_max=1) as pool, transaction(pool) as connection:
        held = lock_due(connection, limit=LIMIT, search=UntriedSearch())
        assert len(held.events) == LIMIT

        assert _rows_read(connection, "outbox_event") < 8 * LIMIT


def test_writing_a_batch_finds_its_rows_by_their_ids(big_url: str) -> None:
    with build_pool(big_url, size_max=1) as pool, transaction(pool) as connection:
        held = lock_due(connection, limit=LIMIT, search=UntriedSearch())
        batch = PostgresClaimedBatch(connection, read_held(connection, held))
        before = _rows_read(connection)
        kinds = (a_settle, an_acknowledge, a_retry, a_review)
        conclusions: list[Conclusion] = [
            kinds[n % len(kinds)](claimed) for n, claimed in enumerate(batch.events)
        ]
        batch.write(conclusions)

        assert _rows_read(connection) - before < 8 * LIMIT


def _rows_read(connection: BoundedConnection, *tables: str) -> int:
    """All rows that this transaction has read from *tables*, or from all that can be big."""
    rows = connection.execute(
        "SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables"
        " WHERE relname = ANY(%s)",
        [list(tables or ("outbox_event", "intent", "outbox_retry"))],
    ).fetchall()
    return int(rows[0][0])
