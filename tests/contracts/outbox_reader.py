"""What every OutboxReader must do. Inherit; provide an empty ``bench`` fixture."""

import re
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from uuid import uuid4

import pytest

from domain.conclusions import Conclusion
from domain.dossier import HistoryRecord, PspSheet
from domain.intents import ClaimedEvent, EventId, IntentId, PspRecord
from domain.waiting import ListedEvent, Wait, wait_of
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.payments import a_job, a_retry, a_review, a_settle, an_acknowledge, an_intent

ISO_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
FIVE_MINUTES = timedelta(minutes=5)


def add_event(
    bench: DatabaseBench, *, status: str = "AUTHORIZED", created_after_s: float = 0
) -> EventId:
    """An intent and an order to post it."""
    intent = an_intent(status=status)
    bench.add_intent(intent)
    return bench.add_event(intent.id, created_after_s=created_after_s)


def conclude_all(bench: DatabaseBench, conclude: Callable[[ClaimedEvent], Conclusion]) -> None:
    """Claim what is due and write what *conclude* says of each event."""
    with bench.outbox.claim(limit=100) as batch:
        batch.write([conclude(claimed) for claimed in batch.events])


def queued(bench: DatabaseBench) -> dict[EventId, Wait]:
    """What each event of the queue waits for, in the queue's order."""
    return {event.id: wait_of(event) for event in bench.reader.queue(limit=100).events}


def ids(events: tuple[ListedEvent, ...]) -> list[EventId]:
    """The events' ids, in order."""
    return [event.id for event in events]


