"""What the database says of an intent, all of it read in one snapshot."""

from datetime import datetime
from uuid import UUID

from domain.conclusions import RecordedLine
from domain.intents import EventId, IntentId, PspRecord
from domain.values import value


@value
class EventRecord:
    """An outbox event; ``age_ms`` counts from its creation, by the database's clock."""

    id: EventId
    action: str
    status: str
    retry_count: int
    age_ms: int


@value
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


@value
class Period:
    """Intents that changed from ``since`` on and before ``until``.

    With them come those that are still ``AUTHORIZED`` or ``SETTLING``, however long ago they
    changed: money that stays frozen is what must not be missed. One whose time of change is
    still to come, infinite or none is in every period.
    """

    since: datetime
    until: datetime


@value(kw_only=False)
class ByIds:
    """These intents, whatever their age."""

    intent_ids: tuple[IntentId, ...]


Selection = Period | ByIds
