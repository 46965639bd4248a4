"""What became of an intent's frozen money, as far as the ledger was asked.

A pending transfer's record never tells: its resolver does, or the time, where there is none.
Resolvers under the worker's own ids are looked up. Those that others sent have to be searched
for, which costs much more, so a money may be known in part: what looks open may be resolved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from domain.charged_fees import charged_fees
from domain.intents import IntentId
from domain.ledger_requests import Found, ResolutionSearch
from domain.reconciliation.lookup_ids import LookupIds
from domain.reconciliation.record import IntentRecord
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId, expires_at_ns


class Outcome(Enum):
    """What became of a pending transfer."""

    OPEN = auto()
    POSTED = auto()
    """In full."""
    POSTED_IN_PART = auto()
    """The rest, perhaps all of it, was released."""
    VOIDED = auto()
    EXPIRED = auto()
    MISSING = auto()
    """The ledger does not have it, or it froze nothing."""


RELEASED = frozenset({Outcome.VOIDED, Outcome.EXPIRED})
RESOLVED = frozenset({Outcome.POSTED, Outcome.POSTED_IN_PART}) | RELEASED


@dataclass(frozen=True, slots=True)
class PendingTransfer:
    """A pending transfer that an intent lists; ``at_ns`` is when it was resolved, if it was."""

    pending_id: TransferId
    outcome: Outcome
    frozen_satang: int = 0
    posted_satang: int = 0
    at_ns: int | None = None
    expires_at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Money:
    """All of it. ``fees`` are in order of time."""

    pendings: tuple[PendingTransfer, ...]
    fees: tuple[Transfer, ...]

    @property
    def outcomes(self) -> frozenset[Outcome]:
        """What became of the pending transfers, each once; empty where nothing was frozen."""
        return frozenset([one.outcome for one in self.pendings])

    def satang_of(self, *outcomes: Outcome) -> int:
        """Return how much was frozen by those of *outcomes*."""
        return sum([one.frozen_satang for one in self.pendings if one.outcome in outcomes])

    @property
    def frozen_satang(self) -> int:
        """What was frozen at first."""
        return sum([one.frozen_satang for one in self.pendings])

    @property
    def posted_satang(self) -> int:
        """What has moved, fees aside."""
        return sum([one.posted_satang for one in self.pendings])


def money_known(record: IntentRecord, sought: LookupIds, found: Found) -> Money:
    """Return what *found*, the answer to a look-up of *sought*, tells."""
    return _money(record, sought, found, _ours(sought, found), fees=())


def search_for(
    record: IntentRecord,
    sought: LookupIds,
    found: Found,
    *,
    fee_code: int,
    fee_account_id: AccountId | None,
) -> ResolutionSearch:
    """Return the search for what others did; what the worker did itself is known."""
    ours = _ours(sought, found)
    pendings = (found.get(id_) for id_ in sought.pending_ids if id_ not in ours)
    return ResolutionSearch(
        intent_id=record.id,
        pendings=tuple(one for one in pendings if one is not None and is_pending(one)),
        fee_code=fee_code,
        fee_credit_account_id=fee_account_id,
    )


def money_searched(
    record: IntentRecord,
    sought: LookupIds,
    found: Found,
    search: ResolutionSearch,
    related: Sequence[Transfer],
) -> Money:
    """Return what *related*, the answer to *search*, tells beside *found*."""
    wanted = {pending.id for pending in search.pendings}
    others = {one.pending_id: one for one in related if one.pending_id in wanted}
    fees = charged_fees(
        related,
        intent_id=search.intent_id,
        fee_code=search.fee_code,
        credit_account_id=search.fee_credit_account_id,
        posts=[one for one in others.values() if _posts(one)],
    )
    resolvers = _ours(sought, found) | others
    return _money(record, sought, found, resolvers, fees=tuple(fees))


def is_pending(transfer: Transfer) -> bool:
    """Did *transfer* freeze money?"""
    return TransferFlags.PENDING in transfer.flags


def _money(
    record: IntentRecord,
    sought: LookupIds,
    found: Found,
    resolvers: Found,
    *,
    fees: tuple[Transfer, ...],
) -> Money:
    charged = {fee.id: fee for fee in (*_our_fee(record.id, sought, found), *fees)}
    return Money(
        pendings=tuple(
            [
                _pending(id_, found.get(id_), resolvers.get(id_), record)
                for id_ in sought.pending_ids
            ]
        ),
        fees=tuple(sorted(charged.values(), key=lambda fee: fee.timestamp_ns)),
    )


def _pending(
    pending_id: TransferId,
    pending: Transfer | None,
    resolver: Transfer | None,
    record: IntentRecord,
) -> PendingTransfer:
    if pending is None or not is_pending(pending):
        return PendingTransfer(pending_id, Outcome.MISSING)
    expires_ns = expires_at_ns(pending)
    if resolver is None:
        if expires_ns is not None and expires_ns <= record.now_ns:
            return PendingTransfer(
                pending_id, Outcome.EXPIRED, pending.amount, 0, expires_ns, expires_ns
            )
        return PendingTransfer(pending_id, Outcome.OPEN, pending.amount, 0, None, expires_ns)
    at_ns = resolver.timestamp_ns
    if not _posts(resolver):
        return PendingTransfer(pending_id, Outcome.VOIDED, pending.amount, 0, at_ns, expires_ns)
    outcome = Outcome.POSTED if resolver.amount == pending.amount else Outcome.POSTED_IN_PART
    return PendingTransfer(pending_id, outcome, pending.amount, resolver.amount, at_ns, expires_ns)


def _ours(sought: LookupIds, found: Found) -> dict[TransferId, Transfer]:
    """Return the worker's own resolvers, each by what it resolved."""
    return {found[id_].pending_id: found[id_] for id_ in sought.resolving_ids if id_ in found}


def _our_fee(intent_id: IntentId, sought: LookupIds, found: Found) -> tuple[Transfer, ...]:
    fee = None if sought.fee_id is None else found.get(sought.fee_id)
    return () if fee is None or fee.user_data_128 != intent_id.int else (fee,)


def _posts(resolver: Transfer) -> bool:
    return TransferFlags.POST_PENDING_TRANSFER in resolver.flags
