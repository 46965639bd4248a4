"""The operator's lists stay cheap beside many finished events, whatever the statistics say."""

from datetime import timedelta

import pytest

from adapters.postgres.outbox_reader import PostgresOutboxReader
from adapters.postgres.pool import build_pool
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.payments import an_intent
from tests.helpers.worker_process import PATIENCE_S
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

FINISHED = 50_000


@pytest.mark.parametrize("statistics", ["fresh", "of an empty table"])
def test_no_list_reads_the_finished_events(bench: PostgresBench, statistics: str) -> None:
    intent = an_intent()
    bench.add_intent(intent)
    bench.execute("ALTER TABLE pm.outbox_event SET (autovacuum_enabled = off)")
    bench.execute("ANALYZE pm.outbox_event")
    bench.execute(
        "INSERT INTO pm.outbox_event (intent_id, action, status, created_at, processed_at)"
        " SELECT gen_random_uuid(), 'post_pending', 'processed', now() - interval '2 days', now()"
        f" FROM generate_series(1, {FINISHED})"
    )
    bench.add_event(intent.id)
    if statistics == "fresh":
        bench.execute("ANALYZE pm.outbox_event")

    with build_pool(bench.url, size_max=1) as pool:
        reader = PostgresOutboxReader(pool)
        assert reader.queue(limit=10).total == 1
        assert reader.stuck(older_than=timedelta(minutes=5), limit=10).waiting.total == 1
        assert reader.retried(more_than=5, limit=10).total == 0
        assert len(reader.statistics(since=timedelta(hours=24))) == 0
        assert reader.dossier(intent.id) is not None

    def counters() -> tuple[int, int]:
        ((by_index, read),) = bench.execute(
            "SELECT idx_scan, seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables"
            " WHERE relid = 'pm.outbox_event'::regclass"
        )
        return int(by_index), int(read)

    # A backend tells its counters at its end.
    wait_until(lambda: counters()[0] > 0, timeout_s=PATIENCE_S, what="the counters have come")
    assert counters()[1] < FINISHED / 10
