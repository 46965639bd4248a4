"""The whole of the worker at work: orders in; money, rows, messages and log lines out."""

import json
import signal
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from redis import Redis
from redis.client import PubSub

from adapters.memory.faulty_ledger import FaultyLedger, LedgerCall, do_nothing
from tests.helpers.worker_process import PATIENCE_S
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.payment_manager import (
    PaymentManager,
    assert_logged_once,
    assert_on_stream_once,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def statuses(redis: Redis) -> Iterator[PubSub]:
    """A client that watches every intent."""
    with PubSub(redis.connection_pool) as statuses:
        statuses.psubscribe("intent.*")
        assert statuses.get_message(timeout=10.0), "the subscription stands"
        yield statuses


def take(statuses: PubSub, count: int) -> Counter[tuple[str, str]]:
    """Return the next *count* statuses, each with its intent, and that there are no more."""
    heard: Counter[tuple[str, str]] = Counter()
    for _ in range(count):
        message = statuses.get_message(timeout=10.0)
        assert message is not None, f"only {heard.total()} statuses of {count}"
        body = json.loads(message["data"])
        assert set(body) == {"status"}
        heard[message["channel"].decode().removeprefix("intent."), body["status"]] += 1
    assert statuses.get_message() is None
    return heard


@pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGINT])
def test_each_payment_is_settled_once_and_told_once_to_everybody(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    redis: Redis,
    statuses: PubSub,
    stop_signal: signal.Signals,
) -> None:
    payments = payment_manager.order(240)
    worker = start_worker(**settings | {"OUTBOX_BATCH_SIZE": "50"})

    payment_manager.wait_delivered(worker)
    worker.send(stop_signal)

    assert worker.wait() == 0
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert_logged_once(payments, worker)
    assert take(statuses, len(payments)) == Counter(
        (str(payment.intent_id), payment.status) for payment in payments
    )


def test_orders_that_come_while_the_worker_runs_are_settled(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    redis: Redis,
) -> None:
    worker = start_worker(**settings)
    worker.wait_for("outbox: part is up", part="database")

    payments = payment_manager.order(20)
    payment_manager.wait_settled(worker)
    payments += payment_manager.order(20)
    payment_manager.wait_delivered(worker)

    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert worker.stop() == 0


def test_two_workers_share_the_work_and_repeat_nothing(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    redis: Redis,
    ledger: FaultyLedger,
) -> None:
    def go_on() -> None:
        ledger.before = do_nothing

    # A worker has two lanes, so three requests at a time are those of two workers.
    three_at_a_time = threading.Barrier(3, action=go_on, timeout=PATIENCE_S)

    def meet(call: LedgerCall) -> None:
        if call.method == "create_chains":
            three_at_a_time.wait()

    ledger.before = meet
    payments = payment_manager.order(1_000)
    small_batches = settings | {"OUTBOX_BATCH_SIZE": "20", "OUTBOX_LANES": "2"}
    workers = [start_worker(**small_batches) for _ in range(2)]

    payment_manager.wait_delivered(*workers)

    assert [worker.stop() for worker in workers] == [0, 0]
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert_logged_once(payments, *workers)
    assert all(worker.logged("outbox: intent settled") for worker in workers)
