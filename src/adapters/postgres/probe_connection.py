"""A connection for one look at the database: short waits, and nothing kept open."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import connect_error, translated_errors
from adapters.postgres.pool import worker_conninfo


@contextmanager
def probe_connection(dsn: str, *, timeout_s: float) -> Iterator[BoundedConnection]:
    """Connect as the worker does, in autocommit mode; closed at the end of the block.

    *timeout_s* bounds the attempt at each address of the host, and each answer.

    Raises, on entry or from within the block:
        DatabaseUnavailableError, DatabaseMisconfiguredError: what psycopg said, translated.
    """
    # libpq counts in whole seconds, and takes 0 for "no limit".
    conninfo = worker_conninfo(dsn, connect_timeout_s=max(1, math.ceil(timeout_s)))
    try:
        connection = BoundedConnection.connect(conninfo, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise connect_error(error) from error
    connection.answer_timeout_s = timeout_s
    with translated_errors(), connection:
        yield connection
