"""Decide what an event asks of the ledger, before anything is sent.

Every fault that can be seen beforehand is judged here, so that no call is made for an
event that could never be finished.
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from domain.fees import AccountCode, Fee, FeeRule, MappedAccount, UnmappedFee, fee_of
from domain.intents import Action, ClaimedEvent, Intent, IntentStatus
from domain.payloads import FeeSplit, InvalidPayloadError, parse_fee_splits
from domain.resolution import Order
from domain.transfers import TransferId
from domain.values import value
from domain.verdicts import Done, ManualReview, RetryLater, RetryReason, ReviewReason, Verdict

# To make an enum's member of its value takes as long as all the rest of judging.
_ACTIONS: Final[Mapping[str, Action]] = {action.value: action for action in Action}
_STATUSES: Final[Mapping[str, IntentStatus]] = {status.value: status for status in IntentStatus}


@value
class Task:
    """An event that makes sense: carry *action* out on *intent*.

    ``already_final``: the intent agrees already; its transfers are resolved all the same,
    everything else is left alone (DESIGN §7).
    """

    action: Action
    intent: Intent
    already_final: bool
    splits: tuple[FeeSplit, ...]


def judge_event(claimed: ClaimedEvent) -> Task | ManualReview:
    """Return what the event means, or why only a person can tell."""
    event, intent = claimed.event, claimed.intent
    action = _ACTIONS.get(event.action)
    if action is None:
        return ManualReview(ReviewReason.UNKNOWN_ACTION, f"action {event.action!r}")
    if intent is None:
        return ManualReview(ReviewReason.ORPHAN, f"there is no intent {event.intent_id}")
    status = _STATUSES.get(intent.status)
    match status:
        case None:
            return ManualReview(ReviewReason.UNKNOWN_INTENT_STATUS, f"intent is {intent.status!r}")
        case IntentStatus.AUTHORIZED | IntentStatus.SETTLING:
            return _judge_payload(claimed, action, intent)
        case IntentStatus.SETTLED | IntentStatus.FAILED if intent.status == action.final_status:
            return Task(action=action, intent=intent, already_final=True, splits=())
        case IntentStatus.SETTLED | IntentStatus.FAILED:
            return ManualReview(
                ReviewReason.STATUS_CONTRADICTS, f"{action} of an intent that is {intent.status}"
            )
        case IntentStatus.CREATED | IntentStatus.MANUAL_REVIEW:
            return ManualReview(ReviewReason.INTENT_NOT_AUTHORIZED, f"intent is {intent.status}")


def _judge_payload(claimed: ClaimedEvent, action: Action, intent: Intent) -> Task | ManualReview:
    if intent.amount_satang < 0:
        return ManualReview(
            ReviewReason.INVALID_AMOUNT, f"the intent's amount is {intent.amount_satang} satang"
        )
    try:
        splits = parse_fee_splits(claimed.event.payload_json, amount_satang=intent.amount_satang)
    except InvalidPayloadError as error:
        return ManualReview(ReviewReason.INVALID_PAYLOAD, str(error))
    return Task(action=action, intent=intent, already_final=False, splits=splits)


def fee_codes(claimed: ClaimedEvent, task: Task, rule: FeeRule) -> tuple[AccountCode, ...]:
    """Return the account codes that ``plan`` needs for *task*."""
    psp = claimed.psp
    if psp is None or not _charges_fee(task):
        return ()
    return rule.codes_for(task.intent, psp)


def plan(
    claimed: ClaimedEvent,
    task: Task,
    *,
    rule: FeeRule,
    accounts: Mapping[AccountCode, MappedAccount],
) -> Order | Verdict:
    """Return what to resolve, or the verdict where the ledger need not be asked.

    Raises nothing; *accounts* holds what ``pm.tb_account_map`` has of ``fee_codes``.
    """
    pending_ids = _pending_ids(task.intent.tb_transfer_ids)
    if isinstance(pending_ids, ManualReview):
        return pending_ids
    if not pending_ids:
        if task.action is Action.VOID_PENDING or task.already_final:
            return Done()
        return ManualReview(ReviewReason.NO_TRANSFERS, "nothing was frozen for this intent")
    fee: Fee | UnmappedFee | None = None
    if _charges_fee(task):
        fee = fee_of(task.intent, claimed.psp, rule=rule, accounts=accounts)
    if isinstance(fee, UnmappedFee):
        return RetryLater(RetryReason.FEE_ACCOUNT_UNMAPPED, fee.detail, _generations(claimed))
    return Order(
        intent_id=task.intent.id,
        action=task.action,
        pending_ids=pending_ids,
        fee=fee,
        fee_code=rule.transfer_code,
        fee_wanted=_charges_fee(task),
        fee_may_exist=claimed.event.retry_count > 0,
        generations=_generations(claimed),
    )


def _charges_fee(task: Task) -> bool:
    return task.action is Action.POST_PENDING and not task.already_final


def _generations(claimed: ClaimedEvent) -> tuple[int, ...]:
    return claimed.retry.generations if claimed.retry is not None else ()


def _pending_ids(ids: tuple[UUID | None, ...]) -> tuple[TransferId, ...] | ManualReview:
    known = [TransferId(pending_id.int) for pending_id in ids if pending_id is not None]
    if len(known) < len(ids):
        return ManualReview(ReviewReason.INVALID_TRANSFER_IDS, "tb_transfer_ids has a NULL")
    if len(set(known)) < len(known):
        # In one chain the second of them would look "already posted" and undo the first.
        return ManualReview(ReviewReason.INVALID_TRANSFER_IDS, "tb_transfer_ids repeats an id")
    return tuple(known)
