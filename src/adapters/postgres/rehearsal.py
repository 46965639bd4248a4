"""The worker's own statements, run for an event that does not exist, and rolled back.

Postgres checks names, types and rights of a statement before it looks for rows, so this finds
what no list of columns would: a column of another type, a right on some columns only.
"""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from adapters.postgres import writing
from adapters.postgres.claimed_rows import Held, read_held
from adapters.postgres.claiming import LOCK_EVENTS
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_write_errors
from domain.conclusions import (
    Acknowledge,
    AuditEvent,
    HistoryLine,
    LineKind,
    PushJob,
    Retry,
    Review,
    Settle,
)
from domain.intents import EventId, IntentId, IntentStatus, UserId
from domain.verdicts import RetryReason, ReviewReason

_EVENT: Final = EventId(-1)
_INTENT: Final = IntentId(UUID(int=0))
_AUDIT: Final = AuditEvent(
    status_from="AUTHORIZED", status_to=IntentStatus.SETTLED, reason="-", payload_json="{}"
)
_JOB: Final = PushJob(
    notification_id=UUID(int=0), intent_id=_INTENT, user_id=UserId(UUID(int=0)), job_json="{}"
)
_SETTLE: Final = Settle(
    event_id=_EVENT,
    intent_id=_INTENT,
    status=IntentStatus.SETTLED,
    to_name="-",
    settlement_date="2000-01-01",
    failure_reason="-",
    currency="THB",
    history=(HistoryLine(line_no=0, kind=LineKind.PRINCIPAL, account=None, amount_satang=0),),
    audit=_AUDIT,
    jobs=(_JOB,),
)
_RETRY: Final = Retry(
    event_id=_EVENT,
    intent_id=_INTENT,
    reason=RetryReason.UNFORESEEN,
    last_error="-",
    delay_ms=0,
    attempts=1,
    generations=(0,),
)
_REVIEW: Final = Review(
    event_id=_EVENT,
    intent_id=_INTENT,
    reason=ReviewReason.ORPHAN,
    last_error="-",
    audit=_AUDIT,
)


def _claim(connection: BoundedConnection) -> object:
    after_everything = {
        "after_time": "infinity",
        "after_id": 0,
        "only_untried": False,
        "from_time": "-infinity",
        "limit": 1,
    }
    return connection.execute(LOCK_EVENTS, after_everything)


_STATEMENTS: Final[tuple[Callable[[BoundedConnection], object], ...]] = (
    _claim,
    lambda connection: read_held(connection, Held(events=(_EVENT,), intents=(_INTENT,))),
    lambda connection: writing.settle(connection, [_SETTLE]),
    lambda connection: writing.acknowledge(
        connection, [Acknowledge(event_id=_EVENT, intent_id=_INTENT)]
    ),
    lambda connection: writing.retry(connection, [_RETRY]),
    lambda connection: writing.review(connection, [_REVIEW]),
)


def rehearse(connection: BoundedConnection) -> None:
    """Run all statements of claiming and settling, and roll them back.

    Raises:
        DatabaseMisconfiguredError: a name, a type or a right does not fit.
        RowsRefusedError: a value does not, which would be one of any row.
        DatabaseUnavailableError: the connection was lost.
    """
    with translated_write_errors(), connection.transaction(force_rollback=True):
        for run in _STATEMENTS:
            run(connection)
