"""Bring a database up to date: plain SQL files, applied by yoyo in the order of their names.

All of it is one transaction under a lock that falls with it. So a migrator that dies leaves
nothing behind, neither half of a file nor a lock, and several at once take turns.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from yoyo import internalmigrations, read_migrations
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import parse_uri

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.migration_files import LOG_TABLE, migrations_folder
from adapters.postgres.own_connection import own_connection
from adapters.postgres.pool import worker_conninfo
from adapters.postgres.schema import (
    PAYMENT_MANAGER_COLUMNS,
    exists,
    missing_columns,
    missing_tables,
)
from application.errors import DatabaseMisconfiguredError

_LOCK_KEY: Final = 0x706D_6F75_7462_6F78
_LOCK_TIMEOUT_S: Final = 60
PAYMENT_MANAGER_FILES: Final = ("0000_init", "0001_payment_manager")
"""What makes the payment manager's tables on a database that it has not made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationReport:
    """What ``apply_migrations`` did; names are those of the files, without suffix.

    ``recognised`` were not run, because the payment manager had made their tables.
    """

    applied: tuple[str, ...]
    recognised: tuple[str, ...]


def apply_migrations(dsn: str) -> MigrationReport:
    """Apply the migrations that the database lacks, all or none of them.

    The payment manager's tables are never altered. Nothing happens when nothing is lacking.

    Raises:
        DatabaseMisconfiguredError: the database is the payment manager's and lacks tables or
            columns that the worker needs; all of them are named. Or: no rights, wrong *dsn*.
        DatabaseUnavailableError: whether the migrations were applied is unknown.
    """
    with _exclusive_transaction(dsn) as connection:
        # The log is in schema pm: there the worker needs rights in any case.
        if connection.execute("SELECT to_regnamespace('pm')").fetchone() == (None,):
            connection.execute("CREATE SCHEMA pm")
        connection.execute("SET LOCAL search_path = pm")
        is_first_time = not exists(connection, f"pm.{LOG_TABLE}")
        backend = _Backend(connection)
        migrations = read_migrations(str(migrations_folder()))
        recognised: list[Any] = []
        if is_first_time and _is_payment_managers(connection):
            recognised = [one for one in migrations if one.id in PAYMENT_MANAGER_FILES]
            backend.mark_migrations(recognised)
        lacking = backend.to_apply(migrations)
        backend.apply_migrations(lacking)
    return MigrationReport(
        applied=tuple(one.id for one in lacking), recognised=tuple(one.id for one in recognised)
    )


def _is_payment_managers(connection: BoundedConnection) -> bool:
    tables = missing_tables(connection)
    if len(tables) == len(PAYMENT_MANAGER_COLUMNS):
        return False
    missing = [f"table {table}" for table in tables]
    missing += [f"column {column}" for column in missing_columns(connection)]
    if missing:
        raise DatabaseMisconfiguredError(
            "the payment manager's database lacks what the worker needs: " + ", ".join(missing)
        )
    return True


@contextmanager
def _exclusive_transaction(dsn: str) -> Iterator[BoundedConnection]:
    with (
        own_connection(worker_conninfo(dsn), answer_timeout_s=2 * _LOCK_TIMEOUT_S) as connection,
        connection.begun(),
    ):
        connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT_S}s'")
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_KEY])
        yield connection


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]  # yoyo has no types
    """yoyo within a transaction that is open already.

    By itself yoyo runs a file and notes it in two transactions, so that dying in between
    makes the next run fail, and its lock is a row that outlives a migrator.
    """

    migration_table = LOG_TABLE
    version_table = f"{LOG_TABLE}_version"
    log_table = f"{LOG_TABLE}_log"
    # Whatever yoyo begins from here on is a savepoint.
    _in_transaction = True

    def __init__(self, connection: BoundedConnection) -> None:
        self._given = connection
        super().__init__(parse_uri("postgresql+psycopg:///"), self.migration_table)

    def connect(self, dburi: object) -> BoundedConnection:  # noqa: ARG002
        return self._given

    def copy(self) -> AbstractContextManager["_Backend"]:
        return nullcontext(self)

    def ensure_internal_schema_updated(self) -> None:
        if internalmigrations.needs_upgrading(self):
            internalmigrations.upgrade(self)

    def log_migration(self, migration: object, operation: str) -> None:
        """Note nothing more than that it is applied: yoyo would ask the DNS who we are."""
