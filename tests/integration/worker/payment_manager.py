"""What the payment manager does, in bulk, and what must have become of it in the end.

Expectations are written down here anew, from DESIGN §3, and not taken from the code under test.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
from redis import Redis

from application.ports.ledger import Ledger
from domain.transfer_status import TransferStatus
from domain.transfers import AccountId, TransferId
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.ledger import LEDGER, Bank
from tests.contracts.wallet import NOSTRO_CODE, POST, REVENUE_CODE, VOID, a_pending
from tests.helpers.worker_process import PATIENCE_S, WorkerProcess
from tests.integration.redis.clients import FIELD, STREAM, entries

OPERATIONS: Final = (
    "QR_PAYMENT",
    "INVOICE_PAYMENT",
    "INTERNAL_P2P",
    "SERVICE_TRANSFER",
    "ADMIN",
    "TOP_UP",
)
TOLD_IN_PAIRS: Final = {"INVOICE_PAYMENT", "INTERNAL_P2P", "SERVICE_TRANSFER", "ADMIN"}
PENDINGS_PER_REQUEST: Final = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """An authorized intent, the order to settle it, and what has to come of it."""

    intent_id: UUID
    operation_type: str
    action: str
    pending_ids: tuple[TransferId, ...]
    frozen: tuple[int, ...]
    splits: tuple[int, ...]
    fee_satang: int | None
    user_id: UUID
    merchant_id: UUID
    recipient_id: UUID

    @property
    def status(self) -> str:
        """The status that the intent must end in."""
        return "SETTLED" if self.action == POST else "FAILED"

    @property
    def amount_satang(self) -> int:
        """The intent's amount."""
        return sum(self.frozen)

    @property
    def fee_due_satang(self) -> int:
        """The PSP fee that must be charged."""
        return (self.fee_satang or 0) if self.action == POST else 0

    @property
    def lines(self) -> list[tuple[int, str, int]]:
        """The history that must be there: line number, kind, satang."""
        if self.action == VOID:
            return []
        amounts = [("PRINCIPAL", self.amount_satang - sum(self.splits))]
        amounts += [("FEE", split) for split in self.splits]
        if self.fee_satang:
            amounts.append(("PSP_FEE", self.fee_satang))
        return [(number, kind, satang) for number, (kind, satang) in enumerate(amounts)]

    @property
    def told(self) -> list[UUID]:
        """Everybody who must get a push message."""
        if self.action == VOID or self.operation_type not in TOLD_IN_PAIRS:
            return [self.user_id]
        other = self.merchant_id if self.operation_type == "INVOICE_PAYMENT" else self.recipient_id
        return [self.user_id, other]


