"""Recipes of ledger programs, and how a program is cooked from one.

A recipe refers to what came before it ("the last pending transfer but two") and so stays
meaningful when a part of it is taken away: hypothesis can shrink it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import permutations
from typing import Any, Final, TypeVar

from domain.transfers import (
    AMOUNT_MAX,
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)
from tests.ledger_programs import (
    LATEST_NS,
    CreateAccounts,
    CreateTransfers,
    Program,
    Step,
    Wait,
)

R = TypeVar("R", Account, Transfer)

FIRST_TRANSFER_ID: Final = 101
UNKNOWN_ID: Final = 99
OWN_ID: Final = -1
"""As the value of a change: the id of the event itself."""

ABSENT_ACCOUNT: Final = 9
"""No program creates this account."""

ACCOUNT_PAIRS: Final = tuple(
    (AccountId(debit), AccountId(credit))
    for debit, credit in (
        *(pair for pair in permutations(range(1, 6), 2) for _ in range(3)),
        *((7, 1), (2, 7), (3, 8), (2, 7), (3, 8), (6, 1), (ABSENT_ACCOUNT, 1)),
    )
)
"""Debit and credit: most often two of the accounts that belong together, from the beginning."""

_LINKED: Final = TransferFlags.LINKED
_RESOLVING: Final = TransferFlags.POST_PENDING_TRANSFER | TransferFlags.VOID_PENDING_TRANSFER


class Share(Enum):
    """How much of a pending amount a post or void asks for."""

    ALL = auto()
    EXACT = auto()
    LESS = auto()
    MORE = auto()
    ZERO = auto()
    MAX = auto()


@dataclass(frozen=True, slots=True)
class Change:
    """Send *value* in *field*, whatever else the recipe says; in flags, turn its bits over."""

    field: str
    value: int


@dataclass(frozen=True, slots=True)
class Movement:
    """A new transfer, as it is sent but for its id and its accounts."""

    transfer: Transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A post or void of an earlier pending transfer.

    When *named*, it says what it would inherit.
    """

    flag: TransferFlags
    share: Share
    named: bool
    user_data_128: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """An earlier transfer under its old id."""


Body = Movement | Resolution | Repetition


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferRecipe:
    """One event.

    *place* numbers the pairs of accounts of a movement. For others it counts from the last
    transfer (of a resolution: pending transfer) backwards. An import is *gap_ns* later than
    the event before it.
    """

    body: Body
    place: int
    linked: bool = False
    change: Change | None = None
    gap_ns: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TransfersRecipe:
    """A request, whose last event is linked only to leave its chain open.

    What it imports begins at *start_ns*, a relative timestamp.
    """

    transfers: Sequence[TransferRecipe]
    is_open: bool = False
    imported: bool = False
    start_ns: int = LATEST_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRecipe:
    """One account to create, new or as an earlier one."""

    account: Account
    linked: bool = False
    change: Change | None = None
    gap_ns: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountsRecipe:
    """A request of accounts."""

    accounts: Sequence[AccountRecipe]
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Resending:
    """An earlier request of transfers, counted from the last one backwards, sent once more."""

    back: int


StepRecipe = TransfersRecipe | AccountsRecipe | Resending | Wait


def cook(accounts: Sequence[Account], steps: Sequence[StepRecipe]) -> Program:
    """Make the program of *accounts*, which are there from the beginning, and *steps*."""
    kitchen = _Kitchen()
    return Program(accounts=tuple(accounts), steps=tuple(map(kitchen.step, steps)))


