"""Run a ledger program on a ledger and gather all that the ledger answers."""

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar
from uuid import UUID

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.ledger_account_status import AccountStatus
from domain.intents import IntentId
from domain.ledger_requests import ResolutionSearch, SearchAnswer
from domain.transfer_status import AnyStatus
from domain.transfers import (
    U128_MAX,
    Account,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)
from tests.ledger_programs import (
    LATEST_NS,
    RELATIVE_NS_MAX,
    Answers,
    CreateAccounts,
    CreateTransfers,
    Program,
    Records,
    Wait,
)

N = TypeVar("N", bound=int)

START_NS: Final = 1_700_000_000_000_000_000
REQUEST_NS: Final = 100_000
"""What a request to a server takes at the least; far below a second, the unit of time-outs."""

GAP_NS_MAX: Final = 1_000
"""Longer gaps between timestamps are told apart no more: they show how fast a server is."""

FEE_CODE: Final = 2
FEE_ACCOUNT: Final = AccountId(2)
FOREIGN_INTENT: Final = 5
"""A ``user_data_128`` that no transfer of a generated program has."""


class ProgramLedger(Protocol):
    """What a program asks of a ledger."""

    def create_accounts(self, accounts: Sequence[Account], /) -> Sequence[AccountStatus]:
        """Return a status for each account of one request, by position."""
        ...

    def create_transfers(self, transfers: Sequence[Transfer], /) -> Sequence[AnyStatus]:
        """Return a status for each transfer of one request, by position."""
        ...

    def lookup_accounts(self, ids: Sequence[AccountId], /) -> Mapping[AccountId, Account]:
        """Return those accounts that exist."""
        ...

    def lookup_transfers(self, ids: Sequence[TransferId], /) -> Sequence[Transfer]:
        """Return those transfers that exist, in the order of *ids*."""
        ...

    def find_resolutions(self, search: ResolutionSearch, /) -> SearchAnswer:
        """See ``application.ports.ledger.Ledger``."""
        ...


Run = Generator[int, None, Answers]
"""A program under way: it stops where time has to pass, and says how many ns."""


def new_ledger(kind: Callable[..., InMemoryLedger] = InMemoryLedger) -> InMemoryLedger:
    """Return an in-memory ledger whose requests are ``REQUEST_NS`` apart."""
    return kind(now_ns=itertools.count(START_NS, REQUEST_NS).__next__)


def run_in_memory(
    program: Program, make_ledger: Callable[[], InMemoryLedger] = new_ledger
) -> Answers:
    """Run *program* on a ledger of its own; time passes there at once."""
    ledger = make_ledger()
    run = start(program, ledger)
    try:
        while True:
            ledger.advance_ns(next(run))
    except StopIteration as end:
        answers: Answers = end.value
        return answers


def start(program: Program, ledger: ProgramLedger, *, first_id: int = 0) -> Run:
    """Begin to run *program*; nothing is sent before the first ``next``.

    On a ledger that others use, *first_id* is where free ids begin, 2^32 of them.
    """
    return _Run(program, ledger, _Ids(first_id)).to_its_end()


@dataclass(frozen=True, slots=True)
class _Ids:
    """A program's ids and those that the ledger gets; 0 and the greatest mean themselves."""

    first: int

    def sent(self, id_: int) -> int:
        return id_ if id_ in (0, U128_MAX) else self.first + id_

    def back(self, id_: int) -> int:
        return id_ if id_ in (0, U128_MAX) else id_ - self.first

    def account_sent(self, account: Account) -> Account:
        return _account_with_ids(account, self.sent)

    def account_back(self, account: Account) -> Account:
        return _account_with_ids(account, self.back)

    def transfer_sent(self, transfer: Transfer) -> Transfer:
        return _transfer_with_ids(transfer, self.sent)

    def transfer_back(self, transfer: Transfer) -> Transfer:
        return _transfer_with_ids(transfer, self.back)


def _account_with_ids(account: Account, convert: Callable[[int], int]) -> Account:
    return replace(
        account,
        id=AccountId(convert(account.id)),
        user_data_128=convert(account.user_data_128),
    )


def _transfer_with_ids(transfer: Transfer, convert: Callable[[int], int]) -> Transfer:
    return replace(
        transfer,
        id=TransferId(convert(transfer.id)),
        debit_account_id=AccountId(convert(transfer.debit_account_id)),
        credit_account_id=AccountId(convert(transfer.credit_account_id)),
        pending_id=TransferId(convert(transfer.pending_id)),
        user_data_128=convert(transfer.user_data_128),
    )


