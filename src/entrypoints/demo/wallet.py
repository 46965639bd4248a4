"""The payment manager of the demo: opens accounts, freezes money, orders its settling.

All of it is what a real one does: pending transfers in the ledger, rows in Postgres, and the
order by ``EnqueueEvent`` in the transaction that makes the intent ``AUTHORIZED``.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

import psycopg

from adapters.postgres.event_store import PostgresEventStore
from application.ports.ledger import Ledger
from application.use_cases.enqueue_event import EnqueueEvent
from domain.intents import Action, Intent, IntentId, IntentStatus, UserId
from domain.transfer_status import TransferStatus
from domain.transfers import Account, AccountId, Transfer, TransferFlags, TransferId

LEDGER: Final = 764
"""ISO 4217's number of THB."""
ACCOUNT_CODE: Final = 1
FREEZE_CODE: Final = 10
VOID_SHARE_PERCENT: Final = 10
OPERATION_TYPES: Final = (
    "INVOICE_PAYMENT", "INTERNAL_P2P", "SERVICE_TRANSFER", "ADMIN", "QR_PAYMENT", "TOP_UP",
)  # fmt: skip

REVENUE: Final = AccountId(1)
NOSTRO: Final = AccountId(2)
PAYER: Final = AccountId(3)
PAYEE: Final = AccountId(4)

OpenAccounts = Callable[[Sequence[Account]], None]


