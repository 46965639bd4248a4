"""Hypothesis strategies for whole ledger programs.

Most events are sound when looked at alone; how they fare is up to what came before them.
One in a few has a single field changed. So programs reach deep states, and a check is met
behind those that come before it.

An event takes few draws, from long lists made in advance: that is what generating costs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeVar

from hypothesis import strategies as st

from domain.transfers import (
    U128_MAX,
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)
from tests.ledger_programs import LATEST_NS, Program, Wait
from tests.ledger_runs import FEE_CODE
from tests.parity.recipes import (
    ABSENT_ACCOUNT,
    ACCOUNT_PAIRS,
    OWN_ID,
    UNKNOWN_ID,
    AccountRecipe,
    AccountsRecipe,
    Body,
    Change,
    Movement,
    Repetition,
    Resending,
    Resolution,
    Share,
    StepRecipe,
    TransferRecipe,
    TransfersRecipe,
    cook,
)

T = TypeVar("T")
S = st.SearchStrategy

EXPIRES_S: Final = 1
EXPIRY: Final = Wait(1_500_000_000)
"""Ends every time-out of ``EXPIRES_S``; all other time-outs outlast a program."""

_F: Final = TransferFlags
_A: Final = AccountFlags
_BOTH_LIMITS: Final = _A.DEBITS_MUST_NOT_EXCEED_CREDITS | _A.CREDITS_MUST_NOT_EXCEED_DEBITS
_U16_MAX, _U32_MAX, _U64_MAX = 2**16 - 1, 2**32 - 1, 2**64 - 1

_TIMESTAMPS: Final = (0, 1, LATEST_NS, 2**62, 2**62, 2**63 - 1, 2**63, _U64_MAX)
_USER_DATA: Final = {
    "user_data_128": (0, 7, U128_MAX),
    "user_data_64": (0, 1, _U64_MAX),
    "user_data_32": (0, 1, _U32_MAX),
}
_ACCOUNTS: Final = (0, U128_MAX, ABSENT_ACCOUNT, 6, 1, 2)
_BITS: Final = (*(1 << bit for bit in range(10)), 1 << 15)


def _changes(**fields: Iterable[int]) -> list[Change]:
    return [Change(field, value) for field, values in fields.items() for value in values]


_WITHIN_TRANSFERS: Final = {
    "debit_account_id": _ACCOUNTS,
    "credit_account_id": _ACCOUNTS,
    "amount": (0, 1, 9, 11, 2**127, U128_MAX),
    "pending_id": (0, U128_MAX, OWN_ID, UNKNOWN_ID, 101, 102, 103, 104, 106),
    **_USER_DATA,
    "timeout_s": (0, EXPIRES_S, 3_600, _U32_MAX),
    "ledger": (0, 0, 1, 2, _U32_MAX),
    "code": (0, 0, 1, 3, _U16_MAX),
}
_CHANGES_OF_MOVEMENTS: Final = _changes(
    **_WITHIN_TRANSFERS, id=(0, U128_MAX, 101, 105), timestamp_ns=_TIMESTAMPS, flags=_BITS
)
_CHANGES_OF_RESOLUTIONS: Final = _changes(
    debit_account_id=_ACCOUNTS,
    credit_account_id=_ACCOUNTS,
    pending_id=(0, U128_MAX, OWN_ID, UNKNOWN_ID, 101, 102, 103, 104, 106),
    timeout_s=(1, _U32_MAX),
    ledger=(2, _U32_MAX),
    code=(1, FEE_CODE, 3, _U16_MAX),
    flags=_BITS,
)
_CHANGES_OF_REPETITIONS: Final = _changes(**_WITHIN_TRANSFERS, flags=_BITS[:4])
_CHANGES_OF_ACCOUNTS: Final = _changes(
    id=(0, U128_MAX, 1),
    debits_pending=(1,),
    debits_posted=(U128_MAX,),
    credits_pending=(1,),
    credits_posted=(1,),
    **_USER_DATA,
    ledger=(0, 2, _U32_MAX),
    code=(0, 2, _U16_MAX),
    timestamp_ns=_TIMESTAMPS,
    flags=(*_BITS, _BOTH_LIMITS),
)


def _extras(changes: Sequence[Change], *, one_in: int) -> S[tuple[bool, Change | None]]:
    """Whether an event is linked, one in four is, and what of it is changed, *one_in* so many."""
    unchanged = len(changes) * (one_in - 1)
    plain: list[tuple[bool, Change | None]] = [(n % 4 == 3, None) for n in range(unchanged)]
    return st.sampled_from([*plain, *((n % 4 == 3, change) for n, change in enumerate(changes))])


@dataclass(frozen=True, slots=True)
class _Kind:
    """A new transfer's flags and time-out, and how often it is drawn."""

    weight: int
    flags: TransferFlags
    timeout_s: int = 0


