"""What Postgres does to a worker at work, again and again: nothing is lost, doubled or counted."""

import threading
from collections.abc import Callable

import psycopg
import pytest
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.helpers.read_only import read_only
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import WorkerProcess
from tests.integration.redis.clients import STREAM, entries
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.gate import Gate, Moment
from tests.integration.worker.payment_manager import (
    Payment,
    PaymentManager,
    assert_logged_once,
    assert_on_stream_once,
)

pytestmark = pytest.mark.integration

DOWN = "outbox: part is down"
UP = "outbox: part is up"
SMALL_BATCHES = {"OUTBOX_BATCH_SIZE": "10", "OUTBOX_LANES": "2"}
LOAD = 300
LOSSES = 5


def processed(payment_manager: PaymentManager) -> int:
    """How many events are processed by now."""
    ((count,),) = payment_manager.execute(
        "SELECT count(*) FROM pm.outbox_event WHERE status = 'processed'"
    )
    return int(count)


def wait_for_progress(payment_manager: PaymentManager, worker: WorkerProcess) -> int:
    """Wait until another event is processed, if any is left; return how many are."""
    before = processed(payment_manager)
    worker.wait_until(
        lambda: before == LOAD or processed(payment_manager) > before, what="another batch"
    )
    return processed(payment_manager)


def test_sessions_that_are_ended_all_the_time_cost_time_only(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    redis: Redis,
) -> None:
    payments: list[Payment] = []
    worker = start_worker(**settings | SMALL_BATCHES)

    for _ in range(LOSSES):
        before = processed(payment_manager)
        payments += payment_manager.order(LOAD)
        worker.wait_until(
            lambda before=before: processed(payment_manager) > before,  # type: ignore[misc]
            what="it is at work",
        )
        ended = payment_manager.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = 'outbox-worker' AND datname = current_database()"
        )
        assert ended
    payment_manager.wait_delivered(worker)

    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    told = [fields["payload"] for fields in entries(redis, STREAM)]
    assert len(set(told)) == sum(len(payment.told) for payment in payments)


def test_commits_whose_answers_are_lost_are_not_repeated(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    database_url: str,
    proxy_to: Callable[[str], TcpProxy],
    redis: Redis,
) -> None:
    proxy = proxy_to(database_url)
    payments = payment_manager.order(LOAD)
    worker = start_worker(**settings | SMALL_BATCHES | {"DATABASE_URL": proxy.url})

    while wait_for_progress(payment_manager, worker) < LOAD:
        lost = proxy.answers_lost_total
        proxy.lose_answer_to(b"COMMIT\0")
        worker.wait_until(
            lambda lost=lost: proxy.answers_lost_total > lost,  # type: ignore[misc]
            what="an answer is lost",
        )
    payment_manager.wait_delivered(worker)

    assert proxy.answers_lost_total >= LOSSES
    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)


class TestFailOver:
    """The server takes no writes for a while."""

    @pytest.fixture
    def database_url(self, private_database_url: str) -> str:
        return private_database_url

    @pytest.mark.parametrize("moment", [Moment.BEFORE_CHAINS, Moment.AFTER_FEES])
    def test_a_server_that_turns_read_only_is_an_outage_and_no_more(
        self,
        payment_manager: PaymentManager,
        start_worker: StartWorker,
        settings: dict[str, str],
        ledger: FaultyLedger,
        private_postgres: PostgresServer,
        redis: Redis,
        moment: Moment,
    ) -> None:
        gate = Gate(ledger, moment, nth=2)
        payments = payment_manager.order(60)
        worker = start_worker(**settings | {"OUTBOX_BATCH_SIZE": "20", "OUTBOX_LANES": "1"})
        gate.wait_reached(worker)

        with read_only(private_postgres):
            # The batch in hand was begun before, and still commits.
            gate.open()
            down = worker.wait_for(DOWN, part="database")
            payment_manager.assert_counted_against_nobody()
        payment_manager.wait_delivered(worker)

        assert "25006" in down["fault"]
        assert worker.stop() == 0
        assert len(worker.logged(DOWN, part="database")) == 1
        payment_manager.assert_settled_once(payments)
        assert_on_stream_once(redis, payments)
        assert_logged_once(payments, worker)


def test_a_deadlock_that_the_worker_loses_is_an_outage_and_no_more(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    ledger: FaultyLedger,
    redis: Redis,
) -> None:
    gate = Gate(ledger, Moment.BEFORE_CHAINS)
    payments = payment_manager.order(20)
    worker = start_worker(
        **settings
        | {
            "OUTBOX_LANES": "1",
            "DATABASE_URL": f"{settings['DATABASE_URL']}?options=-c%20deadlock_timeout%3D100ms",
        }
    )
    gate.wait_reached(worker)

    with psycopg.connect(payment_manager.url) as other:
        # It waits patiently, so that the worker is the one to be chosen.
        other.execute("SET deadlock_timeout = '60s'")
        other.execute("LOCK TABLE pm.tx_history IN EXCLUSIVE MODE")
        waiting = threading.Thread(
            target=other.execute, args=("SELECT FROM pm.intent ORDER BY id FOR UPDATE",)
        )
        waiting.start()
        worker.wait_until(lambda: is_waiting(payment_manager, other), what="it waits for us")
        gate.open()
        down = worker.wait_for(DOWN, part="database")
        waiting.join()
        payment_manager.assert_counted_against_nobody()
    payment_manager.wait_delivered(worker)

    assert "40P01" in down["fault"]
    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert_logged_once(payments, worker)


def is_waiting(payment_manager: PaymentManager, connection: psycopg.Connection) -> bool:
    """Whether the session of *connection* waits for a lock."""
    rows = payment_manager.execute(
        "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'",
        connection.info.backend_pid,
    )
    return len(rows) > 0


@pytest.mark.parametrize("code", ["40001", "40P01"])
@pytest.mark.parametrize("when", ["IMMEDIATE", "DEFERRED"])
def test_transactions_that_the_server_gives_up_are_run_again(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    redis: Redis,
    code: str,
    when: str,
) -> None:
    # What a sequence counts outlives a rollback.
    payment_manager.execute("CREATE SEQUENCE pm.losses")
    payment_manager.execute(
        "CREATE FUNCTION pm.lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF nextval('pm.losses') <= {LOSSES} THEN RAISE EXCEPTION USING ERRCODE = '{code}';"
        " END IF; RETURN NULL; END $$"
    )
    payment_manager.execute(
        "CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON pm.intent_event"
        f" DEFERRABLE INITIALLY {when} FOR EACH ROW EXECUTE FUNCTION pm.lose()"
    )
    payments = payment_manager.order(60)
    worker = start_worker(**settings | SMALL_BATCHES)

    payment_manager.wait_delivered(worker)

    assert worker.stop() == 0
    assert code in worker.logged(DOWN, part="database")[0]["fault"]
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert_logged_once(payments, worker)
