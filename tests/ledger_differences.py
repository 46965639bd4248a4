"""Where a ledger's answers part from those of a recording."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from domain.transfers import Account, AccountFlags
from tests.ledger_programs import (
    BALANCES,
    AccountEnd,
    Answers,
    Balances,
    Recording,
    Records,
)

K = TypeVar("K", bound=int)


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where a ledger and a recording disagree."""

    program: str
    place: str
    expected: object
    got: object

    def __str__(self) -> str:
        return f"{self.program}: {self.place}: expected {self.expected}, got {self.got}"


def differences(recording: Recording, got: Answers) -> list[Difference]:
    """Return all differences, those of the end last."""
    name = recording.name
    steps = zip(recording.statuses, got.statuses, strict=True)
    return [
        *(
            Difference(name, f"step {number}, index {index}", expected, status)
            for number, statuses in enumerate(steps)
            for index, (expected, status) in enumerate(zip(*statuses, strict=True))
            if expected != status
        ),
        *_of_end(name, recording.end, got.records),
    ]


def _of_end(name: str, end: Balances | Records, got: Records) -> Iterator[Difference]:
    if isinstance(end, Records):
        yield from _of_lists(name, "account", end.accounts, got.accounts)
        yield from _of_lists(name, "transfer", end.transfers, got.transfers)
        yield from _of_lists(name, "search", end.resolutions, got.resolutions)
        return
    accounts = {account.id: _end_of(account) for account in got.accounts}
    amounts = {transfer.id: transfer.amount for transfer in got.transfers}
    yield from _of_tables(name, "account", end.accounts, accounts)
    yield from _of_tables(name, "transfer", end.transfer_amounts, amounts)


def _of_lists(
    name: str, noun: str, expected: Sequence[object], got: Sequence[object]
) -> Iterator[Difference]:
    for number, (wanted, found) in enumerate(zip_longest(expected, got)):
        if wanted != found:
            yield Difference(name, f"end, {noun} at {number}", wanted, found)


def _of_tables(
    name: str, noun: str, expected: Mapping[K, object], got: Mapping[K, object]
) -> Iterator[Difference]:
    for id_ in sorted(expected.keys() | got.keys()):
        wanted, found = expected.get(id_), got.get(id_)
        if wanted != found:
            yield Difference(name, f"end, {noun} {id_}", wanted, found)


def _end_of(account: Account) -> AccountEnd:
    return AccountEnd(
        **{name: getattr(account, name) for name in BALANCES},
        closed=bool(account.flags & AccountFlags.CLOSED),
    )
