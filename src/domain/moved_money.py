"""Which of an intent's pending transfers are posted or voided, whoever did it.

A pending transfer's own record never tells (see ``transfers``): the resolving transfer has to
be found, ours by its id, others by a search.
"""

from collections.abc import Iterable, Mapping, Sequence

from domain.intents import Action, ClaimedEvent
from domain.ledger_requests import ResolutionSearch
from domain.transfer_ids import resolution_id
from domain.transfers import Transfer, TransferFlags, TransferId
from domain.values import value


@value
class Moved:
    """A pending transfer that is no longer open, and the transfer that resolved it."""

    pending_id: TransferId
    action: Action
    amount: int
    by: TransferId

    def __str__(self) -> str:
        done = f"posted ({self.amount} satang)" if self.action is Action.POST_PENDING else "voided"
        return f"pending transfer {self.pending_id:032x} is {done} by transfer {self.by:032x}"


def pending_ids_of(claimed: ClaimedEvent) -> tuple[TransferId, ...]:
    """Return the intent's pending transfers, each once; none for an orphan."""
    ids = claimed.intent.tb_transfer_ids if claimed.intent is not None else ()
    return tuple(dict.fromkeys(TransferId(id_.int) for id_ in ids if id_ is not None))


def ids_to_look_up(claimed: ClaimedEvent) -> tuple[TransferId, ...]:
    """Return the pending transfers, and each id by which we may have resolved one of them.

    Beyond generation 0 there are those that the retry row gives a hint of.
    """
    pending_ids = pending_ids_of(claimed)
    hints = claimed.retry.generations if claimed.retry is not None else ()
    ours = [
        resolution_id(claimed.event.intent_id, action, pending_id, generation=generation)
        for action in Action
        for position, pending_id in enumerate(pending_ids)
        for generation in sorted({0, *hints[position : position + 1]})
    ]
    return (*pending_ids, *ours)


def search_of(
    claimed: ClaimedEvent, found: Mapping[TransferId, Transfer], *, fee_code: int
) -> ResolutionSearch | None:
    """Return the search for who else resolved what of *claimed* is in the ledger."""
    pendings = tuple(found[id_] for id_ in pending_ids_of(claimed) if id_ in found)
    if not pendings:
        return None
    return ResolutionSearch(
        intent_id=claimed.event.intent_id,
        pendings=pendings,
        fee_code=fee_code,
        fee_credit_account_id=None,
    )


def moved_of(claimed: ClaimedEvent, transfers: Iterable[Transfer]) -> Sequence[Moved]:
    """Return what *transfers*, all that were found, have resolved of *claimed*."""
    mine = set(pending_ids_of(claimed))
    moved = {
        transfer.pending_id: Moved(
            pending_id=transfer.pending_id,
            action=action,
            amount=transfer.amount,
            by=transfer.id,
        )
        for transfer in transfers
        if transfer.pending_id in mine and (action := _action_of(transfer)) is not None
    }
    return tuple(moved[id_] for id_ in pending_ids_of(claimed) if id_ in moved)


def _action_of(transfer: Transfer) -> Action | None:
    if TransferFlags.POST_PENDING_TRANSFER in transfer.flags:
        return Action.POST_PENDING
    if TransferFlags.VOID_PENDING_TRANSFER in transfer.flags:
        return Action.VOID_PENDING
    return None
