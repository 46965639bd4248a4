"""One row of an intent's audit trail."""

from typing import Any, Final

from domain.conclusions import StatusChange
from domain.intents import IntentId

INSERT_AUDIT: Final = """
    INSERT INTO pm.intent_event (intent_id, status_from, status_to, reason, payload, created_at)
    VALUES (%(id)s, %(from)s, %(to)s, %(reason)s, %(payload)s::jsonb, clock_timestamp())
"""


def audit_values(intent_id: IntentId, audit: StatusChange) -> dict[str, Any]:
    """Return what ``INSERT_AUDIT`` writes."""
    return {
        "id": intent_id,
        "from": audit.status_from,
        "to": audit.status_to,
        "reason": audit.reason,
        "payload": audit.payload_json,
    }
