"""The moments at which a worker can be killed: each is arranged, waited for, and cleared away."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg

from adapters.memory.faulty_ledger import FaultyLedger
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import WorkerProcess
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

ALIVE_MAX_S: Final = 0.5
Reached = Callable[[WorkerProcess], None]
"""Waits until the worker is where it is to be killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the moments are arranged on; *redis_proxy* is what workers take for Redis."""

    url: str
    ledger: FaultyLedger
    redis_proxy: TcpProxy
    rng: random.Random

    def waits(self, wait_event: str) -> bool:
        """Whether a worker's session waits for *wait_event*."""
        query = (
            "SELECT FROM pg_stat_activity WHERE application_name = 'outbox-worker'"
            " AND datname = current_database() AND wait_event = %s"
        )
        return bool(self._rows(query, wait_event))

    def is_deserted(self) -> bool:
        """Whether the server has noticed that no worker is there any more."""
        query = (
            "SELECT FROM pg_stat_activity WHERE application_name LIKE 'outbox-worker%%'"
            " AND datname = current_database()"
        )
        return not self._rows(query)

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
def after_the_ledger_acted(ground: Ground) -> Iterator[Reached]:
    """The money has moved, and the worker has not heard of it."""
    gate = Gate(ground.ledger, ground.rng.choice([Moment.AFTER_CHAINS, Moment.AFTER_FEES]))
    yield gate.wait_reached
    gate.open()


@contextmanager
def before_the_commit(ground: Ground) -> Iterator[Reached]:
    """Everything is written, and nothing of it is committed."""
    with _held(ground, WRITES) as reached:
        yield reached


@contextmanager
def inside_the_commit(ground: Ground) -> Iterator[Reached]:
    """The server has committed on its disk, and waits for a stand-by that does not exist."""
    with psycopg.connect(ground.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        connection.execute("SELECT pg_reload_conf()")
        yield _waiting(ground, "SyncRep")
        connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def within_the_delivery(ground: Ground) -> Iterator[Reached]:
    """Redis has taken jobs, and its answer is lost."""
    lost = ground.redis_proxy.answers_lost_total
    ground.redis_proxy.lose_answer_to(b"XADD")
    yield lambda worker: worker.wait_until(
        lambda: ground.redis_proxy.answers_lost_total > lost, what="an answer to XADD is lost"
    )


@contextmanager
def before_the_deletion(ground: Ground) -> Iterator[Reached]:
    """Redis has confirmed jobs, whose rows are still there."""
    with _held(ground, DELETIONS) as reached:
        yield reached


@contextmanager
def _held(ground: Ground, lock: int) -> Iterator[Reached]:
    with psycopg.connect(ground.url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [lock])
        yield _waiting(ground, "advisory")


def _waiting(ground: Ground, wait_event: str) -> Reached:
    return lambda worker: worker.wait_until(
        lambda: ground.waits(wait_event), what=f"a session waits for {wait_event}"
    )


Death = Callable[[Ground], AbstractContextManager[Reached]]
DEATHS: Final[tuple[Death, ...]] = (
    at_any_time,
    before_the_deletion,
    at_any_time,
    inside_the_commit,
    at_any_time,
    within_the_delivery,
    at_any_time,
    before_the_commit,
    at_any_time,
    after_the_ledger_acted,
)
"""Every second one at random."""
