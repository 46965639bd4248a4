"""The official client, with two of its habits mended.

It logs at DEBUG through a foreign-function call unless told otherwise, and a ``close`` that
finds a freed call still on its way out asserts and keeps the client for ever.
"""

import ctypes
import logging
import threading
from typing import Any

from tigerbeetle import ClientSync, LogLevel, bindings, configure_logging

from adapters.tigerbeetle.io_uring import IO_URING_REMEDY, io_uring_fault
from application.errors import LedgerMisconfiguredError

_logger = logging.getLogger("tigerbeetle")
_logging_lock = threading.Lock()
_logging_configured = threading.Event()


class OfficialClient(ClientSync):
    """``ClientSync`` that is forgotten by the library once it is closed."""

    def close(self) -> None:
        """End calls in flight with ``ClientClosedError``; may assert, but leaves nothing."""
        try:
            super().close()
        finally:
            self._clients.pop(self._client_key, None)


def official_client(cluster_id: int, addresses: str) -> OfficialClient:
    """Make a client; returns at once, whether or not the cluster can be reached.

    Raises:
        LedgerMisconfiguredError: io_uring cannot be used; the library would abort the process.
        tigerbeetle.client.InitError: an address it does not take, or no resources.
    """
    if (fault := io_uring_fault()) is not None:
        raise LedgerMisconfiguredError(f"{fault}: {IO_URING_REMEDY}")
    _configure_logging_once()
    return OfficialClient(cluster_id, addresses)


def _configure_logging_once() -> None:
    # Process-wide in the library, which asserts when two threads do it side by side.
    with _logging_lock:
        if not _logging_configured.is_set():
            configure_logging(debug=False, handler=_forward_log)
            _logging_configured.set()


@bindings.LogHandler  # type: ignore[untyped-decorator]
def _forward_log(level: int, message_ptr: Any, message_len: int) -> None:
    """Forward errors as errors; all else as DEBUG.

    The library warns of every failed attempt to connect, several times a second. A release
    mismatch met while idle is told by nothing but its error line.
    """
    message = ctypes.string_at(message_ptr, message_len).decode("utf-8", errors="replace")
    _logger.log(logging.ERROR if level == LogLevel.ERR else logging.DEBUG, "%s", message)
