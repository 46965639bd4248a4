"""What a crowd of workers gets to do: payments of every sort, good and bad, in random order.

What has to become of each is written down here, from DESIGN §3 and §8, and not taken from the
code under test.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final
from uuid import UUID

import psycopg

from application.ports.ledger import Ledger
from domain.intents import Intent, IntentId, UserId
from domain.transfer_status import TransferStatus
from domain.transfers import AccountId, Transfer, TransferFlags, TransferId
from tests.contracts.ledger import LEDGER, Bank
from tests.contracts.wallet import (
    NOSTRO_CODE,
    POST,
    REVENUE_CODE,
    VOID,
    a_pending,
    post_by_other,
    void_by_other,
)

OPERATIONS: Final = (
    "INVOICE_PAYMENT", "INTERNAL_P2P", "SERVICE_TRANSFER", "ADMIN", "QR_PAYMENT", "TOP_UP",
)  # fmt: skip
TRANSFERS_PER_REQUEST: Final = 250
REFUSED_NAME: Final = "the payment manager does not take this name"
MAPPED_LATE: Final = "USD"
"""A currency whose fee accounts are missing at first."""

# In percent of the intents.
SEVERAL_EVENTS: Final = 20
NO_EVENT: Final = 1
EACH_ODDITY: Final = 0.5
LOOKS_LIKE_NUL: Final = "\\u0000"
"""Six characters. A true NUL is in none of these columns: Postgres takes it in no text or jsonb."""
ORPHAN_EVERY: Final = 100
"""So many events, and there is one without an intent."""

BAD_PAYLOADS: Final = (
    "[]",
    '{"feeSplits": "x"}',
    '{"feeSplits": [{"account": "a", "kind": "K", "amountSatang": 1.5}]}',
    '{"feeSplits": [{"account": "a", "kind": "K", "amountSatang": 99999999999999}]}',
    f'{{"feeSplits": [{{"account": "a", "kind": "K", "amountSatang": {"9" * 5_000}}}]}}',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """An intent, what is frozen for it, what is ordered, and the status that it must end in.

    ``by_others`` is done in the ledger beforehand, by ids that are not the worker's.
    """

    intent: Intent
    frozen: tuple[Transfer, ...]
    actions: tuple[str, ...]
    status: str
    payload: str | None = None
    receiver: str = "สมชาย"
    fee_satang: int | None = None
    by_others: tuple[Transfer, ...] = ()


Twist = Callable[[Payment], Payment]


@dataclass(slots=True)
class Population:
    """Makes payments from *random* and puts them where workers and the checks find them."""

    url: str
    ledger: Ledger
    bank: Bank
    random: Random
    payer: AccountId
    payee: AccountId
    revenue: AccountId
    nostro: AccountId
    payments: list[Payment]
    orphans: list[UUID]

    @classmethod
    def with_accounts(cls, url: str, ledger: Ledger, bank: Bank, random: Random) -> "Population":
        """Open the accounts and map those of the fees."""
        payer, payee, revenue, nostro = (bank.open_account(ledger=LEDGER) for _ in range(4))
        population = cls(
            url, ledger, bank, random, payer, payee, revenue, nostro, payments=[], orphans=[]
        )  # fmt: skip
        population._map_accounts(REVENUE_CODE, NOSTRO_CODE)
        return population

    def authorize(self, events: int) -> None:
        """Make payments until about that many events are to be ordered; freeze their money."""
        # One of each oddity in any case; the rest is left to chance.
        self.payments += [twist(self._a_good_payment()) for twist in self._twists()]
        to_order = 0
        while to_order < events:
            payment = self._a_payment()
            to_order += len(payment.actions)
            self.payments.append(payment)
        self._create([one for payment in self.payments for one in payment.frozen])
        self._create([one for payment in self.payments for one in payment.by_others])
        self._insert_payments()

    def order(self, connection: psycopg.Connection, *, chunks: int) -> Iterator[str]:
        """Order everything in random order, one transaction a step, while workers work.

        Further steps wait until somebody misses the accounts of ``MAPPED_LATE``, and map them.
        """
        rows = self._orders()
        size = -(-len(rows) // chunks)
        for start in range(0, len(rows), size):
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO pm.outbox_event (intent_id, action, payload)"
                    " VALUES (%s, %s, %s::jsonb)",
                    rows[start : start + size],
                )
            yield "ordered"
        missed = "SELECT FROM pm.outbox_retry WHERE reason = 'fee_account_unmapped' LIMIT 1"
        while not connection.execute(missed).fetchall():
            yield "waiting"
        self._map_accounts(f"revenue.{MAPPED_LATE}", f"nostro.ipps.{MAPPED_LATE}")

    @property
    def intents(self) -> dict[IntentId, Intent]:
        """Every intent that is in the database."""
        return {payment.intent.id: payment.intent for payment in self.payments}

    @property
    def intent_of_transfer(self) -> dict[int, IntentId]:
        """Whose each pending transfer is; the nil id is nobody's."""
        return {
            id_.int: payment.intent.id
            for payment in self.payments
            for id_ in payment.intent.tb_transfer_ids
            if id_ is not None and id_.int
        }

    # Making one.

    def _a_payment(self) -> Payment:
        payment = self._a_good_payment()
        dice = self.random.uniform(0, 100)
        if dice < NO_EVENT:
            return replace(payment, actions=(), status="AUTHORIZED")
        dice -= NO_EVENT
        twists = self._twists()
        if dice < EACH_ODDITY * len(twists):
            payment = twists[int(dice / EACH_ODDITY)](payment)
        return self._perhaps_ordered_again(payment)

    def _orders(self) -> list[tuple[IntentId, str, str | None]]:
        """Return what to order, in random order, but for the events of one intent."""
        tickets = [payment for payment in self.payments for _ in payment.actions]
        self.random.shuffle(tickets)
        left = {payment.intent.id: list(payment.actions) for payment in self.payments}
        rows = [
            (payment.intent.id, left[payment.intent.id].pop(0), payment.payload)
            for payment in tickets
        ]
        for _ in range(len(rows) // ORPHAN_EVERY):
            orphan = IntentId(self._a_uuid())
            self.orphans.append(orphan)
            rows.insert(self.random.randrange(len(rows)), (orphan, POST, None))
        return rows

    def _a_good_payment(self) -> Payment:
        amounts = [self.random.randint(1_000, 500_000) for _ in range(self.random.randint(1, 3))]
        intent = self._an_intent(amounts)
        action = VOID if self.random.randrange(4) == 0 else POST
        return Payment(
            intent=intent,
            frozen=tuple(
                a_pending(
                    self.payer,
                    self.payee,
                    amount,
                    id_=TransferId(id_.int),
                    user_data_128=intent.id.int,
                )
                for amount, id_ in zip(amounts, intent.tb_transfer_ids, strict=True)
                if id_ is not None
            ),
            actions=(action,),
            status="FAILED" if action is VOID else "SETTLED",
            payload=self._a_payload(),
            fee_satang=self.random.choice((None, 0, 150, 325)),
        )

    def _an_intent(self, amounts: Sequence[int]) -> Intent:
        operation_type = self.random.choice(OPERATIONS)
        metadata = {
            "recipientUserId": str(self._a_uuid()),
            "traceId": self.random.choice(("trace", LOOKS_LIKE_NUL, "\\x00")),
        }
        return Intent(
            id=IntentId(self._a_uuid()),
            status="AUTHORIZED",
            operation_type=operation_type,
            amount_satang=sum(amounts),
            currency="THB",
            user_id=UserId(self._a_uuid()),
            issued_by_user_id=UserId(self._a_uuid()),
            metadata_json=json.dumps(metadata),
            tb_transfer_ids=tuple(self._a_uuid() for _ in amounts),
        )

    def _a_payload(self) -> str | None:
        splits = [
            {"account": account, "amountSatang": satang, "kind": "PLATFORM_FEE"}
            for account, satang in ((REVENUE_CODE, "150"), ("partner" + LOOKS_LIKE_NUL, 12))
            if self.random.randrange(2)
        ]
        return json.dumps({"feeSplits": splits}) if splits else None

    def _perhaps_ordered_again(self, payment: Payment) -> Payment:
        """Order the same or the contrary once or twice more, as only a person's SQL can."""
        if self.random.uniform(0, 100) >= SEVERAL_EVENTS:
            return payment
        first = payment.actions[0]
        again = [self.random.choice((POST, VOID)) for _ in range(self.random.randint(1, 2))]
        is_contradicted = any(action != first for action in again)
        return replace(
            payment,
            actions=(first, *again),
            status="MANUAL_REVIEW" if is_contradicted else payment.status,
        )

    def _twists(self) -> Sequence[Twist]:
        """What can be odd about a payment: at planning, in the ledger, at the commit."""
        return (
            # At planning.
            lambda one: in_review(one, payload=self.random.choice(BAD_PAYLOADS)),
            lambda one: in_review(one, tb_transfer_ids=one.intent.tb_transfer_ids * 2),
            lambda one: in_review(posted(one), frozen=(), tb_transfer_ids=()),
            lambda one: in_review(one, intent_status="CREATED"),
            lambda one: replace(voided(one), frozen=(), intent=without_transfers(one.intent)),
            lambda one: replace(
                posted(one), intent=replace(one.intent, currency=MAPPED_LATE), fee_satang=150
            ),
            # In the ledger.
            lambda one: in_review(one, frozen=one.frozen[1:]),
            lambda one: in_review(one, frozen=(self._moved_at_once(one), *one.frozen[1:])),
            lambda one: in_review(one, tb_transfer_ids=(UUID(int=0), *one.intent.tb_transfer_ids)),
            lambda one: in_review(posted(one), by_others=(void_by_other(one.frozen[-1].id),)),
            lambda one: in_review(voided(one), by_others=posts_by_others(one)[:1]),
            lambda one: replace(posted(one), by_others=posts_by_others(one)),
            lambda one: replace(
                voided(one), by_others=tuple(void_by_other(each.id) for each in one.frozen)
            ),
            # At the commit: 22001, and a rule of PM's own.
            lambda one: in_review(posted(one), receiver="N" * 300),
            lambda one: in_review(posted(one), receiver=REFUSED_NAME),
        )

    def _moved_at_once(self, payment: Payment) -> Transfer:
        return replace(payment.frozen[0], flags=TransferFlags.NONE)

    def _a_uuid(self) -> UUID:
        return UUID(int=self.random.getrandbits(128), version=4)

    # Storing them.

    def _map_accounts(self, revenue_code: str, nostro_code: str) -> None:
        with psycopg.connect(self.url) as connection:
            for code, account in ((revenue_code, self.revenue), (nostro_code, self.nostro)):
                connection.execute(
                    "INSERT INTO pm.tb_account_map (code, tb_account_id, ledger)"
                    " VALUES (%s, %s, %s)",
                    [code, UUID(int=account), LEDGER],
                )

    def _create(self, transfers: Sequence[Transfer]) -> None:
        for start in range(0, len(transfers), TRANSFERS_PER_REQUEST):
            request = transfers[start : start + TRANSFERS_PER_REQUEST]
            answers = self.ledger.create_chains([(transfer,) for transfer in request])
            assert list(answers) == [(TransferStatus.CREATED,)] * len(request)

    def _insert_payments(self) -> None:
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO pm.intent (id, status, operation_type, amount_satang, currency,"
                " user_id, issued_by_user_id, metadata, tb_transfer_ids)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s::uuid[])",
                [
                    (
                        one.id,
                        one.status,
                        one.operation_type,
                        one.amount_satang,
                        one.currency,
                        one.user_id,
                        one.issued_by_user_id,
                        one.metadata_json,
                        list(one.tb_transfer_ids),
                    )
                    for one in self.intents.values()
                ],
            )
            cursor.executemany(
                "INSERT INTO pm.psp_tx_map (intent_id, psp, receiver_display_name,"
                " psp_fee_satang, settlement_date) VALUES (%s, 'IPPS', %s, %s, current_date)",
                [(one.intent.id, one.receiver, one.fee_satang) for one in self.payments],
            )


def in_review(
    payment: Payment,
    *,
    intent_status: str | None = None,
    tb_transfer_ids: tuple[UUID | None, ...] | None = None,
    **changes: object,
) -> Payment:
    """Return *payment* changed into one that only a person can finish."""
    intent = payment.intent
    if intent_status is not None:
        intent = replace(intent, status=intent_status)
    if tb_transfer_ids is not None:
        intent = replace(intent, tb_transfer_ids=tb_transfer_ids)
    return replace(payment, intent=intent, status="MANUAL_REVIEW", **changes)  # type: ignore[arg-type]


def posted(payment: Payment) -> Payment:
    """Return *payment*, ordered to be posted."""
    return replace(payment, actions=(POST,), status="SETTLED")


def voided(payment: Payment) -> Payment:
    """Return *payment*, ordered to be voided."""
    return replace(payment, actions=(VOID,), status="FAILED")


def without_transfers(intent: Intent) -> Intent:
    """Return *intent* with nothing frozen for it."""
    return replace(intent, tb_transfer_ids=())


def posts_by_others(payment: Payment) -> tuple[Transfer, ...]:
    """Return what posts all that is frozen, by ids that are not the worker's."""
    return tuple(post_by_other(each.id, each.amount) for each in payment.frozen)
