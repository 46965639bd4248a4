"""One exclusive worker settles, the others stand by and take over, whatever ends the first."""

import signal
from collections.abc import Callable

import psycopg
import pytest
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.resources import free_port
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.pgbouncer import PgBouncer
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import WorkerProcess, run_command
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.gate import Gate, Moment
from tests.integration.worker.payment_manager import (
    PaymentManager,
    assert_logged_once,
    assert_on_stream_once,
)

pytestmark = pytest.mark.integration

ACTIVE = "outbox: worker is now active"
STAND_BY = "outbox: worker is now stand-by"
SETTLED = "outbox: intent settled"
FAILED = "outbox: intent failed"
DOWN = "outbox: part is down"
LOOKS = 10
BUSY_SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid() AND state <> 'idle'"
)

StartExclusive = Callable[..., WorkerProcess]


@pytest.fixture
def start_exclusive(start_worker: StartWorker, settings: dict[str, str]) -> StartExclusive:
    def start(**changes: str) -> WorkerProcess:
        own = {"OUTBOX_EXCLUSIVE": "true", "OUTBOX_HEALTH_PORT": str(free_port())}
        return start_worker(**settings | own | changes)

    return start


@pytest.fixture
def pair(start_exclusive: StartExclusive) -> tuple[WorkerProcess, WorkerProcess]:
    """An active worker and one that stands by."""
    active = start_exclusive()
    active.wait_for(ACTIVE)
    stand_by = start_exclusive()
    stand_by.wait_for(STAND_BY)
    return active, stand_by


def settled_by(worker: WorkerProcess) -> int:
    """Return how many intents *worker*, which has ended, has settled or failed."""
    return len(worker.logged(SETTLED)) + len(worker.logged(FAILED))


def freeze_at_rest(worker: WorkerProcess, payment_manager: PaymentManager) -> None:
    """Freeze *worker* while it has no transaction open: with one that is open it would go on."""

    def is_frozen_at_rest() -> bool:
        worker.send(signal.SIGSTOP)
        if payment_manager.execute(BUSY_SESSIONS) == [(0,)]:
            return True
        worker.send(signal.SIGCONT)
        return False

    wait_until(is_frozen_at_rest, timeout_s=60, what="it has no transaction open")


def readiness(worker: WorkerProcess) -> tuple[int, str | None]:
    """Return what /readyz answers: status code and role."""
    code, body = worker.probe("/readyz")
    return code, body.get("role")


def test_only_the_active_one_settles_and_both_are_ready(
    payment_manager: PaymentManager, pair: tuple[WorkerProcess, WorkerProcess], redis: Redis
) -> None:
    active, stand_by = pair
    payments = payment_manager.order(30)
    payment_manager.wait_delivered(active, stand_by)

    for worker, role in ((active, "active"), (stand_by, "stand-by")):
        for part in ("ledger", "database"):
            worker.wait_for("outbox: part is up", part=part)
        assert readiness(worker) == (200, role)
    assert [active.stop(), stand_by.stop()] == [0, 0]
    assert (settled_by(active), settled_by(stand_by)) == (30, 0)
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)


def test_what_the_active_one_has_no_hand_free_for_waits(
    payment_manager: PaymentManager,
    start_exclusive: StartExclusive,
    ledger: FaultyLedger,
) -> None:
    active = start_exclusive(OUTBOX_LANES="1")
    active.wait_for(ACTIVE)
    stand_by = start_exclusive()
    stand_by.wait_for(STAND_BY)
    gate = Gate(ledger, Moment.BEFORE_CHAINS)
    payments = payment_manager.order(10)
    gate.wait_reached(active)

    waiting = payment_manager.order(10)
    # The look-ups are those of the stand-by, one each time that it might have claimed.
    calls = len(ledger.calls) + LOOKS
    stand_by.wait_until(lambda: len(ledger.calls) >= calls, what="it looked a few times")
    statuses = dict(payment_manager.execute("SELECT id, status FROM pm.intent"))
    gate.open()

    assert {statuses[payment.intent_id] for payment in waiting} == {"AUTHORIZED"}
    payment_manager.wait_settled(active, stand_by)
    assert [active.stop(), stand_by.stop()] == [0, 0]
    assert settled_by(stand_by) == 0
    payment_manager.assert_settled_once(payments + waiting)


