"""A lock that one worker of all holds, for as long as it gives a sign of life."""

from typing import Final, Protocol

LEASE_S: Final = 4.0
"""How long a holder may believe in its last sign of life, in seconds."""


class ExclusiveLock(Protocol):
    """Held by one process at a time; falls when that is gone. One caller at a time."""

    def check(self) -> None:
        """Find out whether such a lock can be had at all; takes nothing.

        Raises:
            SharedSessionError: the connection is a pooler's that lends it to many.
            DatabaseUnavailableError, DatabaseMisconfiguredError: it cannot be told now.
        """
        ...

    def hold(self) -> bool:
        """Take the lock, or give a sign of life where it is held; never waits for a holder.

        Returns whether it is held. It then stays so for at least ``LEASE_S`` from the moment
        of this call, unless the server or the connection breaks, which ``watch`` tells.

        Raises:
            DatabaseUnavailableError, DatabaseMisconfiguredError: it is not held any more, or
                falls within seconds.
        """
        ...

    def watch(self, *, timeout_s: float) -> None:
        """Wait for *timeout_s*, but raise as ``hold`` does as soon as the connection ends."""
        ...

    def release(self) -> None:
        """Let go; does nothing when it is not held. On the thread that holds."""
        ...
