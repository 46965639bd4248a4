"""A batch of pruning reads its own rows, however much is finished: rows counted by the server."""

import psycopg
import pytest

from adapters.postgres.event_archive import PostgresEventArchive
from adapters.postgres.pool import build_pool
from application.ports.event_archive import Position
from tests.helpers.outbox_rows import add_events, add_intents
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

FINISHED, LIMIT, BATCHES = 50_000, 500, 3
TABLES = ("outbox_event", "intent")


@pytest.fixture(params=["never analysed", "analysed when empty", "analysed"])
def big_url(request: pytest.FixtureRequest, bench: PostgresBench) -> str:
    """A database with much that is finished."""
    with psycopg.connect(bench.url, autocommit=True) as connection:
        if request.param == "analysed when empty":
            connection.execute("ANALYZE")
        add_intents(connection, "SETTLED", first=1, last=FINISHED)
        add_events(connection, "processed", first=1, last=FINISHED)
        if request.param == "analysed":
            connection.execute("ANALYZE")
    return bench.url


def read(url: str) -> dict[str, tuple[int, int]]:
    """Scans of each table, and entries that were read of its indexes."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT t.relname, t.seq_scan, sum(i.idx_tup_read)::bigint"
            " FROM pg_stat_user_tables t JOIN pg_stat_user_indexes i USING (relid)"
            " WHERE t.relname = ANY(%s) GROUP BY t.relname, t.seq_scan",
            [list(TABLES)],
        ).fetchall()
    return {name: (scans, entries) for name, scans, entries in rows}


def test_each_batch_reads_its_own_rows_and_never_scans_a_table(big_url: str) -> None:
    before_all = read(big_url)

    with build_pool(big_url, size_max=1) as pool:
        archive, position = PostgresEventArchive(pool), Position()
        with pool.connection() as connection:
            ((before,),) = connection.execute("SELECT now()").fetchall()
        for _ in range(BATCHES):
            portion = archive.find(before=before, after=position, limit=LIMIT)
            assert archive.move(portion.event_ids, before=before) == LIMIT
            assert portion.end is not None
            position = portion.end

    after_all = read(big_url)
    for table in TABLES:
        (scans_before, entries_before), (scans, entries) = before_all[table], after_all[table]
        assert scans == scans_before
        assert entries - entries_before < 8 * LIMIT * BATCHES
