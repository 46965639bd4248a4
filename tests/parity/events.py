"""Hypothesis strategies for the events of ledger programs.

Most events are sound when looked at alone; how they fare is up to what came before them.
One in a few has a single field changed. So programs reach deep states, and a check is met
behind those that come before it.

An event takes few draws, from lists made in advance: draws are what generating costs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

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
from tests.ledger_programs import LATEST_NS
from tests.ledger_runs import FEE_CODE
from tests.parity.drawing import any_of
from tests.parity.recipes import (
    ABSENT_ACCOUNT,
    ACCOUNT_PAIRS,
    OWN_ID,
    UNKNOWN_ID,
    AccountRecipe,
    Change,
    Movement,
    Repetition,
    Resolution,
    Share,
    TransferRecipe,
)

S = st.SearchStrategy

EXPIRES_S: Final = 1
"""The time-out that a wait ends; all others outlast a program."""

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
_CHANGES_OF_IMPORTS: Final = _changes(
    debit_account_id=_ACCOUNTS,
    credit_account_id=_ACCOUNTS,
    amount=(0, U128_MAX),
    timeout_s=(0, 3_600),
    timestamp_ns=_TIMESTAMPS,
    flags=(_F.IMPORTED, _F.IMPORTED, _F.PENDING),
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


@dataclass(frozen=True, slots=True)
class Kind:
    """A new transfer's flags and time-out, and how often it is drawn."""

    weight: int
    flags: TransferFlags
    timeout_s: int = 0


COMMON: Final = (
    Kind(6, _F.NONE),
    Kind(5, _F.PENDING),
    Kind(2, _F.PENDING, 3_600),
    Kind(1, _F.PENDING, EXPIRES_S),
    Kind(1, _F.BALANCING_DEBIT),
    Kind(1, _F.BALANCING_CREDIT),
    Kind(1, _F.BALANCING_DEBIT | _F.BALANCING_CREDIT),
    Kind(1, _F.PENDING | _F.BALANCING_DEBIT),
)
EXPIRING: Final = (*COMMON, Kind(12, _F.PENDING, EXPIRES_S))
CLOSING: Final = (
    *COMMON,
    Kind(1, _F.PENDING | _F.CLOSING_DEBIT),
    Kind(1, _F.PENDING | _F.CLOSING_CREDIT, EXPIRES_S),
)
IMPORTABLE: Final = (Kind(4, _F.NONE), Kind(4, _F.PENDING), Kind(1, _F.PENDING, 3_600))

AMOUNTS: Final = (10, 1, 5, 10, 100, 0)
HUGE_AMOUNTS: Final = (*AMOUNTS, U128_MAX, 2**127, 2**127, 2**127 + 1, 2**128 - 100)

_RESOLUTIONS: Final = [
    Resolution(flag=flag, share=share, named=named, user_data_128=user_data_128)
    for share in (Share.ALL, Share.EXACT, Share.ALL, Share.EXACT, *Share)
    for flag in (_F.POST_PENDING_TRANSFER, _F.VOID_PENDING_TRANSFER)
    for named in (False, True)
    for user_data_128 in (0, 8)
]

_UserData = tuple[int, int, int]
_Particulars = tuple[int, _UserData, int]
"""A new transfer's amount, user data of 128, 64 and 32 bits, and code."""

_USER_DATA_OF_NEW: Final[Sequence[_UserData]] = ((0, 0, 0), (7, 0, 0), (8, 0, 0), (7, 1, 2))


@dataclass(frozen=True, slots=True)
class Events:
    """What to draw events from."""

    bodies: S[Kind | Resolution | Repetition]
    particulars: S[_Particulars]


def events_of(
    kinds: Sequence[Kind], *, amounts: Sequence[int] = AMOUNTS, resolving: bool = True
) -> Events:
    """Of six events about three are new transfers, two are resolutions, one is a repetition."""
    movements = [kind for kind in kinds for _ in range(kind.weight)]
    movements *= 3 * len(_RESOLUTIONS) // 2 // len(movements)
    resolutions = _RESOLUTIONS if resolving else []
    repetitions = [Repetition()] * (len(movements) // 3)
    return Events(
        bodies=any_of([*movements, *resolutions, *repetitions]),
        particulars=any_of(
            [
                (amount, user_data, code)
                for amount in amounts
                for user_data in _USER_DATA_OF_NEW
                for code in (1, 1, FEE_CODE)
            ]
        ),
    )


def _movement(kind: Kind, particulars: _Particulars) -> Movement:
    amount, user_data, code = particulars
    return Movement(
        Transfer(
            id=TransferId(0),
            amount=amount,
            user_data_128=user_data[0],
            user_data_64=user_data[1],
            user_data_32=user_data[2],
            timeout_s=kind.timeout_s,
            ledger=1,
            code=code,
            flags=kind.flags,
        )
    )


@st.composite
def _extras(
    draw: st.DrawFn, changes: Sequence[Change], *, one_in: int
) -> tuple[bool, Change | None]:
    """Whether an event is linked, one in four is, and what of it is changed, *one_in* so many."""
    number = draw(st.integers(0, 4 * one_in - 1))
    linked, changed = number % 4 == 3, number // 4 == one_in - 1
    return linked, draw(any_of(changes)) if changed else None


_places: Final = st.integers(0, len(ACCOUNT_PAIRS) - 1)
_late_places: Final = st.sampled_from([*range(60), *[*range(60, len(ACCOUNT_PAIRS))] * 6])
_extras_of: Final = {
    Kind: _extras(_CHANGES_OF_MOVEMENTS, one_in=7),
    Resolution: _extras(_CHANGES_OF_RESOLUTIONS, one_in=7),
    Repetition: _extras(_CHANGES_OF_REPETITIONS, one_in=2),
}
_extras_of_imports: Final = {**_extras_of, Kind: _extras(_CHANGES_OF_IMPORTS, one_in=7)}
_extras_of_accounts: Final = _extras(_CHANGES_OF_ACCOUNTS, one_in=2)
_import_gaps_ns: Final = st.sampled_from([1, 1, 1, 1, 1, 1, 1, 2, 5, 0, -1])


@st.composite
def transfers(draw: st.DrawFn, events: Events, *, imported: bool) -> TransferRecipe:
    """One event of a request of transfers."""
    drawn = draw(events.bodies)
    linked, change = draw((_extras_of_imports if imported else _extras_of)[type(drawn)])
    body = _movement(drawn, draw(events.particulars)) if isinstance(drawn, Kind) else drawn
    return TransferRecipe(
        body=body,
        place=draw(_late_places if imported else _places),
        linked=linked,
        change=change,
        gap_ns=draw(_import_gaps_ns) if imported else 1,
    )


_later_accounts: Final = [
    Account(id=AccountId(id_), ledger=1, code=1, flags=flags)
    for flags in (_A.NONE, _A.HISTORY, _A.DEBITS_MUST_NOT_EXCEED_CREDITS)
    for id_ in (7, 8, 7, 8, 1)
]


@st.composite
def accounts(draw: st.DrawFn, *, imported: bool) -> AccountRecipe:
    """One event of a request of accounts."""
    linked, change = draw(_extras_of_accounts)
    return AccountRecipe(
        account=draw(any_of(_later_accounts)),
        linked=linked,
        change=change,
        gap_ns=draw(_import_gaps_ns) if imported else 1,
    )
