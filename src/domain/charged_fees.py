"""Which transfers of the ledger are an intent's PSP fee, whoever charged it (DESIGN §7).

What the worker (``resolution.fee``) and reconciling (``reconciliation.fee_rules``) go by. The
worker never charges where it finds any such transfer, wherever that went: what was charged and
what was paid back matters only to those who look at the sum.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from domain.intents import IntentId
from domain.transfers import AccountId, Transfer, TransferFlags
from domain.values import value

_TWO_PHASE: Final = (
    TransferFlags.PENDING
    | TransferFlags.POST_PENDING_TRANSFER
    | TransferFlags.VOID_PENDING_TRANSFER
)


@value(kw_only=False)
class FeeAccounts:
    """Where a fee goes from, and where to."""

    debit_account_id: AccountId
    credit_account_id: AccountId
    ledger: int


@value(kw_only=False)
class Fees:
    """An intent's fees, each in order of time.

    ``paid_back`` went the other way. ``elsewhere`` has a fee's marks, and moved between
    accounts that have nothing to do with one.
    """

    charged: tuple[Transfer, ...] = ()
    paid_back: tuple[Transfer, ...] = ()
    elsewhere: tuple[Transfer, ...] = ()

    @property
    def net_satang(self) -> int:
        """What the PSP has kept."""
        return sum([fee.amount for fee in self.charged]) - self.paid_back_satang

    @property
    def paid_back_satang(self) -> int:
        """What it has not."""
        return sum([fee.amount for fee in self.paid_back])


def by_direction(fees: Sequence[Transfer], ways: Sequence[FeeAccounts]) -> Fees:
    """Tell charges among *fees*, in order of time, from what was paid back.

    *ways* are those on which a fee of the intent goes. Where none is known, the first of
    *fees* is taken for a charge, and all others that do not go back for charges too.
    """
    if not fees:
        return Fees()
    known = ways or [way_of(fees[0])]
    charged, paid_back, elsewhere = [], [], []
    for fee in fees:
        if any(_goes(way_back_of(fee), way) for way in known):
            paid_back.append(fee)
        elif not ways or any(_goes(way_of(fee), way) for way in known):
            charged.append(fee)
        else:
            elsewhere.append(fee)
    return Fees(tuple(charged), tuple(paid_back), tuple(elsewhere))


def way_of(fee: Transfer) -> FeeAccounts:
    """Return from where to where *fee* went."""
    return FeeAccounts(fee.debit_account_id, fee.credit_account_id, fee.ledger)


def way_back_of(fee: Transfer) -> FeeAccounts:
    """Return the way of the fee that *fee* pays back."""
    return FeeAccounts(fee.credit_account_id, fee.debit_account_id, fee.ledger)


def _goes(one: FeeAccounts, way: FeeAccounts) -> bool:
    """Does *one* begin or end as *way* does? Either account may have been changed since."""
    return one.ledger == way.ledger and (
        one.debit_account_id == way.debit_account_id
        or one.credit_account_id == way.credit_account_id
    )


def is_fee(transfer: Transfer, *, fee_code: int) -> bool:
    """Is *transfer* a fee, of whatever intent, or one that is paid back?"""
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
        if not is_fee(transfer, fee_code=fee_code):
            continue
        is_beside = (
            transfer.user_data_128 == 0
            and transfer.credit_account_id == credit_account_id
            and transfer.timestamp_ns in just_after
        )
        if is_beside or transfer.user_data_128 == intent_id.int:
            yield transfer
