"""What an in-memory database says of intents, page by page."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

from adapters.memory.database import InMemoryDatabase
from adapters.memory.rows import EventRow, IntentRow
from domain.conclusions import RecordedLine
from domain.intents import UNFINISHED, IntentId
from domain.reconciliation.record import EventRecord, IntentRecord, Period, Selection
from domain.reconciliation.shared_transfers import FIRST_LISTERS, SharedTransfer
from domain.transfers import TransferId

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class InMemoryIntentRecords:
    """An ``IntentRecords`` on *database*."""

    database: InMemoryDatabase
    page_intents: int = 1_000

    def now(self) -> datetime:
        """See ``IntentRecords.now``."""
        return self.database.now

    def pages(self, selection: Selection) -> Iterator[Sequence[IntentRecord]]:
        """See ``IntentRecords.pages``."""
        rest = iter(self._selected(selection))
        while some := list(islice(rest, self.page_intents)):
            if page := self._page(some):
                yield page

    def shared_transfers(self, selection: Selection) -> Iterator[SharedTransfer]:
        """See ``IntentRecords.shared_transfers``."""
        listed: dict[TransferId, Counter[IntentId]] = defaultdict(Counter)
        for intent_id, row in sorted(self.database.tables.intents.items()):
            for id_ in row.intent.tb_transfer_ids:
                if id_ is not None:
                    listed[TransferId(id_.int)][intent_id] += 1
        selected = {*self._selected(selection)}
        for transfer_id, listers in listed.items():
            for intent_id in listers.keys() & selected if listers.total() > 1 else ():
                yield SharedTransfer(
                    transfer_id=transfer_id,
                    intent_id=intent_id,
                    times=listers[intent_id],
                    listers=len(listers),
                    first_listers=tuple(islice(listers, FIRST_LISTERS)),
                )

    def sharing(self, intent_ids: Collection[IntentId]) -> Set[IntentId]:
        """See ``IntentRecords.sharing``."""
        listed: dict[UUID, set[IntentId]] = defaultdict(set)
        for intent_id, row in self.database.tables.intents.items():
            for id_ in row.intent.tb_transfer_ids:
                if id_ is not None:
                    listed[id_].add(intent_id)
        sharing = {one for listers in listed.values() if len(listers) > 1 for one in listers}
        return sharing & {*intent_ids}

    def _selected(self, selection: Selection) -> list[IntentId]:
        intents = self.database.tables.intents
        if not isinstance(selection, Period):
            return [id_ for id_ in dict.fromkeys(selection.intent_ids) if id_ in intents]
        return [
            id_
            for id_, row in intents.items()
            if row.updated_at > self.database.now
            or (
                row.updated_at < selection.until
                and (row.status in UNFINISHED or row.updated_at >= selection.since)
            )
        ]

    def _page(self, intent_ids: Iterable[IntentId]) -> list[IntentRecord]:
        with self.database.transaction() as transaction, transaction.exclusively():
            tables = self.database.tables
            events: dict[IntentId, list[EventRow]] = defaultdict(list)
            for event in sorted(tables.all_events().values(), key=lambda row: row.age_key):
                events[event.event.intent_id].append(event)
            lines: dict[IntentId, list[RecordedLine]] = defaultdict(list)
            for row in tables.history:
                lines[row.intent_id].append(row.line)
            rows = [tables.intents[id_] for id_ in intent_ids if id_ in tables.intents]
            return [self._record(row, events[row.intent.id], lines[row.intent.id]) for row in rows]

    def _record(
        self, row: IntentRow, events: Sequence[EventRow], lines: Sequence[RecordedLine]
    ) -> IntentRecord:
        now, intent = self.database.now, row.intent
        return IntentRecord(
            id=intent.id,
            status=intent.status,
            amount_satang=intent.amount_satang,
            currency=intent.currency,
            tb_transfer_ids=intent.tb_transfer_ids,
            age_ms=max(_ms(now - row.updated_at), 0),
            now_ns=_ms(now - _EPOCH) * 1_000_000,
            events=tuple(
                EventRecord(
                    id=event.event.id,
                    action=event.event.action,
                    status=event.status,
                    retry_count=event.event.retry_count,
                    age_ms=_ms(now - event.created_at),
                )
                for event in events
            ),
            psp=self.database.tables.psp_of(intent.id),
            lines=tuple(sorted(lines, key=lambda line: line.line_no)),
        )


def _ms(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
