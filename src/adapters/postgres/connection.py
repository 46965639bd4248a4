"""A psycopg connection that never waits for ever.

The server's own time-outs do not help against a server, a pooler or a proxy that is frozen:
its kernel goes on acknowledging packets, and libpq goes on waiting.
"""

import contextlib
from collections.abc import Iterator
from typing import Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.rows import RowFactory, TupleRow, tuple_row

from adapters.postgres.arrays import register
from adapters.postgres.beginning import Beginning

ANSWER_TIMEOUT_S: Final = 35.0

Result = TypeVar("Result")


class BoundedConnection(psycopg.Connection[TupleRow]):
    """Closes itself when an answer takes longer than ``answer_timeout_s``."""

    answer_timeout_s: float = ANSWER_TIMEOUT_S
    beginning: Beginning = Beginning()

    def __init__(self, pgconn: PGconn, row_factory: RowFactory[TupleRow] = tuple_row) -> None:
        """As psycopg; also takes the lists of ``arrays`` as parameters."""
        super().__init__(pgconn, row_factory)
        register(self.adapters)

    def begin(self, beginning: Beginning | None = None) -> None:
        """Begin a transaction as *beginning* says, by default this connection's own.

        One round trip, as a bare BEGIN. The connection must be in autocommit mode: else the
        driver sends a BEGIN of its own first.
        """
        self.execute((beginning or self.beginning).message(self.info.options).encode())

    @contextlib.contextmanager
    def begun(self, beginning: Beginning | None = None) -> Iterator[None]:
        """Run the block in a transaction of its own: commit when it ends normally."""
        self.begin(beginning)
        try:
            yield
        except BaseException:
            # The reason is what counts, not that the connection broke meanwhile.
            with contextlib.suppress(psycopg.Error):
                self.rollback()
            raise
        self.commit()

    def wait(
        self, gen: PQGen[Result], interval: float = 0.1, timeout: float | None = None
    ) -> Result:
        """Run one exchange with the server.

        Raises:
            psycopg.OperationalError: no answer in time; whether the server did what it was
                told is unknown, and the connection is closed.
        """
        try:
            return super().wait(
                gen, interval, self.answer_timeout_s if timeout is None else timeout
            )
        except psycopg.OperationalError:
            # Whatever the reason, an exchange that was left in the middle cannot be taken up.
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.close()
            raise
