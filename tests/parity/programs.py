"""Hypothesis strategies for whole ledger programs."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from hypothesis import strategies as st

from domain.transfers import Account, AccountFlags, AccountId
from tests.ledger_programs import LATEST_NS, Program, Wait
from tests.parity.drawing import any_of, lists_of, one_of
from tests.parity.events import (
    CLOSING,
    COMMON,
    EXPIRING,
    HUGE_AMOUNTS,
    IMPORTABLE,
    Events,
    accounts,
    events_of,
    transfers,
)
from tests.parity.recipes import (
    AccountsRecipe,
    Resending,
    StepRecipe,
    TransfersRecipe,
    cook,
)

S = st.SearchStrategy

EXPIRY: Final = Wait(1_500_000_000)
"""Ends every time-out of ``EXPIRES_S``."""

_A: Final = AccountFlags
_starts_ns: Final = st.sampled_from([LATEST_NS] * 3 + [LATEST_NS - 400])
_one_in_eight: Final = st.sampled_from([False] * 7 + [True])


def _requests(events: Events, *, imported: bool = False) -> S[StepRecipe]:
    return st.builds(
        TransfersRecipe,
        transfers=lists_of(transfers(events, imported=imported), size_max=12),
        is_open=_one_in_eight,
        imported=st.just(imported),
        start_ns=_starts_ns,
    )


def _account_requests(*, imported: bool = False) -> S[StepRecipe]:
    return st.builds(
        AccountsRecipe,
        accounts=lists_of(accounts(imported=imported), size_max=6),
        imported=st.just(imported),
    )


_resendings: Final[S[StepRecipe]] = st.builds(Resending, st.integers(0, 3))


def _steps(events: Events, *, size_max: int = 11) -> S[list[StepRecipe]]:
    step = one_of((9, _requests(events)), (2, _resendings), (2, _account_requests()))
    return lists_of(step, size_max=size_max)


def _importing_steps(events: Events) -> S[list[StepRecipe]]:
    step = one_of(
        (5, _requests(events, imported=True)),
        (2, _account_requests(imported=True)),
        (2, _requests(events)),
        (1, _resendings),
        (2, _account_requests()),
    )
    return lists_of(step, size_max=11)


def _timed_steps() -> S[list[StepRecipe]]:
    """Two parts with a wait between them, of which only the second resolves anything."""
    before = _steps(events_of(EXPIRING, resolving=False), size_max=3)
    after = _steps(events_of(EXPIRING), size_max=6)
    return st.tuples(before, st.just([EXPIRY]), after).map(lambda parts: [*chain(*parts)])


def _programs(steps: S[list[StepRecipe]], *, limits: bool = False) -> S[Program]:
    """Programs that begin with accounts 1 to 5 of one ledger and account 6 of another."""
    flags = [_A.NONE, _A.HISTORY]
    if limits:
        flags += [_A.DEBITS_MUST_NOT_EXCEED_CREDITS, _A.CREDITS_MUST_NOT_EXCEED_DEBITS]
    return st.builds(cook, st.tuples(*[any_of(flags)] * 5).map(_first_accounts), steps)


def _first_accounts(flags: Sequence[AccountFlags]) -> list[Account]:
    together = [
        Account(id=AccountId(number), ledger=1, code=1, flags=each)
        for number, each in enumerate(flags, start=1)
    ]
    return [*together, Account(id=AccountId(6), ledger=2, code=1)]


programs: Final[S[Program]] = one_of(
    (3, _programs(_steps(events_of(COMMON)))),
    (2, _programs(_steps(events_of(COMMON)), limits=True)),
    (2, _programs(_steps(events_of(CLOSING)))),
    (2, _programs(_steps(events_of(COMMON, amounts=HUGE_AMOUNTS)))),
    (3, _programs(_timed_steps())),
    (3, _programs(_importing_steps(events_of(IMPORTABLE)))),
)
"""Programs that wait import nothing: on a server that others use, their times would be past."""
