"""What every ``IntentRecords`` must do. Inherit; provide an empty ``bench`` fixture."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID, uuid4

import pytest

from application.ports.intent_records import IntentRecords
from domain.conclusions import LineKind, RecordedLine
from domain.intents import IntentId, PspRecord
from domain.reconciliation.record import ByIds, IntentRecord, Period
from domain.reconciliation.shared_transfers import FIRST_LISTERS, SharedTransfer
from domain.transfers import TransferId
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.payments import an_intent

HOUR_MS = 3_600_000
SLACK_MS = 60_000
"""How much older a row may be than it was made: a real clock goes on meanwhile."""


class RecordsBench(DatabaseBench, Protocol):
    """A database whose intents can be read, and whose times can be set."""

    def records(self, *, page_intents: int = 1_000) -> IntentRecords:
        """Return the reader under test."""
        ...

    def set_age(self, intent_id: IntentId, age_ms: int) -> None:
        """Let the intent's last change have been so long ago."""
        ...

    def add_lines(self, intent_id: IntentId, *lines: RecordedLine) -> None:
        """Store lines of history."""
        ...

    def remove_intent(self, intent_id: IntentId) -> None:
        """Delete an intent's row."""
        ...


def a_line(line_no: int, kind: str = LineKind.PRINCIPAL) -> RecordedLine:
    return RecordedLine(
        line_no=line_no, kind=kind, account="revenue.THB", amount_satang=7, fee_kind="PLATFORM_FEE"
    )


def a_psp(**changes: object) -> PspRecord:
    given: dict[str, object] = {
        "psp": "IPPS",
        "receiver_display_name": "Somchai",
        "psp_fee_satang": 150,
        "settlement_date": "2026-01-02",
        "last_error": None,
    }
    return PspRecord(**given | changes)  # type: ignore[arg-type]


def a_share(
    transfer_id: int,
    intent_id: IntentId,
    *,
    times: int = 1,
    listers: int = 1,
    first_listers: tuple[IntentId, ...] = (),
) -> SharedTransfer:
    return SharedTransfer(
        transfer_id=TransferId(transfer_id),
        intent_id=intent_id,
        times=times,
        listers=listers,
        first_listers=first_listers or (intent_id,),
    )


def flat(pages: Iterable[Sequence[IntentRecord]]) -> list[IntentRecord]:
    return [record for page in pages for record in page]


def ids_of(pages: Iterable[Sequence[IntentRecord]]) -> list[IntentId]:
    """Return the ids in order, so that one that comes twice is seen."""
    return sorted(record.id for record in flat(pages))


