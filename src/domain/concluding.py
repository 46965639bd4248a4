"""Turn the verdict on an event into what is written and who is told."""

from typing import Final, assert_never

from domain.audit import audit_event
from domain.conclusions import Acknowledge, Conclusion, Retry, Review, Settle
from domain.fees import FeeRule
from domain.intents import Action, ClaimedEvent, IntentStatus
from domain.notifications import notifications_for
from domain.planning import Task
from domain.retry import Jitter, RetryPolicy
from domain.sanitising import sanitise
from domain.settlement import settlement_lines
from domain.values import value
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, ReviewReason, Verdict

DEFAULT_FAILURE_REASON: Final = "PSP payment voided"


@value
class Rules:
    """The settings that conclusions depend on."""

    fee: FeeRule
    retry: RetryPolicy
    jitter: Jitter


def conclude(
    claimed: ClaimedEvent, task: Task | None, verdict: Verdict, rules: Rules
) -> Conclusion:
    """Return what to write for *verdict*; *task* is None where the event made no sense."""
    match verdict:
        case Done():
            if task is None:
                raise ValueError("an event that makes no sense cannot be done")
            return _conclude_done(claimed, task, verdict, rules)
        case RetryLater():
            return _conclude_retry(claimed, verdict, rules)
        case ManualReview():
            return _conclude_review(claimed, verdict, rules)
        case _:
            assert_never(verdict)


def _conclude_done(
    claimed: ClaimedEvent, task: Task, done: Done, rules: Rules
) -> Settle | Acknowledge:
    if task.already_final:
        return Acknowledge(event_id=claimed.event.id, intent_id=task.intent.id)
    if task.action is Action.POST_PENDING:
        return _settled(claimed, task, done, rules)
    return _failed(claimed, task)


def _settled(claimed: ClaimedEvent, task: Task, done: Done, rules: Rules) -> Settle:
    intent, psp, status = task.intent, claimed.psp, IntentStatus.SETTLED
    return Settle(
        event_id=claimed.event.id,
        intent_id=intent.id,
        status=status,
        to_name=psp.receiver_display_name if psp else None,
        settlement_date=psp.settlement_date if psp else None,
        failure_reason=None,
        currency=intent.currency,
        history=settlement_lines(
            amount_satang=intent.amount_satang,
            splits=task.splits,
            psp_fee_satang=done.fee_satang,
            psp_fee_account=rules.fee.codes_for(intent, psp)[1] if psp else None,
        ),
        audit=audit_event(
            claimed,
            intent,
            status,
            reason=task.action,
            pspFeeSatang=done.fee_satang,
            resolvedElsewhere=done.resolved_elsewhere or None,
        ),
        jobs=notifications_for(intent, status, trace_hint=claimed.event.payload_json),
    )


def _failed(claimed: ClaimedEvent, task: Task) -> Settle:
    intent, psp, status = task.intent, claimed.psp, IntentStatus.FAILED
    # An empty error tells nobody anything, so it is as good as none.
    failure_reason = (psp.last_error if psp else None) or DEFAULT_FAILURE_REASON
    return Settle(
        event_id=claimed.event.id,
        intent_id=intent.id,
        status=status,
        to_name=None,
        settlement_date=None,
        failure_reason=failure_reason,
        currency=intent.currency,
        history=(),
        audit=audit_event(
            claimed, intent, status, reason=task.action, failureReason=sanitise(failure_reason)
        ),
        jobs=notifications_for(intent, status, trace_hint=claimed.event.payload_json),
    )


def _conclude_retry(claimed: ClaimedEvent, verdict: RetryLater, rules: Rules) -> Retry | Review:
    policy, event = rules.retry, claimed.event
    limit = policy.attempts_limit(verdict.reason)
    earlier = _attempts_so_far(claimed, verdict.reason)
    attempts = earlier if limit is None else earlier + 1
    if limit is not None and attempts >= limit:
        return _review(
            claimed,
            ReviewReason.ATTEMPTS_EXHAUSTED,
            f"gave up after {attempts} attempts; {verdict.reason}: {verdict.detail}",
        )
    return Retry(
        event_id=event.id,
        intent_id=event.intent_id,
        reason=verdict.reason,
        last_error=sanitise(f"{verdict.reason}: {verdict.detail}"),
        delay_ms=policy.backoff.delay_ms(event.retry_count, rules.jitter),
        attempts=attempts,
        generations=verdict.generations,
    )


def postpone(claimed: ClaimedEvent, detail: str, rules: Rules) -> Retry:
    """Return the longest backoff, not counted as an attempt.

    For an event whose other conclusions the database refuses: it must not stay at the head.
    """
    retry = claimed.retry
    return Retry(
        event_id=claimed.event.id,
        intent_id=claimed.event.intent_id,
        reason=RetryReason.UNFORESEEN,
        last_error=sanitise(detail),
        delay_ms=rules.retry.backoff.max_ms,
        attempts=0 if retry is None else retry.attempts,
        generations=() if retry is None else retry.generations,
    )


def _attempts_so_far(claimed: ClaimedEvent, reason: RetryReason) -> int:
    """Return how many failures in a row there were for *reason*."""
    retry = claimed.retry
    # retry_count 0 is how the sources re-enqueue by hand: the count starts anew.
    if retry is None or retry.reason != reason or claimed.event.retry_count == 0:
        return 0
    return retry.attempts


def _conclude_review(claimed: ClaimedEvent, verdict: ManualReview, rules: Rules) -> Retry | Review:
    detail = f"{verdict.reason}: {verdict.detail}"
    if rules.retry.gives_up:
        return _review(claimed, verdict.reason, detail)
    generations = claimed.retry.generations if claimed.retry is not None else ()
    return _conclude_retry(
        claimed, RetryLater(RetryReason.NEEDS_REVIEW, detail, generations), rules
    )


def _review(claimed: ClaimedEvent, reason: ReviewReason, detail: str) -> Review:
    last_error = sanitise(detail)
    intent = claimed.intent
    return Review(
        event_id=claimed.event.id,
        intent_id=claimed.event.intent_id,
        reason=reason,
        last_error=last_error,
        audit=None
        if intent is None
        else audit_event(
            claimed, intent, IntentStatus.MANUAL_REVIEW, reason=reason, lastError=last_error
        ),
    )
