"""The console script itself, on a real TigerBeetle."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from redis import Redis

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from entrypoints.sandbox.resources import free_port
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import CONSOLE_SCRIPT, WorkerProcess
from tests.integration.tigerbeetle.bank import bank_at
from tests.integration.worker.conftest import StartWorker, impatient
from tests.integration.worker.payment_manager import (
    PaymentManager,
    assert_logged_once,
    assert_on_stream_once,
)

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]

DOWN = "outbox: part is down"
UP = "outbox: part is up"
FOR_EVER_MS = "600000"
RUN = (CONSOLE_SCRIPT, "run")
PROBES = 3
DEADLINE_MS = "1500"  # a new client's first answer takes more than half a second


@pytest.fixture(scope="module")
def module_server() -> Iterator[TigerBeetleServer]:
    with TigerBeetleServer() as server:
        yield server


@pytest.fixture
def server(module_server: TigerBeetleServer) -> Iterator[TigerBeetleServer]:
    """A running TigerBeetle that the test may stop and pause; to make one takes seconds."""
    yield module_server
    module_server.resume()
    module_server.start()


@pytest.fixture
def payment_manager(server: TigerBeetleServer, database_url: str) -> Iterator[PaymentManager]:
    ledger = TigerBeetleLedger(addresses=server.address, cluster_id=CLUSTER_ID)
    try:
        with bank_at(server.address) as bank:
            yield PaymentManager(database_url, ledger, bank)
    finally:
        ledger.close()


@pytest.fixture
def settings(server: TigerBeetleServer, database_url: str, redis_url: str) -> dict[str, str]:
    return impatient(
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        TIGERBEETLE_ADDRESSES=server.address,
        TIGERBEETLE_CLUSTER_ID=str(CLUSTER_ID),
        OUTBOX_LEDGER_DEADLINE_MS=DEADLINE_MS,
    )


def test_each_payment_is_settled_once(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    redis: Redis,
) -> None:
    payments = payment_manager.order(120)
    worker = start_worker(*RUN, **settings)

    payment_manager.wait_delivered(worker)

    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert_logged_once(payments, worker)


def test_server_that_freezes_in_the_middle_of_a_batch_is_an_outage_and_no_more(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    server: TigerBeetleServer,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    proxy = proxy_to(server.address)
    payments = payment_manager.authorize(30)
    worker = start_worker(
        *RUN,
        **settings
        | {"TIGERBEETLE_ADDRESSES": proxy.address, "OUTBOX_HEALTH_PORT": str(free_port())},
    )
    worker.wait_for(UP, part="ledger")

    server.pause()
    payment_manager.enqueue(payments)
    worker.wait_for(DOWN, part="ledger")

    for _ in range(2):
        # A probe that got no answer ends its client; the next one connects anew.
        more = proxy.connections_total + 1
        worker.wait_until(partial(has_had, proxy, more), what="one more probe")
        payment_manager.assert_nothing_locked()
    payment_manager.assert_untouched(payments)
    assert worker.probe("/readyz")[0] == 503
    server.resume()
    payment_manager.wait_delivered(worker)

    payment_manager.assert_settled_once(payments)
    worker.wait_until(lambda: worker.probe("/readyz")[0] == 200, what="it is ready")
    assert worker.stop() == 0
    assert len(worker.logged(DOWN, part="ledger")) == 1
    assert_logged_once(payments, worker)


def test_server_that_is_away_at_the_start_is_used_once_it_is_there(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    server: TigerBeetleServer,
) -> None:
    payments = payment_manager.order(30)
    server.stop()
    worker = start_worker(*RUN, **settings)
    worker.wait_for(DOWN, part="ledger")

    server.start()
    payment_manager.wait_delivered(worker)

    assert worker.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_logged_once(payments, worker)


def test_empty_cluster_in_the_place_of_ours_counts_against_nobody(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    server: TigerBeetleServer,
    private_tigerbeetle: TigerBeetleServer,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    proxy = proxy_to(server.address)
    payments = payment_manager.authorize(30)
    worker = start_worker(
        *RUN,
        **settings
        | {
            "TIGERBEETLE_ADDRESSES": proxy.address,
            "OUTBOX_HEALTH_PORT": str(free_port()),
            # One attempt that counts would put a payment under review.
            "OUTBOX_ATTEMPTS_MAX_NOT_FOUND": "1",
        },
    )
    worker.wait_for(UP, part="ledger")

    proxy.redirect(private_tigerbeetle.address)
    payment_manager.enqueue(payments)
    worker.wait_until(lambda: misses_accounts(worker), what="it misses its accounts")
    # A lane that had claimed before another found out still ends its batch.
    worker.wait_until(payment_manager.is_unlocked, what="it lets go of what it had claimed")

    for _ in range(PROBES):
        # Each cut makes it connect anew, so that it has certainly asked once more.
        more = proxy.connections_total + 1
        proxy.cut()
        worker.wait_until(partial(has_had, proxy, more), what="one more probe")
        payment_manager.assert_nothing_locked()
    payment_manager.assert_untouched(payments)
    worker.wait_until(lambda: misses_accounts(worker), what="it says so still")
    assert worker.probe("/readyz")[0] == 503
    proxy.redirect(server.address)
    payment_manager.wait_delivered(worker)

    payment_manager.assert_settled_once(payments)
    worker.wait_until(lambda: worker.probe("/readyz")[0] == 200, what="it is ready")
    assert worker.stop() == 0
    assert_logged_once(payments, worker)
    told = [line["fault"] for line in worker.logged(DOWN, part="ledger")]
    assert ["pm.tb_account_map" in fault for fault in told] == [False, True], "evicted, then unfit"


def test_stop_while_the_server_is_frozen_ends_within_the_grace_period(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    server: TigerBeetleServer,
) -> None:
    payments = payment_manager.authorize(30)
    worker = start_worker(
        *RUN,
        **settings | {"OUTBOX_LEDGER_DEADLINE_MS": FOR_EVER_MS, "OUTBOX_GRACE_MS": "200"},
    )
    worker.wait_for(UP, part="ledger")
    server.pause()
    payment_manager.enqueue(payments)
    worker.wait_until(partial(is_claimed, payment_manager), what="a batch is claimed")

    assert worker.stop() == 0
    payment_manager.assert_untouched(payments)
    payment_manager.assert_nothing_locked()


def misses_accounts(worker: WorkerProcess) -> bool:
    """Whether the worker says that the ledger is not the one with its accounts."""
    faults = worker.probe("/readyz")[1]["faults"]
    return "none of the accounts in pm.tb_account_map" in faults.get("ledger", "")


def has_had(proxy: TcpProxy, connections: int) -> bool:
    """Whether so many connections were made through *proxy*."""
    return proxy.connections_total >= connections


def is_claimed(payment_manager: PaymentManager) -> bool:
    """Whether somebody holds an intent."""
    free = payment_manager.execute("SELECT id FROM pm.intent FOR UPDATE SKIP LOCKED")
    return len(free) == 0
