"""One create request: its chains, its timestamps, and what is checked before any rule.

The same for accounts and transfers, so it names statuses that both enums have. A single
event counts as a chain of one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Generic, Protocol, TypeVar

from adapters.memory.ledger_state import LedgerState

LINKED: Final = 1
TIMESTAMP_NS_MAX: Final = 2**63 - 1


class Event(Protocol):
    """An account or a transfer to create."""

    @property
    def flags(self) -> int: ...

    @property
    def timestamp_ns(self) -> int: ...


E = TypeVar("E", bound=Event)
S = TypeVar("S", bound=IntEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRules(Generic[E, S]):
    """What differs between creating accounts and creating transfers.

    ``create`` is given the event and its timestamp, and changes nothing unless it answers
    ``CREATED``. ``burn`` is told of the event that broke its chain, after the rollback.
    """

    statuses: type[S]
    imported_flag: int
    create: Callable[[LedgerState, E, int], S]
    burn: Callable[[LedgerState, E, S], None]


def execute(
    state: LedgerState, rules: EventRules[E, S], events: Sequence[E], *, first_ns: int
) -> list[S]:
    """Create *events* as one request and return a status for each, by position.

    The events get consecutive timestamps in ns, beginning with *first_ns*.
    """
    request = _Request(
        state=state,
        rules=rules,
        imported=bool(events) and bool(events[0].flags & rules.imported_flag),
        last_ns=first_ns + len(events) - 1,
    )
    statuses: list[S] = []
    for chain in _chains_of(events):
        statuses += request.execute_chain(chain, first_ns=first_ns + len(statuses))
    return statuses


def _chains_of(events: Sequence[E]) -> Iterator[Sequence[E]]:
    start = 0
    for index, event in enumerate(events):
        if not event.flags & LINKED:
            yield events[start : index + 1]
            start = index + 1
    if start < len(events):
        yield events[start:]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request(Generic[E, S]):
    """The first event decides whether all of the request is an import."""

    state: LedgerState
    rules: EventRules[E, S]
    imported: bool
    last_ns: int

    def execute_chain(self, chain: Sequence[E], *, first_ns: int) -> list[S]:
        """Create all of *chain* or nothing."""
        statuses = self.rules.statuses
        is_open = bool(chain[-1].flags & LINKED)
        for index, event in enumerate(chain):
            if is_open and index == len(chain) - 1:
                status = statuses["LINKED_EVENT_CHAIN_OPEN"]
            else:
                status = self._create(event, first_ns + index)
            if status != statuses["CREATED"]:
                self.state.roll_back()
                self.rules.burn(self.state, event, status)
                answers = [statuses["LINKED_EVENT_FAILED"]] * len(chain)
                if is_open:
                    answers[-1] = statuses["LINKED_EVENT_CHAIN_OPEN"]
                answers[index] = status
                return answers
        self.state.keep()
        return [statuses["CREATED"]] * len(chain)

    def _create(self, event: E, event_ns: int) -> S:
        statuses = self.rules.statuses
        imported = bool(event.flags & self.rules.imported_flag)
        if imported and not self.imported:
            return statuses["IMPORTED_EVENT_NOT_EXPECTED"]
        if self.imported and not imported:
            return statuses["IMPORTED_EVENT_EXPECTED"]
        if not imported and event.timestamp_ns != 0:
            return statuses["TIMESTAMP_MUST_BE_ZERO"]
        if imported and not 1 <= event.timestamp_ns <= TIMESTAMP_NS_MAX:
            return statuses["IMPORTED_EVENT_TIMESTAMP_OUT_OF_RANGE"]
        if imported and event.timestamp_ns >= self.last_ns:
            return statuses["IMPORTED_EVENT_TIMESTAMP_MUST_NOT_ADVANCE"]
        return self.rules.create(self.state, event, event_ns)
