"""The payments that are measured, and how they get into the database and the ledger in bulk.

One event has 2 pending transfers, a fee split, a PSP fee, and two people to tell: it makes 3
history lines, 1 audit row, 1 status message and 2 push jobs.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final
from uuid import UUID

import psycopg

from application.ports.ledger import Ledger
from domain.transfer_status import TransferStatus
from domain.transfers import Account, AccountId, Transfer, TransferFlags, TransferId

JOBS_PER_EVENT: Final = 2
PENDINGS_PER_EVENT: Final = 2
PSP_FEE_SATANG: Final = 150
SPLIT_SATANG: Final = 325
# All of as many digits: then all rows of a table are of one size.
AMOUNT_SATANG_MIN, AMOUNT_SATANG_MAX = 1_000_00, 9_999_99

LEDGER: Final = 764
"""ISO 4217's number of THB."""
REVENUE: Final = AccountId(1)
NOSTRO: Final = AccountId(2)
CODES: Final = {"revenue.THB": REVENUE, "nostro.ipps.THB": NOSTRO}
PAYERS: Final = tuple(AccountId(number) for number in range(10_000, 11_000))
PAYEES: Final = tuple(AccountId(number) for number in range(20_000, 21_000))
_FREEZE_CODE: Final = 10
_IDS_PER_MS: Final = 16

PAYLOAD: Final = json.dumps(
    {
        "feeSplits": [
            {"account": "revenue.THB", "amountSatang": SPLIT_SATANG, "kind": "PLATFORM_FEE"}
        ]
    }
)

NewId = Callable[[], UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """An authorized intent; each half of its amount is frozen by one of ``pending_ids``."""

    intent_id: UUID
    pending_ids: tuple[UUID, UUID]
    user_id: UUID
    merchant_id: UUID
    amount_satang: int
    payer: AccountId
    payee: AccountId


def time_ordered_ids(random: Random, *, start_ms: int) -> NewId:
    """Return a maker of UUIDv7s: ids as they are made at 16 a ms, from *start_ms* on."""
    numbers = itertools.count()

    def new_id() -> UUID:
        ms, number = divmod(next(numbers), _IDS_PER_MS)
        counter = number << 8 | random.getrandbits(8)
        return UUID(
            int=(start_ms + ms) << 80
            | 0x7 << 76
            | counter << 64
            | 0b10 << 62
            | random.getrandbits(62)
        )

    return new_id


def random_ids(random: Random) -> NewId:
    """Return a maker of UUIDv4s."""
    return lambda: UUID(int=random.getrandbits(128), version=4)


def make_payments(count: int, *, random: Random, new_id: NewId) -> Sequence[Payment]:
    """Make *count* payments; the ids of intents and of pending transfers come from *new_id*."""
    a_person = random_ids(random)
    return [
        Payment(
            intent_id=new_id(),
            pending_ids=(new_id(), new_id()),
            user_id=a_person(),
            merchant_id=a_person(),
            amount_satang=random.randint(AMOUNT_SATANG_MIN, AMOUNT_SATANG_MAX),
            payer=random.choice(PAYERS),
            payee=random.choice(PAYEES),
        )
        for _ in range(count)
    ]


def accounts() -> Sequence[Account]:
    """Return every account that the payments need."""
    ids = (REVENUE, NOSTRO, *PAYERS, *PAYEES)
    return [Account(id=account_id, ledger=LEDGER, code=1) for account_id in ids]


def freeze(ledger: Ledger, payments: Sequence[Payment]) -> None:
    """Freeze the money of *payments*.

    Raises:
        RuntimeError: the ledger did not take all of it.
    """
    answers = ledger.create_chains([(one,) for payment in payments for one in _pendings(payment)])
    if any(answer != (TransferStatus.CREATED,) for answer in answers):
        raise RuntimeError("the ledger did not freeze the money")


def _pendings(payment: Payment) -> Iterator[Transfer]:
    half = payment.amount_satang // 2
    amounts = (payment.amount_satang - half, half)
    for pending_id, amount in zip(payment.pending_ids, amounts, strict=True):
        yield Transfer(
            id=TransferId(pending_id.int),
            debit_account_id=payment.payer,
            credit_account_id=payment.payee,
            amount=amount,
            user_data_128=payment.intent_id.int,
            ledger=LEDGER,
            code=_FREEZE_CODE,
            flags=TransferFlags.PENDING,
        )


def map_accounts(connection: psycopg.Connection) -> None:
    """Tell the database where the accounts of the fees are."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO pm.tb_account_map (code, tb_account_id, ledger) VALUES (%s, %s, %s)",
            [(code, UUID(int=account_id), LEDGER) for code, account_id in CODES.items()],
        )


def insert(connection: psycopg.Connection, payments: Sequence[Payment]) -> None:
    """Write the intents and what the PSP said of them."""
    with connection.transaction(), connection.cursor() as cursor:
        with cursor.copy(
            "COPY pm.intent (id, status, operation_type, channel, amount_satang, currency,"
            " user_id, issued_by_user_id, metadata, tb_transfer_ids) FROM STDIN"
        ) as copy:
            for one in payments:
                copy.write_row(
                    (
                        one.intent_id, "AUTHORIZED", "INVOICE_PAYMENT", "IPPS",
                        one.amount_satang, "THB", one.user_id, one.merchant_id,
                        json.dumps({"traceId": one.user_id.hex}), list(one.pending_ids),
                    )
                )  # fmt: skip
        with cursor.copy(
            "COPY pm.psp_tx_map (intent_id, psp, state, psp_reference, receiver_display_name,"
            " psp_fee_satang, settlement_date) FROM STDIN"
        ) as copy:
            for one in payments:
                copy.write_row(
                    (
                        one.intent_id, "IPPS", "CONFIRMED", one.merchant_id.hex,
                        "Somchai Jaidee", PSP_FEE_SATANG, "2026-05-29",
                    )
                )  # fmt: skip


def order(connection: psycopg.Connection, payments: Sequence[Payment]) -> None:
    """Order the settling of *payments* in one transaction, and wake whoever listens.

    Each event has a time of its own, 0.1 ms after the one before, as if they had come in singly.
    """
    with connection.transaction():
        connection.execute(
            "INSERT INTO pm.outbox_event (intent_id, action, payload, created_at)"
            " SELECT one.id, 'post_pending', %(payload)s::jsonb,"
            "        now() - (%(count)s - one.position) * interval '100 microseconds'"
            " FROM unnest(%(ids)s::uuid[]) WITH ORDINALITY AS one (id, position)"
            " ORDER BY one.position",
            {
                "ids": [one.intent_id for one in payments],
                "payload": PAYLOAD,
                "count": len(payments),
            },
        )
        connection.execute("NOTIFY pm_outbox_event")