class OutboxReaderContract:
    """Lists agree with what the claim does, and one intent is shown whole."""

    # The queue.

    def test_an_empty_outbox_has_an_empty_queue(self, bench: DatabaseBench) -> None:
        page = bench.reader.queue(limit=10)

        assert (page.events, page.total) == ((), 0)

    def test_the_queue_is_in_the_order_of_the_claim(self, bench: DatabaseBench) -> None:
        for created_after_s in (5, 3, 3, 8):
            add_event(bench, created_after_s=created_after_s)

        with bench.outbox.claim(limit=10) as batch:
            claimed = [one.event.id for one in batch.events]

        assert list(queued(bench)) == claimed

    def test_a_long_queue_is_cut_and_counted(self, bench: DatabaseBench) -> None:
        events = [add_event(bench, created_after_s=second) for second in range(3)]

        page = bench.reader.queue(limit=2)

        assert ids(page.events) == events[:2]
        assert page.total == 3

    def test_an_event_is_listed_with_its_columns(self, bench: DatabaseBench) -> None:
        intent = an_intent(status="SETTLING")
        bench.add_intent(intent)
        event_id = bench.add_event(intent.id, "void_pending", retry_count=3)
        begun_s = time.monotonic()
        bench.set_event_age(event_id, 90_000)

        [event] = bench.reader.queue(limit=1).events
        took_s = time.monotonic() - begun_s

        assert (event.id, event.intent_id, event.action) == (event_id, intent.id, "void_pending")
        assert (event.status, event.retry_count, event.intent_status) == ("pending", 3, "SETTLING")
        assert event.age_s is not None
        assert 90 <= event.age_s <= 90 + took_s + 1
        assert ISO_UTC.fullmatch(event.created_at)
        assert event.retry is None

    def test_what_the_queue_calls_due_is_what_a_claim_takes(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        head = bench.add_event(intent.id, created_after_s=1)
        behind = bench.add_event(intent.id, created_after_s=2)
        bench.add_event(intent.id, created_after_s=0, status="processed")
        in_review = add_event(bench, status="MANUAL_REVIEW", created_after_s=3)
        orphan = bench.add_event(IntentId(uuid4()), created_after_s=4)
        unknown = add_event(bench, status="CREATED", created_after_s=5)

        expected = {
            head: Wait.DUE,
            behind: Wait.BEHIND,
            in_review: Wait.IN_REVIEW,
            orphan: Wait.DUE,
            unknown: Wait.DUE,
        }
        assert queued(bench) == expected
        with bench.outbox.claim(limit=10) as batch:
            assert [one.event.id for one in batch.events] == [head, orphan, unknown]

    def test_an_event_behind_others_names_the_first_of_them(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        events = [bench.add_event(intent.id, created_after_s=1) for _ in range(3)]

        page = bench.reader.queue(limit=10)

        assert [event.head_id for event in page.events] == [None, events[0], events[0]]

    def test_a_backoff_is_told_with_its_reason_until_it_is_over(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench)
        conclude_all(bench, lambda claimed: a_retry(claimed, delay_ms=60_000))

        [event] = bench.reader.queue(limit=1).events

        assert wait_of(event) is Wait.BACKOFF
        assert event.retry is not None
        assert event.retry.reason == "ledger_refused"
        assert event.retry.last_error == "the ledger refused"
        assert ISO_UTC.fullmatch(event.retry.next_attempt_at)
        bench.pass_time(60_000)
        assert queued(bench) == {event_id: Wait.DUE}

    def test_retry_count_0_makes_an_event_due_at_once(self, bench: DatabaseBench) -> None:
        event_id = add_event(bench)
        conclude_all(bench, lambda claimed: a_retry(claimed, delay_ms=60_000))

        bench.set_retry_count(event_id, 0)

        assert queued(bench) == {event_id: Wait.DUE}

    # What is stuck.

    def test_a_young_queue_is_not_stuck(self, bench: DatabaseBench) -> None:
        bench.set_event_age(add_event(bench), 10_000)

        stuck = bench.reader.stuck(older_than=FIVE_MINUTES, limit=10)

        assert not stuck.is_any
        assert stuck.waiting.total == 0

    def test_old_pending_events_are_stuck_oldest_first(self, bench: DatabaseBench) -> None:
        older, old, young = (add_event(bench) for _ in range(3))
        for event_id, age_s in ((young, 10), (old, 360), (older, 3_600)):
            bench.set_event_age(event_id, age_s * 1_000)

        stuck = bench.reader.stuck(older_than=FIVE_MINUTES, limit=10)

        assert ids(stuck.waiting.events) == [older, old]
        assert stuck.is_any
        assert ids(bench.reader.stuck(older_than=FIVE_MINUTES, limit=1).waiting.events) == [older]

    def test_an_intent_in_review_shows_what_failed_and_what_waits_behind(
        self, bench: DatabaseBench
    ) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        failed = bench.add_event(intent.id)
        conclude_all(bench, a_review)
        behind = bench.add_event(intent.id, "void_pending")
        for event_id in (failed, behind):
            bench.set_event_age(event_id, 10_000)

        stuck = bench.reader.stuck(older_than=FIVE_MINUTES, limit=10)

        [event] = stuck.failed.events
        assert (event.id, wait_of(event), event.intent_status) == (
            failed,
            Wait.GIVEN_UP,
            "MANUAL_REVIEW",
        )
        assert event.retry is not None
        assert event.retry.reason == "invalid_payload"
        [waiting] = stuck.behind.events
        assert (waiting.id, wait_of(waiting)) == (behind, Wait.IN_REVIEW)
        assert (stuck.waiting.total, stuck.failed.total, stuck.is_any) == (0, 1, True)

    def test_an_old_event_behind_a_review_is_listed_once(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        bench.add_event(intent.id)
        conclude_all(bench, a_review)
        behind = bench.add_event(intent.id)
        bench.set_event_age(behind, 3_600_000)

        stuck = bench.reader.stuck(older_than=FIVE_MINUTES, limit=10)

        assert ids(stuck.waiting.events) == [behind]
        assert stuck.behind.total == 0

    def test_a_failed_event_of_an_intent_that_a_person_has_settled_is_not_stuck(
        self, bench: DatabaseBench
    ) -> None:
        intent = an_intent(status="SETTLED")
        bench.add_intent(intent)
        bench.add_event(intent.id, status="failed")

        assert not bench.reader.stuck(older_than=FIVE_MINUTES, limit=10).is_any

    @pytest.mark.parametrize("status", ["AUTHORIZED", "SETTLING", None])
    def test_a_failed_event_that_no_review_tells_of_is_stuck_as_well(
        self, bench: DatabaseBench, status: str | None
    ) -> None:
        intent = an_intent(status=status or "")
        if status is not None:
            bench.add_intent(intent)
        failed = bench.add_event(intent.id, status="failed")
        bench.set_event_age(bench.add_event(intent.id), 10_000)

        stuck = bench.reader.stuck(older_than=FIVE_MINUTES, limit=10)

        assert ids(stuck.failed.events) == [failed]
        assert stuck.is_any
        # A worker takes the other one all the same.
        assert stuck.behind.total == 0

    def test_all_that_is_held_up_is_counted_be_it_of_intents_beyond_the_limit(
        self, bench: DatabaseBench
    ) -> None:
        for _ in range(3):
            add_event(bench)
        conclude_all(bench, a_review)
        failed = bench.reader.stuck(older_than=FIVE_MINUTES, limit=10).failed.events
        for event in failed:
            bench.set_event_age(bench.add_event(event.intent_id), 10_000)
        # Of an intent that is under review without any failed event.
        bench.set_event_age(add_event(bench, status="MANUAL_REVIEW"), 10_000)

        stuck = bench.reader.stuck(older_than=FIVE_MINUTES, limit=2)

        assert (len(stuck.failed.events), stuck.failed.total) == (2, 3)
        assert (len(stuck.behind.events), stuck.behind.total) == (2, 3)

    # Retries.

    def test_the_most_retried_come_first(self, bench: DatabaseBench) -> None:
        counts = {add_event(bench, created_after_s=second): 6 for second in (2, 1)}
        counts[add_event(bench, created_after_s=3)] = 9
        counts[add_event(bench)] = 5
        for event_id, count in counts.items():
            bench.set_retry_count(event_id, count)
        first, second, worst, _ = counts

        page = bench.reader.retried(more_than=5, limit=10)

        assert ids(page.events) == [worst, second, first]
        assert page.total == 3
        assert ids(bench.reader.retried(more_than=5, limit=1).events) == [worst]

    def test_a_failed_event_is_retried_no_more(self, bench: DatabaseBench) -> None:
        bench.add_event(an_intent().id, status="failed", retry_count=12)

        assert bench.reader.retried(more_than=5, limit=10).total == 0

    # Figures.

    def test_events_are_counted_by_action_and_status(self, bench: DatabaseBench) -> None:
        begun_s = time.monotonic()
        for _ in range(2):
            bench.set_event_age(add_event(bench), 60_000)
        conclude_all(bench, an_acknowledge)
        took_ms = (time.monotonic() - begun_s) * 1_000
        bench.set_event_age(bench.add_event(an_intent().id, "void_pending"), 60_000)
        bench.set_event_age(add_event(bench), 7_200_000)

        done, waiting = bench.reader.statistics(since=timedelta(hours=1))

        assert (done.action, done.status, done.count) == ("post_pending", "processed", 2)
        for latency_ms in (done.latency_average_ms, done.latency_p50_ms, done.latency_p99_ms):
            assert latency_ms is not None
            assert 60_000 <= latency_ms <= 60_000 + took_ms + 1_000
        assert (waiting.action, waiting.status, waiting.count) == ("void_pending", "pending", 1)
        assert waiting.latency_average_ms is None

    # One intent.

    def test_nothing_is_known_of_an_intent_that_never_was(self, bench: DatabaseBench) -> None:
        assert bench.reader.dossier(IntentId(uuid4())) is None
        assert bench.reader.intent_of(EventId(4711)) is None

    def test_an_intent_is_shown_with_all_that_belongs_to_it(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        psp = PspRecord(
            psp="IPPS",
            receiver_display_name="สมชาย",
            psp_fee_satang=250,
            settlement_date="2026-05-29",
            last_error=None,
        )
        job = a_job(intent.id)
        bench.add_intent(intent, to_name="Nok")
        bench.add_psp(intent.id, psp)
        event_id = bench.add_event(intent.id, payload_json='{"feeSplits": []}')
        conclude_all(bench, lambda claimed: a_settle(claimed, jobs=(job,)))
        bench.add_event(an_intent().id)
        later = bench.add_event(intent.id, "void_pending", created_after_s=9)

        dossier = bench.reader.dossier(intent.id)

        assert bench.reader.intent_of(event_id) == intent.id
        assert dossier is not None
        assert dossier.intent is not None
        assert dossier.intent.intent.status == "SETTLED"
        assert dossier.intent.intent.tb_transfer_ids == intent.tb_transfer_ids
        assert dossier.intent.to_name == "Nok"
        first, second = dossier.events
        assert (first.event.id, first.event.status) == (event_id, "processed")
        assert first.payload_json == '{"feeSplits": []}'
        assert first.processed_at is not None
        assert ISO_UTC.fullmatch(first.processed_at)
        assert (second.event.id, second.processed_at) == (later, None)
        assert dossier.psp == (PspSheet(**asdict(psp), state=None, psp_reference=None),)
        assert dossier.history[0] == HistoryRecord(
            line_no=0,
            kind="PRINCIPAL",
            account=None,
            amount_satang=9_850,
            currency="THB",
            fee_kind=None,
        )
        assert len(dossier.history) == 2
        [audit] = dossier.audit
        assert (audit.status_from, audit.status_to) == ("AUTHORIZED", "SETTLED")
        assert dossier.jobs == (job,)

    def test_an_orphan_is_shown_without_its_intent(self, bench: DatabaseBench) -> None:
        intent_id = IntentId(uuid4())
        event_id = bench.add_event(intent_id)

        dossier = bench.reader.dossier(intent_id)

        assert dossier is not None
        assert dossier.intent is None
        assert [sheet.event.id for sheet in dossier.events] == [event_id]

    def test_reading_waits_for_nobody(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        event_id = bench.add_event(intent.id)

        with bench.hold_intent(intent.id), bench.hold_event(event_id):
            assert queued(bench) == {event_id: Wait.DUE}
            assert bench.reader.dossier(intent.id) is not None
