"""Adapters are swapped in by an override of their provider alone, as Phase 2B will do.

Its streams (``stream.ipps.jobs`` and the others of DESIGN §3) are reserved and have no code yet.
This is the least that one of them needs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest
from dependency_injector import providers
from redis import Redis
from redis.client import PubSub

from adapters.memory.ledger import InMemoryLedger
from application.ports.notification_queue import JobKey
from application.ports.notifier import Notifier
from application.ports.status_publisher import StatusPublisher
from domain.conclusions import StatusMessage
from entrypoints.container import Container, running
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.notifier import jobs
from tests.integration.redis.clients import STREAM, entries
from tests.integration.worker.payment_manager import Payment, PaymentManager
from tests.unit.memory.memory_bank import MemoryBank

pytestmark = pytest.mark.integration

IPPS_JOBS: Final = "stream.ipps.jobs"
IPPS_RESULTS: Final = "stream.ipps.results"


@dataclass(frozen=True, slots=True)
class JobStream:
    """A ``Notifier`` on a stream of Phase 2B."""

    redis: Redis

    def deliver(self, jobs: Mapping[JobKey, str]) -> frozenset[JobKey]:
        """See the port."""
        for job in jobs.values():
            self.redis.xadd(IPPS_JOBS, {"job": job})
        return frozenset(jobs)

    def probe(self) -> None:
        """See the port."""


@dataclass(frozen=True, slots=True)
class StatusStream:
    """A ``StatusPublisher`` on a stream of Phase 2B."""

    redis: Redis

    def publish(self, messages: Sequence[StatusMessage]) -> None:
        """See the port."""
        for message in messages:
            self.redis.xadd(
                IPPS_RESULTS, {"intentId": str(message.intent_id), "status": message.status}
            )


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def environment(
    monkeypatch: pytest.MonkeyPatch, database_url: str, redis_url: str
) -> pytest.MonkeyPatch:
    for name, value in {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "TIGERBEETLE_ADDRESSES": "127.0.0.1:1",
        "TIGERBEETLE_CLUSTER_ID": "0",
        "OUTBOX_HEALTH_PORT": "0",
        "OUTBOX_TICK_MS": "10",
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.fixture
def ledger() -> InMemoryLedger:
    return InMemoryLedger()


@pytest.fixture
def payment_manager(database_url: str, ledger: InMemoryLedger) -> PaymentManager:
    return PaymentManager(database_url, ledger, MemoryBank(ledger))


def settle_and_deliver(container: Container, payment_manager: PaymentManager) -> list[Payment]:
    """Carry out some orders as *container* is wired, to the last message."""
    payments = payment_manager.order(12)
    with running(container), delivering(container):
        assert container.settle_batch()().claimed == len(payments)
        container.publish_statuses().flush()
        payment_manager.wait_delivered()
    payment_manager.assert_settled_once(payments)
    return payments


@contextmanager
def delivering(container: Container) -> Iterator[None]:
    """Let the delivery loop run."""
    loop = container.delivery_loop()
    loop.start()
    try:
        yield
    finally:
        loop.stop()
        wait_until(lambda: not loop.is_alive(), what="the delivery loop has ended")
        for client in (container.redis(), container.notifications_redis()):
            client.close()


@pytest.mark.usefixtures("environment")
def test_streams_of_another_make_are_swapped_in(
    payment_manager: PaymentManager, ledger: InMemoryLedger, redis: Redis
) -> None:
    notifier: Notifier = JobStream(redis)
    publisher: StatusPublisher = StatusStream(redis)
    container = Container(
        ledger=providers.Object(ledger),
        notifier=providers.Object(notifier),
        status_publisher=providers.Object(publisher),
    )

    payments = settle_and_deliver(container, payment_manager)

    assert {
        (fields["intentId"].decode(), fields["status"].decode())
        for fields in entries(redis, IPPS_RESULTS)
    } == {(str(payment.intent_id), payment.status) for payment in payments}
    ids = [
        json.loads(fields["job"])["data"]["notificationId"] for fields in entries(redis, IPPS_JOBS)
    ]
    assert len(ids) == len(set(ids)) == sum(len(payment.told) for payment in payments)
    assert set(redis.keys()) == {IPPS_JOBS.encode(), IPPS_RESULTS.encode()}


def test_stream_settings_reach_the_stream(
    environment: pytest.MonkeyPatch,
    payment_manager: PaymentManager,
    ledger: InMemoryLedger,
    redis: Redis,
) -> None:
    environment.setenv("OUTBOX_NOTIFICATIONS_FIELD", "job")
    container = Container(ledger=providers.Object(ledger))

    payments = settle_and_deliver(container, payment_manager)

    jobs = entries(redis, STREAM)
    assert len(jobs) == sum(len(payment.told) for payment in payments)
    for fields in jobs:
        assert json.loads(fields["job"])["channel"] == "payment"
        assert set(fields) == {"job"}


@pytest.mark.parametrize(
    ("maxlen", "is_trimmed"), [("100", True), ("0", False), ("", False), ("1000000", False)]
)
def test_the_bound_of_the_stream_is_that_of_the_settings(
    environment: pytest.MonkeyPatch, redis: Redis, maxlen: str, is_trimmed: bool
) -> None:
    environment.setenv("OUTBOX_NOTIFICATIONS_MAXLEN", maxlen)
    container = Container()

    with container.notifications_redis():
        container.notifier().deliver(jobs(*range(1_000)))

    # Trimmed by whole nodes of a hundred entries.
    assert 100 <= redis.xlen(STREAM) <= 300 if is_trimmed else redis.xlen(STREAM) == 1_000


def test_statuses_can_have_the_form_of_the_intent_event_writer(
    environment: pytest.MonkeyPatch,
    payment_manager: PaymentManager,
    ledger: InMemoryLedger,
    redis: Redis,
) -> None:
    environment.setenv("OUTBOX_STATUS_FULL", "true")
    container = Container(ledger=providers.Object(ledger))
    with PubSub(redis.connection_pool) as statuses:
        statuses.psubscribe("intent.*")
        assert statuses.get_message(timeout=10.0), "the subscription stands"

        payments = settle_and_deliver(container, payment_manager)

        for _ in payments:
            message = statuses.get_message(timeout=10.0)
            assert message is not None
            body = json.loads(message["data"])
            assert set(body) == {"intentId", "status", "updatedAt"}
            assert message["channel"].decode() == f"intent.{body['intentId']}"
