"""Everything that the database knows of one intent, for a person to read.

Rows may have been written by anybody, so nothing of them is parsed: texts, JSON and times are
as the database printed them (times in UTC, ISO 8601).
"""

from domain.conclusions import PushJob
from domain.intents import Intent, IntentId, PspRecord
from domain.values import value
from domain.waiting import ListedEvent


@value
class IntentSheet:
    """A row of ``pm.intent``; what its table lacks is None."""

    intent: Intent
    channel: str | None
    to_name: str | None
    settlement_date: str | None
    failure_reason: str | None
    created_at: str | None
    updated_at: str | None


@value
class EventSheet:
    """A row of ``pm.outbox_event``, whole, or one that was moved to the archive."""

    event: ListedEvent
    payload_json: str | None
    processed_at: str | None
    archived_at: str | None = None


@value
class PspSheet(PspRecord):
    """A row of ``pm.psp_tx_map``, with what the worker needs not; what its table lacks is None."""

    state: str | None
    psp_reference: str | None


@value
class HistoryRecord:
    """A row of ``pm.tx_history``."""

    line_no: int | None
    kind: str | None
    account: str | None
    amount_satang: int | None
    currency: str | None
    fee_kind: str | None


@value
class AuditRecord:
    """A row of ``pm.intent_event``."""

    created_at: str | None
    status_from: str | None
    status_to: str | None
    reason: str | None
    payload_json: str | None


@value
class Dossier:
    """All rows of one intent, each kind oldest first and of bounded number.

    ``intent`` is None where there are only events: orphans.
    """

    intent_id: IntentId
    intent: IntentSheet | None
    events: tuple[EventSheet, ...]
    psp: tuple[PspSheet, ...]
    history: tuple[HistoryRecord, ...]
    audit: tuple[AuditRecord, ...]
    jobs: tuple[PushJob, ...]
