"""A connection whose session is ours alone, from its start to its end.

LISTEN and session advisory locks belong to a session. A pooler in transaction mode has none to
give: each transaction may run on another, and what is left behind there falls to others.
"""

import contextlib
import math
from typing import Final

import psycopg

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_errors
from adapters.postgres.own_connection import connect
from adapters.postgres.pool import worker_conninfo
from application.errors import DatabaseUnavailableError, SharedSessionError

ANSWER_TIMEOUT_S: Final = 2.0
"""All that is asked on such a connection takes no time."""
_RIVALS_MAX: Final = 3


class OwnSession:
    """An open connection in autocommit mode. The server ends it when it is idle too long.

    Also when the process is frozen: its kernel still answers keepalives, and the session would
    stay for ever. *name* is shown in ``pg_stat_activity``. Without *idle_timeout_s* it may be
    idle for as long as the server's own setting says.
    """

    def __init__(
        self, dsn: str, *, name: str, connect_timeout_s: float, idle_timeout_s: float | None
    ) -> None:
        """Connect.

        Raises:
            SharedSessionError: there is a pooler in between that has no session for us.
            DatabaseUnavailableError, DatabaseMisconfiguredError: what psycopg said, translated;
                also when it cannot be told whether the session is ours.
        """
        self._conninfo = worker_conninfo(
            dsn, connect_timeout_s=max(1, math.ceil(connect_timeout_s)), application_name=name
        )
        self._connection = connect(self._conninfo, answer_timeout_s=ANSWER_TIMEOUT_S)
        try:
            with translated_errors():
                self._backend = backend_of(self._connection)
                if self._backend != self._connection.info.backend_pid:
                    # A pooler makes up the number that it tells at the start.
                    self._assert_not_shared()
                # Not before: it would stay behind on a connection that others use.
                if idle_timeout_s is not None:
                    self._connection.execute(
                        "SELECT set_config('idle_session_timeout', %s, false)",
                        [f"{math.ceil(idle_timeout_s)}s"],
                    )
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> BoundedConnection:
        """The connection; whoever uses it translates errors."""
        return self._connection

    def beat(self) -> None:
        """Give a sign of life, and make sure that the session is the same, on the primary.

        Raises:
            SharedSessionError: it is not the same.
            DatabaseUnavailableError: it has ended, or did not answer in time; or the server
                takes no more writes, so that whoever is primary now is somewhere else.
        """
        with translated_errors():
            ((backend, takes_writes),) = self._connection.execute(
                "SELECT pg_backend_pid(), current_setting('transaction_read_only') = 'off'"
            ).fetchall()
        if backend != self._backend:
            raise _shared()
        if not takes_writes:
            raise DatabaseUnavailableError("the server takes no writes")

    def wait(self, *, timeout_s: float) -> bool:
        """Wait for *timeout_s* at most; return whether a notification came.

        Raises:
            DatabaseUnavailableError: the connection has ended.
        """
        with translated_errors():
            # To its end: the generator holds the connection's lock until then. What comes
            # between two waits is kept by the connection and given out first.
            received = self._connection.notifies(timeout=timeout_s, stop_after=1)
            return len(list(received)) > 0

    def close(self) -> None:
        """End the session; does nothing the second time."""
        with contextlib.suppress(psycopg.Error):
            self._connection.close()

    def _assert_not_shared(self) -> None:
        """Open transactions beside ours: is a session of theirs ours, or does ours move?

        A pooler in session mode gives each a session that stays. In transaction mode it lends
        out what we have just given back.
        """
        with contextlib.ExitStack() as rivals:
            for _ in range(_RIVALS_MAX):
                try:
                    rival = connect(self._conninfo, answer_timeout_s=ANSWER_TIMEOUT_S)
                    rivals.enter_context(contextlib.closing(rival))
                    rival.execute("BEGIN")
                    taken = backend_of(rival)
                except psycopg.Error as error:
                    raise DatabaseUnavailableError(
                        f"the pooler gives no second connection ({error}), so that it cannot be"
                        " told whether it is in transaction mode"
                    ) from error
                if self._backend == taken or backend_of(self._connection) != self._backend:
                    raise _shared()


def _shared() -> SharedSessionError:
    return SharedSessionError(
        "DATABASE_URL leads to a pooler in transaction mode, which gives nobody a session of"
        " his own: connect to Postgres itself, or to a pooler in session mode"
    )


def backend_of(connection: BoundedConnection) -> int:
    """Return the number of the backend that answers, which a pooler hides; psycopg's errors."""
    ((pid,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
    return int(pid)
