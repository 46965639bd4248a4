"""A ledger that holds one intent's frozen money, and the means to settle it step by step.

Each pending transfer has a payer account of its own, so the balances alone tell what became
of it; nothing of the ledger's inside is looked at.
"""

from dataclasses import dataclass, field, replace
from typing import Final, TypeVar
from uuid import UUID

from adapters.memory.ledger import InMemoryLedger
from application.ports.ledger import Ledger
from domain.fees import Fee
from domain.intents import Action, IntentId
from domain.ledger_requests import Answer, Ask, CreateChain, FindResolutions, LookUp
from domain.resolution import Order, Resolution
from domain.transfer_status import AnyStatus, TransferStatus
from domain.transfers import (
    AMOUNT_MAX,
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)
from domain.verdicts import Verdict

INTENT_ID: Final = IntentId(UUID("0190a0b0-c0d0-7000-8000-00000000abcd"))
OTHER_INTENT_ID: Final = IntentId(UUID("0190a0b0-c0d0-7000-8000-00000000ffff"))
AMOUNTS: Final = (10_000, 250, 37)

LEDGER: Final = 764
PENDING_CODE: Final = 10
FEE_CODE: Final = 50
MERCHANT, REVENUE, NOSTRO, BANK = (AccountId(id_) for id_ in (200, 300, 400, 500))

POST: Final = TransferFlags.POST_PENDING_TRANSFER
VOID: Final = TransferFlags.VOID_PENDING_TRANSFER
NS_PER_S: Final = 1_000_000_000
DUE_FEE: Final = Fee(
    amount_satang=150,
    debit_account_id=REVENUE,
    credit_account_id=NOSTRO,
    ledger=LEDGER,
    transfer_code=FEE_CODE,
)

A = TypeVar("A", CreateChain, LookUp, FindResolutions)

ASKS_MAX: Final = 1_000
"""More than any resolution may ask in one attempt."""


def pending_id_of(member: int) -> TransferId:
    """Return a time-ordered id, as PM makes them; each has 48 bits of its own in front."""
    return TransferId((0x0190A0B0C0D0 + member) << 80 | 0x7000 << 64 | member)


