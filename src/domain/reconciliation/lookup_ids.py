"""Under which ids the ledger may hold what belongs to an intent."""

from collections.abc import Iterator

from domain.intents import Action, IntentStatus
from domain.reconciliation.record import IntentRecord
from domain.transfer_ids import fee_id, resolution_id
from domain.transfers import TransferId
from domain.values import value


@value(kw_only=False)
class LookupIds:
    """Ids to look up: the pending transfers, and what the worker sends for them at first.

    ``fee_id`` is None where nothing was frozen.
    """

    pending_ids: tuple[TransferId, ...]
    resolving_ids: tuple[TransferId, ...]
    fee_id: TransferId | None

    def __iter__(self) -> Iterator[TransferId]:
        yield from self.pending_ids
        yield from self.resolving_ids
        if self.fee_id is not None:
            yield self.fee_id


def lookup_ids_for(record: IntentRecord) -> LookupIds:
    """Return what to look up for *record*; a final intent has one way in which it was resolved."""
    pending_ids = tuple(
        dict.fromkeys([TransferId(id_.int) for id_ in record.tb_transfer_ids if id_ is not None])
    )
    return LookupIds(
        pending_ids=pending_ids,
        resolving_ids=tuple(
            resolution_id(record.id, action, pending_id, generation=0)
            for action in _actions_of(record.status)
            for pending_id in pending_ids
        ),
        fee_id=fee_id(record.id, pending_ids[0], generation=0) if pending_ids else None,
    )


def _actions_of(status: str) -> tuple[Action, ...]:
    if status == IntentStatus.SETTLED:
        return (Action.POST_PENDING,)
    if status == IntentStatus.FAILED:
        return (Action.VOID_PENDING,)
    return tuple(Action)
