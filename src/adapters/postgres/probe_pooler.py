"""Is there a pooler in between that takes from the worker what it does not need to settle?"""

from typing import Final

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.session import OwnSession, backend_of
from application.errors import SharedSessionError
from domain.findings import Examined, Finding

_IDLE_TIMEOUT_S: Final = 30.0


def pooler(
    connection: BoundedConnection,
    examined: Examined,
    *,
    dsn: str,
    timeout_s: float,
    listens: bool,
    is_exclusive: bool,
) -> Finding:
    """Does the worker get a session of its own, to listen and to hold a lock in?"""
    what = "pooler"
    if backend_of(connection) == connection.info.backend_pid:
        return examined.ok(what, "none")
    try:
        own = OwnSession(
            dsn,
            name="outbox-worker doctor",
            connect_timeout_s=timeout_s,
            idle_timeout_s=_IDLE_TIMEOUT_S,
        )
    except SharedSessionError as error:
        detail = "in transaction mode: the worker only polls; no --exclusive, no reconcile"
        _, remedy = str(error).split(": ", maxsplit=1)
        if is_exclusive:
            return examined.red(what, detail, f"{remedy}; or start workers without --exclusive")
        if listens:
            return examined.warning(what, detail, f"{remedy}; or set OUTBOX_WAKE_UP=off")
        return examined.ok(what, detail)
    own.close()
    return examined.ok(what, "gives a session of its own")