_COMMON: Final = (
    _Kind(6, _F.NONE),
    _Kind(5, _F.PENDING),
    _Kind(2, _F.PENDING, 3_600),
    _Kind(1, _F.PENDING, EXPIRES_S),
    _Kind(1, _F.BALANCING_DEBIT),
    _Kind(1, _F.BALANCING_CREDIT),
    _Kind(1, _F.BALANCING_DEBIT | _F.BALANCING_CREDIT),
    _Kind(1, _F.PENDING | _F.BALANCING_DEBIT),
)
_EXPIRING: Final = (*_COMMON, _Kind(12, _F.PENDING, EXPIRES_S))
_CLOSING: Final = (
    *_COMMON,
    _Kind(1, _F.PENDING | _F.CLOSING_DEBIT),
    _Kind(1, _F.PENDING | _F.CLOSING_CREDIT, EXPIRES_S),
)
_IMPORTABLE: Final = (_Kind(4, _F.NONE), _Kind(4, _F.PENDING), _Kind(1, _F.PENDING, 3_600))

_AMOUNTS: Final = (10, 1, 5, 10, 100, 0)
_HUGE_AMOUNTS: Final = (*_AMOUNTS, U128_MAX, 2**127, 2**127, 2**127 + 1, 2**128 - 100)


def _movements(kinds: Iterable[_Kind], amounts: Sequence[int]) -> list[Body]:
    return [
        Movement(
            Transfer(
                id=TransferId(0),
                amount=amount,
                user_data_128=user_data_128,
                user_data_64=user_data_64,
                timeout_s=kind.timeout_s,
                ledger=1,
                code=code,
                flags=kind.flags,
            )
        )
        for kind in kinds
        for _ in range(kind.weight)
        for amount in amounts
        for user_data_128, user_data_64 in ((0, 0), (7, 0), (8, 0), (7, 1))
        for code in (1, 1, FEE_CODE)
    ]


_RESOLUTIONS: Final[list[Body]] = [
    Resolution(flag=flag, share=share, named=named, user_data_128=user_data_128)
    for share in (*[Share.ALL, Share.EXACT] * 6, *Share)
    for flag in (_F.POST_PENDING_TRANSFER, _F.VOID_PENDING_TRANSFER)
    for named in (False, True)
    for user_data_128 in (0, 0, 8)
]


