"""The lock of ``run --exclusive``: a session advisory lock on a connection of its own."""

from typing import Final

from adapters.postgres.errors import translated_errors
from adapters.postgres.session import OwnSession

EXCLUSIVE_KEY: Final = 0x706D_6F75_7462_7831
"""``pmoutbx1``. Anybody who takes it keeps every exclusive worker of this database from work."""

IDLE_TIMEOUT_S: Final = 6.0
"""After so long without a sign of life the server ends the session, and with it the lock.

Longer than ``LEASE_S``, by which a holder has stopped claiming.
"""


class PostgresExclusiveLock:
    """Fulfils ``ExclusiveLock``."""

    def __init__(self, *, dsn: str, connect_timeout_s: float) -> None:
        self._dsn = dsn
        self._connect_timeout_s = connect_timeout_s
        self._session: OwnSession | None = None
        self._is_held = False

    def check(self) -> None:
        """See ``ExclusiveLock.check``."""
        self._connected().close()

    def hold(self) -> bool:
        """See ``ExclusiveLock.hold``."""
        try:
            if self._session is None:
                self._session = self._connected()
            self._session.beat()
            if not self._is_held:
                self._is_held = _try_lock(self._session)
            return self._is_held
        except BaseException:
            self.release()
            raise

    def watch(self, *, timeout_s: float) -> None:
        """See ``ExclusiveLock.watch``."""
        if self._session is None:
            return
        try:
            self._session.wait(timeout_s=timeout_s)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """See ``ExclusiveLock.release``."""
        self._is_held = False
        if self._session is not None:
            self._session.close()
            self._session = None

    def _connected(self) -> OwnSession:
        return OwnSession(
            self._dsn,
            name="outbox-worker exclusive",
            connect_timeout_s=self._connect_timeout_s,
            idle_timeout_s=IDLE_TIMEOUT_S,
        )


def _try_lock(session: OwnSession) -> bool:
    with translated_errors():
        ((is_ours,),) = session.connection.execute(
            "SELECT pg_try_advisory_lock(%s)", [EXCLUSIVE_KEY]
        ).fetchall()
    return bool(is_ours)
