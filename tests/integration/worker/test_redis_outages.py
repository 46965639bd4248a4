"""Redis is away: settling goes on as if it were there, and every push job is kept."""

from collections.abc import Callable

import pytest
from redis import Redis
from redis.client import PubSub

from entrypoints.sandbox.valkey_server import ValkeyServer
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.payment_manager import (
    PaymentManager,
    assert_logged_once,
    assert_on_stream_once,
)

pytestmark = pytest.mark.integration

DOWN = "outbox: part is down"
UP = "outbox: part is up"
FOR_EVER_MS = "600000"
ATTEMPTS = 4


@pytest.fixture
def proxy(proxy_to: Callable[[str], TcpProxy], redis_url: str) -> TcpProxy:
    """What stands between workers and Redis."""
    return proxy_to(redis_url)


@pytest.fixture
def settings(settings: dict[str, str], proxy: TcpProxy) -> dict[str, str]:
    return settings | {"REDIS_URL": proxy.url}


@pytest.mark.parametrize("fault", ["dead", "blackholed"])
def test_jobs_are_kept_while_redis_is_away_and_delivered_once_when_it_is_back(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    proxy: TcpProxy,
    redis: Redis,
    fault: str,
) -> None:
    payments = payment_manager.order(60)
    if fault == "dead":
        proxy.refuse()
    else:
        proxy.blackhole()
    worker = start_worker(**settings | {"OUTBOX_REDIS_TIMEOUT_MS": "100"})

    payment_manager.wait_settled(worker)

    for part in ("status", "notifications"):
        worker.wait_for(DOWN, part=part)
    if fault == "blackholed":
        # The publisher and the delivery loop connect anew at every attempt.
        worker.wait_until(lambda: proxy.connections_total >= 2 * ATTEMPTS, what="many attempts")
    payment_manager.assert_settled_once(payments)
    assert_logged_once(payments, worker)
    jobs = sum(len(payment.told) for payment in payments)
    assert payment_manager.execute("SELECT count(*) FROM pm.notification_outbox") == [(jobs,)]
    # What was held back is not let through: the worker has given those requests up.
    proxy.cut()
    proxy.pass_through()
    for part in ("status", "notifications"):
        worker.wait_for(UP, part=part)
    payment_manager.wait_delivered(worker)
    assert_on_stream_once(redis, payments)
    assert worker.stop() == 0
    assert len(worker.logged(DOWN, part="notifications")) == 1, "one line, however long it lasts"
    assert len(worker.logged(DOWN, part="status")) == 1


def test_blackholed_redis_delays_no_settlement(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    proxy: TcpProxy,
) -> None:
    proxy.blackhole()
    payments = payment_manager.order(60)
    worker = start_worker(
        **settings
        | {
            "OUTBOX_REDIS_TIMEOUT_MS": FOR_EVER_MS,
            "OUTBOX_BATCH_SIZE": "10",
            "OUTBOX_GRACE_MS": "200",
        }
    )

    payment_manager.wait_settled(worker)

    # The publisher and the delivery loop still hang in their very first calls.
    worker.wait_until(lambda: proxy.connections_total == 2, what="both have called")
    assert not worker.logged(DOWN)
    payment_manager.assert_settled_once(payments)
    assert_logged_once(payments, worker)
    assert worker.stop() == 0, "nor does it delay a stop"


class TestNotificationsRedis:
    """Push jobs have a Redis of their own."""

    @pytest.fixture
    def notifications_proxy(
        self, proxy_to: Callable[[str], TcpProxy], private_valkey: ValkeyServer
    ) -> TcpProxy:
        return proxy_to(private_valkey.url)

    @pytest.fixture
    def settings(self, settings: dict[str, str], notifications_proxy: TcpProxy) -> dict[str, str]:
        return settings | {"NOTIFICATIONS_REDIS_URL": notifications_proxy.url}

    def test_jobs_go_there_and_statuses_do_not(
        self,
        payment_manager: PaymentManager,
        start_worker: StartWorker,
        settings: dict[str, str],
        redis: Redis,
        private_valkey: ValkeyServer,
    ) -> None:
        payments = payment_manager.order(12)
        with (
            Redis.from_url(private_valkey.url) as notifications,
            PubSub(redis.connection_pool) as statuses,
        ):
            statuses.psubscribe("intent.*")
            assert statuses.get_message(timeout=10.0), "the subscription stands"
            worker = start_worker(**settings)
            payment_manager.wait_delivered(worker)
            assert worker.stop() == 0

            assert_on_stream_once(notifications, payments)
            assert redis.keys() == []
            heard = [statuses.get_message(timeout=10.0) for _ in payments]
            assert None not in heard
            assert "cmdstat_publish" not in notifications.info("commandstats")

    def test_jobs_are_delivered_while_the_other_redis_is_away(
        self,
        payment_manager: PaymentManager,
        start_worker: StartWorker,
        settings: dict[str, str],
        proxy: TcpProxy,
        private_valkey: ValkeyServer,
    ) -> None:
        proxy.refuse()
        payments = payment_manager.order(12)
        worker = start_worker(**settings)

        worker.wait_for(DOWN, part="status")
        payment_manager.wait_delivered(worker)

        with Redis.from_url(private_valkey.url) as notifications:
            assert_on_stream_once(notifications, payments)
        assert worker.stop() == 0
        assert not worker.logged(DOWN, part="notifications")

    def test_statuses_are_published_while_the_redis_for_jobs_is_away(
        self,
        payment_manager: PaymentManager,
        start_worker: StartWorker,
        settings: dict[str, str],
        notifications_proxy: TcpProxy,
        private_valkey: ValkeyServer,
    ) -> None:
        notifications_proxy.refuse()
        payments = payment_manager.order(12)
        worker = start_worker(**settings)

        worker.wait_for(DOWN, part="notifications")
        worker.wait_for(UP, part="status")
        payment_manager.wait_settled(worker)
        payment_manager.assert_settled_once(payments)
        notifications_proxy.pass_through()
        payment_manager.wait_delivered(worker)

        with Redis.from_url(private_valkey.url) as notifications:
            assert_on_stream_once(notifications, payments)
        assert worker.stop() == 0
        assert not worker.logged(DOWN, part="status")
