"""The push jobs of an intent that became final, as the Notifications Service reads them.

Metadata and payload are whatever a producer wrote. Of them only hints are taken, and one
that cannot be read is as good as absent: a push message never costs a settlement.
"""

import json
from collections.abc import Mapping
from typing import Final
from uuid import UUID, uuid5

from domain.audience import Role, audience_of
from domain.conclusions import PushJob
from domain.intents import Intent, IntentId, IntentStatus, UserId
from domain.money import format_amount
from domain.texts import push_text

TRACE_ID_LENGTH_MAX: Final = 128

_NOTIFICATION_IDS: Final = UUID("12c79935-c025-4a39-9378-e91533b5a953")
"""Namespace of our notification ids. Never change it: repeats must keep their ids."""


def notifications_for(
    intent: Intent, status: IntentStatus, *, trace_hint: str | None = None
) -> tuple[PushJob, ...]:
    """Return a job for each person to tell that *intent* now has the final *status*.

    *trace_hint* is the event's payload as JSON text: its ``traceId`` is used when the
    intent's metadata has none. Equal arguments give equal jobs, ids included.
    """
    metadata = _json_object(intent.metadata_json)
    audience = audience_of(
        intent, status, recipient_user_id=_user_id(metadata.get("recipientUserId"))
    )
    if not audience:
        return ()
    locale = _text(metadata.get("locale"))
    trace_id = (
        _trace_id(metadata.get("traceId"))
        or _trace_id(_json_object(trace_hint).get("traceId"))
        # In this form an intent's id is a valid W3C trace id.
        or intent.id.hex
    )
    return tuple(
        _job(intent, status, user_id, role, locale=locale, trace_id=trace_id)
        for user_id, role in audience
    )


def notification_id_of(intent_id: IntentId, status: IntentStatus, user_id: UserId) -> UUID:
    """Return the id that every repeat of this notification carries, whoever sends it."""
    return uuid5(_NOTIFICATION_IDS, f"{intent_id}:{status.value}:{user_id}")


def _job(
    intent: Intent,
    status: IntentStatus,
    user_id: UserId,
    role: Role,
    *,
    locale: str | None,
    trace_id: str,
) -> PushJob:
    notification_id = notification_id_of(intent.id, status, user_id)
    amount = format_amount(intent.amount_satang, intent.currency)
    text = push_text(status, intent.operation_type, role, amount=amount, locale=locale)
    body = {
        "userId": str(user_id),
        "title": text.title,
        "body": text.body,
        "channel": "payment",
        "traceId": trace_id,
        # Push services carry only strings here.
        "data": {
            "intentId": str(intent.id),
            "status": status.value,
            "operationType": intent.operation_type or "",
            "amountSatang": str(intent.amount_satang),
            "currency": intent.currency,
            "notificationId": str(notification_id),
        },
    }
    return PushJob(
        notification_id=notification_id,
        intent_id=intent.id,
        user_id=user_id,
        job_json=_compact_json(body),
    )


def _compact_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate has no UTF-8 form: neither Postgres nor Redis could take it.
    return text.encode("utf-8", "replace").decode("utf-8")


def _json_object(text: str | None) -> Mapping[str, object]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # ValueError: not JSON, or a number of too many digits. RecursionError: nested too deep.
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _trace_id(value: object) -> str | None:
    """Return *value* if it can be a trace id. A cut one would find nothing, so none is cut."""
    text = _text(value)
    if text is None or not text.isprintable() or not text.strip():
        return None
    return text if len(text) <= TRACE_ID_LENGTH_MAX else None


def _user_id(value: object) -> UserId | None:
    text = _text(value)
    if text is None:
        return None
    try:
        user_id = UUID(text)
    except ValueError:
        return None
    # UUID() also reads "urn:", braces and underscores; only its own two forms are ids here.
    return UserId(user_id) if text.lower() in (str(user_id), user_id.hex) else None
