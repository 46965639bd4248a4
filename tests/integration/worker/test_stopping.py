"""The worker is told to stop, or dies, in the middle of a batch: nothing is lost or repeated."""

import signal

import pytest
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.gate import Gate, Moment
from tests.integration.worker.payment_manager import (
    PaymentManager,
    assert_logged_once,
    assert_on_stream_once,
)

pytestmark = pytest.mark.integration

STOPPING = "outbox: worker stopping"
GIVEN_UP = "outbox: grace period is over; unfinished batches are rolled back"
FOR_EVER_MS = "600000"


@pytest.fixture
def settings(settings: dict[str, str]) -> dict[str, str]:
    # One lane, so that "the batch" is all there is; and nothing but a stop ends a wait.
    return settings | {"OUTBOX_LANES": "1", "OUTBOX_LEDGER_DEADLINE_MS": FOR_EVER_MS}


def test_batch_whose_ledger_hangs_is_given_up_and_the_next_worker_settles_it(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    ledger: FaultyLedger,
    redis: Redis,
) -> None:
    payments = payment_manager.order(30)
    gate = Gate(ledger, Moment.BEFORE_CHAINS)
    worker = start_worker(**settings | {"OUTBOX_GRACE_MS": "200"})
    gate.wait_reached(worker)

    assert worker.stop() == 0
    assert worker.logged(GIVEN_UP)
    payment_manager.assert_untouched(payments)
    payment_manager.assert_nothing_locked()
    # The dead worker's request is carried out all the same, perhaps beside the next one's.
    gate.open()
    second = start_worker(**settings)
    payment_manager.wait_delivered(second)
    assert second.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert_logged_once(payments, worker, second)


def test_batch_whose_ledger_answers_within_the_grace_period_is_finished(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    ledger: FaultyLedger,
) -> None:
    payments = payment_manager.order(30)
    gate = Gate(ledger, Moment.BEFORE_CHAINS)
    worker = start_worker(**settings | {"OUTBOX_GRACE_MS": FOR_EVER_MS})
    gate.wait_reached(worker)
    later = payment_manager.order(10)

    worker.send(signal.SIGTERM)
    worker.wait_for(STOPPING)
    gate.open()

    assert worker.wait() == 0
    assert_logged_once(payments, worker)
    assert not worker.logged(GIVEN_UP)
    statuses = dict(payment_manager.execute("SELECT id, status FROM pm.intent"))
    assert [statuses[payment.intent_id] for payment in payments] == [
        payment.status for payment in payments
    ]
    assert {statuses[payment.intent_id] for payment in later} == {"AUTHORIZED"}, "no new claim"


def test_second_signal_ends_the_worker_at_once(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    ledger: FaultyLedger,
    redis: Redis,
) -> None:
    payments = payment_manager.order(30)
    gate = Gate(ledger, Moment.BEFORE_CHAINS)
    worker = start_worker(**settings | {"OUTBOX_GRACE_MS": FOR_EVER_MS})
    gate.wait_reached(worker)

    worker.send(signal.SIGTERM)
    worker.wait_for(STOPPING)
    worker.send(signal.SIGTERM)

    assert worker.wait() == 128 + signal.SIGTERM
    payment_manager.assert_untouched(payments)
    gate.open()
    second = start_worker(**settings)
    payment_manager.wait_delivered(second)
    assert second.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)


@pytest.mark.parametrize("moment", [Moment.BEFORE_CHAINS, Moment.AFTER_CHAINS, Moment.AFTER_FEES])
def test_killed_worker_leaves_nothing_behind_that_the_next_one_repeats(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    ledger: FaultyLedger,
    redis: Redis,
    moment: Moment,
) -> None:
    payments = payment_manager.order(60)
    gate = Gate(ledger, moment, nth=2)
    worker = start_worker(**settings | {"OUTBOX_BATCH_SIZE": "20"})
    gate.wait_reached(worker)
    # A job is delivered at least once when its worker is killed; this is about settling.
    payment_manager.wait_no_job(worker)

    worker.send(signal.SIGKILL)

    assert worker.wait() == -signal.SIGKILL
    gate.open()
    second = start_worker(**settings)
    payment_manager.wait_delivered(second)
    assert second.stop() == 0
    payment_manager.assert_settled_once(payments)
    assert_on_stream_once(redis, payments)
    assert_logged_once(payments, worker, second)
