"""The schema: its tables and columns, the migrations that made it, and our rights on it."""

from collections.abc import Mapping
from typing import Final

from psycopg import sql

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.migration_files import LOG_TABLE, migrations_folder
from adapters.postgres.schema import (
    PAYMENT_MANAGER_COLUMNS,
    exists,
    missing_columns,
    missing_tables,
)
from domain.findings import Examined, Finding

_MIGRATE: Final = "run `outbox-worker migrate`"

RIGHTS: Final[Mapping[str, tuple[str, ...]]] = {
    # Locking a row asks for UPDATE, whatever is done with it then.
    "pm.outbox_event": ("SELECT", "UPDATE"),
    "pm.intent": ("SELECT", "UPDATE"),
    "pm.psp_tx_map": ("SELECT",),
    "pm.tb_account_map": ("SELECT",),
    "pm.tx_history": ("INSERT",),
    "pm.intent_event": ("INSERT",),
    "pm.outbox_retry": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "pm.notification_outbox": ("SELECT", "INSERT", "UPDATE", "DELETE"),
}
"""What ``outbox-worker run`` does with each table."""

OUR_TABLES: Final = (
    *(table for table in RIGHTS if table not in PAYMENT_MANAGER_COLUMNS),
    "pm.outbox_event_archive",
)
"""The worker itself needs nothing of the archive; ``prune`` and some who read do."""


def schema(connection: BoundedConnection, examined: Examined) -> Finding:
    """Are the payment manager's tables there, with the columns that the worker needs?"""
    what = "schema"
    ((is_there, may_use),) = connection.execute(
        "SELECT n.oid IS NOT NULL, has_schema_privilege(n.oid, 'USAGE')"
        " FROM (VALUES ('pm'::name)) AS v (name) LEFT JOIN pg_namespace n ON n.nspname = v.name"
    ).fetchall()
    if not is_there:
        remedy = f"{_MIGRATE}, or let DATABASE_URL name the payment manager's database"
        return examined.red(what, "there is no schema pm", remedy)
    if not may_use:
        return examined.red(
            what,
            "this role may not use schema pm",
            f"GRANT USAGE ON SCHEMA pm TO {_me(connection)}",
        )
    tables, columns = missing_tables(connection), missing_columns(connection)
    if tables or columns:
        return examined.red(
            what,
            f"missing: {', '.join(tables + columns)}",
            f"{_MIGRATE} on a database of the worker's own; on the payment manager's,"
            " its migrations must add them, or DATABASE_URL names the wrong database",
        )
    return examined.ok(what, f"{len(PAYMENT_MANAGER_COLUMNS)} tables with all columns")


def migrations(connection: BoundedConnection, examined: Examined) -> Finding:
    """Were all migrations of this release applied?"""
    what = "migrations"
    wanted = sorted(path.stem for path in migrations_folder().glob("*.sql"))
    if not exists(connection, f"pm.{LOG_TABLE}"):
        return examined.red(what, f"none of {len(wanted)} applied", _MIGRATE)
    if not _may(connection, f"pm.{LOG_TABLE}", "SELECT"):
        return examined.warning(
            what,
            f"pm.{LOG_TABLE} cannot be read by this role",
            f"GRANT SELECT ON pm.{LOG_TABLE} TO {_me(connection)}",
        )
    rows = connection.execute(
        sql.SQL("SELECT migration_id FROM pm.{}").format(sql.Identifier(LOG_TABLE))
    )
    applied = {name for (name,) in rows}
    missing = [name for name in wanted if name not in applied]
    if missing:
        return examined.red(what, f"not applied: {', '.join(missing)}", _MIGRATE)
    if gone := [table for table in OUR_TABLES if not exists(connection, table)]:
        return examined.red(
            what,
            f"all applied, yet missing: {', '.join(gone)}",
            "somebody dropped it: run the file in migrations/ that makes it, by hand",
        )
    return examined.ok(what, f"all {len(wanted)} applied")


def rights(connection: BoundedConnection, examined: Examined) -> Finding:
    """May our role do with each table what the worker does?"""
    what, me = "rights", _me(connection)
    grants = [
        f"GRANT {', '.join(lacking)} ON {table} TO {me}"
        for table, needed in RIGHTS.items()
        if exists(connection, table)
        and (lacking := [right for right in needed if not _may(connection, table, right)])
    ]
    grants += [
        f"GRANT USAGE ON SEQUENCE {sequence} TO {me}" for sequence in _closed_sequences(connection)
    ]
    if grants:
        return examined.red(what, f"role {me} lacks rights", "; ".join(grants))
    return examined.ok(what, f"role {me} may read and write what it needs")


def _may(connection: BoundedConnection, table: str, right: str) -> bool:
    # A right on some columns may do: running the statements will tell.
    function = "has_table_privilege" if right == "DELETE" else "has_any_column_privilege"
    row = connection.execute(f"SELECT {function}(%s, %s)", [table, right]).fetchone()
    return row == (True,)


def _closed_sequences(connection: BoundedConnection) -> list[str]:
    """Return the sequences behind the ids of rows we insert that we may not advance.

    Those of identity columns ask for no right.
    """
    inserted = [table for table, needed in RIGHTS.items() if "INSERT" in needed]
    rows = connection.execute(
        """
        SELECT s.seqrelid::regclass::text
        FROM unnest(%s::text[]) AS t (name)
        JOIN pg_attrdef a ON a.adrelid = to_regclass(t.name)
        JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid
            AND d.refclassid = 'pg_class'::regclass
        JOIN pg_sequence s ON s.seqrelid = d.refobjid
        WHERE NOT has_sequence_privilege(s.seqrelid, 'USAGE, UPDATE')
        ORDER BY 1
        """,
        [inserted],
    )
    return [name for (name,) in rows]


def _me(connection: BoundedConnection) -> str:
    ((name,),) = connection.execute("SELECT quote_ident(current_user)").fetchall()
    return str(name)
