"""The moments at which a worker can be killed.

Each is arranged, waited for and, once the worker is dead, cleared away; and what it left behind
must show that it was the moment that was meant.
"""

import itertools
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import PATIENCE_S, WorkerProcess
from tests.integration.redis.clients import FIELD, STREAM, entries
from tests.integration.worker.gate import Gate, Moment

WRITES: Final = 4711
DELETIONS: Final = 4712
HOLDING_TRIGGERS: Final = f"""
    CREATE FUNCTION pm.wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::bigint);
        RETURN NULL;
    END $$;
    CREATE TRIGGER wait_for_lock AFTER INSERT ON pm.intent_event
        FOR EACH STATEMENT EXECUTE FUNCTION pm.wait_for_lock('{WRITES}');
    CREATE TRIGGER wait_for_lock BEFORE DELETE ON pm.notification_outbox
        FOR EACH STATEMENT EXECUTE FUNCTION pm.wait_for_lock('{DELETIONS}')
"""
"""Whoever holds one of the locks stops workers there."""

COMMIT: Final = re.compile(rb"COMMIT\0")
COMMIT_BEGINS: Final = re.compile(rb"(?=COMMIT\0)")
OF_A_BATCH: Final = b"SET CONSTRAINTS ALL IMMEDIATE"
"""What a session says that has settled something, and no other."""
ONE_JOB_OF_SEVERAL: Final = re.compile(rb"XADD.*?(?=XADD)", re.DOTALL)

ALIVE_MAX_S: Final = 0.5
WORKS_S: Final = 0.2
"""A worker that has begun to work on a round's payments is not done so soon."""
Reached = Callable[[WorkerProcess], None]
"""Waits until the worker is where it is to be killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the moments are arranged on; workers reach the servers through the proxies."""

    url: str
    ledger: FaultyLedger
    redis: Redis
    redis_proxy: TcpProxy
    database_proxy: TcpProxy
    rng: random.Random

    def settled(self) -> int:
        """How many events are processed, as others see it."""
        query = "SELECT count(*)::integer FROM pm.outbox_event WHERE status = 'processed'"
        return int(str(self._rows(query)[0][0]))

    def waiting(self) -> set[str]:
        """Return the ids of the jobs that no worker has seen through."""
        rows = self._rows("SELECT notification_id::text FROM pm.notification_outbox")
        return {str(notification_id) for (notification_id,) in rows}

    def delivered(self) -> int:
        """How many jobs are on the stream, repeats included."""
        return int(str(self.redis.xlen(STREAM)))

    def undeleted(self, *, since: int) -> set[str]:
        """Return the ids of those on the stream, after the first *since*, whose rows are there."""
        later = entries(self.redis, STREAM)[since:]
        return {notification_id_of(fields[FIELD]) for fields in later} & self.waiting()

    def waits(self, wait_event: str, relation: str) -> bool:
        """Whether a worker's session that has to do with *relation* waits for *wait_event*."""
        query = (
            "SELECT FROM pg_stat_activity JOIN pg_locks USING (pid)"
            " WHERE application_name = 'outbox-worker' AND datname = current_database()"
            " AND wait_event = %s AND relation = %s::regclass"
        )
        return bool(self._rows(query, wait_event, relation))

    def wait_deserted(self) -> None:
        """Wait until no session of a worker is left, and all that it was told is done."""
        query = (
            "SELECT FROM pg_stat_activity WHERE application_name LIKE 'outbox-worker%%'"
            " AND datname = current_database()"
        )
        wait_until(
            lambda: not self._rows(query), timeout_s=PATIENCE_S, what="its sessions have ended"
        )

    def _rows(self, query: str, *parameters: object) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query.encode(), parameters).fetchall()


@contextmanager
def at_any_time(ground: Ground) -> Iterator[Reached]:
    """Soon after the start: while it claims, settles, delivers, or has done all of that."""

    def reached(worker: WorkerProcess) -> None:
        worker.wait_for("outbox: worker started")
        time.sleep(ground.rng.uniform(0, ALIVE_MAX_S))

    yield reached


@contextmanager
def amid_the_work(ground: Ground) -> Iterator[Reached]:
    """Some payments are settled, others are not; jobs are being delivered."""
    settled = ground.settled()

    def reached(worker: WorkerProcess) -> None:
        worker.wait_until(lambda: ground.settled() > settled, what="it has settled something")
        time.sleep(ground.rng.uniform(0, WORKS_S))

    yield reached


@contextmanager
def after_the_ledger_acted(ground: Ground) -> Iterator[Reached]:
    """The money has moved, and the worker has not heard of it."""
    gate = Gate(ground.ledger, ground.rng.choice([Moment.AFTER_CHAINS, Moment.AFTER_FEES]))
    yield gate.wait_reached
    with _undone(ground):
        gate.open()