class IntentRecordsContract:
    """Reading intents with all that belongs to them."""

    def record(self, bench: RecordsBench, intent_id: IntentId) -> IntentRecord:
        (record,) = flat(bench.records().pages(ByIds((intent_id,))))
        return record

    def period(self, bench: RecordsBench, *, since_ms: int, until_ms: int) -> Period:
        """Return the period between so long ago and so long ago."""
        now = bench.records().now()
        return Period(
            since=now - timedelta(milliseconds=since_ms),
            until=now - timedelta(milliseconds=until_ms),
        )

    def add(self, bench: RecordsBench, *, age_ms: int = HOUR_MS, **changes: object) -> IntentId:
        intent = an_intent(**changes)
        bench.add_intent(intent)
        bench.set_age(intent.id, age_ms)
        return intent.id

    # What a record holds.

    def test_an_intent_comes_with_all_that_belongs_to_it(self, bench: RecordsBench) -> None:
        intent = an_intent(
            status="SETTLED", amount_satang=77, tb_transfer_ids=(UUID(int=9), None, UUID(int=8))
        )
        bench.add_intent(intent)
        bench.set_age(intent.id, 2 * HOUR_MS)
        late = bench.add_event(intent.id, "post_pending", status="processed", retry_count=3)
        early = bench.add_event(intent.id, "void_pending")
        bench.set_event_age(late, HOUR_MS)
        bench.set_event_age(early, 2 * HOUR_MS)
        bench.add_psp(intent.id, a_psp())
        bench.add_lines(intent.id, a_line(1, LineKind.FEE), a_line(0))

        record = self.record(bench, intent.id)

        assert (record.id, record.status) == (intent.id, "SETTLED")
        assert (record.amount_satang, record.currency) == (77, "THB")
        assert record.tb_transfer_ids == intent.tb_transfer_ids
        assert 2 * HOUR_MS <= record.age_ms < 2 * HOUR_MS + SLACK_MS
        assert [
            (one.id, one.action, one.status, one.retry_count, one.age_ms // HOUR_MS)
            for one in record.events
        ] == [(early, "void_pending", "pending", 0, 2), (late, "post_pending", "processed", 3, 1)]
        assert record.psp == a_psp()
        assert record.lines == (a_line(0), a_line(1, LineKind.FEE))

    def test_an_intent_without_anything_beside_it_is_read_all_the_same(
        self, bench: RecordsBench
    ) -> None:
        intent_id = self.add(bench, tb_transfer_ids=())

        record = self.record(bench, intent_id)

        assert (record.tb_transfer_ids, record.events, record.lines) == ((), (), ())
        assert record.psp is None

    def test_rows_of_other_intents_do_not_mix_in(self, bench: RecordsBench) -> None:
        mine, other = self.add(bench), self.add(bench)
        event_id = bench.add_event(mine)
        bench.add_event(other)
        bench.add_lines(mine, a_line(0))
        bench.add_lines(other, a_line(5))

        records = {one.id: one for one in flat(bench.records().pages(ByIds((mine, other))))}

        assert [event.id for event in records[mine].events] == [event_id]
        assert records[mine].lines == (a_line(0),)
        assert records[other].lines == (a_line(5),)

    def test_of_several_psp_rows_it_is_the_one_that_settling_takes(
        self, bench: RecordsBench
    ) -> None:
        intent_id = self.add(bench)
        bench.add_event(intent_id)
        bench.add_psp(intent_id, a_psp(settlement_date=None, psp_fee_satang=900))
        bench.add_psp(intent_id, a_psp(settlement_date="2026-03-01", psp_fee_satang=None))
        bench.add_psp(intent_id, a_psp(settlement_date="2026-03-01", psp_fee_satang=2))
        bench.add_psp(intent_id, a_psp(settlement_date="2026-02-01", psp_fee_satang=800))
        with bench.outbox.claim(limit=1) as batch:
            (claimed,) = batch.events

        record = self.record(bench, intent_id)

        assert record.psp == claimed.psp
        assert record.psp is not None
        assert record.psp.psp_fee_satang == 2

    def test_a_kind_of_line_that_we_never_write_is_kept_as_it_is(self, bench: RecordsBench) -> None:
        intent_id = self.add(bench)
        bench.add_lines(intent_id, a_line(0, "CASHBACK"))

        assert [line.kind for line in self.record(bench, intent_id).lines] == ["CASHBACK"]

    def test_the_time_of_reading_is_the_databases(self, bench: RecordsBench) -> None:
        before = bench.records().now()
        intent_id = self.add(bench)

        record = self.record(bench, intent_id)

        read_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=record.now_ns // 1_000)
        assert before <= read_at <= bench.records().now()
        assert before.utcoffset() is not None

    def test_archived_events_are_events_of_the_intent(self, bench: RecordsBench) -> None:
        intent_id = self.add(bench, status="SETTLED")
        archived = bench.add_event(intent_id)
        bench.finish_event(archived, 100 * 24 * HOUR_MS)
        before = bench.archive.cutoff(timedelta(days=90))
        assert bench.archive.move([archived], before=before) == 1
        later = bench.add_event(intent_id, "void_pending")
        bench.set_event_age(later, HOUR_MS)

        events = self.record(bench, intent_id).events

        assert [(event.id, event.status) for event in events] == [
            (archived, "processed"),
            (later, "pending"),
        ]

    # Which intents.

    def test_named_intents_come_once_each_whatever_their_age(self, bench: RecordsBench) -> None:
        old = self.add(bench, status="FAILED", age_ms=10**11)
        new = self.add(bench, status="CREATED", age_ms=0)
        self.add(bench)

        pages = bench.records().pages(ByIds((new, old, new, IntentId(uuid4()))))

        assert ids_of(pages) == sorted([old, new])

    def test_nothing_named_is_nothing_read(self, bench: RecordsBench) -> None:
        self.add(bench)

        assert flat(bench.records().pages(ByIds(()))) == []

    @pytest.mark.parametrize("status", ["CREATED", "SETTLED", "FAILED", "MANUAL_REVIEW"])
    def test_a_period_has_what_changed_in_it(self, bench: RecordsBench, status: str) -> None:
        self.add(bench, status=status, age_ms=5 * HOUR_MS)
        inside = [self.add(bench, status=status, age_ms=age * HOUR_MS) for age in (3, 2)]
        self.add(bench, status=status, age_ms=HOUR_MS // 2)

        selection = self.period(bench, since_ms=4 * HOUR_MS, until_ms=HOUR_MS)

        assert ids_of(bench.records().pages(selection)) == sorted(inside)

    @pytest.mark.parametrize("status", ["AUTHORIZED", "SETTLING"])
    def test_with_a_period_come_older_intents_whose_money_is_still_frozen(
        self, bench: RecordsBench, status: str
    ) -> None:
        frozen = [self.add(bench, status=status, age_ms=age) for age in (10**11, 2 * HOUR_MS)]
        self.add(bench, status=status, age_ms=HOUR_MS // 2)

        selection = self.period(bench, since_ms=4 * HOUR_MS, until_ms=HOUR_MS)

        assert ids_of(bench.records().pages(selection)) == sorted(frozen)

    @pytest.mark.parametrize("status", ["AUTHORIZED", "SETTLED"])
    @pytest.mark.parametrize("until_ms", [0, HOUR_MS])
    def test_a_change_that_is_still_to_come_is_in_every_period(
        self, bench: RecordsBench, status: str, until_ms: int
    ) -> None:
        intent_id = self.add(bench, status=status, age_ms=-HOUR_MS)

        selection = self.period(bench, since_ms=4 * HOUR_MS, until_ms=until_ms)

        ((record,),) = bench.records().pages(selection)
        assert (record.id, record.age_ms) == (intent_id, 0)

    # Pages.

    @pytest.mark.parametrize("count", [0, 2, 3, 4, 6])
    def test_every_intent_is_on_one_page_and_no_page_is_too_long(
        self, bench: RecordsBench, count: int
    ) -> None:
        ids = [self.add(bench) for _ in range(count)]
        selection = self.period(bench, since_ms=4 * HOUR_MS, until_ms=0)

        pages = list(bench.records(page_intents=3).pages(selection))

        assert ids_of(pages) == sorted(ids)
        assert all(1 <= len(page) <= 3 for page in pages)

    def test_a_page_is_read_when_it_is_asked_for(self, bench: RecordsBench) -> None:
        ids = [self.add(bench) for _ in range(2)]
        pages = bench.records(page_intents=1).pages(ByIds(tuple(ids)))
        ((first,),) = [next(pages)]
        (other,) = [intent_id for intent_id in ids if intent_id != first.id]

        bench.set_intent_status(other, "SETTLING")

        assert [(one.id, one.status) for one in flat(pages)] == [(other, "SETTLING")]

    def test_what_is_selected_is_decided_at_the_start(self, bench: RecordsBench) -> None:
        ids = {self.add(bench, status="SETTLED") for _ in range(3)}
        selection = self.period(bench, since_ms=4 * HOUR_MS, until_ms=HOUR_MS // 2)
        pages = bench.records(page_intents=1).pages(selection)
        ((first,),) = [next(pages)]
        changed, gone = ids - {first.id}

        bench.set_age(changed, 0)
        bench.remove_intent(gone)
        self.add(bench, status="SETTLED")

        assert ids_of(pages) == [changed]

    # Shared transfers.

    def test_transfers_that_are_listed_more_than_once_come_with_whoever_lists_them(
        self, bench: RecordsBench
    ) -> None:
        first = self.add(bench, tb_transfer_ids=(UUID(int=1), UUID(int=2), None))
        second = self.add(bench, tb_transfer_ids=(UUID(int=2), UUID(int=3), None))
        twice = self.add(bench, tb_transfer_ids=(UUID(int=4), UUID(int=5), UUID(int=4)))
        self.add(bench, tb_transfer_ids=(UUID(int=6),))
        selection = self.period(bench, since_ms=4 * HOUR_MS, until_ms=0)

        shared = list(bench.records().shared_transfers(selection))

        both = tuple(sorted([first, second]))
        assert sorted(shared, key=lambda one: (one.transfer_id, one.intent_id)) == [
            *[a_share(2, intent_id, listers=2, first_listers=both) for intent_id in both],
            a_share(4, twice, times=2),
        ]

    def test_however_many_list_a_transfer_only_the_first_of_them_come_with_each(
        self, bench: RecordsBench
    ) -> None:
        count = FIRST_LISTERS + 3
        ids = sorted(self.add(bench, tb_transfer_ids=(UUID(int=1),)) for _ in range(count))

        shared = list(bench.records().shared_transfers(ByIds(tuple(ids))))

        first = tuple(ids[:FIRST_LISTERS])
        assert sorted(shared, key=lambda one: one.intent_id) == [
            a_share(1, intent_id, listers=count, first_listers=first) for intent_id in ids
        ]

    def test_a_selected_intent_shares_with_one_that_is_not_selected_however_old_that_is(
        self, bench: RecordsBench
    ) -> None:
        old, new, twice = (
            self.add(
                bench, status="SETTLED", age_ms=age_ms, tb_transfer_ids=(UUID(int=id_),) * times
            )
            for age_ms, id_, times in ((10**11, 1, 1), (2 * HOUR_MS, 1, 1), (10**11, 2, 2))
        )
        last_hours = self.period(bench, since_ms=4 * HOUR_MS, until_ms=HOUR_MS)

        records = bench.records()

        both = tuple(sorted([old, new]))
        share = a_share(1, new, listers=2, first_listers=both)
        assert list(records.shared_transfers(last_hours)) == [share]
        assert list(records.shared_transfers(ByIds((new,)))) == [share]
        assert list(records.shared_transfers(ByIds((twice,)))) == [a_share(2, twice, times=2)]

    @pytest.mark.parametrize(
        ("others", "is_shared"),
        [
            ([], False),
            ([(UUID(int=3),), ()], False),
            ([(None,)], False),
            ([(UUID(int=3), UUID(int=2))], True),
            ([(UUID(int=1), UUID(int=2)), (UUID(int=2),)], True),
        ],
    )
    def test_whose_money_another_intent_lists_is_told_however_old_that_is(
        self, bench: RecordsBench, others: list[tuple[UUID | None, ...]], is_shared: bool
    ) -> None:
        asked = self.add(bench, tb_transfer_ids=(UUID(int=1), None, UUID(int=2), UUID(int=2)))
        alone = self.add(bench, tb_transfer_ids=(UUID(int=9),))
        for ids in others:
            self.add(bench, status="FAILED", age_ms=10**11, tb_transfer_ids=ids)

        records = bench.records()

        expected = {asked} if is_shared else set()
        assert records.sharing([alone, asked, IntentId(uuid4())]) == expected
        assert records.sharing([]) == set()

    def test_two_intents_that_are_asked_about_may_share_with_each_other(
        self, bench: RecordsBench
    ) -> None:
        both = {self.add(bench, tb_transfer_ids=(UUID(int=1),)) for _ in range(2)}

        assert bench.records().sharing(both) == both
