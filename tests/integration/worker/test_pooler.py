"""A worker behind PgBouncer in transaction mode, as Debian ships it: nothing has to be set."""

from collections.abc import Iterator

import pytest
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.helpers.pgbouncer import PgBouncer
from tests.helpers.worker_process import run_command
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.gate import Gate, Moment
from tests.integration.worker.payment_manager import (
    PaymentManager,
    assert_logged_once,
    assert_on_stream_once,
)

pytestmark = [pytest.mark.integration, pytest.mark.pgbouncer]

DOWN = "outbox: part is down"


@pytest.fixture
def pooler(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    """It lends as many connections as a worker works with at once, and not one more."""
    with PgBouncer(postgres_server, pool_mode="transaction", default_pool_size="3") as pooler:
        yield pooler


@pytest.fixture
def pooled(settings: dict[str, str], pooler: PgBouncer) -> dict[str, str]:
    """The worker's settings, through the pooler."""
    return settings | {"DATABASE_URL": pooler.url(settings["DATABASE_URL"])}


def test_several_workers_settle_each_payment_once(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    pooled: dict[str, str],
    redis: Redis,
) -> None:
    payments = payment_manager.order(240)
    workers = [start_worker(**pooled | {"OUTBOX_BATCH_SIZE": "10"}) for _ in range(2)]

    payment_manager.wait_delivered(*workers)

    assert [worker.stop() for worker in workers] == [0, 0]
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert_logged_once(payments, *workers)


@pytest.mark.parametrize("moment", [Moment.BEFORE_CHAINS, Moment.AFTER_FEES])
def test_a_pooler_that_dies_in_the_middle_of_a_batch_is_an_outage_and_no_more(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    pooled: dict[str, str],
    ledger: FaultyLedger,
    pooler: PgBouncer,
    redis: Redis,
    moment: Moment,
) -> None:
    gate = Gate(ledger, moment, nth=2)
    payments = payment_manager.order(60)
    worker = start_worker(**pooled | {"OUTBOX_BATCH_SIZE": "20", "OUTBOX_LANES": "1"})
    gate.wait_reached(worker)

    pooler.kill()
    gate.open()
    worker.wait_for(DOWN, part="database")
    payment_manager.assert_counted_against_nobody()
    pooler.start()
    payment_manager.wait_delivered(worker)

    assert worker.stop() == 0
    assert len(worker.logged(DOWN, part="database")) == 1
    payment_manager.assert_settled_once(payments)
    assert_logged_once(payments, worker)


@pytest.mark.parametrize("command", ["migrate", "queue", "stuck", "retries", "stats"])
def test_commands_work(pooled: dict[str, str], command: str) -> None:
    done = run_command(command, environment=pooled)

    assert (done.returncode, done.stderr) == (0, "")


def test_an_event_is_requeued(payment_manager: PaymentManager, pooled: dict[str, str]) -> None:
    payment_manager.order(1)
    payment_manager.execute("UPDATE pm.outbox_event SET status = 'failed', retry_count = 12")
    ((event_id,),) = payment_manager.execute("SELECT id FROM pm.outbox_event")

    done = run_command("requeue", str(event_id), "--yes", environment=pooled)

    assert done.returncode == 0, done.stderr
    assert payment_manager.execute("SELECT status, retry_count FROM pm.outbox_event") == [
        ("pending", 0)
    ]


def test_reconcile_says_that_it_needs_a_session_of_its_own(pooled: dict[str, str]) -> None:
    done = run_command("reconcile", environment=pooled)

    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    assert "DATABASE_URL leads to a pooler in transaction mode" in line
    assert "connect to Postgres itself" in line
