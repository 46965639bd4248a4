"""Translate what the client and its holder raise into the port's errors."""

from importlib.metadata import version

from tigerbeetle import (
    ClientClosedError,
    ClientEvictedError,
    ClientReleaseTooHighError,
    ClientReleaseTooLowError,
    InitStatus,
)
from tigerbeetle.client import InitError  # the package does not export it

from application.errors import LedgerMisconfiguredError, LedgerUnavailableError, OutboxError

_WITHOUT_RESOURCES = {
    InitStatus.OUT_OF_MEMORY,
    InitStatus.SYSTEM_RESOURCES,
    InitStatus.NETWORK_SUBSYSTEM,
}


class NoAnswerError(Exception):
    """A call was given up: its deadline passed, or its client was taken away."""


def translated(error: Exception) -> OutboxError:
    """Return the port's error for *error*; raise it ``from`` the original.

    Whatever is not known to be a fault of the deployment leaves the outcome unknown,
    which is always safe: the same ids are sent again.
    """
    match error:
        case OutboxError():
            return error
        case NoAnswerError():
            return LedgerUnavailableError(
                f"outcome unknown: {error}; if it lasts, check TIGERBEETLE_ADDRESSES and"
                " TIGERBEETLE_CLUSTER_ID, and run `outbox-worker doctor`"
            )
        case ClientEvictedError():
            return LedgerUnavailableError(
                "outcome unknown: the cluster evicted the client, as it does when too many"
                " others have come; if it lasts, see who else makes clients"
            )
        case ClientClosedError():
            return LedgerUnavailableError(
                "outcome unknown: the client was closed while it was idle, most likely evicted;"
                " an error of the logger tigerbeetle says why"
            )
        case ClientReleaseTooLowError():
            return LedgerMisconfiguredError(
                f"{_client_release()} is older than the cluster accepts: "
                "install the release of the cluster"
            )
        case ClientReleaseTooHighError():
            return LedgerMisconfiguredError(
                f"{_client_release()} is newer than the cluster: "
                "upgrade the cluster, or install the release of the cluster"
            )
        case InitError():
            return _init_error(error)
        case _:
            return LedgerUnavailableError(
                f"outcome unknown: the client raised {type(error).__name__}: {error}"
            )


def _init_error(error: InitError) -> OutboxError:
    status = error.args[0] if error.args else None
    name = status.name if isinstance(status, InitStatus) else str(status)
    if status in _WITHOUT_RESOURCES:
        return LedgerUnavailableError(f"the TigerBeetle client cannot start: {name}")
    return LedgerMisconfiguredError(
        f"the TigerBeetle client refuses TIGERBEETLE_ADDRESSES: {name}; "
        "give host:port of each replica, separated by commas"
    )


def _client_release() -> str:
    return f"the TigerBeetle client {version('tigerbeetle')}"
