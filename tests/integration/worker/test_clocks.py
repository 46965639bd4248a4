"""The worker's clock is wrong, and the server's time zone is anything: no difference to be seen."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis
from redis.client import PubSub

from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.payment_manager import PaymentManager

pytestmark = pytest.mark.integration

HOUR_S = 3_600
BACKOFF_MS = 200
GOOD = 12

# Python imports a module of this name at its start, if there is one.
OTHER_CLOCK = """
import datetime, time

true_time, true_time_ns = time.time, time.time_ns
time.time = lambda: true_time() + {offset_s}
time.time_ns = lambda: true_time_ns() + {offset_s} * 10**9


class Datetime(datetime.datetime):
    __slots__ = ()

    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds={offset_s})


datetime.datetime = Datetime
"""


@pytest.fixture
def statuses(redis: Redis) -> Iterator[PubSub]:
    pubsub = PubSub(redis.connection_pool)
    pubsub.psubscribe("intent.*")
    pubsub.get_message(timeout=10)  # the subscription stands from here on
    yield pubsub
    pubsub.close()


@pytest.mark.parametrize(
    ("offset_s", "zone"),
    [
        (0, "UTC"),
        (HOUR_S, "Asia/Bangkok"),
        (-HOUR_S, "Asia/Kolkata"),
        (HOUR_S, "America/St_Johns"),
        (-HOUR_S, "Pacific/Kiritimati"),
    ],
)
def test_neither_the_hosts_clock_nor_a_time_zone_matters(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    statuses: PubSub,
    tmp_path: Path,
    offset_s: int,
    zone: str,
) -> None:
    ((database,),) = payment_manager.execute("SELECT quote_ident(current_database())")
    payment_manager.execute(f"ALTER DATABASE {database} SET timezone = '{zone}'")
    (tmp_path / "sitecustomize.py").write_text(OTHER_CLOCK.format(offset_s=offset_s))
    payments = payment_manager.authorize(GOOD + 1)
    payment_manager.execute(
        "UPDATE pm.intent SET tb_transfer_ids = tb_transfer_ids || %s::uuid WHERE id = %s",
        uuid4(),
        payments[-1].intent_id,
    )
    begin = datetime.now(UTC)
    payment_manager.enqueue(payments)
    worker = start_worker(
        **settings
        | {
            "PYTHONPATH": str(tmp_path),
            "OUTBOX_STATUS_FULL": "true",
            "OUTBOX_ATTEMPTS_MAX_NOT_FOUND": "3",
            "OUTBOX_BACKOFF_FIRST_MS": str(BACKOFF_MS),
            "OUTBOX_BACKOFF_MAX_MS": str(BACKOFF_MS),
        }
    )

    # Two backoffs included: they end by the database's clock.
    payment_manager.wait_delivered(worker)

    end = datetime.now(UTC)
    assert worker.stop() == 0
    told = datetime.fromisoformat(worker.log[-1]["timestamp"])
    assert abs(told - end - timedelta(seconds=offset_s)) < timedelta(seconds=HOUR_S / 2)
    changed = dict(
        payment_manager.execute("SELECT id, updated_at FROM pm.intent WHERE status <> 'AUTHORIZED'")
    )
    assert len(changed) == GOOD + 1
    assert all(begin <= at <= end for at in changed.values())
    ((count, waited),) = payment_manager.execute(
        "SELECT retry_count, next_attempt_at - first_failed_at FROM pm.outbox_event e"
        " JOIN pm.outbox_retry r ON r.event_id = e.id WHERE status = 'failed'"
    )
    assert count == 3
    assert timedelta(0) <= waited <= end - begin
    assert heard(statuses) == {
        str(payment.intent_id): in_milliseconds(changed[payment.intent_id])
        for payment in payments[:-1]
    }


def heard(statuses: PubSub) -> dict[str, str]:
    """Return the time that was published with each intent."""
    bodies = [json.loads(statuses.get_message(timeout=10)["data"]) for _ in range(GOOD)]
    return {body["intentId"]: body["updatedAt"] for body in bodies}


def in_milliseconds(at: datetime) -> str:
    """Return *at* as the payment manager writes it."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1_000:03d}Z"
