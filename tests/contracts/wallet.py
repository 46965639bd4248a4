"""A wallet to settle: a database, a ledger, and the use case between them.

The same tests run on the fakes and on real servers, so nothing here looks inside a part:
the database is seen through ``DatabaseBench``, the ledger through its port and through balances.
"""

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from adapters.memory.faulty_ledger import FaultyLedger, LedgerCall, do_nothing
from application.errors import LedgerUnavailableError
from application.ports.outbox_repository import OutboxRepository
from application.reporting import BatchReport
from application.status_queue import StatusQueue
from application.use_cases.settle_batch import SettleBatch
from domain.concluding import Rules
from domain.fees import FeeRule, MappedAccount
from domain.intents import Action, EventId, Intent, IntentId, PspRecord, UserId
from domain.retry import RetryPolicy
from domain.transfer_status import TransferStatus
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.ledger import LEDGER, Bank, new_id

FEE_CODE: Final = 77
REVENUE_CODE: Final = "revenue.THB"
NOSTRO_CODE: Final = "nostro.ipps.THB"
POST: Final = Action.POST_PENDING
VOID: Final = Action.VOID_PENDING
NEW: Final = AccountId(0)
"""Stands for an account that is still to be opened."""
FEE_RULE: Final = FeeRule(
    debit_account="revenue.{currency}",
    credit_account="nostro.{psp}.{currency}",
    transfer_code=FEE_CODE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An intent with frozen money, and the event that orders its settling."""

    intent: Intent
    psp: PspRecord
    event_id: EventId
    pending_ids: tuple[TransferId, ...]
    payer: AccountId
    payee: AccountId

    @property
    def intent_id(self) -> IntentId:
        """The intent's id."""
        return self.intent.id


@dataclass(slots=True)
class Wallet:
    """Everything a settling test needs. Accounts are new, so a shared ledger does not matter."""

    bench: DatabaseBench
    ledger: FaultyLedger
    bank: Bank
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    announcements: StatusQueue = field(default_factory=lambda: StatusQueue(size_max=10_000))
    wake_ups: int = 0
    revenue: AccountId = NEW
    nostro: AccountId = NEW

    def __post_init__(self) -> None:
        self.revenue = self.revenue or self.bank.open_account(ledger=LEDGER)
        self.nostro = self.nostro or self.bank.open_account(ledger=LEDGER)
        self.map_account(REVENUE_CODE, self.revenue)
        self.map_account(NOSTRO_CODE, self.nostro)

    def map_account(self, code: str, account_id: AccountId) -> None:
        """Tell the database where one account is."""
        self.bench.map_account(code, MappedAccount(account_id=account_id, ledger=LEDGER))

    # What PM does.

    def add_case(
        self,
        action: str,
        *,
        frozen: Sequence[int] = (100,),
        missing: Sequence[TransferId] = (),
        fee_satang: int | None = None,
        payload_json: str | None = None,
        timeout_s: int = 0,
        psp: PspRecord | None = None,
        tagged: bool = True,
        **columns: Any,
    ) -> Case:
        """Freeze money and order *action* on it, see ``freeze``."""
        intent, accounts = self.freeze(
            frozen=frozen, missing=missing, timeout_s=timeout_s, tagged=tagged, **columns
        )
        return self.store(
            intent,
            action,
            psp=a_psp_record(fee_satang=fee_satang) if psp is None else psp,
            payload_json=payload_json,
            accounts=accounts,
        )

    def freeze(
        self,
        *,
        frozen: Sequence[int] = (100,),
        missing: Sequence[TransferId] = (),
        timeout_s: int = 0,
        tagged: bool = True,
        **columns: Any,
    ) -> tuple[Intent, tuple[AccountId, AccountId]]:
        """Freeze *frozen* for an intent, which is returned with the payer and the payee.

        *missing* ids follow those of the frozen money, and are not in the ledger. *tagged*
        pending transfers carry the intent's id in ``user_data_128``. *columns* override the
        intent's.
        """
        intent_id = IntentId(uuid4())
        payer = self.bank.open_account(ledger=LEDGER)
        payee = self.bank.open_account(ledger=LEDGER)
        pendings = [
            a_pending(
                payer,
                payee,
                amount,
                timeout_s=timeout_s,
                user_data_128=intent_id.int if tagged else 0,
            )
            for amount in frozen
        ]
        self.create(*pendings)
        pending_ids = (*(pending.id for pending in pendings), *missing)
        intent = Intent(
            id=intent_id,
            status="AUTHORIZED",
            operation_type="QR_PAYMENT",
            amount_satang=sum(frozen),
            currency="THB",
            user_id=UserId(uuid4()),
            issued_by_user_id=None,
            metadata_json=None,
            tb_transfer_ids=tuple(UUID(int=pending_id) for pending_id in pending_ids),
        )
        return replace(intent, **columns), (payer, payee)

    def store(
        self,
        intent: Intent,
        action: str,
        *,
        psp: PspRecord,
        payload_json: str | None,
        accounts: tuple[AccountId, AccountId],
    ) -> Case:
        """Write the rows of a case into the database."""
        self.bench.add_intent(intent)
        self.bench.add_psp(intent.id, psp)
        return Case(
            intent=intent,
            psp=psp,
            event_id=self.bench.add_event(intent.id, action, payload_json=payload_json),
            pending_ids=tuple(
                TransferId(id_.int) for id_ in intent.tb_transfer_ids if id_ is not None
            ),
            payer=accounts[0],
            payee=accounts[1],
        )

    def change_fee(self, case: Case, fee_satang: int) -> None:
        """Have the PSP tell another fee: its later row counts."""
        self.bench.add_psp(
            case.intent_id, a_psp_record(fee_satang=fee_satang, settlement_date="2026-06-01")
        )

    def on(self, bench: DatabaseBench) -> "Wallet":
        """Return a wallet with another database on the same ledger."""
        return Wallet(
            bench=bench,
            ledger=self.ledger,
            bank=self.bank,
            policy=self.policy,
            revenue=self.revenue,
            nostro=self.nostro,
        )

    # What others do on the ledger.

    def create(self, *transfers: Transfer) -> None:
        """Create *transfers*, each on its own, in one request; all of them take hold."""
        answers = self.ledger.ledger.create_chains([(transfer,) for transfer in transfers])
        assert list(answers) == [(TransferStatus.CREATED,)] * len(transfers)

    def close_account(self, account_id: AccountId) -> TransferId:
        """Close an account; voiding the returned pending transfer opens it again."""
        closing = replace(
            a_pending(self.revenue, account_id, 0),
            flags=TransferFlags.PENDING | TransferFlags.CLOSING_CREDIT,
        )
        self.create(closing)
        return closing.id

    def fund(self, account_id: AccountId, amount: int) -> None:
        """Give an account money."""
        source = self.bank.open_account(ledger=LEDGER)
        self.create(replace(a_pending(source, account_id, amount), flags=TransferFlags.NONE))

    def a_fee(self, amount: int, *, user_data_128: int = 0) -> Transfer:
        """Return a PSP fee as the original worker charges it, with an id of its own."""
        return Transfer(
            id=new_id(),
            debit_account_id=self.revenue,
            credit_account_id=self.nostro,
            amount=amount,
            ledger=LEDGER,
            code=FEE_CODE,
            user_data_128=user_data_128,
        )

    def back(self, fee: Transfer, amount: int) -> Transfer:
        """Return what pays *amount* of a fee back, with an id of its own."""
        return replace(
            fee,
            id=new_id(),
            debit_account_id=fee.credit_account_id,
            credit_account_id=fee.debit_account_id,
            amount=amount,
        )

    # What the worker does.

    def settle(
        self,
        *,
        outbox: OutboxRepository | None = None,
        lines_together: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> BatchReport:
        """Run one batch, on the wallet's own outbox unless another is given."""
        settle_batch = SettleBatch(
            outbox=outbox or self.bench.outbox,
            ledger=self.ledger,
            announcements=self.announcements,
            rules=Rules(fee=FEE_RULE, retry=self.policy, jitter=lambda upper_ms: upper_ms),
            batch_size=500,
            ledger_budget_s=60.0,
            jobs_written=self._wake,
            lines_together=lines_together,
        )
        return settle_batch()

    def settle_until_idle(self) -> None:
        """Run batches until nothing is due."""
        while self.settle().claimed:
            pass

    def settle_and_die_after(self, ledger_calls: int) -> None:
        """Run one batch that dies when that many ledger calls are carried out."""
        calls = itertools.count(1)

        def die(_: LedgerCall) -> None:
            if next(calls) == ledger_calls:
                raise LedgerUnavailableError("the answer is lost")

        self.ledger.after = die
        with pytest.raises(LedgerUnavailableError):
            self.settle()
        self.ledger.after = do_nothing

    def let_backoff_pass(self) -> None:
        """Let the longest backoff come to its end."""
        self.bench.pass_time(self.policy.backoff.max_ms)

    def _wake(self) -> None:
        self.wake_ups += 1

    # What there is to see.

    def announced(self) -> list[tuple[IntentId, str]]:
        """Return what the publisher would publish, and forget it."""
        messages = self.announcements.take(limit=10_000, timeout_s=0)
        return [(message.intent_id, str(message.status)) for message in messages]

    def posted_satang(self, case: Case) -> int:
        """Return what has reached the payee for good."""
        return self.bank.balances(case.payee).credits_posted

    def frozen_satang(self, case: Case) -> int:
        """Return what is still frozen on the payer."""
        return self.bank.balances(case.payer).debits_pending

    def fees_satang(self) -> int:
        """Return all PSP fees charged in this wallet."""
        return self.bank.balances(self.nostro).credits_posted

    def intent_status(self, case: Case) -> str:
        """Return the intent's status."""
        return self.bench.intent(case.intent_id).status

    def event_status(self, case: Case) -> str:
        """Return the event's status."""
        return self.bench.event(case.event_id).status

    def retry_count(self, case: Case) -> int:
        """Return how many failures are counted against the event."""
        return self.bench.event(case.event_id).retry_count

    def last_error(self, case: Case) -> str:
        """Return what the event's last failure was."""
        note = self.bench.retry(case.event_id)
        assert note is not None
        return note.last_error

    def lines(self, case: Case) -> list[tuple[int, str, int]]:
        """Return the history: line number, kind, satang."""
        return [
            (line.line_no, str(line.kind), line.amount_satang)
            for line in self.bench.history(case.intent_id)
        ]

    def audit_trail(self, case: Case) -> list[tuple[str, str]]:
        """Return the changes of status that were audited."""
        return [
            (audit.status_from, str(audit.status_to)) for audit in self.bench.audit(case.intent_id)
        ]

    def told(self, case: Case) -> list[str]:
        """Return the statuses that push jobs of the intent tell."""
        return [
            "SETTLED" if '"status":"SETTLED"' in job.job_json else "FAILED"
            for job in self.bench.jobs()
            if job.intent_id == case.intent_id
        ]


def a_psp_record(
    *,
    fee_satang: int | None = None,
    name: str | None = None,
    settlement_date: str | None = None,
    last_error: str | None = None,
) -> PspRecord:
    """Return what the PSP told about an intent."""
    return PspRecord(
        psp="IPPS",
        receiver_display_name=name,
        psp_fee_satang=fee_satang,
        settlement_date=settlement_date,
        last_error=last_error,
    )


def a_pending(
    debit: AccountId,
    credit: AccountId,
    amount: int,
    *,
    id_: TransferId | None = None,
    timeout_s: int = 0,
    user_data_128: int = 0,
) -> Transfer:
    """Return a transfer that freezes money, by default with a new id."""
    return Transfer(
        id=new_id() if id_ is None else id_,
        debit_account_id=debit,
        credit_account_id=credit,
        amount=amount,
        timeout_s=timeout_s,
        user_data_128=user_data_128,
        ledger=LEDGER,
        code=1,
        flags=TransferFlags.PENDING,
    )


def post_by_other(pending_id: TransferId, amount: int) -> Transfer:
    """Return a post with an id that is not the worker's."""
    return Transfer(
        id=new_id(),
        pending_id=pending_id,
        amount=amount,
        flags=TransferFlags.POST_PENDING_TRANSFER,
    )


def void_by_other(pending_id: TransferId) -> Transfer:
    """Return a void with an id that is not the worker's."""
    return Transfer(id=new_id(), pending_id=pending_id, flags=TransferFlags.VOID_PENDING_TRANSFER)
