"""A connection for one look at the database: short waits, and nothing kept open."""

import math
from contextlib import AbstractContextManager

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.own_connection import own_connection
from adapters.postgres.pool import worker_conninfo


def probe_connection(dsn: str, *, timeout_s: float) -> AbstractContextManager[BoundedConnection]:
    """Connect as the worker does, in autocommit mode; closed at the end of the block.

    *timeout_s* bounds the attempt at each address of the host, and each answer.

    Raises, on entry or from within the block:
        DatabaseUnavailableError, DatabaseMisconfiguredError: what psycopg said, translated.
    """
    # libpq counts in whole seconds, and takes 0 for "no limit".
    conninfo = worker_conninfo(dsn, connect_timeout_s=max(1, math.ceil(timeout_s)))
    return own_connection(conninfo, answer_timeout_s=timeout_s)
