"""The contestants: each settles a field's events to the end, and says how many a second."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import psycopg
from dependency_injector import providers
from redis import Redis

from benchmarks.arena import Arena, Field
from benchmarks.floor import install_floor, settle_at_the_floor
from benchmarks.literal import LiteralWorker
from benchmarks.payments import JOBS_PER_EVENT
from entrypoints.container import Container
from entrypoints.sandbox.waiting import wait_until
from entrypoints.sandbox.worker_process import OUTBOX_WORKER, WorkerProcess
from entrypoints.settings import NOTIFICATIONS_STREAM, Settings

REPOSITORY: Final = Path(__file__).parents[1]
LEDGERLESS_WORKER: Final = (sys.executable, "-m", "benchmarks.ledgerless_worker")
PATIENCE_S: Final = 600.0
_LEFT: Final = (
    "SELECT EXISTS (SELECT FROM pm.outbox_event WHERE status = 'pending')"
    "    OR EXISTS (SELECT FROM pm.notification_outbox)"
)
_DEFAULTS: Final = Settings.model_fields

LANES: Final[int] = _DEFAULTS["lanes"].default
BATCH_SIZE: Final[int] = _DEFAULTS["batch_size"].default
FLOOR_BATCH_SIZE: Final = 500
"""At which the floor is quickest: with 1,000 rows the planner joins them in a worse way."""
DELIVERY_BATCH_SIZE: Final[int] = _DEFAULTS["notifications_batch_size"].default


def literal(arena: Arena, *, events: int) -> float:
    """The sources' algorithm, event by event."""
    with arena.field(events) as field:
        field.order()
        settings = settings_of(field)
        with (
            psycopg.connect(field.database_url, autocommit=True) as connection,
            Redis.from_url(field.redis_url) as redis,
        ):
            worker = LiteralWorker(
                connection=connection,
                redis=redis,
                ledger=arena.ledger.ledger,
                rules=Container(settings=providers.Object(settings)).rules(),
                field=settings.notifications_field,
            )
            started = time.perf_counter()
            # What it cannot settle it would try for ever.
            for _ in range(events):
                if not worker():
                    break
            took_s = time.perf_counter() - started
        require_done(arena, field)
    return events / took_s


def floor(arena: Arena, *, events: int) -> float:
    """The same row changes by procedures in the server."""
    with arena.field(events, with_ledger=False) as field:
        return events / settle_backlog_at_the_floor(field)


def settle_backlog_at_the_floor(field: Field) -> float:
    """Order everything at once; return the seconds that the procedures took."""
    field.order()
    with psycopg.connect(field.database_url, autocommit=True) as connection:
        install_floor(connection)
    started = time.perf_counter()
    settle_at_the_floor(
        field.database_url,
        lanes=LANES,
        batch_size=FLOOR_BATCH_SIZE,
        delivery_batch_size=DELIVERY_BATCH_SIZE,
    )
    took_s = time.perf_counter() - started
    require_no_rows_left(field)
    return took_s


def ours(
    arena: Arena,
    *,
    events: int,
    processes: int = 1,
    with_ledger: bool = True,
    settings: Mapping[str, object] | None = None,
) -> float:
    """The worker as it is run, delivery included."""
    with (
        arena.field(events, with_ledger=with_ledger) as field,
        workers(field, processes=processes, with_ledger=with_ledger, settings=settings),
    ):
        return events / settle_backlog(arena, field)


@contextmanager
def workers(
    field: Field,
    *,
    processes: int = 1,
    with_ledger: bool = True,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Sequence[WorkerProcess]]:
    """Start workers that find nothing to do yet, and are listening for it."""
    environment = field.worker_settings(**(settings or {})) | {"PYTHONPATH": str(REPOSITORY)}
    command = OUTBOX_WORKER if with_ledger else LEDGERLESS_WORKER
    with ExitStack() as stack:
        started = [WorkerProcess(environment, command=command) for _ in range(processes)]
        for worker in started:
            # At the end it is stopped in order, and killed only if it was never ready.
            stack.callback(worker.close)
            worker.start()
            stack.callback(worker.stop)
        yield started


def settle_backlog(arena: Arena, field: Field) -> float:
    """Order everything at once; return the seconds until all is settled and delivered."""
    jobs = JOBS_PER_EVENT * len(field.payments)
    with (
        arena.redis() as redis,
        psycopg.connect(field.database_url, autocommit=True) as connection,
    ):
        field.order()
        started = time.perf_counter()
        # Looking at the stream costs Postgres nothing.
        wait_until(
            lambda: redis.xlen(NOTIFICATIONS_STREAM) >= jobs,
            timeout_s=PATIENCE_S,
            what="every push job is on the stream",
        )
        wait_until(nothing_left(connection), timeout_s=PATIENCE_S, what="nothing is left")
        took_s = time.perf_counter() - started
    require_done(arena, field)
    return took_s


def nothing_left(connection: psycopg.Connection) -> Callable[[], bool]:
    """Return the question whether no event is pending and no job waits."""
    return lambda: connection.execute(_LEFT).fetchall() == [(False,)]


def require_done(arena: Arena, field: Field) -> None:
    """Raise unless *field* is settled, and each job is on the stream once."""
    require_no_rows_left(field)
    with arena.redis() as redis:
        jobs, expected = redis.xlen(NOTIFICATIONS_STREAM), JOBS_PER_EVENT * len(field.payments)
    if jobs != expected:
        raise RuntimeError(f"{jobs} jobs on the stream instead of {expected}")


def require_no_rows_left(field: Field) -> None:
    """Raise unless each intent of *field* is settled, and no row waits."""
    with psycopg.connect(field.database_url) as connection:
        [(settled,)] = connection.execute(
            "SELECT count(*) FROM pm.intent WHERE status = 'SETTLED'"
        ).fetchall()
        if settled != len(field.payments) or not nothing_left(connection)():
            raise RuntimeError(f"{settled} of {len(field.payments)} intents are settled")


def settings_of(field: Field) -> Settings:
    """Return what the worker's defaults are on *field*."""
    names = {"DATABASE_URL", "REDIS_URL", "TIGERBEETLE_ADDRESSES", "TIGERBEETLE_CLUSTER_ID"}
    given = {name: value for name, value in field.worker_settings().items() if name in names}
    return Settings.model_validate(given)