class PaymentManager:
    """Freezes money on a ledger and orders its settling in a database."""

    def __init__(self, url: str, ledger: Ledger, bank: Bank) -> None:
        """Open the accounts and map those of the fee."""
        self.url = url
        self.ledger = ledger
        self._bank = bank
        self._payer, self._payee, self._revenue, self._nostro = (
            bank.open_account(ledger=LEDGER) for _ in range(4)
        )
        for code, account_id in ((REVENUE_CODE, self._revenue), (NOSTRO_CODE, self._nostro)):
            self.execute(
                "INSERT INTO pm.tb_account_map (code, tb_account_id, ledger) VALUES (%s, %s, %s)",
                code,
                UUID(int=account_id),
                LEDGER,
            )

    def order(self, count: int) -> list[Payment]:
        """Authorize *count* payments of all sorts, and order the settling of each."""
        payments = self.authorize(count)
        self.enqueue(payments)
        return payments

    def authorize(self, count: int) -> list[Payment]:
        """Freeze the money of *count* payments of all sorts; nothing is ordered yet."""
        payments = [a_payment(number) for number in range(count)]
        self._freeze(payments)
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO pm.intent (id, status, operation_type, amount_satang, user_id,"
                " issued_by_user_id, metadata, tb_transfer_ids)"
                " VALUES (%s, 'AUTHORIZED', %s, %s, %s, %s, %s::jsonb, %s::uuid[])",
                [
                    (
                        payment.intent_id,
                        payment.operation_type,
                        payment.amount_satang,
                        payment.user_id,
                        payment.merchant_id,
                        json.dumps({"recipientUserId": str(payment.recipient_id)}),
                        [UUID(int=pending_id) for pending_id in payment.pending_ids],
                    )
                    for payment in payments
                ],
            )
            cursor.executemany(
                "INSERT INTO pm.psp_tx_map (intent_id, psp, psp_fee_satang)"
                " VALUES (%s, 'IPPS', %s)",
                [(payment.intent_id, payment.fee_satang) for payment in payments],
            )
        return payments

    def enqueue(self, payments: Sequence[Payment]) -> None:
        """Order the settling of *payments*; needs no ledger."""
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO pm.outbox_event (intent_id, action, payload) VALUES (%s, %s, %s)",
                [
                    (payment.intent_id, payment.action, _payload(payment.splits))
                    for payment in payments
                ],
            )

    def execute(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement on its own and return its rows."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(query.encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    # What is there while the worker works.

    def wait_settled(self, *workers: WorkerProcess) -> None:
        """Wait until no event is pending."""
        self._wait_empty("pm.outbox_event WHERE status = 'pending'", workers)

    def wait_delivered(self, *workers: WorkerProcess) -> None:
        """Wait until no event is pending and no push job waits for its delivery."""
        self.wait_settled(*workers)
        self.wait_no_job(*workers)

    def wait_no_job(self, *workers: WorkerProcess) -> None:
        """Wait until no push job waits for its delivery."""
        self._wait_empty("pm.notification_outbox", workers)

    def is_unlocked(self) -> bool:
        """Does nobody hold an event or an intent?"""
        try:
            with psycopg.connect(self.url) as connection:
                connection.execute("SELECT FROM pm.outbox_event FOR UPDATE NOWAIT")
                connection.execute("SELECT FROM pm.intent FOR UPDATE NOWAIT")
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    def assert_nothing_locked(self) -> None:
        """Nobody holds an event or an intent."""
        assert self.is_unlocked()

    def assert_no_claim(self) -> None:
        """No session of a worker has to do with events or intents."""
        claims = self.execute(
            "SELECT relation::regclass::text, mode, query FROM pg_locks"
            " JOIN pg_stat_activity USING (pid)"
            " WHERE application_name = 'outbox-worker' AND datname = current_database()"
            "   AND relation IN ('pm.outbox_event'::regclass, 'pm.intent'::regclass)"
        )
        assert claims == []

    # What must be there in the end.

    def assert_untouched(self, payments: Sequence[Payment]) -> None:
        """Nothing is written of *payments*, and no attempt at them is counted."""
        assert self._events() == Counter({("pending", 0): len(payments)})
        assert self._count("pm.outbox_retry") == 0
        assert self._count("pm.intent WHERE status = 'AUTHORIZED'") == len(payments)
        for table in ("tx_history", "intent_event", "notification_outbox"):
            assert self._count(f"pm.{table}") == 0, table

    def assert_counted_against_nobody(self) -> None:
        """No attempt is counted, and no backoff runs."""
        assert self._count("pm.outbox_event WHERE retry_count <> 0") == 0
        assert self._count("pm.outbox_retry") == 0

    def assert_settled_once(self, payments: Sequence[Payment]) -> None:
        """All of *payments*, and only they, are settled, each effect is there once.

        No attempt counts as a failure.
        """
        assert self._events() == Counter({("processed", 0): len(payments)})
        assert self._count("pm.outbox_retry") == 0
        assert dict(self.execute("SELECT id, status FROM pm.intent")) == {
            payment.intent_id: payment.status for payment in payments
        }
        lines: dict[UUID, list[tuple[int, str, int]]] = defaultdict(list)
        for intent_id, *line in self.execute(
            "SELECT intent_id, line_no, kind, amount_satang FROM pm.tx_history ORDER BY id"
        ):
            lines[intent_id].append((line[0], line[1], line[2]))
        assert lines == {payment.intent_id: payment.lines for payment in payments if payment.lines}
        audit = self.execute("SELECT intent_id, status_from, status_to FROM pm.intent_event")
        assert Counter(audit) == Counter(
            (payment.intent_id, "AUTHORIZED", payment.status) for payment in payments
        )
        self._assert_money_adds_up(payments)

    def _assert_money_adds_up(self, payments: Sequence[Payment]) -> None:
        posted = sum(payment.amount_satang for payment in payments if payment.action == POST)
        fees = sum(payment.fee_due_satang for payment in payments)
        assert self._balance(self._payer) == (0, posted, 0)
        assert self._balance(self._payee) == (0, 0, posted)
        assert self._balance(self._revenue) == (0, fees, 0)
        assert self._balance(self._nostro) == (0, 0, fees)

    def _balance(self, account_id: AccountId) -> tuple[int, int, int]:
        """Return what is frozen, debited and credited on an account."""
        account = self._bank.balances(account_id)
        frozen = account.debits_pending + account.credits_pending
        return frozen, account.debits_posted, account.credits_posted

    def _freeze(self, payments: Sequence[Payment]) -> None:
        pendings = [
            (
                a_pending(
                    self._payer, self._payee, satang, id_=id_, user_data_128=payment.intent_id.int
                ),
            )
            for payment in payments
            for id_, satang in zip(payment.pending_ids, payment.frozen, strict=True)
        ]
        for start in range(0, len(pendings), PENDINGS_PER_REQUEST):
            request = pendings[start : start + PENDINGS_PER_REQUEST]
            answers = self.ledger.create_chains(request)
            assert list(answers) == [(TransferStatus.CREATED,)] * len(request)

    def _events(self) -> Counter[tuple[str, int]]:
        return Counter(
            (status, retry_count)
            for status, retry_count in self.execute(
                "SELECT status, retry_count FROM pm.outbox_event"
            )
        )

    def _count(self, rows: str) -> int:
        ((count,),) = self.execute(f"SELECT count(*) FROM {rows}")
        return int(count)

    def _wait_empty(self, rows: str, workers: Sequence[WorkerProcess]) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:

            def is_empty() -> bool:
                query = f"SELECT NOT EXISTS (SELECT FROM {rows})"
                return connection.execute(query.encode()).fetchone() == (True,)

            wait = workers[0].wait_until if workers else _wait_alone
            wait(is_empty, what=f"there is no {rows}")


def _wait_alone(condition: Callable[[], bool], *, what: str) -> None:
    wait_until(condition, timeout_s=PATIENCE_S, what=what)


def a_payment(number: int) -> Payment:
    """Return a payment; sixty consecutive numbers give every combination."""
    frozen = tuple(1_000 + number + 7 * member for member in range(number % 3 + 1))
    return Payment(
        intent_id=uuid4(),
        operation_type=OPERATIONS[number % len(OPERATIONS)],
        action=VOID if number % 4 == 3 else POST,
        pending_ids=tuple(TransferId(uuid4().int) for _ in frozen),
        frozen=frozen,
        splits=(5, 150)[: number % 5],
        fee_satang=(None, 0, 12, 34)[number // 2 % 4],
        user_id=uuid4(),
        merchant_id=uuid4(),
        recipient_id=uuid4(),
    )


def _payload(splits: Sequence[int]) -> str | None:
    if not splits:
        return None
    return json.dumps(
        {
            "feeSplits": [
                {"account": REVENUE_CODE, "amountSatang": split, "kind": "PLATFORM_FEE"}
                for split in splits
            ]
        }
    )


def assert_on_stream_once(redis: Redis, payments: Sequence[Payment]) -> None:
    """Each push job of *payments* is on the stream once, in the form that its reader expects."""
    jobs = [json.loads(fields[FIELD]) for fields in entries(redis, STREAM)]
    told = Counter((job["data"]["intentId"], job["userId"], job["data"]["status"]) for job in jobs)
    assert told == Counter(
        (str(payment.intent_id), str(user_id), payment.status)
        for payment in payments
        for user_id in payment.told
    )
    assert len({job["data"]["notificationId"] for job in jobs}) == len(jobs)
    by_intent = {str(payment.intent_id): payment for payment in payments}
    for job in jobs:
        payment = by_intent[job["data"]["intentId"]]
        assert set(job) == {"userId", "title", "body", "channel", "traceId", "data"}
        assert job["channel"] == "payment"
        assert all([job["title"], job["body"], job["traceId"]])
        assert set(job["data"]) == {
            "intentId",
            "status",
            "operationType",
            "amountSatang",
            "currency",
            "notificationId",
        }
        assert job["data"]["operationType"] == payment.operation_type
        assert job["data"]["amountSatang"] == str(payment.amount_satang)
        assert job["data"]["currency"] == "THB"


def assert_logged_once(payments: Sequence[Payment], *workers: WorkerProcess) -> None:
    """Among *workers*, each intent has one log line that says what became of it."""
    expected = {"SETTLED": "outbox: intent settled", "FAILED": "outbox: intent failed"}
    logged = Counter(
        (line["event"], line["intent_id"])
        for worker in workers
        for event in expected.values()
        for line in worker.logged(event)
    )
    assert logged == Counter(
        (expected[payment.status], str(payment.intent_id)) for payment in payments
    )