@dataclass(slots=True)
class DemoWallet:
    """Makes intents, the same ones for the same seed but for their ids' place in time."""

    connection: psycopg.Connection
    ledger: Ledger
    random: random.Random
    now_ms: Callable[[], int]
    intents: dict[IntentId, Intent] = field(default_factory=dict)

    def open(self, open_accounts: OpenAccounts) -> None:
        """Open the accounts, and tell the database where those of the fees are."""
        open_accounts(
            [
                Account(id=account_id, ledger=LEDGER, code=ACCOUNT_CODE)
                for account_id in (REVENUE, NOSTRO, PAYER, PAYEE)
            ]
        )
        codes = {"revenue.THB": REVENUE, "nostro.ipps.THB": NOSTRO}
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO pm.tb_account_map (code, tb_account_id, ledger) VALUES (%s, %s, %s)",
                [(code, UUID(int=account_id), LEDGER) for code, account_id in codes.items()],
            )

    def authorize(self, count: int) -> None:
        """Authorize *count* new intents and order their settling, in one transaction."""
        made = [self._an_intent() for _ in range(count)]
        self._freeze([intent for intent, _ in made])
        with self.connection.transaction():
            self._insert(made)
            enqueue = EnqueueEvent(store=PostgresEventStore(self.connection))
            for intent, action in made:
                payload = self._payload(intent) if action is Action.POST_PENDING else None
                enqueue(intent.id, action, payload_json=payload)
        self.intents |= {intent.id: intent for intent, _ in made}

    def poison(self) -> int:
        """Order what cannot be carried out; return how many events that makes.

        Written past ``EnqueueEvent``, which would refuse them.
        """
        unreadable, repeated, too_long = (self._an_intent()[0] for _ in range(3))
        repeated = replace(repeated, tb_transfer_ids=repeated.tb_transfer_ids[:1])
        self._freeze([unreadable, repeated, too_long])
        repeated = replace(repeated, tb_transfer_ids=repeated.tb_transfer_ids * 2)
        nothing_frozen = replace(self._an_intent()[0], tb_transfer_ids=(), amount_satang=0)
        made = [unreadable, repeated, too_long, nothing_frozen]
        with self.connection.transaction():
            self._insert([(intent, Action.POST_PENDING) for intent in made])
            self.connection.execute(
                "UPDATE pm.psp_tx_map SET receiver_display_name = repeat('N', 300)"
                " WHERE intent_id = %s",
                [too_long.id],
            )
            orders: list[tuple[UUID, str]] = [(intent.id, "{}") for intent in made[1:]]
            orders += [(unreadable.id, '{"feeSplits": "x"}'), (self._a_uuid(), "{}")]
            with self.connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO pm.outbox_event (intent_id, action, payload)"
                    " VALUES (%s, 'post_pending', %s::jsonb)",
                    orders,
                )
        self.intents |= {intent.id: intent for intent in made}
        return len(orders)

    def _an_intent(self) -> tuple[Intent, Action]:
        operation_type = self.random.choice(OPERATION_TYPES)
        metadata = {"traceId": f"demo-{self.random.getrandbits(48):012x}"}
        if operation_type == "INTERNAL_P2P":
            metadata["recipientUserId"] = str(self._a_uuid())
        is_void = self.random.randrange(100) < VOID_SHARE_PERCENT
        intent = Intent(
            id=IntentId(self._a_uuid()),
            status=IntentStatus.AUTHORIZED,
            operation_type=operation_type,
            amount_satang=self.random.randint(10_00, 5_000_00),
            currency="THB",
            user_id=UserId(self._a_uuid()),
            issued_by_user_id=(
                UserId(self._a_uuid()) if operation_type == "INVOICE_PAYMENT" else None
            ),
            metadata_json=json.dumps(metadata),
            tb_transfer_ids=tuple(self._a_uuid() for _ in range(self.random.randint(1, 3))),
        )
        return intent, Action.VOID_PENDING if is_void else Action.POST_PENDING

    def _freeze(self, intents: Sequence[Intent]) -> None:
        chains = [(pending,) for intent in intents for pending in _pendings(intent)]
        answers = self.ledger.create_chains(chains)
        if any(answer != (TransferStatus.CREATED,) for answer in answers):
            raise RuntimeError("the ledger did not freeze the money of the demo")

    def _insert(self, ordered: Sequence[tuple[Intent, Action]]) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO pm.intent (id, status, operation_type, channel, amount_satang,"
                " currency, user_id, issued_by_user_id, metadata, tb_transfer_ids)"
                " VALUES (%s, %s, %s, 'DEMO', %s, %s, %s, %s, %s::jsonb, %s)",
                [
                    (
                        intent.id, intent.status, intent.operation_type, intent.amount_satang,
                        intent.currency, intent.user_id, intent.issued_by_user_id,
                        intent.metadata_json, list(intent.tb_transfer_ids),
                    )
                    for intent, _ in ordered
                ],
            )  # fmt: skip
            cursor.executemany(
                "INSERT INTO pm.psp_tx_map (intent_id, psp, state, receiver_display_name,"
                " psp_fee_satang, settlement_date, last_error)"
                " VALUES (%s, 'IPPS', %s, %s, %s, current_date, %s)",
                [
                    (
                        intent.id, "FAILED" if action is Action.VOID_PENDING else "CONFIRMED",
                        f"Receiver {self.random.randint(1, 999)}",
                        self.random.choice((None, 0, 150, 325)),
                        "declined by the bank" if action is Action.VOID_PENDING else None,
                    )
                    for intent, action in ordered
                ],
            )  # fmt: skip

    def _payload(self, intent: Intent) -> str | None:
        if self.random.randrange(100) < 50:
            return None
        fee_satang = intent.amount_satang * 2 // 100
        split = {"account": "revenue.THB", "amountSatang": fee_satang, "kind": "PLATFORM_FEE"}
        return json.dumps({"feeSplits": [split]})

    def _a_uuid(self) -> UUID:
        """Return a UUIDv7: ids in the order of time keep the ledger's index fast."""
        bits = self.now_ms() << 80 | self.random.getrandbits(80)
        bits = bits & ~(0xF << 76) | 0x7 << 76
        return UUID(int=bits & ~(0x3 << 62) | 0x2 << 62)


def _pendings(intent: Intent) -> list[Transfer]:
    """Split the intent's amount over its transfers."""
    count = len(intent.tb_transfer_ids)
    share = intent.amount_satang // count
    amounts = [intent.amount_satang - share * (count - 1), *[share] * (count - 1)]
    return [
        Transfer(
            id=TransferId(id_.int),
            debit_account_id=PAYER,
            credit_account_id=PAYEE,
            amount=amount,
            user_data_128=intent.id.int,
            ledger=LEDGER,
            code=FREEZE_CODE,
            flags=TransferFlags.PENDING,
        )
        for id_, amount in zip(intent.tb_transfer_ids, amounts, strict=True)
        if id_ is not None
    ]
