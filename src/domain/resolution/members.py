"""Resolve the members of the chain: ours, somebody else's, and those still open."""

from collections.abc import Sequence
from typing import assert_never

from domain.intents import Action
from domain.ledger_requests import ChainRefused, ResolutionSearch
from domain.outcomes import ChainOutcome, chain_outcome, culprit_of
from domain.resolution.fee import fee_beside
from domain.resolution.progress import Member, Progress, Steps, create, find, look_up
from domain.transfer_builders import resolving_flag
from domain.transfer_status import AnyStatus
from domain.transfers import Transfer, TransferFlags, TransferId
from domain.verdicts import ManualReview, RetryLater, RetryReason, ReviewReason


def resolve_members(progress: Progress) -> Steps[RetryLater | ManualReview | None]:
    """Send the open members as one chain until none is left; None when none is."""
    order = progress.order
    # Ends: each round resolves a member, walks past one of so many burned ids, or is the last.
    while members := progress.open_members():
        answer = yield from create([member.transfer(order) for member in members])
        if isinstance(answer, ChainRefused):
            return ManualReview(ReviewReason.LEDGER_REFUSED, answer.detail)
        culprit = culprit_of(answer)
        if culprit is None:
            return None
        position, status = culprit
        failure = yield from _learn(progress, members[position], status)
        if failure is not None:
            return failure
    return None


def _learn(
    progress: Progress, culprit: Member, status: AnyStatus
) -> Steps[RetryLater | ManualReview | None]:
    """Act on why a chain failed; None when the remaining members can be sent again."""
    detail = f"pending transfer {culprit.pending_id:032x}: {status.name.lower()}"
    outcome = chain_outcome(status, progress.order.action)
    match outcome:
        case ChainOutcome.FREE:
            culprit.resolved = True
            return None
        case ChainOutcome.ID_BURNED:
            return _take_next_id(progress, culprit, detail)
        case ChainOutcome.LOOK_UP:
            return (yield from _look_up_ours(progress, culprit, detail))
        case ChainOutcome.RESOLVED_ELSEWHERE:
            return (yield from _find_posts(progress, culprit, detail))
        case ChainOutcome.NOT_FOUND:
            return progress.retry(RetryReason.PENDING_TRANSFER_NOT_FOUND, detail)
        case ChainOutcome.REFUSED_FOR_NOW:
            return progress.retry(RetryReason.LEDGER_REFUSED, detail)
        case ChainOutcome.MONEY_GONE:
            return ManualReview(ReviewReason.MONEY_ALREADY_POSTED, detail)
        case ChainOutcome.MONEY_RELEASED:
            return ManualReview(ReviewReason.MONEY_ALREADY_RELEASED, detail)
        case ChainOutcome.INVALID | ChainOutcome.CREATED:
            return ManualReview(ReviewReason.LEDGER_REFUSED, detail)
        case _:
            assert_never(outcome)


def _take_next_id(progress: Progress, culprit: Member, detail: str) -> RetryLater | None:
    culprit.generation += 1
    if progress.may_take_next_id():
        return None
    return progress.retry(RetryReason.IDS_BURNED, f"{detail}, {progress.burned_ids} in a row")


def _look_up_ours(
    progress: Progress, culprit: Member, detail: str
) -> Steps[RetryLater | ManualReview | None]:
    """Mark the members that an earlier attempt resolved, each confirmed by its record."""
    found = yield from look_up(progress)
    for member in progress.open_members():
        ours = found.get(member.transfer(progress.order).id)
        if ours is None:
            continue
        if not _is_as_meant(ours, found.get(member.pending_id), member, progress.order.action):
            return ManualReview(ReviewReason.DIFFERENT_TRANSFER_EXISTS, detail)
        member.resolved = progress.is_replay = True
    if not culprit.resolved:
        return progress.retry(RetryReason.RESOLUTION_NOT_FOUND, f"{detail}, yet not found")
    return None


def _find_posts(
    progress: Progress, culprit: Member, detail: str
) -> Steps[RetryLater | ManualReview | None]:
    """Mark the members that were posted, in full, by an id that is not ours."""
    order = progress.order
    found = yield from look_up(progress)
    pendings = [
        found[member.pending_id] for member in progress.members if member.pending_id in found
    ]
    answer = yield from find(
        ResolutionSearch(
            intent_id=order.intent_id,
            pendings=tuple(pendings),
            fee_code=order.fee_code,
            fee_credit_account_id=order.fee.credit_account_id if order.fee else None,
        )
    )
    ours = {member.transfer(order).id for member in progress.members}
    for member in progress.open_members():
        post = _resolver_of(member.pending_id, answer.transfers)
        if post is None:
            continue
        if not _is_as_meant(post, found.get(member.pending_id), member, order.action):
            return ManualReview(_why_not_as_meant(post), detail)
        member.resolved = True
        if post.id not in ours:
            progress.resolved_elsewhere.append(post)
    if not culprit.resolved:
        ended = "" if answer.has_all_resolvers else ": the search ended early"
        detail = f"{detail}, by whom is not found{ended}"
        return progress.retry(RetryReason.RESOLUTION_NOT_FOUND, detail)
    if progress.fee_found is None:
        progress.fee_found = fee_beside(progress.resolved_elsewhere, answer.transfers, order)
    progress.has_all_fees = answer.has_all_fees
    return None


def _is_as_meant(
    resolver: Transfer, pending: Transfer | None, member: Member, action: Action
) -> bool:
    """Does *resolver* do what our transfer would: this action, this pending one, in full?"""
    return (
        pending is not None
        and resolving_flag(action) in resolver.flags
        and resolver.pending_id == member.pending_id
        and resolver.amount == pending.amount
    )


def _resolver_of(pending_id: TransferId, related: Sequence[Transfer]) -> Transfer | None:
    for transfer in related:
        if transfer.pending_id == pending_id:
            return transfer
    return None


def _why_not_as_meant(resolver: Transfer) -> ReviewReason:
    if TransferFlags.VOID_PENDING_TRANSFER in resolver.flags:
        return ReviewReason.MONEY_ALREADY_RELEASED
    return ReviewReason.POSTED_IN_PART
