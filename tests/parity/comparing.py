"""Generate programs from a seed, run them on two ledgers, and shrink what differs."""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from hypothesis import find, settings
from hypothesis.errors import NoSuchExample

from tests.ledger_differences import Difference, differences
from tests.ledger_programs import Answers, Program, Recording
from tests.parity.programs import programs as all_programs
from tests.parity.shrinking import shrunk

BATCH: Final = 9
"""Programs of one seed: hypothesis would go on with variations of these, which show less."""

Runner = Callable[[Sequence[Program]], Sequence[Answers]]
"""Runs programs, each as if it were alone, and returns the answers to each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A program, what the real ledger answered, and where the other one parts from it."""

    program: Program
    answers: Answers
    differences: Sequence[Difference]


def generate(seed: str) -> list[Program]:
    """Return the ``BATCH`` programs of *seed*, the same ones each time.

    Other modules loaded beside these make them other programs: hypothesis draws from the
    constants that it finds in the code.
    """
    programs: list[Program] = []

    def collect(program: Program) -> bool:
        programs.append(program)
        return False

    with suppress(NoSuchExample):
        find(
            all_programs,
            collect,
            settings=settings(max_examples=BATCH, database=None, deadline=None),
            random=random.Random(seed),
        )
    return programs


def compare(programs: Sequence[Program], real: Runner, other: Runner) -> list[Comparison]:
    """Run all programs on both ledgers."""
    answered = zip(programs, real(programs), other(programs), strict=True)
    return [
        Comparison(
            program=program, answers=expected, differences=_differences(program, expected, got)
        )
        for program, expected, got in answered
    ]


def shrink(program: Program, real: Runner, other: Runner) -> Comparison:
    """Return a small part of *program*, which differs, that differs as well."""

    def differ(programs: Sequence[Program]) -> list[bool]:
        return [bool(each.differences) for each in compare(programs, real, other)]

    return compare([shrunk(program, differ)], real, other)[0]


def _differences(program: Program, expected: Answers, got: Answers) -> Sequence[Difference]:
    recording = Recording(
        name="program", program=program, statuses=expected.statuses, end=expected.records
    )
    return differences(recording, got)
