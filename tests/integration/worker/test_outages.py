"""Postgres and the ledger are away, at the start or in the middle: nothing is lost or counted."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

import psycopg
import pytest
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.resources import HOST, free_port
from entrypoints.sandbox.valkey_server import ValkeyServer
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import CONSOLE_SCRIPT, WorkerProcess
from tests.integration.worker.conftest import StartWorker, impatient
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
ATTEMPTS = 6
LOAD = 120


def readiness(worker: WorkerProcess) -> tuple[int, dict[str, str]]:
    """Return the status code of /readyz, and the faults that it names."""
    code, body = worker.probe("/readyz")
    return code, body["faults"]


def is_up(worker: WorkerProcess, part: str) -> bool:
    """Whether /readyz names no fault of *part*."""
    return part not in readiness(worker)[1]


def test_worker_lives_with_everything_away_and_says_so_once(
    start_worker: StartWorker, private_postgres: PostgresServer, private_valkey: ValkeyServer
) -> None:
    private_postgres.stop()
    private_valkey.stop()
    worker = start_worker(
        CONSOLE_SCRIPT,
        "run",
        **impatient(
            DATABASE_URL=private_postgres.url(),
            REDIS_URL=private_valkey.url,
            TIGERBEETLE_ADDRESSES=f"{HOST}:{free_port()}",
            OUTBOX_HEALTH_PORT=str(free_port()),
            OUTBOX_LEDGER_DEADLINE_MS="1000",
        ),
    )

    for part in ("database", "ledger"):
        worker.wait_for(DOWN, part=part)

    assert worker.probe("/livez") == (200, {"alive": True})
    code, faults = readiness(worker)
    assert code == 503
    assert "refused" in faults["database"]
    assert "no answer within the deadline" in faults["ledger"]
    assert {"status", "notifications"} <= set(faults)
    assert worker.stop() == 0
    assert worker.logged(UP) == []
    assert [len(worker.logged(DOWN, part=part)) for part in ("database", "ledger")] == [1, 1]


class TestBehindProxies:
    """Each part can be taken away and given back."""

    @pytest.fixture
    def ledger_proxy(self, proxy_to: Callable[[str], TcpProxy], ledger_address: str) -> TcpProxy:
        return proxy_to(ledger_address)

    @pytest.fixture
    def redis_proxy(self, proxy_to: Callable[[str], TcpProxy], redis_url: str) -> TcpProxy:
        return proxy_to(redis_url)

    @pytest.fixture
    def database_proxy(self, proxy_to: Callable[[str], TcpProxy], database_url: str) -> TcpProxy:
        return proxy_to(database_url)

    @pytest.fixture
    def settings(
        self, ledger_proxy: TcpProxy, redis_proxy: TcpProxy, database_proxy: TcpProxy
    ) -> dict[str, str]:
        return impatient(
            DATABASE_URL=database_proxy.url,
            REDIS_URL=redis_proxy.url,
            TIGERBEETLE_ADDRESSES=ledger_proxy.address,
            OUTBOX_HEALTH_PORT=str(free_port()),
        )

    def test_parts_come_back_in_any_order_and_it_goes_on_by_itself(
        self,
        payment_manager: PaymentManager,
        start_worker: StartWorker,
        settings: dict[str, str],
        ledger_proxy: TcpProxy,
        redis_proxy: TcpProxy,
        database_proxy: TcpProxy,
        redis: Redis,
    ) -> None:
        proxies = (ledger_proxy, redis_proxy, database_proxy)
        for proxy in proxies:
            proxy.refuse()
        payments = payment_manager.order(12)
        worker = start_worker(**settings)
        worker.wait_for(DOWN, part="ledger")

        # Each part is the first once, and each the last.
        for order in (proxies, proxies[1:] + proxies[:1], proxies[2:] + proxies[:2]):
            worker.wait_until(lambda: readiness(worker)[0] == 503, what="it is not ready")
            for proxy in order:
                proxy.pass_through()
                if proxy is ledger_proxy:
                    worker.wait_until(lambda: is_up(worker, "ledger"), what="the ledger is up")
                if proxy is database_proxy:
                    worker.wait_until(lambda: is_up(worker, "database"), what="Postgres is up")
            payment_manager.wait_delivered(worker)
            worker.wait_until(lambda: readiness(worker) == (200, {}), what="it is ready")
            for proxy in proxies:
                proxy.refuse()
            payments += payment_manager.order(12)
        for proxy in proxies:
            proxy.pass_through()
        payment_manager.wait_delivered(worker)

        assert worker.stop() == 0
        payment_manager.assert_settled_once(payments)
        assert_logged_once(payments, worker)
        assert_on_stream_once(redis, payments)

    def test_nothing_is_claimed_while_the_ledger_is_away(
        self,
        payment_manager: PaymentManager,
        start_worker: StartWorker,
        settings: dict[str, str],
        ledger_proxy: TcpProxy,
    ) -> None:
        ledger_proxy.blackhole()
        payments = payment_manager.order(12)
        worker = start_worker(**settings | {"OUTBOX_LEDGER_DEADLINE_MS": "1000"})

        worker.wait_for(DOWN, part="ledger")
        worker.wait_for(UP, part="database")
        for _ in range(ATTEMPTS):
            more = ledger_proxy.connections_total + 1
            worker.wait_until(partial(has_had, ledger_proxy, more), what="one more attempt")
            payment_manager.assert_nothing_locked()
            payment_manager.assert_no_claim()
        assert readiness(worker)[0] == 503
        # What was held back is not let through: the worker has given those requests up.
        ledger_proxy.cut()
        ledger_proxy.pass_through()
        payment_manager.wait_settled(worker)

        assert worker.stop() == 0
        payment_manager.assert_settled_once(payments)
        assert len(worker.logged(DOWN, part="ledger")) == 1

    def test_the_payment_managers_own_updates_wait_for_no_more_than_a_batch(
        self,
        payment_manager: PaymentManager,
        start_worker: StartWorker,
        settings: dict[str, str],
        ledger_proxy: TcpProxy,
    ) -> None:
        payments = payment_manager.authorize(LOAD)
        worker = start_worker(
            **settings | {"OUTBOX_LEDGER_DEADLINE_MS": "1000", "OUTBOX_BATCH_SIZE": "20"}
        )
        worker.wait_for(UP, part="ledger")

        with Updates(payment_manager.url, [payment.intent_id for payment in payments]) as updates:
            payment_manager.enqueue(payments[: LOAD // 2])
            payment_manager.wait_settled(worker)
            ledger_proxy.blackhole()
            payment_manager.enqueue(payments[LOAD // 2 :])
            worker.wait_for(DOWN, part="ledger")
            for _ in range(ATTEMPTS):
                rounds = updates.rounds + 1
                worker.wait_until(
                    lambda rounds=rounds: updates.rounds > rounds,  # type: ignore[misc]
                    what="all intents are updated once more",
                )
            ledger_proxy.cut()
            ledger_proxy.pass_through()
            payment_manager.wait_settled(worker)

        assert updates.refusals == []
        assert worker.stop() == 0
        payment_manager.assert_settled_once(payments)


class Updates(threading.Thread):
    """The payment manager changes one intent after the other, all the time, in the block."""

    def __init__(self, url: str, intents: Sequence[UUID]) -> None:
        super().__init__(name="updates")
        self.rounds = 0
        self.refusals: list[str] = []
        self._url = url
        self._intents = intents
        self._over = threading.Event()

    def run(self) -> None:
        # A batch that waits for its ledger is given up after a second.
        with psycopg.connect(
            self._url, autocommit=True, options="-c lock_timeout=5s"
        ) as connection:
            while not self._over.is_set():
                for intent_id in self._intents:
                    try:
                        connection.execute(
                            "UPDATE pm.intent SET channel = 'APP' WHERE id = %s", [intent_id]
                        )
                    except psycopg.Error as error:
                        self.refusals.append(str(error))
                self.rounds += 1

    def __enter__(self) -> "Updates":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


def has_had(proxy: TcpProxy, connections: int) -> bool:
    """Whether so many connections were made through *proxy*."""
    return proxy.connections_total >= connections


def stop(server: PostgresServer) -> None:
    """Stop the server in order, and start it again."""
    server.stop()
    server.start()


def kill(server: PostgresServer) -> None:
    """Crash the server, and start it again."""
    server.kill()
    server.start()


def terminate_sessions(server: PostgresServer) -> None:
    """End every session of a worker, as a fail-over of a pooler does."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = 'outbox-worker'"
        )


