"""The pool of connections, and one transaction on one of them.

Whatever happens to the server, the next transaction tries again: nothing has to be restarted
when it is back.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from adapters.postgres.beginning import STATEMENT_TIMEOUT_MS, Beginning
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import connect_error, translated_errors
from application.errors import DatabaseMisconfiguredError, DatabaseUnavailableError, OutboxError

Pool = ConnectionPool[BoundedConnection]

CONNECT_TIMEOUT_S: Final = 5
ANSWER_MARGIN_S: Final = 5
"""An answer that takes so much longer than the server's own time-out is not to be expected."""

APPLICATION_NAME: Final = "outbox-worker"

# A server whose machine vanished is noticed within about 20 s. None of these is one that a
# pooler refuses.
_CLIENT_SETTINGS: Final[Mapping[str, str | int]] = {
    "client_encoding": "utf8",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
}


def build_pool(
    dsn: str,
    *,
    size_max: int,
    connect_timeout_s: int = CONNECT_TIMEOUT_S,
    statement_timeout_ms: int = STATEMENT_TIMEOUT_MS,
    answer_timeout_s: float | None = None,
) -> Pool:
    """Return a closed pool of at most *size_max* connections; ``open()`` never waits or fails.

    What *dsn* sets itself wins over our defaults. A statement that takes longer than
    *statement_timeout_ms* is ended by the server; where the server is frozen, its connection
    is given up after *answer_timeout_s*, by default a little later.

    Statements are never prepared on the server: they are few and large, so that planning costs
    little, and a plan made for the values at hand does not go wrong. A pooler in transaction
    mode and the payment manager's ALTER TABLE also ask for it.

    Raises:
        DatabaseMisconfiguredError: *dsn* is not a connection string of libpq's.
    """
    answer_s = (
        statement_timeout_ms / 1_000 + ANSWER_MARGIN_S
        if answer_timeout_s is None
        else answer_timeout_s
    )

    beginning = Beginning(statement_timeout_ms=statement_timeout_ms)

    def configure(connection: BoundedConnection) -> None:
        connection.beginning = beginning
        connection.answer_timeout_s = answer_s

    def check(connection: BoundedConnection) -> None:
        """Raise when *connection* died while it lay idle."""
        connection.answer_timeout_s = connect_timeout_s
        ConnectionPool.check_connection(connection)
        connection.answer_timeout_s = answer_s

    return ConnectionPool(
        worker_conninfo(dsn, connect_timeout_s=connect_timeout_s),
        connection_class=BoundedConnection,
        kwargs={"autocommit": True, "prepare_threshold": None},
        configure=configure,
        check=check,
        open=False,
        # Connections are made when asked for. The pool's own attempts grow further and further
        # apart: they end soon, so that the next one to ask starts afresh.
        min_size=0,
        max_size=size_max,
        reconnect_timeout=connect_timeout_s,
        timeout=connect_timeout_s + 1,
    )


@contextmanager
def transaction(pool: Pool) -> Iterator[BoundedConnection]:
    """Run the block in a transaction: commit when it ends normally, else roll back.

    Raises, on entry or on leaving:
        DatabaseUnavailableError: on leaving, the commit may have happened.
        DatabaseMisconfiguredError: wrong password, database or rights.
    """
    with translated_errors():
        try:
            with pool.connection() as connection, _given_up_if_read_only(connection):
                connection.begin()
                yield connection
                # COMMIT of a failed transaction is answered like one that went well.
                if connection.info.transaction_status == TransactionStatus.INERROR:
                    raise DatabaseUnavailableError("the transaction had failed before its end")
        except PoolTimeout as error:
            raise _reason(pool) from error


@contextmanager
def _given_up_if_read_only(connection: BoundedConnection) -> Iterator[None]:
    """Close *connection* where it takes no writes: the next one may be to another server.

    A session may also stay read-only for life, long after the server takes writes again.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error.__cause__ or error, psycopg.errors.ReadOnlySqlTransaction):
            connection.close()
        raise


def _reason(pool: Pool) -> OutboxError:
    """Find out why the pool has no connection to give; it does not tell."""
    try:
        psycopg.connect(str(pool.conninfo)).close()
    except psycopg.Error as error:
        return connect_error(error)
    return DatabaseUnavailableError(f"no connection was free within {pool.timeout:.0f} s")


def worker_conninfo(
    dsn: str,
    *,
    connect_timeout_s: int = CONNECT_TIMEOUT_S,
    application_name: str = APPLICATION_NAME,
) -> str:
    """Return *dsn* with our settings added. What the server needs is set by ``Beginning``.

    Raises:
        DatabaseMisconfiguredError: *dsn* is not a connection string of libpq's.
    """
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The driver's message quotes the string, and with it the password.
        raise DatabaseMisconfiguredError(
            "DATABASE_URL is not a Postgres connection string"
        ) from None
    settings: dict[str, str | int | None] = {
        "connect_timeout": connect_timeout_s,
        "application_name": application_name,
        **_CLIENT_SETTINGS,
        **given,
    }
    return make_conninfo("", **settings)
