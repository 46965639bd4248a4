"""What the database says of an intent, all of it read in one snapshot."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.conclusions import RecordedLine
from domain.intents import EventId, IntentId, PspRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """An outbox event; ``age_ms`` counts from its creation, by the database's clock."""

    id: EventId
    action: str
    status: str
    retry_count: int
    age_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRecord:
    """An intent with all that belongs to it.

    ``age_ms`` counts from the intent's last change, ``now_ns`` is when all of this was read,
    both by the database's clock. A time to come, an infinite one or none counts as just now.
    """

    id: IntentId
    status: str
    amount_satang: int
    currency: str
    tb_transfer_ids: tuple[UUID | None, ...]
    age_ms: int
    now_ns: int
    events: tuple[EventRecord, ...] = ()
    psp: PspRecord | None = None
    lines: tuple[RecordedLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Intents that changed from ``since`` on and before ``until``.

    With them come those that are still ``AUTHORIZED`` or ``SETTLING``, however long ago they
    changed: money that stays frozen is what must not be missed. One whose time of change is
    still to come, infinite or none is in every period.
    """

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class ByIds:
    """These intents, whatever their age."""

    intent_ids: tuple[IntentId, ...]


Selection = Period | ByIds
