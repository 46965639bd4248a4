"""What makes each claim dearer than it need be: dead rows, and whoever keeps them from being swept.

A row that is processed leaves a dead version among the pending ones of the index, and each claim
walks over it until vacuum takes it away. Vacuum cannot, while any snapshot is older than that.
"""

from typing import Final

from adapters.postgres.connection import BoundedConnection
from domain.findings import Examined, Finding
from domain.sanitising import sanitise

DEAD_ROWS_WARNING: Final = 100_000
"""About what makes a claim of 500 events take twice as long."""

TRANSACTIONS_WARNING: Final = 100_000
"""How many transactions a snapshot may be old; each of PM's leaves a dead row or two."""

AGE_WARNING_S: Final = 600

_TABLES: Final = ("outbox_event", "intent", "outbox_retry", "notification_outbox")
_PLACE: Final = "docs/running.md, Growth"


def dead_rows(connection: BoundedConnection, examined: Examined) -> Finding:
    """Are there more dead rows than claims should have to walk over?"""
    what = "dead rows"
    rows = connection.execute(
        "SELECT relname, n_dead_tup,"
        " COALESCE(to_char(GREATEST(last_vacuum, last_autovacuum) AT TIME ZONE 'UTC',"
        " 'YYYY-MM-DD HH24:MI \"UTC\"'), 'never')"
        " FROM pg_stat_user_tables WHERE schemaname = 'pm' AND relname = ANY(%s)"
        " ORDER BY n_dead_tup DESC",
        [list(_TABLES)],
    ).fetchall()
    many = [row for row in rows if row[1] >= DEAD_ROWS_WARNING]
    if many:
        return examined.warning(
            what,
            "; ".join(f"pm.{name}: {dead:,}, last vacuumed {at}" for name, dead, at in many),
            f"VACUUM {', '.join(f'pm.{name}' for name, _, _ in many)}; where that leaves them, end"
            " what the line `oldest snapshot` names; so that they do not come back, give the"
            f" tables the storage parameters of {_PLACE}",
        )
    most = f"{rows[0][1]:,} at most, in pm.{rows[0][0]}" if rows else "none"
    return examined.ok(what, most)


# Sessions of other databases hold back nothing here, nor does autovacuum, which has no user. Of
# others' sessions a role without pg_read_all_stats sees no times, yet the age in transactions.
_HOLDERS: Final = """
    SELECT holder, transactions, seconds FROM (
        SELECT
            format('session %s of %s', a.pid, a.usename)
                || COALESCE(' (' || NULLIF(a.application_name, '') || ')', '') AS holder,
            GREATEST(age(a.backend_xmin), age(a.backend_xid)) AS transactions,
            extract(epoch FROM clock_timestamp() - a.xact_start)::bigint AS seconds
        FROM pg_stat_activity a
        JOIN pg_database d ON d.datname = current_database()
        WHERE a.pid <> pg_backend_pid()
            AND a.usename IS NOT NULL
            AND COALESCE(a.datid, d.oid) = d.oid
        UNION ALL
        SELECT format('replication slot %s', s.slot_name),
            age(s.xmin), NULL
        FROM pg_replication_slots s
        UNION ALL
        SELECT format('prepared transaction %s', p.gid), age(p.transaction),
            extract(epoch FROM clock_timestamp() - p.prepared)::bigint
        FROM pg_prepared_xacts p
        WHERE p.database = current_database()
    ) AS holders
    WHERE transactions IS NOT NULL
    ORDER BY seconds DESC NULLS LAST, transactions DESC
"""


def oldest_snapshot(connection: BoundedConnection, examined: Examined) -> Finding:
    """Does anybody keep vacuum from taking dead rows away?"""
    what = "oldest snapshot"
    old = [
        f"{sanitise(holder)}: {_age(transactions, seconds)}"
        for holder, transactions, seconds in connection.execute(_HOLDERS).fetchall()
        if transactions >= TRANSACTIONS_WARNING or (seconds or 0) >= AGE_WARNING_S
    ]
    if not old:
        return examined.ok(what, "nothing old keeps dead rows from being swept")
    return examined.warning(
        what,
        f"{old[0]}" + (f", and {len(old) - 1} more" if len(old) > 1 else ""),
        "until it ends, no dead row younger than it can be swept, and each claim walks over them:"
        " end it with pg_terminate_backend(pid), pg_drop_replication_slot(name) or ROLLBACK"
        f" PREPARED, and set idle_in_transaction_session_timeout; {_PLACE}",
    )


def _age(transactions: int, seconds: int | None) -> str:
    age = f"{transactions:,} transactions old"
    return age if seconds is None else f"{seconds // 60} min, {age}"
