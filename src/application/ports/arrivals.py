"""Hints that orders may have come, so that nobody has to look again and again."""

from typing import Protocol


class Arrivals(Protocol):
    """Best-effort: a hint may be late, be lost, or come for nothing. One caller at a time."""

    def wait(self, *, timeout_s: float) -> bool:
        """Wait for a hint; return whether orders may have come.

        They also may have where hints were missed, as before each new connection. Connecting
        may take longer than *timeout_s*, but never for ever.

        Raises:
            DatabaseUnavailableError: there are no hints now; call again later.
            SharedSessionError: nor will there be, as long as the connection is a pooler's.
            DatabaseMisconfiguredError: wrong password, database or rights.
        """
        ...

    def close(self) -> None:
        """Stop listening, on the thread that waits; the next ``wait`` begins anew."""
        ...
