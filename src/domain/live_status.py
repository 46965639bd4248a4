"""What a client is shown of an intent while it waits: which status, and when a new one is news.

Two sources tell it. The database is right, but has to be asked. A message on the intent's channel
comes by itself; it may be lost, come twice, or come when more has happened since.
"""

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from domain.intents import IntentId, IntentStatus
from domain.values import value

FINAL: Final[frozenset[str]] = frozenset({IntentStatus.SETTLED, IntentStatus.FAILED})
"""Statuses that never change again. ``MANUAL_REVIEW`` is none: a person ends it."""

_PROGRESS: Final[tuple[frozenset[str], ...]] = (
    frozenset({IntentStatus.CREATED}),
    frozenset({IntentStatus.AUTHORIZED}),
    frozenset({IntentStatus.SETTLING}),
    frozenset({IntentStatus.MANUAL_REVIEW}),
    FINAL,
)
"""What comes later in an intent's life comes later here."""


class StatusSource(StrEnum):
    """Who told a status."""

    DATABASE = "database"
    CHANNEL = "channel"


@value
class StatusUpdate:
    """The status of an intent.

    ``status`` is one of ``IntentStatus``, or whatever else the database says. ``updated_at`` is
    the database's time, ISO 8601 in UTC with milliseconds; None where a message does not tell. It
    stays a text, since the database can hold times that Python cannot.
    """

    intent_id: IntentId
    status: str
    updated_at: str | None
    source: StatusSource

    @property
    def is_final(self) -> bool:
        """Will there be no other status after this one?"""
        return self.status in FINAL


def is_news(update: StatusUpdate, *, shown: str | None) -> bool:
    """Say whether *update* is to be shown to somebody who was shown the status *shown* last.

    A message only ever leads forward: another one may be late. What leads back, as an intent
    does that leaves ``MANUAL_REVIEW`` again, is believed of the database alone. Nothing follows
    a final status.
    """
    if shown is None:
        return True
    if shown in FINAL or update.status == shown:
        return False
    return update.source is StatusSource.DATABASE or _progress(update.status) > _progress(shown)


def parse_message(intent_id: IntentId, body: bytes) -> StatusUpdate | None:
    """Read a message on the channel of *intent_id*; None for what is no intent's status.

    It is ``{"status"}`` or ``{"intentId","status","updatedAt"}``; unknown keys are left alone.
    The payment manager's writer of intent events may also send states of the PSP, which are no
    status of the intent.
    """
    try:
        message = json.loads(body)
        if not isinstance(message, dict):
            return None
        status = IntentStatus(message["status"])
        if "intentId" in message and UUID(message["intentId"]) != intent_id:
            return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return StatusUpdate(
        intent_id=intent_id,
        status=status,
        updated_at=_in_utc(message.get("updatedAt")),
        source=StatusSource.CHANNEL,
    )


def _progress(status: str) -> int:
    """How far *status* is; only what is final comes after one that is not known here."""
    known = (place for place, statuses in enumerate(_PROGRESS) if status in statuses)
    return next(known, len(_PROGRESS) - 2)


def _in_utc(moment: object) -> str | None:
    """Return a message's time as the database prints it; None for what is no time."""
    if not isinstance(moment, str):
        return None
    try:
        parsed = datetime.fromisoformat(moment)
        if parsed.tzinfo is None:
            return None
        in_utc = parsed.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return in_utc.isoformat(timespec="milliseconds") + "Z"