@contextmanager
def before_the_commit(ground: Ground) -> Iterator[Reached]:
    """Everything is written, and nothing of it is committed."""
    with _undone(ground), _held(ground, WRITES, "pm.intent_event") as reached:
        yield reached


@contextmanager
def commit_on_its_way(ground: Ground) -> Iterator[Reached]:
    """The worker has sent COMMIT, which arrives when it is dead."""
    ground.database_proxy.freeze_at(COMMIT_BEGINS, after=OF_A_BATCH)
    yield _frozen(ground.database_proxy)
    with _done_by_the_dead(ground):
        ground.database_proxy.pass_through()


@contextmanager
def inside_the_commit(ground: Ground) -> Iterator[Reached]:
    """The server has committed on its disk, and waits for a stand-by that does not exist."""
    with psycopg.connect(ground.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        connection.execute("SELECT pg_reload_conf()")
        yield _waiting(ground, "SyncRep", "pm.intent_event")
        with _done_by_the_dead(ground):
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")


@contextmanager
def answer_to_the_commit_on_its_way(ground: Ground) -> Iterator[Reached]:
    """All others see the commit, and the worker has not heard of it."""
    settled = ground.settled()
    ground.database_proxy.freeze_at(COMMIT, after=OF_A_BATCH)
    frozen = _frozen(ground.database_proxy)

    def reached(worker: WorkerProcess) -> None:
        frozen(worker)
        worker.wait_until(lambda: ground.settled() > settled, what="others see the commit")

    yield reached
    ground.database_proxy.pass_through()


@contextmanager
def within_the_delivery(ground: Ground) -> Iterator[Reached]:
    """Redis has taken the first of several jobs, and no answer has come."""
    delivered = ground.delivered()
    ground.redis_proxy.freeze_at(ONE_JOB_OF_SEVERAL)
    frozen = _frozen(ground.redis_proxy)

    def reached(worker: WorkerProcess) -> None:
        frozen(worker)
        worker.wait_until(
            lambda: bool(ground.undeleted(since=delivered)), what="the first job is on the stream"
        )

    with _undeleted(ground):
        yield reached
        # What else the dead worker had sent never arrives.
        ground.redis_proxy.cut()
        ground.redis_proxy.pass_through()


@contextmanager
def before_the_deletion(ground: Ground) -> Iterator[Reached]:
    """Redis has confirmed jobs, whose rows are still there."""
    with _undeleted(ground), _held(ground, DELETIONS, "pm.notification_outbox") as reached:
        yield reached


@contextmanager
def _undeleted(ground: Ground) -> Iterator[None]:
    """Jobs are on the stream, and will come again."""
    delivered = ground.delivered()
    yield
    ground.wait_deserted()
    assert ground.undeleted(since=delivered)


@contextmanager
def _undone(ground: Ground) -> Iterator[None]:
    """Others never see it."""
    settled = ground.settled()
    yield
    ground.wait_deserted()
    assert ground.settled() == settled


@contextmanager
def _done_by_the_dead(ground: Ground) -> Iterator[None]:
    """Others see it only now."""
    settled = ground.settled()
    yield
    ground.wait_deserted()
    assert ground.settled() > settled


@contextmanager
def _held(ground: Ground, lock: int, relation: str) -> Iterator[Reached]:
    with psycopg.connect(ground.url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [lock])
        yield _waiting(ground, "advisory", relation)


def _waiting(ground: Ground, wait_event: str, relation: str) -> Reached:
    return lambda worker: worker.wait_until(
        lambda: ground.waits(wait_event, relation), what=f"a session waits for {wait_event}"
    )


def _frozen(proxy: TcpProxy) -> Reached:
    frozen = proxy.frozen_total
    return lambda worker: worker.wait_until(
        lambda: proxy.frozen_total > frozen, what="its connection is frozen"
    )


def notification_id_of(job: bytes) -> str:
    """Return by what a reader of the stream recognises a repeat."""
    return str(json.loads(job)["data"]["notificationId"])


Death = Callable[[Ground], AbstractContextManager[Reached]]
AT_RANDOM: Final[tuple[Death, ...]] = (at_any_time, amid_the_work)
ON_PURPOSE: Final[tuple[Death, ...]] = (
    after_the_ledger_acted,
    before_the_commit,
    commit_on_its_way,
    inside_the_commit,
    answer_to_the_commit_on_its_way,
    within_the_delivery,
    before_the_deletion,
)
REPEATING: Final[tuple[Death, ...]] = (within_the_delivery, before_the_deletion)
"""Those after which a job comes again for sure."""


def deaths(count: int) -> Iterator[Death]:
    """Give *count* moments: at random and on purpose by turns, each as often as the others."""
    by_turns = zip(itertools.cycle(AT_RANDOM), itertools.cycle(ON_PURPOSE))
    return itertools.islice(itertools.chain.from_iterable(by_turns), count)
