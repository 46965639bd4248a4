"""A worker that is killed, again and again, at any moment and at the worst ones.

However often: every job of a final intent is on the stream, only what was being delivered comes
twice, and everything else is there once. ``make kill-rounds ROUNDS=200`` is the long form.
"""

import json
import os
import random
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from psycopg.conninfo import make_conninfo
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import PATIENCE_S
from tests.integration.redis.clients import FIELD, STREAM, entries
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.deaths import (
    DEATHS,
    HOLDING_TRIGGERS,
    Ground,
    before_the_deletion,
    inside_the_commit,
    within_the_delivery,
)
from tests.integration.worker.payment_manager import Payment, PaymentManager

pytestmark = pytest.mark.integration

ROUNDS: Final = int(os.environ.get("KILL_ROUNDS", "10"))
PAYMENTS_A_ROUND: Final = 10
SEED: Final = int(os.environ.get("KILL_SEED") or random.SystemRandom().getrandbits(32))


@pytest.fixture
def private_postgres(postgres_cluster: PostgresServer) -> Iterator[PostgresServer]:
    """One whose commits can be made to wait for a stand-by."""
    settings = {"wal_level": "replica", "max_wal_senders": "1"}
    with PostgresServer(copy_of=postgres_cluster, settings=settings) as server:
        yield server


@pytest.fixture
def database_url(private_database_url: str) -> str:
    return private_database_url


def test_whatever_moment_a_worker_is_killed_at_nothing_is_lost_and_only_deliveries_repeat(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    ledger: FaultyLedger,
    proxy_to: Callable[[str], TcpProxy],
    redis: Redis,
) -> None:
    print(f"KILL_SEED={SEED}")
    payment_manager.execute(HOLDING_TRIGGERS)
    proxy = proxy_to(settings["REDIS_URL"])
    ground = Ground(
        url=payment_manager.url, ledger=ledger, redis_proxy=proxy, rng=random.Random(SEED)
    )
    settings |= {
        "REDIS_URL": proxy.url,
        # It waits for as long as we like.
        "DATABASE_URL": make_conninfo(payment_manager.url, options="-c lock_timeout=0"),
    }
    payments: list[Payment] = []
    interrupted: set[str] = set()
    committed_by_the_dead = 0

    for death in (DEATHS[number % len(DEATHS)] for number in range(ROUNDS)):
        payments += payment_manager.order(PAYMENTS_A_ROUND)
        delivered = texts_by_id(redis).keys()
        with death(ground) as reached:
            worker = start_worker(**settings)
            reached(worker)
            before = settled(payment_manager)
            worker.send(signal.SIGKILL)
            assert worker.wait() == -signal.SIGKILL
        wait_until(ground.is_deserted, timeout_s=PATIENCE_S, what="its sessions have ended")
        if death is inside_the_commit:
            committed_by_the_dead += settled(payment_manager) - before
        interrupted |= waiting_jobs(payment_manager)
        if death is within_the_delivery:
            # Before it died it may have delivered again what it had no answer about.
            interrupted |= texts_by_id(redis).keys() - delivered
    payment_manager.wait_delivered(last := start_worker(**settings))
    assert last.stop() == 0

    payment_manager.assert_settled_once(payments)
    texts = texts_by_id(redis)
    assert expected_jobs(payments) == Counter(job_of(texts[id_][0]) for id_ in texts)
    repeated = {id_: told for id_, told in texts.items() if len(told) > 1}
    assert repeated.keys() <= interrupted
    assert all(len(set(told)) == 1 for told in repeated.values()), "repeats are the same"
    assert len(repeated) >= DEATHS.count(before_the_deletion)
    assert committed_by_the_dead > 0
    print(
        f"{ROUNDS} rounds, {len(payments)} payments, {len(texts)} jobs, {len(repeated)} repeated,"
    )
    print(f"{committed_by_the_dead} events committed by workers that were dead by then")


def settled(payment_manager: PaymentManager) -> int:
    """How many events are processed, as others see it."""
    query = "SELECT count(*) FROM pm.outbox_event WHERE status = 'processed'"
    ((count,),) = payment_manager.execute(query)
    return int(count)


def waiting_jobs(payment_manager: PaymentManager) -> set[str]:
    """Return the ids of the jobs that no worker has seen through."""
    rows = payment_manager.execute("SELECT notification_id::text FROM pm.notification_outbox")
    return {notification_id for (notification_id,) in rows}


def texts_by_id(redis: Redis) -> dict[str, list[bytes]]:
    """Return what the stream has under each notification's id, oldest first."""
    texts: dict[str, list[bytes]] = defaultdict(list)
    for fields in entries(redis, STREAM):
        texts[json.loads(fields[FIELD])["data"]["notificationId"]].append(fields[FIELD])
    return texts


def job_of(text: bytes) -> tuple[str, str, str]:
    """Return whom a job tells what of which intent."""
    job = json.loads(text)
    return job["data"]["intentId"], job["userId"], job["data"]["status"]


def expected_jobs(payments: list[Payment]) -> Counter[tuple[str, str, str]]:
    """Return what has to be told of *payments*: each job once."""
    return Counter(
        (str(payment.intent_id), str(user_id), payment.status)
        for payment in payments
        for user_id in payment.told
    )
