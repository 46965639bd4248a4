"""The ``pm.intent_event`` rows that we write: for each status that changes, and each order
of an operator, who may leave the status as it is.
"""

import json
from typing import Final

from domain.conclusions import AuditEvent
from domain.intents import ClaimedEvent, Intent

AUTHOR: Final = "outbox-worker"

_encoder: Final = json.JSONEncoder(separators=(",", ":"))


def audit_event(
    claimed: ClaimedEvent, intent: Intent, status_to: str, *, reason: str, **facts: object
) -> AuditEvent:
    """Return the audit row for moving *intent* on; *facts* are JSON values for its payload.

    ``status_from`` keeps the old status, from which ``requeue`` restores it.
    """
    payload = {
        "by": AUTHOR,
        "eventId": claimed.event.id,
        "action": claimed.event.action,
        **{name: value for name, value in facts.items() if value is not None},
    }
    return AuditEvent(
        status_from=intent.status,
        status_to=status_to,
        reason=reason,
        payload_json=_encoder.encode(payload),
    )
