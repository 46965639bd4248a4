"""What an event costs: CPU by process, WAL, commits, round trips; and Postgres by statement."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg import sql

from benchmarks.arena import Arena, Field
from benchmarks.contestants import settle_backlog, settle_backlog_at_the_floor, workers
from benchmarks.postgres_wire import PostgresWire
from benchmarks.results import Section, Value
from benchmarks.usage import cpu_s

_STATEMENTS_SHOWN = 15
_QUERY_CHARS = 40
_STATEMENTS = (
    "SELECT regexp_replace(query, '\\s+', ' ', 'g'), calls, total_exec_time, total_plan_time,"
    " rows, wal_bytes::bigint FROM pg_stat_statements"
    " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " ORDER BY total_exec_time + total_plan_time DESC LIMIT %s"
)
_WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


def costs(arena: Arena, *, events: int) -> Section:
    """Measure one run, and the floor; count in a third one, which the counting slows down."""
    with arena.field(events) as field, workers(field) as started:
        ours = _used(
            field,
            {
                "worker": started[0].pid,
                "Postgres": arena.postgres.pid,
                "ledger": arena.ledger.pid,
                "Redis": arena.valkey.pid,
            },
            lambda: settle_backlog(arena, field),
        )
    with arena.field(events, with_ledger=False) as field:
        floor = _used(
            field,
            {"Postgres": arena.postgres.pid},
            lambda: settle_backlog_at_the_floor(field),
        )
    with (
        arena.field(events) as field,
        PostgresWire(field.database_url) as wire,
        workers(replace(field, database_url=wire.url)),
    ):
        at_start = wire.counts
        settle_backlog(arena, field)
        counts = wire.counts - at_start
    total_s = sum(ours.cpu_s.values())
    rows: list[tuple[Value, ...]] = [
        (
            f"CPU µs: {name}",
            seconds * 1e6 / events,
            f"{seconds / total_s:.0%}",
            round(floor.cpu_s[name] * 1e6 / events, 1) if name in floor.cpu_s else "",
        )
        for name, seconds in ours.cpu_s.items()
    ]
    rows += [
        ("wall clock µs", ours.took_s * 1e6 / events, "", floor.took_s * 1e6 / events),
        ("WAL bytes", ours.wal_bytes / events, "", floor.wal_bytes / events),
        ("statements", counts.statements / events, "", ""),
        ("round trips", counts.round_trips / events, "", ""),
        ("commits", counts.commits / events, "", ""),
    ]
    return Section(
        name="costs",
        title=f"what one of {events:,} events costs",
        columns=("an event costs", "ours", "share", "floor"),
        rows=rows,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Used:
    cpu_s: Mapping[str, float]
    wal_bytes: int
    took_s: float


def _used(field: Field, processes: Mapping[str, int], run: Callable[[], float]) -> _Used:
    wal_before, before = _wal_bytes(field), _cpu(processes)
    took_s = run()
    after, wal_after = _cpu(processes), _wal_bytes(field)
    return _Used(
        cpu_s={name: after[name] - before[name] for name in processes},
        wal_bytes=wal_after - wal_before,
        took_s=took_s,
    )


def statements(arena: Arena, *, events: int) -> Section:
    """Say which statements Postgres spends its time on; tracking them costs something itself."""
    with arena.field(events) as field:
        _track(field)
        with workers(field):
            settle_backlog(arena, field)
        rows = _tracked(field)
    return Section(
        name="statements",
        title=f"Postgres by statement, {events:,} events; µs and bytes are per event",
        columns=("statement", "calls", "µs", "planning µs", "rows", "WAL bytes"),
        rows=[
            (
                query.strip()[:_QUERY_CHARS],
                calls,
                exec_ms * 1e3 / events,
                plan_ms * 1e3 / events,
                returned / events,
                wal_bytes / events,
            )
            for query, calls, exec_ms, plan_ms, returned, wal_bytes in rows
        ],
    )


def _tracked(field: Field) -> Sequence[tuple[Any, ...]]:
    with psycopg.connect(field.database_url, autocommit=True) as connection:
        return connection.execute(_STATEMENTS, [_STATEMENTS_SHOWN]).fetchall()


def _track(field: Field) -> None:
    """Have the statements of sessions that begin from now on tracked."""
    with psycopg.connect(field.database_url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_stat_statements")
        name = connection.info.dbname
        for setting, value in (("track", "top"), ("track_planning", "on")):
            connection.execute(
                sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                    sql.Identifier(name),
                    sql.Identifier("pg_stat_statements", setting),
                    sql.Literal(value),
                )
            )


def _wal_bytes(field: Field) -> int:
    with psycopg.connect(field.database_url, autocommit=True) as connection:
        return int(connection.execute(_WAL.encode()).fetchall()[0][0])


def _cpu(processes: Mapping[str, int]) -> Mapping[str, float]:
    return {name: cpu_s(pid) for name, pid in processes.items()}
