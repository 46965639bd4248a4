"""Give an event up by hand, unless its money has moved."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from application.errors import RowsRefusedError
from application.ledger_identity import require_own_ledger
from application.ports.ledger import Ledger
from application.ports.operator_store import OperatorStore
from domain.conclusions import Review
from domain.giving_up import give_up_of
from domain.intents import ClaimedEvent, EventId
from domain.moved_money import Moved, ids_to_look_up, moved_of, search_of
from domain.named_events import NamedEvent, NothingToDo, Operator, Refused, unknown
from domain.transfers import AccountId


@dataclass(frozen=True, slots=True, kw_only=True)
class FailEvent:
    """Set a pending event to ``failed`` and its intent to ``MANUAL_REVIEW``, as the worker does.

    ``fee_code`` is the ledger's code of PSP fees, which a search has to name; ``mapped`` are
    accounts that ``pm.tb_account_map`` has, by which a ledger is known to be ours.
    """

    store: OperatorStore
    ledger: Ledger
    fee_code: int
    mapped: Collection[AccountId]

    def plan(self, event_id: EventId, by: Operator) -> Review | NothingToDo | Refused:
        """Return what a call would do, as things are now. Nothing is changed or locked.

        Raises what a call raises, HeldByOthersError excepted.
        """
        named = self.store.read(event_id)
        return unknown(event_id) if named is None else self._decide(named, by)

    def __call__(self, event_id: EventId, by: Operator) -> Review | NothingToDo | Refused:
        """Do it, and return what was done. Idempotent: the second time there is nothing to do.

        The ledger is asked while event and intent are locked, so that no worker moves the money
        meanwhile. What cannot be ruled out is a request that a worker sent before it was
        killed, and that the ledger carries out later.

        Raises:
            HeldByOthersError: a worker or PM is at the intent; nothing is changed.
            LedgerUnavailableError, LedgerMisconfiguredError: nothing is changed.
            DatabaseUnavailableError, DatabaseMisconfiguredError: nothing is changed, unless
                only the news of the commit was lost.
        """
        try:
            with self.store.hold(event_id) as held:
                if held is None:
                    return unknown(event_id)
                decided = self._decide(held.named, by)
                if isinstance(decided, Review):
                    held.give_up(decided)
                return decided
        except RowsRefusedError as error:
            return Refused(f"the database refuses it: {error}")

    def _decide(self, named: NamedEvent, by: Operator) -> Review | NothingToDo | Refused:
        # Where what is written of event and intent decides, the ledger may be away.
        is_open = named.status == "pending" and not named.is_carried_out
        moved = self._moved(named.claimed) if is_open else ()
        return give_up_of(named, moved, by)

    def _moved(self, claimed: ClaimedEvent) -> Sequence[Moved] | None:
        """Return what has moved; None where a search that found nothing had to end early."""
        ids = ids_to_look_up(claimed)
        if not ids:
            return ()
        found = self.ledger.lookup(ids)
        search = search_of(claimed, found, fee_code=self.fee_code)
        if search is None:
            # The ledger of another environment would know of nothing, either.
            require_own_ledger(self.ledger, self.mapped)
            return ()
        answer = self.ledger.find_resolutions(search)
        moved = moved_of(claimed, [*found.values(), *answer.transfers])
        return moved if moved or answer.has_all_resolvers else None
