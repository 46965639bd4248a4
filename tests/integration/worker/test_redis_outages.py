"""A worker process whose Redis swallows everything, and one that has two of them."""

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
FOR_EVER_MS = "600000"


@pytest.fixture
def proxy(proxy_to: Callable[[str], TcpProxy], redis_url: str) -> TcpProxy:
    """What stands between workers and Redis."""
    return proxy_to(redis_url)


@pytest.fixture
def settings(settings: dict[str, str], proxy: TcpProxy) -> dict[str, str]:
    return settings | {"REDIS_URL": proxy.url}


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
    def settings(self, settings: dict[str, str], private_valkey: ValkeyServer) -> dict[str, str]:
        return settings | {"NOTIFICATIONS_REDIS_URL": private_valkey.url}

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
