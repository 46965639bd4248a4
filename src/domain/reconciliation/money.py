"""What became of an intent's frozen money, as far as the ledger was asked.

A pending transfer's record never tells: its resolver does, or the time, where there is none.
Resolvers under the worker's own ids are looked up. Those that others sent have to be searched
for, which costs much more, so a money may be known in part: what looks open may be resolved.
"""

from collections.abc import Set
from dataclasses import replace
from enum import Enum, auto

from domain.charged_fees import FeeAccounts, Fees, by_direction, charged_fees, way_of
from domain.intents import IntentId
from domain.ledger_requests import Found, ResolutionSearch, SearchAnswer
from domain.reconciliation.lookup_ids import LookupIds
from domain.reconciliation.record import IntentRecord
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId, expires_at_ns
from domain.values import value


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
    UNKNOWN = auto()
    """It may be open or resolved: the search for its resolver ended early."""


RELEASED = frozenset({Outcome.VOIDED, Outcome.EXPIRED})
_UNRESOLVED = frozenset({Outcome.OPEN, Outcome.EXPIRED})
"""What has no resolver in the ledger."""
RESOLVED = frozenset({Outcome.POSTED, Outcome.POSTED_IN_PART}) | RELEASED


@value(kw_only=False)
class PendingTransfer:
    """A pending transfer that an intent lists; ``at_ns`` is when it was resolved, if it was.

    ``expires_at_ns`` is None where it never expires; ``timeout_s`` is then 0.

    ``is_of_another``: its resolver has none of the ids that the worker gives at first.
    """

    pending_id: TransferId
    outcome: Outcome
    frozen_satang: int = 0
    posted_satang: int = 0
    at_ns: int | None = None
    expires_at_ns: int | None = None
    is_of_another: bool = False
    timeout_s: int = 0


@value(kw_only=False)
class Money:
    """All of it. False in ``has_all_fees``: there may be fees that were not found."""

    pendings: tuple[PendingTransfer, ...]
    fees: Fees
    has_all_fees: bool = True

    @property
    def is_known(self) -> bool:
        """Did no search end early before it had found what there was?"""
        return self.has_all_fees and Outcome.UNKNOWN not in self.outcomes

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
    answer: SearchAnswer,
    *,
    fee_accounts: FeeAccounts | None,
) -> Money:
    """Return what the *answer* to *search* tells beside *found*.

    *fee_accounts* are those of the intent's fee by the rule, None where they are not known.
    """
    wanted = {pending.id for pending in search.pendings}
    others = {one.pending_id: one for one in answer.transfers if one.pending_id in wanted}
    fees = charged_fees(
        answer.transfers,
        intent_id=search.intent_id,
        fee_code=search.fee_code,
        credit_account_id=search.fee_credit_account_id,
        posts=[one for one in others.values() if _posts(one)],
    )
    resolvers = _ours(sought, found) | others
    way = () if fee_accounts is None else (fee_accounts,)
    money = _money(record, sought, found, resolvers, fees=tuple(fees), ways=way)
    return replace(
        money,
        pendings=tuple(
            one if answer.has_all_resolvers or one.outcome not in _UNRESOLVED else _unknown(one)
            for one in money.pendings
        ),
        has_all_fees=answer.has_all_fees,
    )


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
    ways: tuple[FeeAccounts, ...] = (),
) -> Money:
    our_fee = _our_fee(record.id, sought, found)
    all_fees = {fee.id: fee for fee in (*our_fee, *fees)}
    ours = set(sought.resolving_ids)
    return Money(
        pendings=tuple(
            [
                _pending(id_, found.get(id_), resolvers.get(id_), record, ours)
                for id_ in sought.pending_ids
            ]
        ),
        fees=by_direction(
            sorted(all_fees.values(), key=lambda fee: fee.timestamp_ns),
            # The worker's own says for itself on which way it went.
            (*ways, *map(way_of, our_fee)),
        ),
    )


def _pending(
    pending_id: TransferId,
    pending: Transfer | None,
    resolver: Transfer | None,
    record: IntentRecord,
    ours: Set[TransferId],
) -> PendingTransfer:
    if pending is None or not is_pending(pending):
        return PendingTransfer(pending_id, Outcome.MISSING)
    expires_ns = expires_at_ns(pending)
    if resolver is None:
        if expires_ns is not None and expires_ns <= record.now_ns:
            return PendingTransfer(
                pending_id,
                Outcome.EXPIRED,
                pending.amount,
                at_ns=expires_ns,
                expires_at_ns=expires_ns,
            )
        return PendingTransfer(
            pending_id,
            Outcome.OPEN,
            pending.amount,
            expires_at_ns=expires_ns,
            timeout_s=pending.timeout_s,
        )
    outcome, posted_satang = Outcome.VOIDED, 0
    if _posts(resolver):
        posted_satang = resolver.amount
        in_full = posted_satang == pending.amount
        outcome = Outcome.POSTED if in_full else Outcome.POSTED_IN_PART
    return PendingTransfer(
        pending_id,
        outcome,
        pending.amount,
        posted_satang,
        at_ns=resolver.timestamp_ns,
        expires_at_ns=expires_ns,
        is_of_another=resolver.id not in ours,
    )


def _unknown(pending: PendingTransfer) -> PendingTransfer:
    return replace(pending, outcome=Outcome.UNKNOWN, at_ns=None)


def _ours(sought: LookupIds, found: Found) -> dict[TransferId, Transfer]:
    """Return the worker's own resolvers, each by what it resolved."""
    return {found[id_].pending_id: found[id_] for id_ in sought.resolving_ids if id_ in found}


def _our_fee(intent_id: IntentId, sought: LookupIds, found: Found) -> tuple[Transfer, ...]:
    fee = None if sought.fee_id is None else found.get(sought.fee_id)
    return () if fee is None or fee.user_data_128 != intent_id.int else (fee,)


def _posts(resolver: Transfer) -> bool:
    return TransferFlags.POST_PENDING_TRANSFER in resolver.flags
