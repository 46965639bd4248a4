"""What is written, and who is told, for each verdict."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.audit import audit_event
from domain.concluding import conclude, postpone
from domain.conclusions import (
    Acknowledge,
    AuditEvent,
    Conclusion,
    HistoryLine,
    LineKind,
    Retry,
    Review,
    Settle,
)
from domain.intents import Action, ClaimedEvent, IntentStatus, RetryState
from domain.payloads import FeeSplit
from domain.planning import Task
from domain.retry import Backoff, RetryPolicy
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, ReviewReason, Verdict
from tests.unit.domain.claims import EVENT_ID, INTENT, INTENT_ID, PSP, a_claim, rules

NEVER_GIVES_UP = RetryPolicy(gives_up=False)
FOR_EVER = [
    RetryReason.FEE_ACCOUNT_UNMAPPED,
    RetryReason.FEE_REFUSED,
]
COUNTED = [
    RetryReason.PENDING_TRANSFER_NOT_FOUND,
    RetryReason.LEDGER_REFUSED,
    RetryReason.IDS_BURNED,
    RetryReason.RESOLUTION_NOT_FOUND,
    RetryReason.UNFORESEEN,
]


def a_task(action: Action = Action.POST_PENDING, **changes: Any) -> Task:
    return replace(Task(action=action, intent=INTENT, already_final=False, splits=()), **changes)


def concluded(
    verdict: Verdict,
    *,
    task: Task | None = None,
    claimed: ClaimedEvent | None = None,
    policy: RetryPolicy | None = None,
) -> Conclusion:
    return conclude(claimed or a_claim(), task, verdict, rules(policy))


def settled(task: Task, claimed: ClaimedEvent | None = None, done: Done | None = None) -> Settle:
    conclusion = concluded(
        done or Done(), task=task, claimed=claimed or a_claim(action=task.action.value)
    )
    assert isinstance(conclusion, Settle)
    return conclusion


def retried(verdict: RetryLater, claimed: ClaimedEvent, policy: RetryPolicy | None = None) -> Retry:
    conclusion = concluded(verdict, claimed=claimed, policy=policy)
    assert isinstance(conclusion, Retry)
    return conclusion


def payload_of(audit: AuditEvent | None) -> dict[str, Any]:
    assert audit is not None
    payload = json.loads(audit.payload_json)
    assert isinstance(payload, dict)
    return payload


# Done.


def test_a_post_settles_the_intent_with_what_the_psp_told() -> None:
    settle = settled(a_task(), done=Done(fee_satang=140))

    assert (settle.event_id, settle.intent_id) == (EVENT_ID, INTENT_ID)
    assert settle.status is IntentStatus.SETTLED
    assert settle.to_name == "Shop"
    assert settle.settlement_date == "2026-05-29"
    assert settle.failure_reason is None
    assert settle.currency == "THB"
    assert settle.history == (
        HistoryLine(line_no=0, kind=LineKind.PRINCIPAL, account=None, amount_satang=10_000),
        # What the ledger holds, not what the PSP asked for.
        HistoryLine(line_no=1, kind=LineKind.PSP_FEE, account="nostro.ipps.THB", amount_satang=140),
    )


def test_a_post_is_audited_once_with_its_old_status() -> None:
    intent = replace(INTENT, status="SETTLING")

    settle = settled(a_task(intent=intent), done=Done(fee_satang=150))

    assert settle.audit.status_from == "SETTLING"
    assert settle.audit.status_to is IntentStatus.SETTLED
    assert settle.audit.reason == "post_pending"
    assert payload_of(settle.audit) == {
        "by": "outbox-worker",
        "eventId": 7,
        "action": "post_pending",
        "pspFeeSatang": 150,
    }


def test_the_audit_tells_when_another_id_resolved_a_member() -> None:
    settle = settled(a_task(), done=Done(resolved_elsewhere=True))

    assert payload_of(settle.audit)["resolvedElsewhere"] is True
    assert "pspFeeSatang" not in payload_of(settle.audit)


def test_a_post_writes_the_splits_of_the_task() -> None:
    split = FeeSplit(account="revenue.THB", amount_satang=150, kind="PLATFORM_FEE")

    settle = settled(a_task(splits=(split,)))

    assert [(line.kind, line.amount_satang) for line in settle.history] == [
        (LineKind.PRINCIPAL, 9_850),
        (LineKind.FEE, 150),
    ]


def test_a_post_without_a_psp_keeps_what_the_intent_has() -> None:
    settle = settled(a_task(), a_claim(psp=None))

    assert settle.to_name is None
    assert settle.settlement_date is None
    assert [line.kind for line in settle.history] == [LineKind.PRINCIPAL]


def test_a_fee_found_for_an_intent_without_a_psp_has_no_account_to_name() -> None:
    settle = settled(a_task(), a_claim(psp=None), Done(fee_satang=150))

    assert settle.history[-1] == HistoryLine(
        line_no=1, kind=LineKind.PSP_FEE, account=None, amount_satang=150
    )


def test_a_post_tells_buyer_and_merchant() -> None:
    jobs = settled(a_task()).jobs

    assert [job.user_id for job in jobs] == [INTENT.user_id, INTENT.issued_by_user_id]
    assert {json.loads(job.job_json)["data"]["status"] for job in jobs} == {"SETTLED"}


@pytest.mark.parametrize(
    ("last_error", "failure_reason"),
    [
        ("insufficient funds", "insufficient funds"),
        (None, "PSP payment voided"),
        ("", "PSP payment voided"),
    ],
)
def test_a_void_fails_the_intent_for_the_psps_reason(
    last_error: str | None, failure_reason: str
) -> None:
    claimed = a_claim(action="void_pending", psp=replace(PSP, last_error=last_error))

    settle = settled(a_task(Action.VOID_PENDING), claimed)

    assert (settle.event_id, settle.intent_id) == (EVENT_ID, INTENT_ID)
    assert settle.status is IntentStatus.FAILED
    assert settle.currency == "THB"
    assert settle.failure_reason == failure_reason
    assert settle.audit.reason == "void_pending"
    assert settle.audit.status_from == "AUTHORIZED"
    assert settle.audit.status_to is IntentStatus.FAILED
    assert payload_of(settle.audit) == {
        "by": "outbox-worker",
        "eventId": 7,
        "action": "void_pending",
        "failureReason": failure_reason,
    }


def test_the_audit_of_a_void_holds_the_psps_reason_on_one_line_and_within_bounds() -> None:
    claimed = a_claim(action="void_pending", psp=replace(PSP, last_error="no\n" + "x" * 2_000))

    settle = settled(a_task(Action.VOID_PENDING), claimed)

    assert payload_of(settle.audit)["failureReason"] == "no " + "x" * 497


def test_a_void_without_a_psp_fails_the_intent_for_the_default_reason() -> None:
    settle = settled(a_task(Action.VOID_PENDING), a_claim(action="void_pending", psp=None))

    assert settle.failure_reason == "PSP payment voided"


def test_a_void_writes_no_history_and_keeps_name_and_date() -> None:
    settle = settled(a_task(Action.VOID_PENDING))

    assert settle.history == ()
    assert settle.to_name is None
    assert settle.settlement_date is None


def test_a_void_tells_the_initiator_alone() -> None:
    jobs = settled(a_task(Action.VOID_PENDING)).jobs

    assert [job.user_id for job in jobs] == [INTENT.user_id]
    assert {json.loads(job.job_json)["data"]["status"] for job in jobs} == {"FAILED"}


@pytest.mark.parametrize("action", Action)
def test_the_trace_id_of_the_payload_is_handed_on(action: Action) -> None:
    claimed = a_claim(action=action.value, payload_json='{"traceId":"trace-1"}')

    for job in settled(a_task(action), claimed).jobs:
        assert json.loads(job.job_json)["traceId"] == "trace-1"


@pytest.mark.parametrize("action", Action)
def test_an_event_that_agrees_with_a_final_intent_is_only_acknowledged(action: Action) -> None:
    conclusion = concluded(Done(fee_satang=150), task=a_task(action, already_final=True))

    assert conclusion == Acknowledge(event_id=EVENT_ID, intent_id=INTENT_ID)


def test_what_made_no_sense_cannot_be_done() -> None:
    with pytest.raises(ValueError, match=r"^an event that makes no sense cannot be done$"):
        concluded(Done(), task=None)


# Retry.


def earlier(attempts: int, reason: RetryReason, *, generations: tuple[int, ...] = ()) -> RetryState:
    """Return what so many failures in a row for *reason* left behind."""
    return RetryState(reason=reason, attempts=attempts, generations=generations)


def test_a_retry_says_why_and_when_and_what_was_learned() -> None:
    claimed = a_claim(
        retry_count=3, retry=earlier(2, RetryReason.LEDGER_REFUSED, generations=(9, 9, 9))
    )

    retry = retried(RetryLater(RetryReason.LEDGER_REFUSED, "closed", (1, 0, 2)), claimed)

    assert retry == Retry(
        event_id=EVENT_ID,
        intent_id=INTENT_ID,
        reason=RetryReason.LEDGER_REFUSED,
        last_error="ledger_refused: closed",
        delay_ms=8_000,
        attempts=3,
        generations=(1, 0, 2),
    )


@pytest.mark.parametrize(("retry_count", "delay_ms"), [(0, 50), (1, 100), (2, 200), (3, 300)])
def test_the_delay_grows_with_every_failure_whatever_its_reason(
    retry_count: int, delay_ms: int
) -> None:
    policy = RetryPolicy(backoff=Backoff(first_ms=50, max_ms=300))
    claimed = a_claim(retry_count=retry_count, retry=earlier(0, RetryReason.UNFORESEEN))

    for reason in RetryReason:
        assert retried(RetryLater(reason, "x"), claimed, policy).delay_ms == delay_ms


@pytest.mark.parametrize("reason", COUNTED)
@pytest.mark.parametrize("gives_up", [True, False])
def test_the_attempt_that_reaches_the_limit_is_the_last(
    reason: RetryReason, gives_up: bool
) -> None:
    policy = RetryPolicy(attempts_max=3, attempts_max_not_found=3, gives_up=gives_up)
    verdict = RetryLater(reason, "detail")

    second = a_claim(retry_count=1, retry=earlier(1, reason))
    third = a_claim(retry_count=2, retry=earlier(2, reason))

    assert isinstance(concluded(verdict, claimed=second, policy=policy), Retry)
    conclusion = concluded(verdict, claimed=third, policy=policy)
    if gives_up:
        assert isinstance(conclusion, Review)
        assert conclusion.reason is ReviewReason.ATTEMPTS_EXHAUSTED
        assert conclusion.last_error == f"gave up after 3 attempts; {reason}: detail"
    else:
        assert isinstance(conclusion, Retry)


def test_a_first_failure_is_the_last_where_one_attempt_is_allowed() -> None:
    conclusion = concluded(
        RetryLater(RetryReason.UNFORESEEN, "x"), policy=RetryPolicy(attempts_max=1)
    )

    assert isinstance(conclusion, Review)


@pytest.mark.parametrize("reason", FOR_EVER)
def test_a_fault_of_the_fee_is_never_given_up_and_never_counted(reason: RetryReason) -> None:
    claimed = a_claim(retry_count=10_000, retry=earlier(11, reason))

    retry = retried(RetryLater(reason, "x"), claimed)

    assert retry.attempts == 11
    assert retry.delay_ms == 300_000


@pytest.mark.parametrize("reason", COUNTED)
def test_a_retry_count_set_to_0_by_hand_begins_the_count_anew(reason: RetryReason) -> None:
    claimed = a_claim(retry_count=0, retry=earlier(100, reason, generations=(1, 2)))

    retry = retried(RetryLater(reason, "x", (1, 2)), claimed)

    assert retry.attempts == 1
    assert retry.delay_ms == 1_000
    assert retry.generations == (1, 2)


def test_a_count_begun_anew_stays_0_for_a_fault_of_the_fee() -> None:
    claimed = a_claim(retry_count=0, retry=earlier(100, RetryReason.FEE_REFUSED))

    assert retried(RetryLater(RetryReason.FEE_REFUSED, "x"), claimed).attempts == 0


def test_another_reason_begins_the_count_anew() -> None:
    claimed = a_claim(retry_count=11, retry=earlier(11, RetryReason.UNFORESEEN))

    retry = retried(RetryLater(RetryReason.PENDING_TRANSFER_NOT_FOUND, "x"), claimed)

    assert retry.attempts == 1


def test_a_postponed_event_waits_longest_and_is_not_counted() -> None:
    claimed = a_claim(
        retry_count=3, retry=earlier(2, RetryReason.LEDGER_REFUSED, generations=(1, 0))
    )

    retry = postpone(claimed, "refused\0twice", rules())

    assert retry == Retry(
        event_id=EVENT_ID,
        intent_id=INTENT_ID,
        reason=RetryReason.UNFORESEEN,
        last_error="refused twice",
        delay_ms=300_000,
        attempts=2,
        generations=(1, 0),
    )


def test_a_postponed_event_without_a_retry_row_has_nothing_to_remember() -> None:
    retry = postpone(a_claim(retry=None), "refused twice", rules())

    assert (retry.attempts, retry.generations) == (0, ())


def test_an_event_without_a_retry_row_starts_counting() -> None:
    # Re-enqueued by deleting the row, or failed before that table existed.
    claimed = a_claim(retry_count=50, retry=None)

    assert retried(RetryLater(RetryReason.UNFORESEEN, "x"), claimed).attempts == 1


# Review.


@pytest.mark.parametrize("reason", ReviewReason)
@pytest.mark.parametrize("status", ["AUTHORIZED", "SETTLING", "CREATED", "SETTLED", "BOGUS"])
def test_a_review_keeps_the_old_status_in_its_audit_row(reason: ReviewReason, status: str) -> None:
    claimed = a_claim(intent=replace(INTENT, status=status))

    review = concluded(ManualReview(reason, "detail"), claimed=claimed)

    assert isinstance(review, Review)
    assert (review.event_id, review.intent_id) == (EVENT_ID, INTENT_ID)
    assert review.reason is reason
    assert review.last_error == f"{reason}: detail"
    assert review.audit is not None
    assert review.audit.status_from == status
    assert review.audit.status_to is IntentStatus.MANUAL_REVIEW
    assert review.audit.reason == reason
    assert payload_of(review.audit) == {
        "by": "outbox-worker",
        "eventId": 7,
        "action": "post_pending",
        "lastError": f"{reason}: detail",
    }


def test_an_orphan_has_no_status_to_audit() -> None:
    review = concluded(
        ManualReview(ReviewReason.ORPHAN, "x"), claimed=a_claim(intent=None, psp=None)
    )

    assert isinstance(review, Review)
    assert review.audit is None
    assert review.intent_id == INTENT_ID


@pytest.mark.parametrize("reason", ReviewReason)
@pytest.mark.parametrize("orphan", [True, False])
def test_where_giving_up_is_off_a_permanent_fault_is_retried_for_ever(
    reason: ReviewReason, orphan: bool
) -> None:
    claimed = a_claim(
        intent=None if orphan else INTENT,
        retry_count=1_000,
        retry=earlier(1_000, RetryReason.NEEDS_REVIEW, generations=(7, 0)),
    )

    retry = concluded(ManualReview(reason, "detail"), claimed=claimed, policy=NEVER_GIVES_UP)

    assert isinstance(retry, Retry)
    assert retry.reason is RetryReason.NEEDS_REVIEW
    assert retry.last_error == f"needs_review: {reason}: detail"
    assert retry.generations == (7, 0)
    assert retry.delay_ms == 300_000


def test_a_permanent_fault_of_a_first_attempt_has_nothing_to_remember() -> None:
    retry = concluded(
        ManualReview(ReviewReason.ORPHAN, "x"), claimed=a_claim(retry=None), policy=NEVER_GIVES_UP
    )

    assert isinstance(retry, Retry)
    assert retry.generations == ()


hostile = st.text(st.characters(codec=None), max_size=3_000)
verdicts = st.builds(RetryLater, st.sampled_from(RetryReason), hostile) | st.builds(
    ManualReview, st.sampled_from(ReviewReason), hostile
)


@given(verdicts, st.booleans(), st.integers(min_value=0, max_value=20))
def test_an_error_is_written_clean_and_within_bounds(
    verdict: Verdict, gives_up: bool, attempts: int
) -> None:
    claimed = a_claim(retry_count=attempts, retry=earlier(attempts, RetryReason.UNFORESEEN))

    conclusion = concluded(verdict, claimed=claimed, policy=RetryPolicy(gives_up=gives_up))

    assert isinstance(conclusion, Retry | Review)
    assert len(conclusion.last_error) <= 500
    assert conclusion.last_error.isprintable()
    assert gives_up or isinstance(conclusion, Retry)
    if isinstance(conclusion, Review):
        assert payload_of(conclusion.audit)["lastError"] == conclusion.last_error


def test_an_audit_row_leaves_out_what_is_not_known() -> None:
    audit = audit_event(
        a_claim(), INTENT, IntentStatus.SETTLED, reason="why", known=0, unknown=None
    )

    assert audit == AuditEvent(
        status_from="AUTHORIZED",
        status_to=IntentStatus.SETTLED,
        reason="why",
        payload_json='{"by":"outbox-worker","eventId":7,"action":"post_pending","known":0}',
    )
