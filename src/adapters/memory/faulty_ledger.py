"""A ledger whose calls fail, lose their answer or hang, as a test asks for."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from application.errors import LedgerUnavailableError
from application.ports.ledger import Ledger
from domain.ledger_requests import ChainAnswer, ResolutionSearch, SearchAnswer
from domain.transfers import Account, AccountId, Transfer, TransferId

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class LedgerCall:
    """One call: the port's method and what it was given."""

    method: str
    argument: Any


Hook = Callable[[LedgerCall], None]


def do_nothing(_call: LedgerCall) -> None:
    """The hook of a healthy ledger."""


def unavailable(*, times: int) -> Hook:
    """Return a hook that raises ``LedgerUnavailableError`` for the first *times* calls.

    As ``before`` the calls fail; as ``after`` they are carried out and their answers lost.
    """
    earlier_calls = itertools.count()

    def raise_for_a_while(call: LedgerCall) -> None:
        if next(earlier_calls) < times:
            raise LedgerUnavailableError(f"{call.method}: no answer")

    return raise_for_a_while


@dataclass(slots=True)
class FaultyLedger:
    """Implements the port ``Ledger`` on top of another one.

    ``before`` and ``after`` run around each call; what they raise, the caller gets, and
    while they block (on a ``threading.Event``, say) the call hangs. ``calls`` has every
    call in order, from before its ``before``. While ``searches_end_early``, they end before
    they have found anything.
    """

    ledger: Ledger
    before: Hook = do_nothing
    after: Hook = do_nothing
    searches_end_early: bool = False
    calls: list[LedgerCall] = field(default_factory=list)

    def create_chains(self, chains: Sequence[tuple[Transfer, ...]]) -> Sequence[ChainAnswer]:
        """See the port."""
        return self._call("create_chains", self.ledger.create_chains, chains)

    def lookup(self, ids: Sequence[TransferId]) -> Mapping[TransferId, Transfer]:
        """See the port."""
        return self._call("lookup", self.ledger.lookup, ids)

    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        """See the port."""
        answer = self._call("find_resolutions", self.ledger.find_resolutions, search)
        if self.searches_end_early:
            return SearchAnswer((), has_all_resolvers=not search.pendings, has_all_fees=False)
        return answer

    def lookup_accounts(self, ids: Collection[AccountId]) -> Mapping[AccountId, Account]:
        """See the port."""
        return self._call("lookup_accounts", self.ledger.lookup_accounts, ids)

    def close(self) -> None:
        """See the port."""
        self.ledger.close()

    def _call(self, method: str, carry_out: Callable[[A], R], argument: A) -> R:
        call = LedgerCall(method, argument)
        self.calls.append(call)
        self.before(call)
        answer = carry_out(argument)
        self.after(call)
        return answer
