"""The worker's own charging: the PSP fee of a chain that is posted, once, or find who did."""

from collections.abc import Sequence
from typing import assert_never

from domain.charged_fees import charged_fees
from domain.fees import Fee
from domain.ledger_requests import ChainRefused, ResolutionSearch
from domain.outcomes import FeeOutcome, fee_outcome
from domain.resolution.order import Order
from domain.resolution.progress import Progress, Steps, create, find, look_up
from domain.transfer_builders import build_fee_transfer
from domain.transfer_status import AnyStatus
from domain.transfers import Transfer
from domain.verdicts import Done, RetryLater, RetryReason, Verdict


def find_charged_fee(progress: Progress) -> Steps[Transfer | RetryLater | None]:
    """Find a fee that carries the intent's id, whoever charged it; None when there is none.

    The original worker charges it beside its chain: also if the chain fails, and also if it
    finds the chain posted by an earlier attempt of ours.
    """
    order = progress.order
    search = ResolutionSearch(
        intent_id=order.intent_id,
        pendings=(),
        fee_code=order.fee_code,
        fee_credit_account_id=None,
    )
    answer = yield from find(search)
    fee = fee_beside((), answer.transfers, order)
    if fee is None and not answer.has_all_fees:
        return progress.retry_fee_search()
    return fee


def charge_fee(progress: Progress, fee: Fee) -> Steps[Verdict]:
    """Charge the fee of a posted chain. Whatever happens here, the post stands."""
    order = progress.order
    while True:
        transfer = build_fee_transfer(
            order.intent_id, fee, order.pending_ids[0], generation=progress.fee_generation
        )
        answer = yield from create([transfer])
        if isinstance(answer, ChainRefused):
            return progress.retry(RetryReason.FEE_REFUSED, f"psp fee: {answer.detail}")
        [status] = answer
        outcome = fee_outcome(status)
        match outcome:
            case FeeOutcome.CHARGED:
                return Done(fee.amount_satang)
            case FeeOutcome.LOOK_UP:
                yield from look_up(progress)
                if progress.fee_found is not None:
                    return Done(progress.fee_found.amount)
                return progress.retry(RetryReason.FEE_REFUSED, _fee_detail(status))
            case FeeOutcome.ID_BURNED:
                progress.fee_generation += 1
                if not progress.may_take_next_id():
                    return progress.retry(RetryReason.FEE_REFUSED, _fee_detail(status))
            case FeeOutcome.REFUSED_FOR_NOW:
                return progress.retry(RetryReason.FEE_REFUSED, _fee_detail(status))
            case _:
                assert_never(outcome)


def fee_beside(
    posts: Sequence[Transfer], related: Sequence[Transfer], order: Order
) -> Transfer | None:
    """Return the fee that was charged along with *posts* by somebody else (DESIGN §7)."""
    fees = charged_fees(
        related,
        intent_id=order.intent_id,
        fee_code=order.fee_code,
        credit_account_id=None if order.fee is None else order.fee.credit_account_id,
        posts=posts,
    )
    return next(fees, None)


def _fee_detail(status: AnyStatus) -> str:
    return f"psp fee: {status.name.lower()}"
