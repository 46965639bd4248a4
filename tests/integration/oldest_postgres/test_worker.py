"""The whole of the worker at work, wake-up included."""

import pytest
from redis import Redis

from adapters.postgres.wake_up import switch_on
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.payment_manager import (
    PaymentManager,
    assert_logged_once,
)

pytestmark = [pytest.mark.integration, pytest.mark.oldest_postgres]

AN_HOUR_MS = "3600000"


def test_each_payment_is_settled_once_and_told_once_to_everybody(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    database_url: str,
    redis: Redis,
) -> None:
    switch_on(database_url)
    # Nobody looks by himself before the test is over.
    sleepy = {"OUTBOX_TICK_MS": AN_HOUR_MS, "OUTBOX_FIRST_PAUSE_MS": AN_HOUR_MS}
    worker = start_worker(**settings | sleepy | {"OUTBOX_BATCH_SIZE": "50"})
    payments = payment_manager.order(120)
    payment_manager.wait_settled(worker)
    payments += payment_manager.order(1)

    payment_manager.wait_settled(worker)
    assert worker.stop() == 0

    payment_manager.assert_settled_once(payments)
    assert_logged_once(payments, worker)
