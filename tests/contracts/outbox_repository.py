"""What every OutboxRepository must do (DESIGN §6). Inherit both; provide an empty ``bench``."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from application.errors import RowsRefusedError
from domain.conclusions import Conclusion, HistoryLine, LineKind, StatusMessage
from domain.fees import MappedAccount
from domain.intents import (
    ClaimedEvent,
    EventId,
    Intent,
    IntentId,
    IntentStatus,
    OutboxEvent,
    PspRecord,
    RetryState,
)
from domain.transfers import AccountId
from tests.contracts.database_bench import DatabaseBench, EventState, IntentState, StoredRetry
from tests.contracts.payments import (
    a_job,
    a_retry,
    a_review,
    a_settle,
    a_void,
    an_acknowledge,
    an_audit,
    an_intent,
)

PSP = PspRecord(
    psp="IPPS",
    receiver_display_name="สมชาย",
    psp_fee_satang=250,
    settlement_date="2026-05-29",
    last_error=None,
)


class BrokenError(Exception):
    """Something went wrong in the block."""


def add_payment(
    bench: DatabaseBench, *, intent: Intent | None = None, created_after_s: float = 0
) -> EventId:
    """An authorised intent and an order to post it."""
    intent = intent or an_intent()
    bench.add_intent(intent)
    return bench.add_event(intent.id, created_after_s=created_after_s)


def claimed_ids(bench: DatabaseBench, *, limit: int = 10) -> list[EventId]:
    """Which events a claim would hold now; they are let go."""
    with bench.outbox.claim(limit=limit) as batch:
        return [claimed.event.id for claimed in batch.events]


def write(bench: DatabaseBench, conclusion: Conclusion) -> Sequence[StatusMessage]:
    """Claim, and write one conclusion of the events claimed."""
    with bench.outbox.claim(limit=10) as batch:
        return batch.write([conclusion])


def abandon(bench: DatabaseBench, conclude: Callable[[ClaimedEvent], Conclusion]) -> None:
    """Claim, write, and leave the block by an exception."""
    with bench.outbox.claim(limit=10) as batch:
        batch.write([conclude(claimed) for claimed in batch.events])
        raise BrokenError


def has_no_effects(bench: DatabaseBench, intent_id: IntentId) -> bool:
    """Whether an intent has neither history nor audit rows, and nobody is told of it."""
    told = [job for job in bench.jobs() if job.intent_id == intent_id]
    return not (bench.history(intent_id) or bench.audit(intent_id) or told)


def peek(bench: DatabaseBench) -> ClaimedEvent:
    """The event that is claimed first; it is let go."""
    with bench.outbox.claim(limit=1) as batch:
        return batch.events[0]


class ClaimContract:
    """Which events are claimed, and what is read with them."""

    def test_an_empty_outbox_gives_an_empty_claim(self, bench: DatabaseBench) -> None:
        assert claimed_ids(bench) == []

    def test_an_event_comes_with_everything_that_was_stored(self, bench: DatabaseBench) -> None:
        intent = an_intent(issued_by_user_id=UUID(int=2))
        bench.add_intent(intent)
        bench.add_psp(intent.id, PSP)
        event_id = bench.add_event(intent.id, payload_json='{"feeSplits": []}', retry_count=3)

        assert peek(bench) == ClaimedEvent(
            event=OutboxEvent(
                id=event_id,
                intent_id=intent.id,
                action="post_pending",
                payload_json='{"feeSplits": []}',
                retry_count=3,
            ),
            intent=intent,
            psp=PSP,
            retry=None,
        )

    def test_what_may_be_absent_comes_as_none(self, bench: DatabaseBench) -> None:
        intent = an_intent(user_id=None, metadata_json=None, tb_transfer_ids=())
        add_payment(bench, intent=intent)

        claimed = peek(bench)

        assert claimed.intent == intent
        assert claimed.event.payload_json is None
        assert claimed.psp is None

    def test_a_missing_transfer_id_keeps_its_place(self, bench: DatabaseBench) -> None:
        intent = an_intent(tb_transfer_ids=(UUID(int=9), None, UUID(int=3)))
        add_payment(bench, intent=intent)

        assert peek(bench).intent == intent

    def test_values_that_python_cannot_hold_spoil_no_batch(self, bench: DatabaseBench) -> None:
        number = "9" * 10_000
        odd = an_intent(metadata_json=f'{{"n": {number}}}')
        bench.add_intent(odd)
        bench.add_psp(odd.id, replace(PSP, settlement_date="infinity"))
        first = bench.add_event(odd.id, payload_json=f'{{"n": {number}}}')
        second = add_payment(bench, created_after_s=1)

        with bench.outbox.claim(limit=10) as batch:
            assert [claimed.event.id for claimed in batch.events] == [first, second]
            assert batch.events[0].event.payload_json == f'{{"n": {number}}}'
            assert batch.events[0].intent == odd
            assert batch.events[0].psp is not None
            assert batch.events[0].psp.settlement_date == "infinity"

    def test_exactly_the_limit_is_claimed(self, bench: DatabaseBench) -> None:
        events = [add_payment(bench, created_after_s=n) for n in range(5)]

        assert claimed_ids(bench, limit=3) == events[:3]
        assert claimed_ids(bench, limit=1) == events[:1]

    def test_the_order_is_by_creation_and_then_by_id(self, bench: DatabaseBench) -> None:
        late = add_payment(bench, created_after_s=2)
        twin = add_payment(bench, created_after_s=1)
        other_twin = add_payment(bench, created_after_s=1)
        early = add_payment(bench, created_after_s=0)

        assert claimed_ids(bench) == [early, twin, other_twin, late]

    def test_events_that_failed_before_get_half_of_a_full_batch(self, bench: DatabaseBench) -> None:
        tried = [add_payment(bench, created_after_s=n) for n in range(6)]
        for event_id in tried:
            bench.set_retry_count(event_id, 1)
        others = [add_payment(bench, created_after_s=10 + n) for n in range(3)]

        assert claimed_ids(bench, limit=4) == [*tried[:2], *others[:2]]
        assert claimed_ids(bench, limit=1) == tried[:1]

    def test_events_that_failed_before_fill_what_the_others_leave_of_a_batch(
        self, bench: DatabaseBench
    ) -> None:
        tried = [add_payment(bench, created_after_s=n) for n in range(9)]
        for event_id in tried:
            bench.set_retry_count(event_id, 1)

        assert claimed_ids(bench, limit=8) == tried[:8]
        others: list[EventId] = []
        for room_left in (7, 6, 5, 4, 4):
            others.append(add_payment(bench, created_after_s=20 + len(others)))
            assert claimed_ids(bench, limit=8) == [*tried[:room_left], *others][:8]

    def test_events_that_failed_before_are_claimed_in_order_where_a_batch_takes_all(
        self, bench: DatabaseBench
    ) -> None:
        events = [add_payment(bench, created_after_s=n) for n in range(6)]
        for event_id in events[:3] + events[4:]:
            bench.set_retry_count(event_id, 1)

        assert claimed_ids(bench, limit=7) == events

    def test_an_older_event_that_commits_late_is_not_passed_over(
        self, bench: DatabaseBench
    ) -> None:
        later = add_payment(bench, created_after_s=5)
        assert claimed_ids(bench) == [later]

        earlier = add_payment(bench, created_after_s=1)

        assert claimed_ids(bench) == [earlier, later]

    @pytest.mark.parametrize("status", ["processed", "failed"])
    def test_a_finished_event_is_not_claimed(self, bench: DatabaseBench, status: str) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        bench.add_event(intent.id, status=status)

        assert claimed_ids(bench) == []

    def test_only_the_first_pending_event_of_an_intent_is_claimed(
        self, bench: DatabaseBench
    ) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        bench.add_event(intent.id, status="failed")
        second = bench.add_event(intent.id, "void_pending", created_after_s=3)
        first = bench.add_event(intent.id, created_after_s=1)

        with bench.outbox.claim(limit=10) as batch:
            (claimed,) = batch.events
            assert claimed.event.id == first
            batch.write([an_acknowledge(claimed)])

        assert claimed_ids(bench) == [second]

    def test_a_backed_off_event_holds_back_its_own_intent_alone(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        bench.add_event(intent.id)
        bench.add_event(intent.id, created_after_s=1)
        other = add_payment(bench, created_after_s=2)
        write(bench, a_retry(peek(bench)))

        assert claimed_ids(bench) == [other]

    def test_the_intent_of_a_manual_review_is_left_alone(self, bench: DatabaseBench) -> None:
        intent = an_intent(status="MANUAL_REVIEW")
        add_payment(bench, intent=intent)
        other = add_payment(bench)

        assert claimed_ids(bench) == [other]

        bench.set_intent_status(intent.id, "AUTHORIZED")
        assert len(claimed_ids(bench)) == 2

    @pytest.mark.parametrize("status", ["CREATED", "SETTLING", "SETTLED", "FAILED"])
    def test_an_intent_of_any_other_status_is_claimed(
        self, bench: DatabaseBench, status: str
    ) -> None:
        event_id = add_payment(bench, intent=an_intent(status=status))

        assert claimed_ids(bench) == [event_id]

    def test_an_event_without_its_intent_is_claimed_as_an_orphan(
        self, bench: DatabaseBench
    ) -> None:
        intent_id = IntentId(uuid4())
        orphan = bench.add_event(intent_id)
        bench.add_event(intent_id, created_after_s=1)
        other = add_payment(bench, created_after_s=2)

        with bench.outbox.claim(limit=10) as batch:
            assert [claimed.event.id for claimed in batch.events] == [orphan, other]
            assert batch.events[0].intent is None

    def test_several_psp_rows_do_not_double_an_event(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        event_id = add_payment(bench, intent=intent)
        early = replace(PSP, settlement_date="2026-05-28", psp_fee_satang=9)
        undated = replace(PSP, settlement_date=None, psp_fee_satang=900)
        for record in (early, PSP, undated):
            bench.add_psp(intent.id, record)

        with bench.outbox.claim(limit=10) as batch:
            assert [claimed.event.id for claimed in batch.events] == [event_id]
            assert batch.events[0].psp == PSP

    def test_rows_that_others_hold_are_skipped(self, bench: DatabaseBench) -> None:
        first, second = an_intent(), an_intent()
        held_event = add_payment(bench, intent=first)
        add_payment(bench, intent=second, created_after_s=1)
        free = add_payment(bench, created_after_s=2)

        with bench.hold_event(held_event), bench.hold_intent(second.id):
            assert claimed_ids(bench) == [free]
        assert len(claimed_ids(bench)) == 3

    def test_held_intents_at_the_head_do_not_hide_what_is_behind(
        self, bench: DatabaseBench
    ) -> None:
        held = [an_intent() for _ in range(7)]
        for intent in held:
            add_payment(bench, intent=intent)
        free = [add_payment(bench, created_after_s=1 + n) for n in range(3)]

        with bench.hold_intent(*(intent.id for intent in held)):
            assert claimed_ids(bench, limit=2) == free[:2]
            assert claimed_ids(bench, limit=1) == free[:1]

    def test_two_open_claims_never_overlap(self, bench: DatabaseBench) -> None:
        events = [add_payment(bench, created_after_s=n) for n in range(4)]
        with bench.outbox.claim(limit=2) as batch, bench.outbox.claim(limit=10) as other:
            assert [claimed.event.id for claimed in batch.events] == events[:2]
            assert [claimed.event.id for claimed in other.events] == events[2:]

    def test_two_events_of_an_intent_are_never_open_side_by_side(
        self, bench: DatabaseBench
    ) -> None:
        intent = an_intent()
        bench.add_intent(intent)
        bench.add_event(intent.id)
        second = bench.add_event(intent.id, created_after_s=1)

        with bench.outbox.claim(limit=1) as batch:
            batch.write([an_acknowledge(batch.events[0])])
            assert claimed_ids(bench) == []
        assert claimed_ids(bench) == [second]

    def test_two_orphans_of_an_intent_are_never_open_side_by_side(
        self, bench: DatabaseBench
    ) -> None:
        intent_id = IntentId(uuid4())
        bench.add_event(intent_id)
        second = bench.add_event(intent_id, created_after_s=1)

        with bench.outbox.claim(limit=1) as batch:
            batch.write([an_acknowledge(batch.events[0])])
            assert claimed_ids(bench) == []
        assert claimed_ids(bench) == [second]

    def test_a_backoff_ends_after_its_delay(self, bench: DatabaseBench) -> None:
        event_id = add_payment(bench)
        write(bench, a_retry(peek(bench), delay_ms=60_000))

        bench.pass_time(30_000)
        assert claimed_ids(bench) == []
        bench.pass_time(30_000)
        assert claimed_ids(bench) == [event_id]

    def test_retry_count_0_ends_a_backoff(self, bench: DatabaseBench) -> None:
        event_id = add_payment(bench)
        write(bench, a_retry(peek(bench), delay_ms=60_000))
        assert claimed_ids(bench) == []

        bench.set_retry_count(event_id, 0)

        assert claimed_ids(bench) == [event_id]

    def test_fee_accounts_has_the_codes_that_are_mapped(self, bench: DatabaseBench) -> None:
        revenue = MappedAccount(account_id=AccountId(2**127 + 5), ledger=764)
        bench.map_account("revenue.THB", revenue)
        bench.map_account("other.THB", MappedAccount(account_id=AccountId(6), ledger=764))

        with bench.outbox.claim(limit=1) as batch:
            codes = ["revenue.THB", "nostro.ipps.THB"]
            assert batch.fee_accounts(codes) == {"revenue.THB": revenue}
            assert batch.fee_accounts([]) == {}

    def test_some_of_the_mapped_accounts_can_be_had_within_a_claim_and_without(
        self, bench: DatabaseBench
    ) -> None:
        assert list(bench.outbox.some_mapped_accounts(limit=2)) == []
        ids = [AccountId(number) for number in (2**127 + 5, 6, 7)]
        for code, id_ in zip("bca", ids, strict=True):
            bench.map_account(f"account.{code}", MappedAccount(account_id=id_, ledger=764))

        some = bench.outbox.some_mapped_accounts(limit=2)
        with bench.outbox.claim(limit=1) as batch:
            all_of_them = batch.some_mapped_accounts(limit=100)

        assert list(some) == [7, 2**127 + 5]
        assert list(all_of_them) == [7, 2**127 + 5, 6]


class WriteContract:
    """What is written, when it shows, and what is refused."""

    def test_leaving_by_an_exception_leaves_all_as_it_was(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        event_id = add_payment(bench, intent=intent)
        with pytest.raises(BrokenError):
            abandon(bench, a_settle)

        assert bench.event(event_id) == EventState(status="pending")
        assert bench.intent(intent.id) == IntentState(status="AUTHORIZED")
        assert has_no_effects(bench, intent.id)
        assert claimed_ids(bench) == [event_id]

    def test_a_failure_that_was_rolled_back_is_no_attempt(self, bench: DatabaseBench) -> None:
        event_id = add_payment(bench)
        with pytest.raises(BrokenError):
            abandon(bench, a_retry)

        assert bench.event(event_id).retry_count == 0
        assert bench.retry(event_id) is None

    def test_settling_a_post_writes_all_of_it(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        event_id = add_payment(bench, intent=intent)
        with bench.outbox.claim(limit=10) as batch:
            (claimed,) = batch.events
            jobs = (a_job(intent.id), a_job(intent.id))
            settle = a_settle(claimed, to_name="สมชาย", settlement_date="2026-05-29", jobs=jobs)
            (message,) = batch.write([settle])

        assert (message.intent_id, message.status) == (intent.id, IntentStatus.SETTLED)
        assert message.updated_at.tzinfo is not None
        assert bench.intent(intent.id) == IntentState(
            status="SETTLED", to_name="สมชาย", settlement_date="2026-05-29"
        )
        assert bench.event(event_id) == EventState(status="processed", has_processed_at=True)
        assert bench.history(intent.id) == list(settle.history)
        assert bench.audit(intent.id) == [settle.audit]
        assert bench.jobs() == list(jobs)
        assert claimed_ids(bench) == []

    def test_settling_a_void_keeps_what_it_does_not_set(self, bench: DatabaseBench) -> None:
        intent = an_intent(status="SETTLING")
        bench.add_intent(intent, to_name="Somchai", settlement_date="2026-05-01")
        bench.add_event(intent.id, "void_pending")

        (message,) = write(bench, a_void(peek(bench)))

        assert message.status is IntentStatus.FAILED
        assert bench.intent(intent.id) == IntentState(
            status="FAILED",
            to_name="Somchai",
            settlement_date="2026-05-01",
            failure_reason="PSP payment voided",
        )

    def test_settling_a_post_keeps_an_old_failure_reason(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        bench.add_intent(intent, failure_reason="first try")
        bench.add_event(intent.id)

        write(bench, a_settle(peek(bench)))

        assert bench.intent(intent.id).failure_reason == "first try"

    @pytest.mark.parametrize("status", ["CREATED", "SETTLED", "FAILED"])
    def test_an_intent_that_is_not_settleable_refuses_its_write(
        self, bench: DatabaseBench, status: str
    ) -> None:
        good, bad = an_intent(), an_intent(status=status)
        add_payment(bench, intent=good)
        bad_event = add_payment(bench, intent=bad, created_after_s=1)

        with bench.outbox.claim(limit=10) as batch:
            with pytest.raises(RowsRefusedError, match="did not take the update"):
                batch.write([a_settle(claimed) for claimed in reversed(batch.events)])
            messages = batch.write([a_settle(batch.events[0])])

        assert [message.intent_id for message in messages] == [good.id]
        assert bench.event(bad_event) == EventState(status="pending")
        assert bench.intent(bad.id).status == status
        assert has_no_effects(bench, bad.id)
        assert [job.intent_id for job in bench.jobs()] == [good.id]

    def test_messages_are_in_the_order_of_the_conclusions(self, bench: DatabaseBench) -> None:
        for n in range(5):
            add_payment(bench, created_after_s=n)

        with bench.outbox.claim(limit=10) as batch:
            settles = [a_settle(batch.events[n]) for n in (3, 0, 4, 1, 2)]
            messages = batch.write(settles)

        assert [one.intent_id for one in messages] == [one.intent_id for one in settles]
        assert [one.intent_id for one in bench.jobs()] == [one.intent_id for one in settles]

    def test_nothing_shows_before_the_block_ends(self, bench: DatabaseBench) -> None:
        intent = an_intent()
        event_id = add_payment(bench, intent=intent)

        with bench.outbox.claim(limit=10) as batch:
            batch.write([a_settle(batch.events[0])])
            assert bench.event(event_id).status == "pending"
            assert bench.intent(intent.id).status == "AUTHORIZED"
            assert bench.jobs() == []
        assert bench.event(event_id).status == "processed"

    def test_acknowledging_finishes_the_event_alone(self, bench: DatabaseBench) -> None:
        intent = an_intent(status="SETTLED")
        event_id = add_payment(bench, intent=intent)

        assert list(write(bench, an_acknowledge(peek(bench)))) == []

        assert bench.event(event_id) == EventState(status="processed", has_processed_at=True)
        assert bench.intent(intent.id) == IntentState(status="SETTLED")
        assert has_no_effects(bench, intent.id)

    def test_a_retry_is_counted_and_noted(self, bench: DatabaseBench) -> None:
        event_id = add_payment(bench)
        claimed = peek(bench)
        write(bench, a_retry(claimed, generations=(1, 2)))
        bench.pass_time(1_000)

        assert peek(bench).retry == RetryState(
            reason="ledger_refused", attempts=1, generations=(1, 2)
        )
        again = a_retry(claimed, attempts=2, last_error="still", generations=(3,))
        assert list(write(bench, again)) == []

        assert bench.event(event_id) == EventState(status="pending", retry_count=2)
        assert bench.retry(event_id) == StoredRetry(
            attempts=2, reason="ledger_refused", last_error="still", generations=(3,)
        )

    @pytest.mark.parametrize("finish", [a_settle, an_acknowledge])
    def test_a_finished_event_leaves_no_retry_behind(
        self, bench: DatabaseBench, finish: Callable[[ClaimedEvent], Conclusion]
    ) -> None:
        event_id = add_payment(bench)
        claimed = peek(bench)
        write(bench, a_retry(claimed, delay_ms=0))

        write(bench, finish(claimed))

        assert bench.retry(event_id) is None
        assert bench.event(event_id).retry_count == 1

    def test_a_review_fails_the_event_and_stops_the_intent(self, bench: DatabaseBench) -> None:
        intent = an_intent(status="SETTLING")
        event_id = add_payment(bench, intent=intent)
        claimed = peek(bench)
        write(bench, a_retry(claimed, delay_ms=0, generations=(4,)))

        assert list(write(bench, a_review(claimed))) == []

        assert bench.event(event_id) == EventState(status="failed", retry_count=2)
        assert bench.intent(intent.id) == IntentState(status="MANUAL_REVIEW")
        assert bench.audit(intent.id) == [
            an_audit(status_from="SETTLING", status_to=IntentStatus.MANUAL_REVIEW)
        ]
        assert bench.retry(event_id) == StoredRetry(
            attempts=2,
            reason="invalid_payload",
            last_error="the payload is no object",
            generations=(4,),
        )
        assert not bench.history(intent.id)
        assert not bench.jobs()

    def test_an_orphan_fails_alone(self, bench: DatabaseBench) -> None:
        intent_id = IntentId(uuid4())
        event_id = bench.add_event(intent_id)

        write(bench, a_review(peek(bench), audit=None))

        assert bench.event(event_id) == EventState(status="failed", retry_count=1)
        assert bench.audit(intent_id) == []
        assert claimed_ids(bench) == []

    def test_all_kinds_of_conclusions_go_in_one_write(self, bench: DatabaseBench) -> None:
        events = [add_payment(bench, created_after_s=n) for n in range(4)]

        with bench.outbox.claim(limit=10) as batch:
            settled, retried, reviewed, acknowledged = batch.events
            messages = batch.write(
                [
                    a_review(reviewed),
                    an_acknowledge(acknowledged),
                    a_settle(settled),
                    a_retry(retried),
                ]
            )

        assert len(messages) == 1
        assert [bench.event(event_id).status for event_id in events] == [
            "processed",
            "pending",
            "failed",
            "processed",
        ]

    @pytest.mark.parametrize("conclude", [a_settle, an_acknowledge, a_retry, a_review])
    def test_an_event_that_is_not_pending_any_more_refuses_whatever_is_concluded(
        self, bench: DatabaseBench, conclude: Callable[[ClaimedEvent], Conclusion]
    ) -> None:
        intent = an_intent()
        event_id = add_payment(bench, intent=intent)

        with bench.outbox.claim(limit=1) as batch:
            (claimed,) = batch.events
            batch.write([an_acknowledge(claimed)])
            with pytest.raises(RowsRefusedError, match="did not take the update"):
                batch.write([conclude(claimed)])

        assert bench.event(event_id).status == "processed"
        assert bench.intent(intent.id) == IntentState(status="AUTHORIZED")
        assert bench.retry(event_id) is None
        assert has_no_effects(bench, intent.id)

    def test_an_intent_that_is_not_there_cannot_be_put_under_review(
        self, bench: DatabaseBench
    ) -> None:
        event_id = bench.add_event(IntentId(uuid4()))

        with bench.outbox.claim(limit=1) as batch:
            (claimed,) = batch.events
            with pytest.raises(RowsRefusedError, match="did not take the update"):
                batch.write([a_review(claimed)])

        assert bench.event(event_id) == EventState(status="pending")

    def test_writing_nothing_changes_nothing(self, bench: DatabaseBench) -> None:
        event_id = add_payment(bench)

        with bench.outbox.claim(limit=10) as batch:
            assert list(batch.write([])) == []

        assert claimed_ids(bench) == [event_id]

    def test_a_job_keeps_every_letter_of_its_text(self, bench: DatabaseBench) -> None:
        add_payment(bench)
        text = '{"b":"\\u0000 \\ud83d\\ude00","a":1.0,  "a":"ผัดไทย"}'

        with bench.outbox.claim(limit=1) as batch:
            (claimed,) = batch.events
            job = a_job(claimed.event.intent_id, job_json=text)
            batch.write([a_settle(claimed, jobs=(job,))])

        assert bench.jobs() == [job]

    @pytest.mark.parametrize(
        "changes",
        [
            pytest.param({"to_name": "x" * 300}, id="a name that is too long"),
            pytest.param({"to_name": "a\0b"}, id="NUL in a text"),
            pytest.param({"to_name": "\ud800"}, id="half a character"),
            pytest.param({"settlement_date": "2026-02-30"}, id="no such date"),
            pytest.param({"settlement_date": "soon"}, id="no date at all"),
            pytest.param(
                {
                    "history": (
                        HistoryLine(
                            line_no=0, kind=LineKind.PRINCIPAL, account=None, amount_satang=2**63
                        ),
                    )
                },
                id="an amount out of range",
            ),
            pytest.param({"jobs": (a_job(job_json="{"),)}, id="a job that is no JSON"),
        ],
    )
    def test_a_refused_row_undoes_its_write_alone(
        self, bench: DatabaseBench, changes: dict[str, object]
    ) -> None:
        first, second, third = (add_payment(bench, created_after_s=n) for n in range(3))

        with bench.outbox.claim(limit=10) as batch:
            batch.write([a_settle(batch.events[0])])
            with pytest.raises(RowsRefusedError):
                batch.write([a_retry(batch.events[1]), a_settle(batch.events[2], **changes)])
            assert claimed_ids(bench) == []
            batch.write([a_settle(batch.events[1])])
            batch.write([a_retry(batch.events[2])])

        assert [bench.event(event_id).status for event_id in (first, second)] == ["processed"] * 2
        assert bench.event(second).retry_count == 0
        assert bench.event(third) == EventState(status="pending", retry_count=1)
        assert len(bench.jobs()) == 2
