"""A ledger whose calls fail, lose their answer or hang, as a test asks for."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from application.errors import LedgerUnavailableError
from application.ports.ledger import Ledger
from domain.ledger_requests import ChainAnswer, ResolutionSearch
from domain.transfers import Account, AccountId, Transfer, TransferId

A = TypeVar("A", bound=Collection[object])
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class LedgerCall:
    """One call: the port's method and what it was given."""

    method: str
    argument: Collection[object]


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
    call in order, from before its ``before``.
    """

    ledger: Ledger
    before: Hook = do_nothing
    after: Hook = do_nothing
    calls: list[LedgerCall] = field(default_factory=list)

    def create_chains(self, chains: Sequence[tuple[Transfer, ...]]) -> Sequence[ChainAnswer]:
        """See the port."""
        return self._call("create_chains", self.ledger.create_chains, chains)

    def lookup(self, ids: Sequence[TransferId]) -> Mapping[TransferId, Transfer]:
        """See the port."""
        return self._call("lookup", self.ledger.lookup, ids)

    def find_resolutions(
        self, searches: Sequence[ResolutionSearch]
    ) -> Sequence[tuple[Transfer, ...]]:
        """See the port."""
        return self._call("find_resolutions", self.ledger.find_resolutions, searches)

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
