"""The push jobs of an intent that became final, as the Notifications Service reads them.

Metadata and payload are whatever a producer wrote. Of them only hints are taken, and one
that cannot be read is as good as absent: a push message never costs a settlement.
"""

import json
import re
from collections.abc import Mapping
from hashlib import sha1
from typing import Final
from uuid import UUID

from domain.audience import audience_of
from domain.conclusions import PushJob
from domain.intents import Intent, IntentStatus, UserId
from domain.money import format_amount
from domain.texts import push_text

TRACE_ID_LENGTH_MAX: Final = 128

_NOTIFICATION_IDS: Final = UUID("12c79935-c025-4a39-9378-e91533b5a953")
"""Namespace of our notification ids. Never change it: repeats must keep their ids."""

_namespace_hash: Final = sha1(_NOTIFICATION_IDS.bytes, usedforsecurity=False)

# UUID() also reads "urn:", braces and underscores; only its own two forms are ids here.
_UUID_TEXT: Final = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}", re.ASCII | re.IGNORECASE
)

# By hand, a job takes a third of the time that json.dumps takes for a nested mapping.
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


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
        or _trace_id(_hint(trace_hint))
        # In this form an intent's id is a valid W3C trace id.
        or intent.id.hex
    )
    amount = format_amount(intent.amount_satang, intent.currency)
    # Once for all places that it goes to: to make an id's text is slow.
    intent_text = str(intent.id)
    shared_json = _shared_json(intent, intent_text, status, trace_id)
    jobs = []
    for user_id, role in audience:
        text = push_text(status, intent.operation_type, role, amount=amount, locale=locale)
        user_text = str(user_id)
        notification_id = notification_id_of(intent_text, status, user_text)
        job_json = (
            f'{{"userId":"{user_text}","title":{_quoted(text.title)},"body":{_quoted(text.body)},'
            f'{shared_json},"notificationId":"{notification_id}"}}}}'
        )
        jobs.append(
            PushJob(
                notification_id=notification_id,
                intent_id=intent.id,
                user_id=user_id,
                job_json=_without_surrogates(job_json),
            )
        )
    return tuple(jobs)


def notification_id_of(intent_text: str, status: IntentStatus, user_text: str) -> UUID:
    """Return the id that every repeat of this notification carries, whoever sends it.

    The ids of intent and user come as ``str()`` gives them.
    """
    # What uuid.uuid5 does, in half the time: two are made for most events.
    digest = _namespace_hash.copy()
    digest.update(f"{intent_text}:{status}:{user_text}".encode())
    return UUID(int=int.from_bytes(digest.digest()[:16]), version=5)


def _shared_json(intent: Intent, intent_text: str, status: IntentStatus, trace_id: str) -> str:
    """Return what all jobs of *intent* have in common, up to within ``data``.

    Push services carry only strings there.
    """
    return (
        f'"channel":"payment","traceId":{_quoted(trace_id)},'
        f'"data":{{"intentId":"{intent_text}","status":"{status}",'
        f'"operationType":{_quoted(intent.operation_type or "")},'
        f'"amountSatang":"{intent.amount_satang}","currency":{_quoted(intent.currency)}'
    )


def _without_surrogates(text: str) -> str:
    """Return *text* fit for UTF-8: neither Postgres nor Redis could take a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def _json_object(text: str | None) -> Mapping[str, object]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # ValueError: not JSON, or a number of too many digits. RecursionError: nested too deep.
        return {}
    return value if isinstance(value, dict) else {}


def _hint(payload_json: str | None) -> object:
    """Return the trace id of an event's payload, which hardly ever has one."""
    if payload_json is None or "traceId" not in payload_json:
        return None
    return _json_object(payload_json).get("traceId")


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
    return UserId(UUID(text)) if text is not None and _UUID_TEXT.fullmatch(text) else None
