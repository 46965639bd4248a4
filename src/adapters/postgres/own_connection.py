"""A connection that belongs to one caller, and is closed at the end of its block."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import connect_error, translated_errors


@contextmanager
def own_connection(conninfo: str, *, answer_timeout_s: float) -> Iterator[BoundedConnection]:
    """Connect in autocommit mode, with nothing prepared on the server.

    Raises, on entry or from within the block:
        DatabaseUnavailableError, DatabaseMisconfiguredError: what psycopg said, translated.
    """
    connection = connect(conninfo, answer_timeout_s=answer_timeout_s)
    with translated_errors(), connection:
        yield connection


def connect(conninfo: str, *, answer_timeout_s: float) -> BoundedConnection:
    """Connect likewise, and leave it to the caller to close the connection.

    Raises:
        DatabaseUnavailableError, DatabaseMisconfiguredError: what psycopg said, translated.
    """
    try:
        connection = BoundedConnection.connect(conninfo, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise connect_error(error) from error
    connection.answer_timeout_s = answer_timeout_s
    return connection
