"""Replay recorded ledger programs on the in-memory ledger and count where they part.

``python -m tests.replay_ledger FILE`` prints each difference, then one line
``N programs, N statuses, N differ``. Exit status: 0 when nothing differs, 1 when
something does, 2 when the file cannot be read or understood.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.memory.ledger import InMemoryLedger
from domain.transfers import Account, AccountFlags
from tests.ledger_programs import (
    BALANCES,
    AccountEnd,
    MalformedProgramError,
    Program,
    Wait,
    read_programs,
)

START_NS: Final = 1_700_000_000_000_000_000
REQUEST_NS: Final = 100_000
"""What a request to a server takes at the least; far below a second, the unit of time-outs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where the in-memory ledger and the recording disagree."""

    program: str
    place: str
    expected: object
    got: object

    def __str__(self) -> str:
        return f"{self.program}: {self.place}: expected {self.expected}, got {self.got}"


def replay(program: Program) -> list[Difference]:
    """Run *program* on a new ledger and return all differences, those of the end last."""
    ledger = InMemoryLedger(now_ns=lambda: START_NS)
    ledger.create_accounts(program.accounts)
    ledger.advance_ns(REQUEST_NS)
    differences: list[Difference] = []
    for number, step in enumerate(program.steps):
        if isinstance(step, Wait):
            ledger.advance_ns(step.duration_ns)
            continue
        statuses = [status.name.lower() for status in ledger.create_transfers(step.transfers)]
        ledger.advance_ns(REQUEST_NS)
        differences += [
            Difference(program.name, f"step {number}, index {index}", expected, got)
            for index, (expected, got) in enumerate(zip(step.statuses, statuses, strict=True))
            if expected != got
        ]
    return [*differences, *_differences_of_end(program, ledger)]


def _differences_of_end(program: Program, ledger: InMemoryLedger) -> Iterator[Difference]:
    accounts = {account.id: _end_of(account) for account in ledger.all_accounts()}
    for account_id in sorted(accounts.keys() | program.account_ends.keys()):
        expected, got = program.account_ends.get(account_id), accounts.get(account_id)
        if expected != got:
            yield Difference(program.name, f"end, account {account_id}", expected, got)
    amounts = {transfer.id: transfer.amount for transfer in ledger.all_transfers()}
    for transfer_id in sorted(amounts.keys() | program.transfer_amounts.keys()):
        wanted, found = program.transfer_amounts.get(transfer_id), amounts.get(transfer_id)
        if wanted != found:
            yield Difference(program.name, f"end, transfer {transfer_id}", wanted, found)


def _end_of(account: Account) -> AccountEnd:
    return AccountEnd(
        **{name: getattr(account, name) for name in BALANCES},
        closed=bool(account.flags & AccountFlags.CLOSED),
    )


def main(arguments: Sequence[str]) -> int:
    """Replay the file that *arguments* names; return the exit status."""
    if len(arguments) != 1:
        print("usage: python -m tests.replay_ledger FILE", file=sys.stderr)
        return 2
    programs = statuses = differ = 0
    try:
        for program in read_programs(Path(arguments[0])):
            programs += 1
            statuses += sum(
                len(step.statuses) for step in program.steps if not isinstance(step, Wait)
            )
            for difference in replay(program):
                differ += 1
                print(difference)
    except MalformedProgramError as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{arguments[0]}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{programs} programs, {statuses} statuses, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
