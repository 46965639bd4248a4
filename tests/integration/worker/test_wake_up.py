"""An idle worker is woken by the database; without that it looks by itself."""

from collections.abc import Callable

import psycopg
import pytest

from adapters.postgres.wake_up import switch_on
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.resources import free_port
from tests.helpers.pgbouncer import PgBouncer
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import WorkerProcess
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.payment_manager import PaymentManager, assert_logged_once

pytestmark = pytest.mark.integration

AN_HOUR_MS = "3600000"
SLEEPY = {"OUTBOX_TICK_MS": AN_HOUR_MS, "OUTBOX_FIRST_PAUSE_MS": AN_HOUR_MS}
"""Nobody looks by himself before the test is over."""
DOWN = "outbox: part is down"
UP = "outbox: part is up"


def listeners(url: str) -> int:
    """Return how many sessions listen."""
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'outbox-worker listening' AND query LIKE 'LISTEN%'"
        ).fetchall()
    ((count,),) = rows
    return int(count)


def end_listener(url: str) -> None:
    """End the session that listens, as an administrator would."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = 'outbox-worker listening'"
            " AND datname = current_database()"
        )


def wait_asleep(worker: WorkerProcess, payment_manager: PaymentManager) -> None:
    """Wait until the worker listens and all its lanes have looked in vain.

    An event that comes while nobody sleeps yet proves nothing.
    """
    worker.wait_for(UP, part="database")
    worker.wait_until(lambda: listeners(payment_manager.url) == 1, what="it listens")


def test_an_event_wakes_a_worker_that_would_sleep_for_an_hour(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    database_url: str,
) -> None:
    switch_on(database_url)
    worker = start_worker(**settings | SLEEPY)
    wait_asleep(worker, payment_manager)

    # The second time it certainly slept: it had nothing to do but what it had done.
    payments = payment_manager.order(3)
    payment_manager.wait_settled(worker)
    payments += payment_manager.order(3)
    payment_manager.wait_settled(worker)

    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_logged_once(payments, worker)


def test_a_load_is_shared_with_lanes_that_nobody_else_would_wake(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    database_url: str,
) -> None:
    switch_on(database_url)
    worker = start_worker(**settings | SLEEPY | {"OUTBOX_BATCH_SIZE": "10"})
    wait_asleep(worker, payment_manager)

    payments = payment_manager.order(120)
    payment_manager.wait_settled(worker)

    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)


@pytest.mark.parametrize(
    ("is_on", "wake_up"), [(False, "auto"), (True, "off")], ids=["no trigger", "not listening"]
)
def test_without_hints_a_worker_looks_by_itself(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    database_url: str,
    is_on: bool,
    wake_up: str,
) -> None:
    if is_on:
        switch_on(database_url)
    worker = start_worker(**settings | {"OUTBOX_WAKE_UP": wake_up})
    worker.wait_for(UP, part="database")

    payments = payment_manager.order(3)
    payment_manager.wait_settled(worker)

    assert listeners(database_url) == (wake_up == "auto")
    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert not worker.logged(DOWN)


def test_a_worker_that_lost_its_listener_says_so_once_and_listens_again(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    database_url: str,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    switch_on(database_url)
    proxy = proxy_to(database_url)
    worker = start_worker(
        **settings | SLEEPY | {"DATABASE_URL": proxy.url, "OUTBOX_HEALTH_PORT": str(free_port())}
    )
    wait_asleep(worker, payment_manager)

    proxy.refuse()
    worker.wait_for(DOWN, part="wake_up")
    assert worker.probe("/readyz")[1]["faults"]["wake_up"].startswith("polling only: ")
    payments = payment_manager.order(3)
    proxy.pass_through()

    # Nobody told of them: it looks because something may have come while it did not listen.
    payment_manager.wait_settled(worker)
    worker.wait_for(UP, part="wake_up")
    payments += payment_manager.order(3)
    payment_manager.wait_settled(worker)
    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert [len(worker.logged(event, part="wake_up")) for event in (DOWN, UP)] == [1, 1]


def test_polling_goes_on_while_it_cannot_listen(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    database_url: str,
) -> None:
    switch_on(database_url)
    worker = start_worker(**settings)
    wait_asleep(worker, payment_manager)
    payments = []
    for _ in range(2):
        end_listener(database_url)
        payments += payment_manager.order(3)
        payment_manager.wait_settled(worker)
        worker.wait_until(lambda: listeners(database_url) == 1, what="it listens again")

    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert not worker.logged(DOWN, part="database")


@pytest.mark.pgbouncer
def test_a_worker_behind_a_pooler_in_transaction_mode_warns_once_and_polls(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    database_url: str,
    postgres_server: PostgresServer,
) -> None:
    switch_on(database_url)
    with PgBouncer(postgres_server, pool_mode="transaction") as pooler:
        worker = start_worker(**settings | {"DATABASE_URL": pooler.url(database_url)})
        (warning,) = [worker.wait_for(DOWN, part="wake_up")]

        payments = payment_manager.order(3)
        payment_manager.wait_settled(worker)

        assert worker.stop() == 0
    assert warning["level"] == "warning"
    assert warning["fault"].startswith(
        "polling only: DATABASE_URL leads to a pooler in transaction"
    )
    assert len(worker.logged(DOWN, part="wake_up")) == 1
    payment_manager.assert_settled_once(payments)
