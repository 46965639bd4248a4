"""A server that takes no writes for a while, as one that is not the primary any more."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from entrypoints.sandbox.postgres_server import PostgresServer


@contextmanager
def read_only(server: PostgresServer) -> Iterator[None]:
    """Let every session, open ones too, soon be as on a standby that was not promoted yet."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
        yield
        connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
        connection.execute("SELECT pg_reload_conf()")
