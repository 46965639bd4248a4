"""Hints of new orders by LISTEN; ``wake_up.py`` switches on who sends them.

What psycopg's ``notifies()`` gets wrong in other hands (its issues 962 and 1310) is avoided
by a connection of its own that one thread uses: nothing else is asked while it waits.
"""

import time
from typing import Final

from adapters.postgres.errors import translated_errors
from adapters.postgres.session import OwnSession
from adapters.postgres.wake_up import CHANNEL

_BEAT_S: Final = 10.0
_IDLE_TIMEOUT_S: Final = 30.0
"""A frozen listener would in the end fill the server's queue, and producers could not commit."""


class PostgresArrivals:
    """Fulfils ``Arrivals``. That a server vanished is noticed within some 12 s."""

    def __init__(self, *, dsn: str, connect_timeout_s: float) -> None:
        self._dsn = dsn
        self._connect_timeout_s = connect_timeout_s
        self._session: OwnSession | None = None
        self._beat_at_s = 0.0

    def wait(self, *, timeout_s: float) -> bool:
        """See ``Arrivals.wait``."""
        try:
            if self._session is None:
                self._listen()
                return True
            if time.monotonic() >= self._beat_at_s:
                self._session.beat()
                self._beat_at_s = time.monotonic() + _BEAT_S
            return self._session.wait(timeout_s=timeout_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """See ``Arrivals.close``."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _listen(self) -> None:
        self._session = OwnSession(
            self._dsn,
            name="outbox-worker listening",
            connect_timeout_s=self._connect_timeout_s,
            idle_timeout_s=_IDLE_TIMEOUT_S,
        )
        self._session.beat()
        with translated_errors():
            self._session.connection.execute(f"LISTEN {CHANNEL}")
        self._beat_at_s = time.monotonic() + _BEAT_S
