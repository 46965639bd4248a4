"""From order to settlement at a given load, with and without the wake-up."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

import psycopg

from adapters.postgres.wake_up import switch_on
from benchmarks.arena import Arena, Field
from benchmarks.contestants import REPOSITORY, require_done, workers
from benchmarks.producer import Seen, Task
from benchmarks.results import Section, Value
from benchmarks.rounds import Say
from entrypoints.sandbox.waiting import wait_until

RATES_PER_S: Final = (1, 100, 1_000)
_PATIENCE_S: Final = 60.0
_SETTLED: Final = (
    "SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP ("
    "   ORDER BY extract(epoch FROM processed_at - created_at) * 1000"
    " ) FROM pm.outbox_event"
)
_AT_REST: Final = "SELECT NOT EXISTS (SELECT FROM pm.notification_outbox)"


def delays(arena: Arena, *, seconds: int, say: Say) -> Section:
    """Offer each rate for *seconds*; a producer's own commit is part of what is seen."""
    rows = []
    for rate in RATES_PER_S:
        for wakes in (False, True):
            rows.append(_row(arena, rate=rate, seconds=seconds, wakes=wakes))
            say(f"{rate} events/s, wake-up {'on' if wakes else 'off'}: {rows[-1][3]} ms p99")
    return Section(
        name="delays",
        title="from order to settlement (the database's clock), and to the live status, in ms",
        columns=(
            "offered", "wake-up", "settled p50", "settled p99", "seen p50", "seen p99", "reached/s",
        ),
        rows=rows,
    )  # fmt: skip


def _row(arena: Arena, *, rate: int, seconds: int, wakes: bool) -> tuple[Value, ...]:
    with arena.field(rate * seconds) as field:
        if wakes:
            switch_on(field.database_url)
        with workers(field):
            seen = _produce(field, rate)
            with psycopg.connect(field.database_url, autocommit=True) as connection:
                wait_until(
                    lambda: connection.execute(_AT_REST).fetchall() == [(True,)],
                    timeout_s=_PATIENCE_S,
                    what="all jobs are delivered",
                )
                [(settled_ms,)] = connection.execute(_SETTLED).fetchall()
        require_done(arena, field)
    return (
        f"{rate}/s", "on" if wakes else "off",
        *[round(float(one), 1) for one in settled_ms],
        *[round(_percentile(seen.delays_ms, share), 1) for share in (0.5, 0.99)],
        round(seen.rate, 1),
    )  # fmt: skip


def _produce(field: Field, rate: int) -> Seen:
    task = Task(
        database_url=field.database_url,
        redis_url=field.redis_url,
        intent_ids=[str(one.intent_id) for one in field.payments],
        rate=rate,
    )
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.producer"],
        cwd=REPOSITORY,
        input=json.dumps(asdict(task)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Seen(**json.loads(done.stdout))


def _percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
