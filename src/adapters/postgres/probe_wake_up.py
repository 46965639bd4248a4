"""Can workers be woken? It is not needed to settle."""

from typing import Final

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.wake_up import Trigger, read_state
from domain.findings import Examined, Finding

QUEUE_USAGE_WARNING: Final = 0.25


def wake_up(connection: BoundedConnection, examined: Examined) -> Finding:
    """Is the trigger there, and does the server get rid of what is notified?"""
    what, state = "wake-up", read_state(connection)
    if state.queue_usage >= QUEUE_USAGE_WARNING:
        # Whoever sends them: the queue is one of the whole server.
        return examined.warning(
            what,
            f"the queue of notifications is {state.queue_usage:.0%} full",
            "before nobody can commit a notification any more: end the session that listens"
            " within a long transaction (pg_stat_activity, by xact_start), or switch off who"
            " sends, here with `outbox-worker wake-up off`",
        )
    match state.trigger:
        case Trigger.ON:
            detail = f"trigger on, queue of notifications {state.queue_usage:.0%} full"
            return examined.ok(what, detail)
        case Trigger.OFF | Trigger.FUNCTION_ONLY:
            return examined.ok(what, "trigger off, workers look by themselves")
        case Trigger.DISABLED:
            return examined.warning(
                what,
                "the trigger is there, but disabled",
                "enable it by `outbox-worker wake-up on`, or remove it by `wake-up off`",
            )