@dataclass(slots=True)
class FrozenMoney:
    """The pending transfers of one intent, in a ledger whose clock stands still.

    Members are numbered from 0; member *i* freezes ``AMOUNTS[i]`` of its own payer.
    """

    members: int
    revenue_satang: int = 1_000_000
    ledger: InMemoryLedger = field(
        default_factory=lambda: InMemoryLedger(now_ns=lambda: 1_000 * NS_PER_S)
    )
    _next_id: int = 1

    def __post_init__(self) -> None:
        limited = AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS
        accounts = [
            *(Account(id=payer_of(member), ledger=LEDGER, code=1) for member in range(3)),
            Account(id=MERCHANT, ledger=LEDGER, code=1),
            Account(id=REVENUE, ledger=LEDGER, code=1, flags=limited),
            Account(id=NOSTRO, ledger=LEDGER, code=1),
            Account(id=BANK, ledger=LEDGER, code=1),
        ]
        assert {status.name for status in self.ledger.create_accounts(accounts)} == {"CREATED"}
        if self.revenue_satang:
            self.fund_revenue(self.revenue_satang)

    @classmethod
    def with_all_frozen(cls, members: int, *, revenue_satang: int = 1_000_000) -> "FrozenMoney":
        """Return *members* pending transfers, all open."""
        money = cls(members, revenue_satang=revenue_satang)
        for member in range(members):
            money.freeze(member)
        return money

    @property
    def pending_ids(self) -> tuple[TransferId, ...]:
        """The pending ids, in the order of the intent."""
        return tuple(pending_id_of(member) for member in range(self.members))

    # What others do.

    def send(self, *transfers: Transfer) -> list[AnyStatus]:
        """Create *transfers* in one request."""
        return self.ledger.create_transfers(transfers)

    def must_send(self, *transfers: Transfer) -> None:
        """Create *transfers* in one request; all of them take hold."""
        assert self.send(*transfers) == [TransferStatus.CREATED] * len(transfers)

    def fresh_id(self) -> TransferId:
        """Return an id that nobody derives."""
        self._next_id += 1
        return TransferId(self._next_id)

    def freeze(self, member: int, *, timeout_s: int = 0) -> None:
        """Create the pending transfer of *member*."""
        self.must_send(
            Transfer(
                id=pending_id_of(member),
                debit_account_id=payer_of(member),
                credit_account_id=MERCHANT,
                amount=AMOUNTS[member],
                user_data_128=INTENT_ID.int,
                timeout_s=timeout_s,
                ledger=LEDGER,
                code=PENDING_CODE,
                flags=TransferFlags.PENDING,
            )
        )

    def let_expire(self, member: int) -> None:
        """Freeze *member* and let the reservation run out."""
        self.freeze(member, timeout_s=1)
        self.ledger.advance_ns(2 * NS_PER_S)
        self.ledger.lookup(())

    def resolution_by_hand(
        self, member: int, flag: TransferFlags, *, amount: int | None = None
    ) -> Transfer:
        """Return a transfer that resolves *member* by an id which is not ours."""
        in_full = AMOUNT_MAX if flag is POST else 0
        return Transfer(
            id=self.fresh_id(),
            pending_id=pending_id_of(member),
            amount=in_full if amount is None else amount,
            flags=flag,
        )

    def resolve_by_hand(
        self, member: int, flag: TransferFlags, *, amount: int | None = None
    ) -> None:
        """Resolve *member* by an id which is not ours."""
        self.must_send(self.resolution_by_hand(member, flag, amount=amount))

    def foreign_fee(self, *, user_data_128: int, amount: int = 150) -> Transfer:
        """Return a PSP fee under an id which is not ours."""
        return Transfer(
            id=self.fresh_id(),
            debit_account_id=REVENUE,
            credit_account_id=NOSTRO,
            amount=amount,
            user_data_128=user_data_128,
            ledger=LEDGER,
            code=FEE_CODE,
        )

    def fund_revenue(self, amount: int) -> None:
        """Pay *amount* into the account that fees are taken from."""
        self.must_send(
            Transfer(
                id=self.fresh_id(),
                debit_account_id=BANK,
                credit_account_id=REVENUE,
                amount=amount,
                ledger=LEDGER,
                code=1,
            )
        )

    def close_payer(self, member: int) -> TransferId:
        """Close the account of a payer; return the id that ``reopen`` takes."""
        closing = Transfer(
            id=self.fresh_id(),
            debit_account_id=payer_of(member),
            credit_account_id=BANK,
            ledger=LEDGER,
            code=1,
            flags=TransferFlags.PENDING | TransferFlags.CLOSING_DEBIT,
        )
        self.must_send(closing)
        return closing.id

    def reopen(self, closing_id: TransferId) -> None:
        """Undo ``close_payer``."""
        self.must_send(Transfer(id=self.fresh_id(), pending_id=closing_id, flags=VOID))

    # What the worker does.

    def order(
        self,
        action: Action,
        *,
        fee: Fee | None = DUE_FEE,
        fee_wanted: bool = True,
        fee_may_exist: bool = False,
        generations: tuple[int, ...] = (),
    ) -> Order:
        """Return the order to resolve all members; a void never has a fee."""
        posting = action is Action.POST_PENDING
        return Order(
            intent_id=INTENT_ID,
            action=action,
            pending_ids=self.pending_ids,
            fee=fee if posting else None,
            fee_code=FEE_CODE,
            fee_wanted=posting and fee_wanted,
            fee_may_exist=fee_may_exist,
            generations=generations,
        )

    def post(
        self,
        *,
        fee: Fee | None = DUE_FEE,
        fee_wanted: bool = True,
        fee_may_exist: bool = False,
        generations: tuple[int, ...] = (),
    ) -> Verdict:
        """Post all members, as one attempt would."""
        return drive(
            Resolution(
                self.order(
                    Action.POST_PENDING,
                    fee=fee,
                    fee_wanted=fee_wanted,
                    fee_may_exist=fee_may_exist,
                    generations=generations,
                )
            ),
            self.ledger,
        )

    def void(self, *, generations: tuple[int, ...] = ()) -> Verdict:
        """Void all members, as one attempt would."""
        return drive(
            Resolution(self.order(Action.VOID_PENDING, generations=generations)), self.ledger
        )

    # What the ledger holds.

    def moved(self) -> tuple[int, ...]:
        """How much of each member has reached the merchant."""
        return tuple(account.debits_posted for account in self._payers())

    def frozen(self) -> tuple[int, ...]:
        """How much of each member is still reserved."""
        return tuple(account.debits_pending for account in self._payers())

    def fees(self) -> list[int]:
        """The amounts of all PSP fees, oldest first."""
        return [t.amount for t in self.ledger.all_transfers() if t.code == FEE_CODE]

    def merchant_got(self) -> int:
        """What the merchant's account has received."""
        return self.ledger.lookup_accounts([MERCHANT])[MERCHANT].credits_posted

    def everything(self) -> tuple[object, ...]:
        """All that the ledger holds, to see that nothing moved."""
        return (*self.ledger.all_accounts(), *self.ledger.all_transfers())

    def _payers(self) -> list[Account]:
        payers = [payer_of(member) for member in range(self.members)]
        return list(self.ledger.lookup_accounts(payers).values())


def payer_of(member: int) -> AccountId:
    """Return the account whose money *member* freezes."""
    return AccountId(100 + member)


def amounts(members: int) -> tuple[int, ...]:
    """Return what *members* members freeze."""
    return AMOUNTS[:members]


def nothing(members: int) -> tuple[int, ...]:
    """Return 0 for each of *members* members."""
    return (0,) * members


def linked(*transfers: Transfer) -> tuple[Transfer, ...]:
    """Return *transfers* as one closed chain."""
    return (
        *(replace(t, flags=t.flags | TransferFlags.LINKED) for t in transfers[:-1]),
        transfers[-1],
    )


def answer_to(ask: Ask, ledger: Ledger) -> Answer:
    """Carry *ask* out."""
    match ask:
        case CreateChain(transfers):
            return ledger.create_chains([transfers])[0]
        case LookUp(ids):
            return ledger.lookup(ids)
        case FindResolutions(search):
            return ledger.find_resolutions(search)


def open_ask(resolution: Resolution, kind: type[A]) -> A:
    """Return what *resolution* asks now, which must be of *kind*."""
    ask = resolution.ask
    assert isinstance(ask, kind)
    return ask


def answer_until(resolution: Resolution, ledger: Ledger, kind: type[A]) -> A:
    """Answer what *resolution* asks up to the first ask of *kind*; return that one."""
    while resolution.ask is not None and not isinstance(resolution.ask, kind):
        resolution.answer(answer_to(resolution.ask, ledger))
    return open_ask(resolution, kind)


def drive(resolution: Resolution, ledger: Ledger) -> Verdict:
    """Answer all that *resolution* asks and return its verdict."""
    for _ in range(ASKS_MAX):
        if resolution.ask is None:
            assert resolution.verdict is not None
            return resolution.verdict
        assert resolution.verdict is None
        resolution.answer(answer_to(resolution.ask, ledger))
    raise AssertionError(f"not finished after {ASKS_MAX} asks")