class _Kitchen:
    def __init__(self) -> None:
        self._requests: list[CreateTransfers] = []
        self._transfers: list[Transfer] = []

    def step(self, recipe: StepRecipe) -> Step:
        match recipe:
            case Wait():
                return recipe
            case AccountsRecipe():
                return self._accounts(recipe)
            case Resending():
                return self._noted(self._sent_again(recipe))
            case TransfersRecipe():
                return self._noted(self._request(recipe))

    def _noted(self, request: CreateTransfers) -> CreateTransfers:
        self._requests.append(request)
        return request

    def _accounts(self, recipe: AccountsRecipe) -> CreateAccounts:
        accounts: list[Account] = []
        at_ns = LATEST_NS
        for item in recipe.accounts:
            account = item.account
            if item.linked:
                account = replace(account, flags=account.flags | AccountFlags.LINKED)
            if recipe.imported:
                at_ns = max(at_ns + item.gap_ns, 1)
                flags = account.flags | AccountFlags.IMPORTED
                account = replace(account, flags=flags, timestamp_ns=at_ns)
            accounts.append(_changed(account, item.change))
        return CreateAccounts(tuple(accounts))

    def _request(self, recipe: TransfersRecipe) -> CreateTransfers:
        start = len(self._transfers)
        at_ns = recipe.start_ns
        last = len(recipe.transfers) - 1
        for position, item in enumerate(recipe.transfers):
            transfer = self._transfer(item)
            linked = recipe.is_open if position == last else item.linked
            flags = transfer.flags | _LINKED if linked else transfer.flags & ~_LINKED
            if recipe.imported:
                at_ns = max(at_ns + item.gap_ns, 1)
                flags |= TransferFlags.IMPORTED
                transfer = replace(transfer, timestamp_ns=at_ns)
            transfer = _changed(replace(transfer, flags=flags), item.change)
            self._transfers.append(self._bearable(transfer))
        return CreateTransfers(tuple(self._transfers[start:]))

    def _sent_again(self, recipe: Resending) -> CreateTransfers:
        request = _from_end(self._requests, recipe.back) or CreateTransfers(())
        return CreateTransfers(tuple(map(self._bearable, request.transfers)))

    def _bearable(self, transfer: Transfer) -> Transfer:
        """Resolve nothing by import that has a time-out: TigerBeetle 0.17.9 dies of it."""
        if not transfer.flags & TransferFlags.IMPORTED or not transfer.flags & _RESOLVING:
            return transfer
        if any(t.id == transfer.pending_id and t.timeout_s for t in self._transfers):
            return replace(transfer, pending_id=TransferId(UNKNOWN_ID))
        return transfer

    def _transfer(self, recipe: TransferRecipe) -> Transfer:
        new_id = TransferId(FIRST_TRANSFER_ID + len(self._transfers))
        match recipe.body:
            case Movement(transfer):
                debit, credit = ACCOUNT_PAIRS[recipe.place % len(ACCOUNT_PAIRS)]
                return replace(
                    transfer, id=new_id, debit_account_id=debit, credit_account_id=credit
                )
            case Resolution():
                return self._resolution(recipe.body, recipe.place, new_id)
            case Repetition():
                return _from_end(self._transfers, recipe.place) or Transfer(id=new_id)

    def _resolution(self, body: Resolution, back: int, id_: TransferId) -> Transfer:
        pendings = [t for t in self._transfers if TransferFlags.PENDING in t.flags]
        pending = _from_end(pendings, back) or Transfer(id=TransferId(UNKNOWN_ID))
        inherited = pending if body.named else Transfer(id=id_)
        return Transfer(
            id=id_,
            debit_account_id=inherited.debit_account_id,
            credit_account_id=inherited.credit_account_id,
            amount=_amount(body, pending.amount),
            pending_id=pending.id,
            user_data_128=body.user_data_128,
            ledger=inherited.ledger,
            code=inherited.code,
            flags=body.flag,
        )


def _from_end(items: Sequence[Any], back: int) -> Any:
    """Return the last item but *back*, going round; None when there is none."""
    return items[-1 - back % len(items)] if items else None


def _amount(body: Resolution, amount: int) -> int:
    posts = TransferFlags.POST_PENDING_TRANSFER in body.flag
    return {
        Share.ALL: AMOUNT_MAX if posts else 0,
        Share.EXACT: amount,
        Share.LESS: max(amount - 1, 0),
        Share.MORE: min(amount + 1, AMOUNT_MAX),
        Share.ZERO: 0,
        Share.MAX: AMOUNT_MAX,
    }[body.share]


def _changed(record: R, change: Change | None) -> R:
    if change is None:
        return record
    value = change.value
    if change.field == "flags":
        value = type(record.flags)(record.flags ^ value)
    elif value == OWN_ID:
        value = record.id
    changes: dict[str, Any] = {change.field: value}
    return replace(record, **changes)