def test_one_that_is_told_to_stop_hands_over(
    payment_manager: PaymentManager, pair: tuple[WorkerProcess, WorkerProcess]
) -> None:
    active, stand_by = pair

    assert active.stop() == 0
    stand_by.wait_for(ACTIVE)

    payments = payment_manager.order(30)
    payment_manager.wait_settled(stand_by)
    assert stand_by.stop() == 0
    assert settled_by(stand_by) == 30
    payment_manager.assert_settled_once(payments)


def test_one_that_is_told_to_stop_hands_over_before_its_last_batch_is_done(
    payment_manager: PaymentManager,
    pair: tuple[WorkerProcess, WorkerProcess],
    ledger: FaultyLedger,
    redis: Redis,
) -> None:
    active, stand_by = pair
    gate = Gate(ledger, Moment.BEFORE_CHAINS)
    payments = payment_manager.order(30)
    gate.wait_reached(active)

    active.send(signal.SIGTERM)
    stand_by.wait_for(ACTIVE)
    gate.open()

    payment_manager.wait_delivered(stand_by)
    assert [active.wait(), stand_by.stop()] == [0, 0]
    payment_manager.assert_settled_once(payments)
    assert_logged_once(payments, active, stand_by)
    assert_on_stream_once(redis, payments)


@pytest.mark.parametrize("moment", [Moment.BEFORE_CHAINS, Moment.AFTER_FEES])
def test_one_that_is_killed_in_the_middle_of_a_batch_is_replaced(
    payment_manager: PaymentManager,
    pair: tuple[WorkerProcess, WorkerProcess],
    ledger: FaultyLedger,
    moment: Moment,
) -> None:
    active, stand_by = pair
    gate = Gate(ledger, moment)
    payments = payment_manager.order(30)
    gate.wait_reached(active)

    active.send(signal.SIGKILL)
    active.wait()
    gate.open()

    stand_by.wait_for(ACTIVE)
    payment_manager.wait_delivered(stand_by)
    assert stand_by.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_logged_once(payments, active, stand_by)


def test_one_that_is_frozen_is_replaced_and_stands_by_when_it_goes_on(
    payment_manager: PaymentManager, pair: tuple[WorkerProcess, WorkerProcess]
) -> None:
    # Its kernel still answers for it, so that no keepalive would tell.
    active, stand_by = pair
    active.send(signal.SIGSTOP)

    stand_by.wait_for(ACTIVE)
    payments = payment_manager.order(30)
    payment_manager.wait_settled(stand_by)
    active.send(signal.SIGCONT)
    active.wait_for(STAND_BY)

    more = payment_manager.order(30)
    payment_manager.wait_settled(stand_by, active)
    active.wait_until(lambda: readiness(active) == (200, "stand-by"), what="it is ready")
    assert [active.stop(), stand_by.stop()] == [0, 0]
    assert (settled_by(active), settled_by(stand_by)) == (0, 60)
    payment_manager.assert_settled_once(payments + more)