def _bodies(movements: Sequence[Body]) -> S[Body]:
    """As many resolutions as movements, and half as many repetitions."""
    count = len(movements)
    resolutions = [_RESOLUTIONS[n % len(_RESOLUTIONS)] for n in range(count)]
    return st.sampled_from([*movements, *resolutions, *[Repetition()] * (count // 2)])


_places: Final = st.integers(0, len(ACCOUNT_PAIRS) - 1)
_late_places: Final = st.sampled_from([*range(0, 60), *[*range(60, len(ACCOUNT_PAIRS))] * 6])
_extras_of: Final = {
    Movement: _extras(_CHANGES_OF_MOVEMENTS, one_in=7),
    Resolution: _extras(_CHANGES_OF_RESOLUTIONS, one_in=7),
    Repetition: _extras(_CHANGES_OF_REPETITIONS, one_in=2),
}
_extras_of_accounts: Final = _extras(_CHANGES_OF_ACCOUNTS, one_in=2)
_import_gaps_ns: Final = st.sampled_from([1, 1, 1, 1, 2, 5, 1, 1, 1, 0, -1, -400])
_no_gap: Final = st.just(1)
_one_in_eight: Final = st.sampled_from([False] * 7 + [True])


@st.composite
def _transfers(draw: st.DrawFn, bodies: S[Body], places: S[int], gaps_ns: S[int]) -> TransferRecipe:
    body = draw(bodies)
    linked, change = draw(_extras_of[type(body)])
    return TransferRecipe(
        body=body, place=draw(places), linked=linked, change=change, gap_ns=draw(gaps_ns)
    )


def _requests(bodies: S[Body], *, imported: bool = False) -> S[StepRecipe]:
    transfers = (
        _transfers(bodies, _late_places, _import_gaps_ns)
        if imported
        else _transfers(bodies, _places, _no_gap)
    )
    return st.builds(
        TransfersRecipe,
        transfers=_lists(transfers, size_max=12),
        is_open=_one_in_eight,
        imported=st.just(imported),
    )


_later_accounts: Final = [
    Account(id=AccountId(id_), ledger=1, code=1, flags=flags)
    for flags in (_A.NONE, _A.HISTORY, _A.DEBITS_MUST_NOT_EXCEED_CREDITS)
    for id_ in (7, 8, 7, 8, 1)
]


@st.composite
def _accounts(draw: st.DrawFn, gaps_ns: S[int]) -> AccountRecipe:
    linked, change = draw(_extras_of_accounts)
    return AccountRecipe(
        account=draw(st.sampled_from(_later_accounts)),
        linked=linked,
        change=change,
        gap_ns=draw(gaps_ns),
    )


def _account_requests(*, imported: bool = False) -> S[StepRecipe]:
    return st.builds(
        AccountsRecipe,
        accounts=_lists(_accounts(_import_gaps_ns if imported else _no_gap), size_max=6),
        imported=st.just(imported),
    )


_resendings: Final[S[StepRecipe]] = st.builds(Resending, st.integers(0, 3))


def _lists(elements: S[T], *, size_max: int) -> S[list[T]]:
    """Any size is as likely as any other; of hypothesis' own lists most are short."""
    return st.integers(1, size_max).flatmap(
        lambda size: st.lists(elements, min_size=size, max_size=size)
    )


def _one_of(*weighted: tuple[int, S[T]]) -> S[T]:
    strategies = [strategy for weight, strategy in weighted for _ in range(weight)]
    return st.sampled_from(strategies).flatmap(lambda strategy: strategy)


def _steps(bodies: S[Body], *, size_max: int = 11) -> S[list[StepRecipe]]:
    step = _one_of((9, _requests(bodies)), (2, _resendings), (2, _account_requests()))
    return _lists(step, size_max=size_max)


def _importing_steps(bodies: S[Body]) -> S[list[StepRecipe]]:
    step = _one_of(
        (5, _requests(bodies, imported=True)),
        (2, _account_requests(imported=True)),
        (2, _requests(bodies)),
        (1, _resendings),
        (2, _account_requests()),
    )
    return _lists(step, size_max=11)


def _timed_steps(movements: Sequence[Body]) -> S[list[StepRecipe]]:
    """Two parts with a wait between them, of which only the second resolves anything."""
    before = _steps(st.sampled_from(movements), size_max=3)
    after = _steps(_bodies(movements), size_max=5)
    return st.tuples(before, st.just([EXPIRY]), after).map(lambda parts: [*chain(*parts)])


def _programs(steps: S[list[StepRecipe]], *, limits: bool = False) -> S[Program]:
    """Programs that begin with accounts 1 to 5 of one ledger and account 6 of another."""
    flags = [_A.NONE, _A.HISTORY]
    if limits:
        flags += [_A.DEBITS_MUST_NOT_EXCEED_CREDITS, _A.CREDITS_MUST_NOT_EXCEED_DEBITS]
    return st.builds(cook, st.tuples(*[st.sampled_from(flags)] * 5).map(_first_accounts), steps)


def _first_accounts(flags: Sequence[AccountFlags]) -> list[Account]:
    together = [
        Account(id=AccountId(number), ledger=1, code=1, flags=each)
        for number, each in enumerate(flags, start=1)
    ]
    return [*together, Account(id=AccountId(6), ledger=2, code=1)]


_common: Final = _bodies(_movements(_COMMON, _AMOUNTS))

programs: Final[S[Program]] = _one_of(
    (3, _programs(_steps(_common))),
    (2, _programs(_steps(_common), limits=True)),
    (1, _programs(_steps(_bodies(_movements(_CLOSING, _AMOUNTS))))),
    (2, _programs(_steps(_bodies(_movements(_COMMON, _HUGE_AMOUNTS))))),
    (3, _programs(_timed_steps(_movements(_EXPIRING, _AMOUNTS)))),
    (3, _programs(_importing_steps(_bodies(_movements(_IMPORTABLE, _AMOUNTS))))),
)
"""Programs that wait import nothing: on a server that others use, their times would be past."""
