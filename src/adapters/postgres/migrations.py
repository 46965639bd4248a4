"""Bring a database up to date: plain SQL files, applied in the order of their names.

Each file and its entry in the log are one transaction, under a lock that falls with it, so
that a migrator which dies leaves nothing behind, neither half a file nor a lock, and several
at once take turns. It works through a pooler in transaction mode, too.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import connect_error, translated_errors
from adapters.postgres.pool import worker_conninfo
from application.errors import MisconfiguredError

_LOCK_KEY: Final = 0x706D_6F75_7462_6F78
_LOCK_TIMEOUT_S: Final = 60

# What makes a database the payment manager's, when our log does not know these files.
_PAYMENT_MANAGER_FILES: Final = ("0000_init", "0001_payment_manager")
_PAYMENT_MANAGER_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "pm.outbox_event": (
        "id", "intent_id", "action", "status", "payload", "retry_count", "created_at",
        "processed_at",
    ),
    "pm.intent": (
        "id", "status", "operation_type", "amount_satang", "currency", "user_id",
        "issued_by_user_id", "metadata", "tb_transfer_ids", "to_name", "settlement_date",
        "failure_reason", "updated_at",
    ),
    "pm.psp_tx_map": (
        "intent_id", "psp", "receiver_display_name", "psp_fee_satang", "settlement_date",
        "last_error",
    ),
    "pm.tx_history": (
        "intent_id", "line_no", "kind", "fee_kind", "account", "amount_satang", "currency",
        "created_at",
    ),
    "pm.intent_event": (
        "intent_id", "status_from", "status_to", "reason", "payload", "created_at",
    ),
    "pm.tb_account_map": ("code", "tb_account_id", "ledger"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationReport:
    """What ``apply_migrations`` did; names are those of the files, without suffix.

    ``recognised`` were not run, because the payment manager had made their tables.
    """

    applied: tuple[str, ...]
    recognised: tuple[str, ...]


def apply_migrations(dsn: str) -> MigrationReport:
    """Apply the migrations that the database lacks; nothing happens when it lacks none.

    The payment manager's tables are never altered.

    Raises:
        MisconfiguredError: the database is the payment manager's and lacks tables or columns
            that the worker needs; all of them are named. Or: no rights, wrong *dsn*.
        DatabaseUnavailableError: files that were applied before it went away stay applied.
    """
    recognised: tuple[str, ...] = ()
    applied: list[str] = []
    with _connection(dsn) as connection:
        with _locked(connection):
            _make_log(connection)
            recognised = _recognise_payment_manager(connection)
        for path in _files():
            with _locked(connection):
                if not _is_logged(connection, path.stem):
                    connection.execute(path.read_bytes())
                    _log(connection, path.stem)
                    applied.append(path.stem)
    return MigrationReport(applied=tuple(applied), recognised=recognised)


@contextmanager
def _connection(dsn: str) -> Iterator[BoundedConnection]:
    try:
        connection = BoundedConnection.connect(worker_conninfo(dsn), autocommit=True)
    except psycopg.Error as error:
        raise connect_error(error) from error
    connection.answer_timeout_s = 2 * _LOCK_TIMEOUT_S
    with translated_errors(), connection:
        yield connection


@contextmanager
def _locked(connection: BoundedConnection) -> Iterator[None]:
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT_S}s'")
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_KEY])
        yield


def _make_log(connection: BoundedConnection) -> None:
    # Looked up first: "IF NOT EXISTS" asks for the right to create even when it does.
    if _lacks(connection, "to_regnamespace", "pm"):
        connection.execute("CREATE SCHEMA pm")
    # In schema pm, for that is where the worker needs rights in any case.
    if _lacks(connection, "to_regclass", "pm.outbox_migration"):
        connection.execute(
            "CREATE TABLE pm.outbox_migration"
            " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )


def _recognise_payment_manager(connection: BoundedConnection) -> tuple[str, ...]:
    if _is_logged(connection, _PAYMENT_MANAGER_FILES[0]):
        return ()
    missing_tables = [
        table for table in _PAYMENT_MANAGER_COLUMNS if _lacks(connection, "to_regclass", table)
    ]
    if len(missing_tables) == len(_PAYMENT_MANAGER_COLUMNS):
        return ()
    missing = [f"table {table}" for table in missing_tables] + [
        f"column {table}.{column}"
        for table, columns in _PAYMENT_MANAGER_COLUMNS.items()
        if table not in missing_tables
        for column in columns
        if column not in _columns(connection, table)
    ]
    if missing:
        raise MisconfiguredError(
            "the payment manager's database lacks what the worker needs: " + ", ".join(missing)
        )
    for name in _PAYMENT_MANAGER_FILES:
        _log(connection, name)
    return _PAYMENT_MANAGER_FILES


def _lacks(connection: BoundedConnection, function: str, name: str) -> bool:
    return connection.execute(f"SELECT {function}(%s)", [name]).fetchone() == (None,)


def _columns(connection: BoundedConnection, table: str) -> set[str]:
    rows = connection.execute(
        "SELECT attname FROM pg_attribute"
        " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
        [table],
    )
    return {name for (name,) in rows}


def _is_logged(connection: BoundedConnection, name: str) -> bool:
    row = connection.execute("SELECT 1 FROM pm.outbox_migration WHERE name = %s", [name]).fetchone()
    return row is not None


def _log(connection: BoundedConnection, name: str) -> None:
    connection.execute("INSERT INTO pm.outbox_migration (name) VALUES (%s)", [name])


def _files() -> list[Path]:
    """The migration files: inside an installed package, or at the top of a source checkout."""
    here = Path(__file__).resolve()
    installed = here.with_suffix("")
    folder = installed if installed.is_dir() else here.parents[3] / "migrations"
    return sorted(folder.glob("*.sql"))