def test_one_that_was_frozen_claims_nothing_even_before_it_learns_that_it_was_replaced(
    payment_manager: PaymentManager,
    start_exclusive: StartExclusive,
    ledger: FaultyLedger,
    database_url: str,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    proxy = proxy_to(database_url)
    # Its lanes rest for nearly all of the time.
    active = start_exclusive(
        DATABASE_URL=proxy.url, OUTBOX_TICK_MS="2000", OUTBOX_FIRST_PAUSE_MS="2000"
    )
    active.wait_for(ACTIVE)
    stand_by = start_exclusive(OUTBOX_LANES="1")
    stand_by.wait_for(STAND_BY)
    freeze_at_rest(active, payment_manager)
    # Its lanes can reach the database, but that its session has ended it hears by no answer.
    proxy.blackhole(only=b"outbox-worker exclusive")
    stand_by.wait_for(ACTIVE)
    gate = Gate(ledger, Moment.BEFORE_CHAINS)
    payments = payment_manager.order(10)
    gate.wait_reached(stand_by)
    waiting = payment_manager.order(10)

    active.send(signal.SIGCONT)
    active.wait_for(STAND_BY)

    free = payment_manager.execute("SELECT id FROM pm.outbox_event FOR UPDATE SKIP LOCKED")
    gate.open()
    assert len(free) == len(waiting)
    payment_manager.wait_settled(stand_by, active)
    assert [active.stop(), stand_by.stop()] == [0, 0]
    assert (settled_by(active), settled_by(stand_by)) == (0, 20)
    payment_manager.assert_settled_once(payments + waiting)


def test_one_that_is_cut_off_stops_and_is_replaced(
    payment_manager: PaymentManager,
    start_exclusive: StartExclusive,
    database_url: str,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    # Nobody tells the server, and nobody tells the worker.
    proxy = proxy_to(database_url)
    active = start_exclusive(DATABASE_URL=proxy.url, OUTBOX_LANES="1")
    active.wait_for(ACTIVE)
    stand_by = start_exclusive()
    stand_by.wait_for(STAND_BY)

    proxy.blackhole()

    active.wait_for(STAND_BY)
    stand_by.wait_for(ACTIVE)
    payments = payment_manager.order(30)
    payment_manager.wait_settled(stand_by)
    assert readiness(active) == (503, "stand-by")
    # What is held back would only come late.
    proxy.cut()
    proxy.pass_through()
    active.wait_until(lambda: readiness(active) == (200, "stand-by"), what="it is ready")
    assert [active.stop(), stand_by.stop()] == [0, 0]
    payment_manager.assert_settled_once(payments)
    assert settled_by(stand_by) == 30


class TestRestart:
    """Postgres restarts under them."""

    @pytest.fixture
    def database_url(self, private_database_url: str) -> str:
        return private_database_url

    def test_whoever_is_first_goes_on(
        self,
        payment_manager: PaymentManager,
        pair: tuple[WorkerProcess, WorkerProcess],
        private_postgres: PostgresServer,
    ) -> None:
        private_postgres.stop()
        pair[0].wait_for(STAND_BY)
        private_postgres.start()

        payments = payment_manager.order(30)
        payment_manager.wait_settled(*pair)
        assert [worker.stop() for worker in pair] == [0, 0]
        assert sorted(map(settled_by, pair)) == [0, 30]
        payment_manager.assert_settled_once(payments)


def test_one_whose_lock_session_an_administrator_ends_is_replaced_or_goes_on(
    payment_manager: PaymentManager,
    pair: tuple[WorkerProcess, WorkerProcess],
    database_url: str,
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = 'outbox-worker exclusive'"
            " AND datname = current_database()"
        )
    pair[0].wait_for(STAND_BY)

    payments = payment_manager.order(30)
    payment_manager.wait_settled(*pair)

    assert [worker.stop() for worker in pair] == [0, 0]
    assert sorted(map(settled_by, pair)) == [0, 30]
    payment_manager.assert_settled_once(payments)


def test_a_database_that_is_away_at_the_start_is_waited_for(
    payment_manager: PaymentManager,
    start_exclusive: StartExclusive,
    database_url: str,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    proxy = proxy_to(database_url)
    proxy.refuse()
    worker = start_exclusive(DATABASE_URL=proxy.url)
    worker.wait_for(DOWN, part="database")
    payments = payment_manager.order(6)

    proxy.pass_through()

    worker.wait_for(ACTIVE)
    payment_manager.wait_settled(worker)
    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert len(worker.logged(DOWN, part="database")) == 1


@pytest.mark.pgbouncer
class TestBehindPgBouncer:
    def test_a_pooler_in_transaction_mode_is_refused_with_the_remedy(
        self,
        settings: dict[str, str],
        database_url: str,
        postgres_server: PostgresServer,
    ) -> None:
        with PgBouncer(postgres_server, pool_mode="transaction") as pooler:
            done = run_command(
                "run",
                "--exclusive",
                environment=settings | {"DATABASE_URL": pooler.url(database_url)},
            )

        assert done.returncode == 78
        (line,) = done.stderr.splitlines()
        assert line.startswith("outbox-worker: run --exclusive: DATABASE_URL leads to a pooler in")
        assert "connect to Postgres itself" in line
