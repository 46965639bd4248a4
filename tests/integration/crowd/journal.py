"""Every call that the workers make of the ledger: by whom, when, and about which intents.

All clocks are this machine's: the workers' log, Postgres and the journal can be compared.
"""

import itertools
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from adapters.memory.faulty_ledger import FaultyLedger, LedgerCall
from application.ports.ledger import Ledger
from domain.intents import IntentId
from domain.ledger_requests import ResolutionSearch
from domain.transfers import Transfer

_MS: Final = 1_000_000


@dataclass(slots=True)
class Entry:
    """One call; ``end_ns`` is 0 as long as it lasts."""

    worker: str
    call: LedgerCall
    begin_ns: int
    end_ns: int = 0
    intents: frozenset[IntentId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Postponement:
    """A worker has told, after its commit, that it will try an intent's event again."""

    worker: str
    intent_id: IntentId
    told_ns: int
    delay_ms: int


@dataclass(slots=True)
class Journal:
    """Writes down what passes through the ledgers that it gives out.

    ``moment`` is called at each begin and each end, with the worker's name, on its thread.
    """

    moment: Callable[[str], None]
    entries: list[Entry] = field(default_factory=list)
    _open: dict[int, Entry] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ledger_of(self, worker: str, ledger: Ledger) -> FaultyLedger:
        """Return *ledger* as *worker* is to see it."""
        return FaultyLedger(ledger, before=lambda call: self._begin(worker, call), after=self._end)

    def _begin(self, worker: str, call: LedgerCall) -> None:
        entry = Entry(worker, call, begin_ns=time.time_ns())
        with self._lock:
            self.entries.append(entry)
            self._open[id(call)] = entry
        self.moment(worker)

    def _end(self, call: LedgerCall) -> None:
        with self._lock:
            entry = self._open.pop(id(call))
        entry.end_ns = time.time_ns()
        self.moment(entry.worker)

    def by_intent(
        self, intent_of_pending: Mapping[int, IntentId]
    ) -> Mapping[IntentId, Sequence[Entry]]:
        """Return the calls about each intent, in the order of their begin."""
        intent_of_id: dict[int, IntentId] = {}
        for entry in self.entries:
            for transfer in _created(entry.call):
                if (intent_id := _intent_of(transfer, intent_of_pending)) is not None:
                    intent_of_id[transfer.id] = intent_id
        found: dict[IntentId, list[Entry]] = defaultdict(list)
        for entry in sorted(self.entries, key=lambda one: one.begin_ns):
            for intent_id in set(_intents_of(entry.call, intent_of_pending, intent_of_id)):
                found[intent_id].append(entry)
        return found


def overlaps(
    by_intent: Mapping[IntentId, Sequence[Entry]], deaths: Mapping[str, Sequence[int]]
) -> list[str]:
    """Return where two calls about one intent were under way at once.

    What a dead worker had asked is carried out all the same (LEDGER_OUTCOMES §1): such a call
    counts until the death, from when on others may take the intent up.
    """
    return [
        f"intent {intent_id}: {before.worker} and {after.worker}"
        for intent_id, entries in by_intent.items()
        for before, after in itertools.pairwise(entries)
        if after.begin_ns < _held_until(before, deaths)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """What a worker announced after an attempt, and when the intent was taken up again.

    It begins with the write of the attempt, which follows its last ledger call.
    """

    intent_id: IntentId
    attempt_end_ns: int
    delay_ms: int
    next_begin_ns: int


def backoffs(
    by_intent: Mapping[IntentId, Sequence[Entry]], postponements: Collection[Postponement]
) -> list[Backoff]:
    """Return those of *postponements* that can be judged: there are calls before and after."""
    found: list[Backoff] = []
    for one in postponements:
        entries = by_intent.get(one.intent_id, ())
        ends = [
            entry.end_ns
            for entry in entries
            if entry.worker == one.worker and entry.end_ns <= one.told_ns
        ]
        begins = [entry.begin_ns for entry in entries if ends and entry.begin_ns >= ends[-1]]
        if begins:
            found.append(
                Backoff(
                    intent_id=one.intent_id,
                    attempt_end_ns=ends[-1],
                    delay_ms=one.delay_ms,
                    next_begin_ns=begins[0],
                )
            )
    return found


def too_early(backoffs: Collection[Backoff]) -> list[str]:
    """Return which were cut short, or announced twice for one attempt."""
    cut = [
        f"intent {one.intent_id}: {early_ms} ms of {one.delay_ms} too early"
        for one in backoffs
        if (early_ms := one.delay_ms - (one.next_begin_ns - one.attempt_end_ns) // _MS) > 0
    ]
    attempts = Counter((one.intent_id, one.attempt_end_ns) for one in backoffs)
    return cut + [
        f"intent {intent_id}: two attempts at once"
        for (intent_id, _), count in attempts.items()
        if count > 1
    ]


def largest_request(entries: Collection[Entry]) -> int:
    """Return how many events there were at most in one call."""
    return max(len(entry.call.argument) for entry in entries if _created(entry.call))


def _held_until(entry: Entry, deaths: Mapping[str, Sequence[int]]) -> int:
    died = [ns for ns in deaths.get(entry.worker, ()) if ns >= entry.begin_ns]
    ends = [*died[:1], *([entry.end_ns] if entry.end_ns else [])]
    return min(ends, default=time.time_ns())


def _created(call: LedgerCall) -> list[Transfer]:
    if call.method != "create_chains":
        return []
    chains: Collection[object] = call.argument
    return [
        transfer
        for chain in chains
        if isinstance(chain, tuple)
        for transfer in chain
        if isinstance(transfer, Transfer)
    ]


def _intent_of(transfer: Transfer, intent_of_pending: Mapping[int, IntentId]) -> IntentId | None:
    if transfer.user_data_128:  # a fee
        return IntentId(UUID(int=transfer.user_data_128))
    return intent_of_pending.get(transfer.pending_id)


def _intents_of(
    call: LedgerCall,
    intent_of_pending: Mapping[int, IntentId],
    intent_of_id: Mapping[int, IntentId],
) -> Iterator[IntentId]:
    for transfer in _created(call):
        if (intent_id := _intent_of(transfer, intent_of_pending)) is not None:
            yield intent_id
    if call.method == "lookup":
        for id_ in call.argument:
            if isinstance(id_, int) and id_ in intent_of_id:
                yield intent_of_id[id_]
    if call.method == "find_resolutions":
        search = call.argument
        assert isinstance(search, ResolutionSearch)
        yield search.intent_id