class TestInTheMiddle:
    """Postgres has a fault while both lanes are in the middle of a batch."""

    @pytest.fixture
    def database_url(self, private_database_url: str) -> str:
        return private_database_url

    @pytest.mark.parametrize("moment", [Moment.BEFORE_CHAINS, Moment.AFTER_FEES])
    def test_nothing_is_lost_and_nothing_repeated(
        self,
        payment_manager: PaymentManager,
        start_worker: StartWorker,
        settings: dict[str, str],
        ledger: FaultyLedger,
        private_postgres: PostgresServer,
        redis: Redis,
        moment: Moment,
    ) -> None:
        payments: list[Payment] = []
        worker = start_worker(**settings | {"OUTBOX_BATCH_SIZE": "20", "OUTBOX_LANES": "2"})

        for number, break_down in enumerate([stop, kill, terminate_sessions], start=1):
            gate = Gate(ledger, moment, nth=2)
            payments += payment_manager.order(60)
            gate.wait_reached(worker, lanes=2)
            # A job is delivered at least once when its deletion is lost; this is about settling.
            payment_manager.wait_no_job(worker)
            break_down(private_postgres)
            gate.open()
            payment_manager.wait_delivered(worker)
            assert len(worker.logged(DOWN, part="database")) >= number

        assert worker.stop() == 0
        payment_manager.assert_settled_once(payments)
        assert_logged_once(payments, worker)
        assert_on_stream_once(redis, payments)
