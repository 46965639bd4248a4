"""The server: its version, whether it takes writes, and what will run out some day."""

from typing import Final

from adapters.postgres.connection import BoundedConnection
from domain.findings import Examined, Finding

VERSION_MIN: Final = 15
VERSION_TESTED_MAX: Final = 18

EVENT_ID_MAX: Final = 2**31 - 1
"""The worker handles event ids as the 32-bit integers that a ``serial`` gives."""
_USED_WARNING: Final = 0.75
_USED_RED: Final = 0.95


def version(connection: BoundedConnection, examined: Examined) -> Finding:
    """Is the server of a version that the worker's SQL is made for?"""
    what, major = "version", connection.info.server_version // 10_000
    if major < VERSION_MIN:
        remedy = f"upgrade the server to Postgres {VERSION_MIN} or later"
        return examined.red(what, f"Postgres {major}", remedy)
    if major > VERSION_TESTED_MAX:
        remedy = f"look for a release of outbox-worker that was tested with Postgres {major}"
        return examined.warning(what, f"Postgres {major}, not tested yet", remedy)
    return examined.ok(what, f"Postgres {major}")


def writable(connection: BoundedConnection, examined: Examined) -> Finding:
    """Does the server take writes from us?"""
    what = "writable"
    ((in_recovery, read_only),) = connection.execute(
        "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'"
    ).fetchall()
    if in_recovery:
        return examined.red(
            what,
            "the server is a stand-by",
            "let DATABASE_URL lead to the primary; with several hosts in it,"
            " add target_session_attrs=read-write",
        )
    if read_only:
        return examined.red(
            what,
            "transactions are read-only",
            "reset default_transaction_read_only for this role, database or server,"
            " or take it out of the options in DATABASE_URL",
        )
    return examined.ok(what, "takes writes")


def connections(connection: BoundedConnection, examined: Examined, *, needed: int) -> Finding:
    """Are there *needed* connections to be had?"""
    what = "connections"
    limits = connection.execute("""
        SELECT
            current_setting('max_connections')::integer
                - current_setting('superuser_reserved_connections')::integer
                - COALESCE(current_setting('reserved_connections', true), '0')::integer,
            (SELECT sum(numbackends) FROM pg_stat_database)
        UNION ALL
        SELECT rolconnlimit,
               (SELECT count(*) FROM pg_stat_activity WHERE usename = rolname)
        FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0
        UNION ALL
        SELECT d.datconnlimit, s.numbackends
        FROM pg_database d JOIN pg_stat_database s ON s.datid = d.oid
        WHERE d.datname = current_database() AND d.datconnlimit >= 0
    """).fetchall()
    limit = min(limit for limit, _ in limits)
    # This probe's own connection is gone when a worker comes.
    free = min(max(0, limit - int(used) + 1) for limit, used in limits)
    wanted = f"a worker needs {needed} (OUTBOX_LANES and a few)"
    if limit < needed:
        return examined.red(
            what,
            f"at most {limit}, {wanted}",
            "lower OUTBOX_LANES, or raise max_connections or the limit of the role or database",
        )
    if free < needed:
        return examined.warning(
            what,
            f"{free} of {limit} free, {wanted}",
            "raise max_connections, end idle sessions or lower OUTBOX_LANES; nothing is wrong"
            " when the worker runs already and has its connections",
        )
    return examined.ok(what, f"{free} of {limit} free, {wanted}")


def event_ids(connection: BoundedConnection, examined: Examined) -> Finding:
    """How far is ``pm.outbox_event.id`` from its end, where producers could insert no more?"""
    what = "event ids"
    # The highest id comes from the table when the role may not look at the sequence.
    ((last, sequence, sequence_max),) = connection.execute("""
        SELECT
            GREATEST(
                (SELECT max(id) FROM pm.outbox_event),
                CASE WHEN has_sequence_privilege(s.seqrelid, 'SELECT, USAGE')
                    THEN pg_sequence_last_value(s.seqrelid) END,
                0
            ),
            s.seqrelid::regclass::text,
            s.seqmax
        FROM (VALUES (pg_get_serial_sequence('pm.outbox_event', 'id')::regclass)) AS v (id)
        LEFT JOIN pg_sequence s ON s.seqrelid = v.id
    """).fetchall()
    id_max = min(EVENT_ID_MAX, sequence_max or EVENT_ID_MAX)
    used = last / id_max
    detail = f"{used:.0%} used, {id_max - last:,} left"
    remedy = (
        "before the payment manager cannot insert any more: move finished rows with low ids away"
        " (`outbox-worker prune`),"
        f" then ALTER SEQUENCE {sequence or 'of pm.outbox_event.id'} RESTART"
        " (the order of events is that of created_at)"
    )
    if used >= _USED_RED:
        return examined.red(what, detail, remedy)
    if used >= _USED_WARNING:
        return examined.warning(what, detail, remedy)
    return examined.ok(what, detail)
