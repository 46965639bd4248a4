"""What the operator's commands read, from the in-memory database.

Of PM's tables that has only the columns which the worker needs.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from statistics import mean
from typing import Final

from adapters.memory.database import InMemoryDatabase
from adapters.memory.rows import EventRow, utc
from domain.dossier import (
    AuditRecord,
    Dossier,
    EventSheet,
    HistoryRecord,
    IntentSheet,
    PspSheet,
)
from domain.intents import UNSETTLED, EventId, IntentId, IntentStatus
from domain.waiting import ActionStatistics, ListedEvent, Page, RetryNote, Stuck

_SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class InMemoryOutboxReader:
    """An ``OutboxReader`` on *database*."""

    database: InMemoryDatabase

    def queue(self, *, limit: int) -> Page:
        """See ``OutboxReader.queue``."""
        return self._page(self._pending(), limit)

    def stuck(self, *, older_than: timedelta, limit: int) -> Stuck:
        """See ``OutboxReader.stuck``."""
        since = self.database.now - older_than
        failed = self._rows(self._is_given_up)
        with_failed = {row.event.intent_id for row in failed}
        behind = [
            row
            for row in self._pending()
            if row.event.intent_id in with_failed
            and self._status_of_intent(row) == IntentStatus.MANUAL_REVIEW
            and row.created_at >= since
        ]
        return Stuck(
            waiting=self._page([row for row in self._pending() if row.created_at < since], limit),
            failed=self._page(failed, limit),
            behind=self._page(behind, limit),
        )

    def retried(self, *, more_than: int, limit: int) -> Page:
        """See ``OutboxReader.retried``."""
        rows = [row for row in self._pending() if row.event.retry_count > more_than]
        return self._page(sorted(rows, key=lambda row: -row.event.retry_count), limit)

    def statistics(self, *, since: timedelta) -> Sequence[ActionStatistics]:
        """See ``OutboxReader.statistics``."""
        groups: dict[tuple[str, str], list[EventRow]] = defaultdict(list)
        for row in self._rows(lambda row: row.created_at > self.database.now - since):
            groups[row.event.action, row.status].append(row)
        return [_statistics(*key, rows) for key, rows in sorted(groups.items())]

    def intent_of(self, event_id: EventId) -> IntentId | None:
        """See ``OutboxReader.intent_of``."""
        row = self.database.tables.all_events().get(event_id)
        return None if row is None else row.event.intent_id

    def dossier(self, intent_id: IntentId) -> Dossier | None:
        """See ``OutboxReader.dossier``."""
        tables = self.database.tables
        intent = tables.intents.get(intent_id)
        mine = [row for row in tables.all_events().values() if row.event.intent_id == intent_id]
        events = sorted(mine, key=lambda row: row.age_key)
        if intent is None and not events:
            return None
        return Dossier(
            intent_id=intent_id,
            intent=None
            if intent is None
            else IntentSheet(
                intent=intent.intent,
                channel=None,
                to_name=intent.to_name,
                settlement_date=intent.settlement_date,
                failure_reason=intent.failure_reason,
                created_at=None,
                updated_at=utc(intent.updated_at),
            ),
            events=tuple(
                EventSheet(
                    event=self._listed(row),
                    payload_json=row.event.payload_json,
                    processed_at=None if row.processed_at is None else utc(row.processed_at),
                    archived_at=None if row.archived_at is None else utc(row.archived_at),
                )
                for row in events
            ),
            psp=tuple(
                PspSheet(**asdict(record), state=None, psp_reference=None)
                for record in tables.psp.get(intent_id, [])
            ),
            history=tuple(
                HistoryRecord(
                    line_no=row.line.line_no,
                    kind=row.line.kind,
                    account=row.line.account,
                    amount_satang=row.line.amount_satang,
                    currency=row.currency,
                    fee_kind=row.line.fee_kind,
                )
                for row in tables.history
                if row.intent_id == intent_id
            ),
            audit=tuple(
                AuditRecord(
                    created_at=utc(row.created_at),
                    status_from=row.audit.status_from,
                    status_to=row.audit.status_to,
                    reason=row.audit.reason,
                    payload_json=row.audit.payload_json,
                )
                for row in tables.audit
                if row.intent_id == intent_id
            ),
            jobs=tuple(job for job in tables.jobs.values() if job.intent_id == intent_id),
        )

    def _rows(self, wanted: Callable[[EventRow], bool]) -> list[EventRow]:
        rows = filter(wanted, list(self.database.tables.events.values()))
        return sorted(rows, key=lambda row: row.age_key)

    def _pending(self) -> list[EventRow]:
        return self._rows(lambda row: row.status == "pending")

    def _is_given_up(self, row: EventRow) -> bool:
        status = self._status_of_intent(row)
        return row.status == "failed" and (status is None or status in UNSETTLED)

    def _status_of_intent(self, row: EventRow) -> str | None:
        intent = self.database.tables.intents.get(row.event.intent_id)
        return None if intent is None else intent.status

    def _page(self, rows: Sequence[EventRow], limit: int) -> Page:
        return Page(events=tuple(map(self._listed, rows[:limit])), total=len(rows))

    def _listed(self, row: EventRow) -> ListedEvent:
        tables, event = self.database.tables, row.event
        intent, retry = tables.intents.get(event.intent_id), tables.retries.get(event.id)
        earlier = [
            other.event.id
            for other in self._pending()
            if other.event.intent_id == event.intent_id and other.age_key < row.age_key
        ]
        return ListedEvent(
            id=event.id,
            intent_id=event.intent_id,
            action=event.action,
            status=row.status,
            retry_count=event.retry_count,
            created_at=utc(row.created_at),
            age_s=(self.database.now - row.created_at) // _SECOND,
            intent_status=None if intent is None else intent.status,
            head_id=earlier[0] if earlier and row.status == "pending" else None,
            retry=None
            if retry is None
            else RetryNote(
                reason=retry.reason,
                last_error=retry.last_error,
                next_attempt_at=utc(retry.next_attempt_at),
                is_over=retry.next_attempt_at <= self.database.now,
            ),
        )


def _statistics(action: str, status: str, rows: Sequence[EventRow]) -> ActionStatistics:
    latencies = sorted(
        (row.processed_at - row.created_at) / _MILLISECOND
        for row in rows
        if row.processed_at is not None
    )
    return ActionStatistics(
        action=action,
        status=status,
        count=len(rows),
        latency_average_ms=round(mean(latencies)) if latencies else None,
        latency_p50_ms=_percentile(latencies, 0.5),
        latency_p99_ms=_percentile(latencies, 0.99),
    )


def _percentile(ordered: Sequence[float], fraction: float) -> int | None:
    """As ``percentile_cont``: between two values, in proportion."""
    if not ordered:
        return None
    place = fraction * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return round(low + (high - low) * (place % 1))