class _Run:
    def __init__(self, program: Program, ledger: ProgramLedger, ids: _Ids) -> None:
        self._program = program
        self._ledger = ledger
        self._ids = ids

    def to_its_end(self) -> Run:
        statuses: list[tuple[str, ...]] = []
        self._create_accounts(self._program.accounts)
        for step in self._program.steps:
            match step:
                case Wait():
                    yield step.duration_ns
                    statuses.append(())
                case CreateAccounts():
                    statuses.append(self._create_accounts(step.accounts))
                case CreateTransfers():
                    statuses.append(self._create_transfers(step.transfers))
        return Answers(statuses=tuple(statuses), records=self._records())

    def _create_accounts(self, accounts: Sequence[Account]) -> tuple[str, ...]:
        latest_ns = self._latest_ns(accounts)
        return _names(
            self._ledger.create_accounts(
                [
                    replace(
                        self._ids.account_sent(account),
                        timestamp_ns=_timestamp_ns(account.timestamp_ns, latest_ns),
                    )
                    for account in accounts
                ]
            )
        )

    def _create_transfers(self, transfers: Sequence[Transfer]) -> tuple[str, ...]:
        latest_ns = self._latest_ns(transfers)
        return _names(
            self._ledger.create_transfers(
                [
                    replace(
                        self._ids.transfer_sent(transfer),
                        timestamp_ns=_timestamp_ns(transfer.timestamp_ns, latest_ns),
                    )
                    for transfer in transfers
                ]
            )
        )

    def _latest_ns(self, events: Iterable[Account | Transfer]) -> int:
        """Return the latest record's timestamp, if one of *events* needs it."""
        if not any(_is_relative(event.timestamp_ns) for event in events):
            return 0
        records: list[Account | Transfer] = [*self._accounts(), *self._transfers()]
        return max((record.timestamp_ns for record in records), default=LATEST_NS)

    def _accounts(self) -> Sequence[Account]:
        ids = [AccountId(self._ids.sent(id_)) for id_ in self._program.account_ids]
        asked = [*ids, *_again(ids)]
        found = self._ledger.lookup_accounts(asked)
        return [found[id_] for id_ in asked if id_ in found]

    def _transfers(self) -> Sequence[Transfer]:
        ids = [TransferId(self._ids.sent(id_)) for id_ in self._program.transfer_ids]
        return self._ledger.lookup_transfers([*ids, *_again(ids)])

    def _records(self) -> Records:
        accounts, transfers = self._accounts(), self._transfers()
        records: list[Account | Transfer] = [*accounts, *transfers]
        times = _times(record.timestamp_ns for record in records)
        searches = list(self._searches(transfers))
        found = [self._ledger.find_resolutions(search).transfers for search in searches]
        return Records(
            accounts=tuple(
                replace(self._ids.account_back(account), timestamp_ns=times[account.timestamp_ns])
                for account in accounts
            ),
            transfers=tuple(
                replace(
                    self._ids.transfer_back(transfer), timestamp_ns=times[transfer.timestamp_ns]
                )
                for transfer in transfers
            ),
            resolutions=tuple(
                tuple(TransferId(self._ids.back(transfer.id)) for transfer in answer)
                for answer in found
            ),
        )

    def _searches(self, transfers: Sequence[Transfer]) -> Iterator[ResolutionSearch]:
        """Search by the intent, and with an intent that no transfer names by the accounts."""
        pendings = {
            transfer.id: transfer
            for transfer in transfers
            if TransferFlags.PENDING in transfer.flags
        }
        # By 0, everything there is would be found; the greatest is not the program's own.
        intents = {transfer.user_data_128 for transfer in transfers} - {0, U128_MAX}
        for intent in sorted(intents):
            yield self._search(intent, [p for p in pendings.values() if p.user_data_128 == intent])
        if pendings:
            yield self._search(self._ids.sent(FOREIGN_INTENT), list(pendings.values()))

    def _search(self, intent: int, pendings: Sequence[Transfer]) -> ResolutionSearch:
        return ResolutionSearch(
            intent_id=IntentId(UUID(int=intent)),
            pendings=tuple(pendings),
            fee_code=FEE_CODE,
            fee_credit_account_id=AccountId(self._ids.sent(FEE_ACCOUNT)),
        )


def _again(ids: Sequence[N]) -> Sequence[N]:
    """An id that is asked for twice is answered twice."""
    return ids[:1]


def _names(statuses: Iterable[AccountStatus | AnyStatus]) -> tuple[str, ...]:
    return tuple(status.name.lower() for status in statuses)


def _is_relative(timestamp_ns: int) -> bool:
    return 1 <= timestamp_ns <= RELATIVE_NS_MAX


def _timestamp_ns(timestamp_ns: int, latest_ns: int) -> int:
    return latest_ns + timestamp_ns - LATEST_NS if _is_relative(timestamp_ns) else timestamp_ns


def _times(timestamps: Iterable[int]) -> Mapping[int, int]:
    """Map timestamps to what two ledgers can agree upon."""
    times: dict[int, int] = {}
    previous_ns = time_ns = 0
    for timestamp_ns in sorted(set(timestamps)):
        time_ns += min(timestamp_ns - previous_ns, GAP_NS_MAX) if times else 0
        times[timestamp_ns] = time_ns
        previous_ns = timestamp_ns
    return times
