"""Take away from a program that differs what does not matter to the difference.

Candidates are tried many at a time, so that on a server they share their waits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from domain.transfers import Account, Transfer
from tests.ledger_programs import CreateAccounts, CreateTransfers, Program, Step, Wait

C = TypeVar("C")
R = TypeVar("R", Account, Transfer)

Differ = Callable[[Sequence[Program]], Sequence[bool]]
"""Says of each program whether the ledgers differ on it."""

Place = tuple[int, int]
"""An event or a wait: its step, and its index in it. Step -1 has the accounts in advance."""

Edit = tuple[Place, str, int]
"""A value for a field of the event at a place."""


def shrunk(program: Program, differ: Differ) -> Program:
    """Return a part of *program*, with simpler values, on which the ledgers still differ."""
    while (smaller := _simpler(_shorter(program, differ), differ)) != program:
        program = smaller
    return program


def _shorter(program: Program, differ: Differ) -> Program:
    """Leave out events and waits, first many at a time, in the end one by one."""
    size = len(list(_places(program)))
    while size > 1:
        size = (size + 1) // 2
        while True:
            places = list(_places(program))
            pieces = [places[start : start + size] for start in range(0, len(places), size)]
            smaller = _changed(
                program,
                pieces,
                lambda program, pieces: _without(program, {p for piece in pieces for p in piece}),
                differ,
            )
            if smaller is None:
                break
            program = smaller
    return program


def _simpler(program: Program, differ: Differ) -> Program:
    """Set fields to 0, amounts to 1, and take bits from flags."""
    while True:
        smaller = _changed(program, list(_edits(program)), _edited, differ)
        if smaller is None:
            return program
        program = smaller


def _changed(
    program: Program,
    changes: Sequence[C],
    apply: Callable[[Program, Sequence[C]], Program],
    differ: Differ,
) -> Program | None:
    """Apply those *changes* after which the ledgers differ as before: all, or else the first."""
    verdicts = differ([apply(program, [change]) for change in changes])
    good = [change for change, differs in zip(changes, verdicts, strict=True) if differs]
    if not good:
        return None
    together = apply(program, good)
    return together if differ([together])[0] else apply(program, good[:1])


def _places(program: Program) -> Iterator[Place]:
    """Yield what may be left out: not the first account, since time is relative to some record."""
    yield from ((-1, index) for index in range(1, len(program.accounts)))
    for number, step in enumerate(program.steps):
        yield from ((number, index) for index in range(len(_parts(step))))


def _parts(step: Step) -> Sequence[Wait | Account | Transfer]:
    return [step] if isinstance(step, Wait) else step.events


def _without(program: Program, places: set[Place]) -> Program:
    """Leave out what is at *places*, and requests that are empty then."""

    def left(number: int, parts: Sequence[R]) -> tuple[R, ...]:
        return tuple(part for index, part in enumerate(parts) if (number, index) not in places)

    steps: list[Step] = []
    for number, step in enumerate(program.steps):
        match step:
            case Wait():
                steps += [] if (number, 0) in places else [step]
            case CreateAccounts():
                steps += [CreateAccounts(kept)] if (kept := left(number, step.accounts)) else []
            case CreateTransfers():
                steps += [CreateTransfers(sent)] if (sent := left(number, step.transfers)) else []
    return Program(accounts=left(-1, program.accounts), steps=tuple(steps))


def _edits(program: Program) -> Iterator[Edit]:
    for index, account in enumerate(program.accounts):
        yield from _edits_of(account, (-1, index))
    for number, step in enumerate(program.steps):
        for index, part in enumerate(_parts(step)):
            if not isinstance(part, Wait):
                yield from _edits_of(part, (number, index))


def _edits_of(record: Account | Transfer, place: Place) -> Iterator[Edit]:
    for field in fields(record):
        value = int(getattr(record, field.name))
        if field.name == "flags":
            bits = [1 << bit for bit in range(value.bit_length()) if value >> bit & 1]
            yield from ((place, field.name, value & ~bit) for bit in bits)
        elif field.name not in ("id", "ledger", "code") and value != 0:
            yield (place, field.name, 0)
            if field.name == "amount" and value != 1:
                yield (place, field.name, 1)


def _edited(program: Program, edits: Sequence[Edit]) -> Program:
    """Set the fields; of two values for the same field the first counts."""
    values: dict[Place, dict[str, int]] = {}
    for place, name, value in edits:
        values.setdefault(place, {}).setdefault(name, value)

    def changed(number: int, records: Sequence[R]) -> tuple[R, ...]:
        return tuple(
            _with(record, values.get((number, index), {})) for index, record in enumerate(records)
        )

    steps: list[Step] = []
    for number, step in enumerate(program.steps):
        match step:
            case Wait():
                steps.append(step)
            case CreateAccounts():
                steps.append(CreateAccounts(changed(number, step.accounts)))
            case CreateTransfers():
                steps.append(CreateTransfers(changed(number, step.transfers)))
    return Program(accounts=changed(-1, program.accounts), steps=tuple(steps))


def _with(record: R, values: dict[str, int]) -> R:
    changes: dict[str, Any] = dict(values)
    if "flags" in changes:
        changes["flags"] = type(record.flags)(changes["flags"])
    return replace(record, **changes)
