"""Which transfers of the ledger are an intent's PSP fee, whoever charged it (DESIGN §7).

What the worker (``resolution.fee``) and reconciling (``reconciliation.fee_rules``) go by.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from domain.intents import IntentId
from domain.transfers import AccountId, Transfer, TransferFlags

_TWO_PHASE: Final = (
    TransferFlags.PENDING
    | TransferFlags.POST_PENDING_TRANSFER
    | TransferFlags.VOID_PENDING_TRANSFER
)


def is_charge(transfer: Transfer, *, fee_code: int) -> bool:
    """Did *transfer* charge a fee, of whatever intent?"""
    return transfer.code == fee_code and not transfer.flags & _TWO_PHASE


def charged_fees(
    related: Iterable[Transfer],
    *,
    intent_id: IntentId,
    fee_code: int,
    credit_account_id: AccountId | None,
    posts: Iterable[Transfer],
) -> Iterator[Transfer]:
    """Yield those of *related* that are the fee of an intent, in their order.

    A fee carries the intent's id, or it carries none and credits the fee's account at the
    next timestamp after one of *posts*, which somebody else sent: timestamps within one
    request are consecutive, and two requests are never that close.
    """
    just_after = {post.timestamp_ns + 1 for post in posts}
    for transfer in related:
        if not is_charge(transfer, fee_code=fee_code):
            continue
        is_beside = (
            transfer.user_data_128 == 0
            and transfer.credit_account_id == credit_account_id
            and transfer.timestamp_ns in just_after
        )
        if is_beside or transfer.user_data_128 == intent_id.int:
            yield transfer
