"""A worker that is killed, again and again, at any moment and at the worst ones.

However often: every job of a final intent is on the stream, only what was being delivered comes
twice, and everything else is there once. ``make kill-rounds ROUNDS=200`` is the long form.
"""

import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pytest
from psycopg.conninfo import make_conninfo
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import PATIENCE_S
from tests.integration.redis.clients import FIELD, STREAM, entries
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.deaths import (
    AT_RANDOM,
    HOLDING_TRIGGERS,
    ON_PURPOSE,
    REPEATING,
    Death,
    Ground,
    deaths,
    notification_id_of,
)
from tests.integration.worker.payment_manager import Payment, PaymentManager

pytestmark = pytest.mark.integration

ROUNDS: Final = int(os.environ.get("KILL_ROUNDS", 2 * len(ON_PURPOSE)))
FEW: Final = 10
MANY: Final = 50
SMALL_BATCHES: Final = {"OUTBOX_BATCH_SIZE": "4", "OUTBOX_NOTIFICATIONS_BATCH_SIZE": "4"}
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
    ground = Ground(
        url=payment_manager.url,
        ledger=ledger,
        redis=redis,
        redis_proxy=(redis_proxy := proxy_to(settings["REDIS_URL"])),
        database_proxy=(database_proxy := proxy_to(payment_manager.url)),
        rng=random.Random(SEED),
    )
    settings |= {
        "REDIS_URL": redis_proxy.url,
        # It waits for as long as we like, and so does the one for an answer of Redis.
        "DATABASE_URL": make_conninfo(database_proxy.url, options="-c lock_timeout=0"),
        "OUTBOX_REDIS_TIMEOUT_MS": str(round(PATIENCE_S * 1_000)),
    }
    payments: list[Payment] = []
    rounds: Counter[Death] = Counter()
    interrupted: Counter[str] = Counter()
    amid_work = 0
    began_s = time.monotonic()

    for death in deaths(ROUNDS):
        is_at_random = death in AT_RANDOM
        payments += payment_manager.order(MANY if is_at_random else FEW)
        with death(ground) as reached:
            before = ground.settled(), ground.delivered()
            # With one lane, what is held is all that goes on.
            worker = start_worker(
                **settings | SMALL_BATCHES, OUTBOX_LANES="2" if is_at_random else "1"
            )
            reached(worker)
            worker.send(signal.SIGKILL)
            assert worker.wait() == -signal.SIGKILL
            interrupted.update(ground.waiting())
        ground.wait_deserted()
        rounds[death] += 1
        has_begun = (ground.settled(), ground.delivered()) != before
        is_left = ground.settled() < len(payments) or bool(ground.waiting())
        amid_work += is_at_random and has_begun and is_left
    payment_manager.wait_delivered(last := start_worker(**settings))
    assert last.stop() == 0

    payment_manager.assert_settled_once(payments)
    texts = texts_by_id(redis)
    assert expected_jobs(payments) == Counter(job_of(told[0]) for told in texts.values())
    repeats = repeats_of(texts)
    assert repeats <= interrupted, "only what a worker died at comes again"
    assert repeats.total() >= sum(rounds[death] for death in REPEATING)
    assert amid_work > 0
    for death, count in rounds.items():
        print(f"{count} times {death.__name__}")
    print(f"{amid_work} of those at random were amid work")
    print(f"{len(payments)} payments, {len(texts)} jobs, {repeats.total()} repeats")
    print(f"{ROUNDS} rounds in {time.monotonic() - began_s:.0f} s")


def repeats_of(texts: Mapping[str, Sequence[bytes]]) -> Counter[str]:
    """Return how often each job came again, by its id; to the byte the same each time."""
    assert all(len(set(told)) == 1 for told in texts.values())
    return Counter({id_: len(told) - 1 for id_, told in texts.items()})


def texts_by_id(redis: Redis) -> dict[str, list[bytes]]:
    """Return what the stream has under each notification's id, oldest first."""
    texts: dict[str, list[bytes]] = defaultdict(list)
    for fields in entries(redis, STREAM):
        texts[notification_id_of(fields[FIELD])].append(fields[FIELD])
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
