"""Evidence on one intent, for the rules of reconciliation: rows, and the ledger's transfers.

Pending transfers are numbered from 0; number *n* freezes ``AMOUNTS[n]`` satang. All that is
resolved was resolved an hour ago, unless a test says otherwise.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from domain.charged_fees import FeeAccounts
from domain.conclusions import LineKind, RecordedLine
from domain.intents import Action, EventId, IntentId, PspRecord
from domain.ledger_requests import SearchAnswer
from domain.reconciliation.comparing import differences, needs_search
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.limits import Limits
from domain.reconciliation.lookup_ids import lookup_ids_for
from domain.reconciliation.money import Money, money_known, money_searched, search_for
from domain.reconciliation.record import EventRecord, IntentRecord
from domain.transfer_builders import resolving_flag
from domain.transfer_ids import fee_id, resolution_id
from domain.transfers import (
    NS_PER_S,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)

INTENT_ID: Final = IntentId(UUID("0190a0b0-c0d0-7000-8000-00000000abcd"))
OTHER_INTENT_ID: Final = IntentId(UUID("0190a0b0-c0d0-7000-8000-00000000ffff"))
AMOUNTS: Final = (100, 20)
FEE_CODE: Final = 50
REVENUE: Final = AccountId(300)
NOSTRO: Final = AccountId(400)
FEE_ACCOUNTS: Final = FeeAccounts(REVENUE, NOSTRO, ledger=1)
LIMITS: Final = Limits()
POST: Final = Action.POST_PENDING
VOID: Final = Action.VOID_PENDING

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
NS_PER_MS: Final = 1_000_000
NOW_NS: Final = 1_000_000 * NS_PER_S
AN_HOUR_AGO_NS: Final = NOW_NS - 3_600 * NS_PER_S


def pending_id_of(number: int) -> TransferId:
    """Return the id of a pending transfer."""
    return TransferId(0x0190A0B0C0D0 << 80 | number + 1)


# The database's side.


def a_record(status: str, *events: EventRecord, **changes: Any) -> IntentRecord:
    """Return an intent of both pending transfers, last changed a day ago."""
    record = IntentRecord(
        id=INTENT_ID,
        status=status,
        amount_satang=sum(AMOUNTS),
        currency="THB",
        tb_transfer_ids=tuple(UUID(int=pending_id_of(number)) for number in range(len(AMOUNTS))),
        age_ms=DAY_MS,
        now_ns=NOW_NS,
        events=events,
    )
    return replace(record, **changes)


def an_event(
    action: str, status: str, *, retry_count: int = 0, age_ms: int = DAY_MS
) -> EventRecord:
    """Return an order, a day old."""
    return EventRecord(
        id=EventId(7), action=action, status=status, retry_count=retry_count, age_ms=age_ms
    )


def a_psp(fee_satang: int | None) -> PspRecord:
    """Return what the provider told."""
    return PspRecord(
        psp="IPPS",
        receiver_display_name=None,
        psp_fee_satang=fee_satang,
        settlement_date=None,
        last_error=None,
    )


def a_line(line_no: int, kind: str, amount_satang: int) -> RecordedLine:
    """Return a line of history."""
    return RecordedLine(
        line_no=line_no, kind=LineKind(kind), account=None, amount_satang=amount_satang
    )


HISTORY: Final = (a_line(0, "PRINCIPAL", 105), a_line(1, "FEE", 15))
HISTORY_WITH_FEE: Final = (*HISTORY, a_line(2, "PSP_FEE", 7))
SETTLED: Final = a_record("SETTLED", an_event(POST, "processed"), lines=HISTORY)
SETTLED_WITH_FEE: Final = replace(SETTLED, psp=a_psp(7), lines=HISTORY_WITH_FEE)
FAILED: Final = a_record("FAILED", an_event(VOID, "processed"))
AUTHORIZED: Final = a_record("AUTHORIZED")
SETTLING: Final = a_record("SETTLING")
IN_REVIEW: Final = a_record("MANUAL_REVIEW", an_event(POST, "failed", retry_count=1))


# The ledger's side.


def frozen(*, timeout_s: int = 0) -> list[Transfer]:
    """Return the intent's pending transfers, created two hours ago."""
    return [
        Transfer(
            id=pending_id_of(number),
            amount=amount,
            timeout_s=timeout_s,
            flags=TransferFlags.PENDING,
            timestamp_ns=AN_HOUR_AGO_NS - 3_600 * NS_PER_S + number,
        )
        for number, amount in enumerate(AMOUNTS)
    ]


def resolved(
    number: int,
    action: Action,
    *,
    amount: int | None = None,
    by_worker: bool = True,
    at_ns: int = AN_HOUR_AGO_NS,
) -> Transfer:
    """Return the transfer that posted or voided a pending one, in full by default."""
    pending_id = pending_id_of(number)
    worker_id = resolution_id(INTENT_ID, action, pending_id, generation=0)
    return Transfer(
        id=worker_id if by_worker else TransferId(9_000 + number),
        pending_id=pending_id,
        amount=AMOUNTS[number] if amount is None else amount,
        flags=resolving_flag(action),
        timestamp_ns=at_ns + number,
    )


def all_resolved(
    action: Action, *, by_worker: bool = True, at_ns: int = AN_HOUR_AGO_NS
) -> list[Transfer]:
    """Return all pending transfers and what resolved them."""
    return [
        *frozen(),
        *(
            resolved(number, action, by_worker=by_worker, at_ns=at_ns)
            for number in range(len(AMOUNTS))
        ),
    ]


def fee(
    amount: int = 7,
    *,
    by_worker: bool = True,
    user_data_128: int = INTENT_ID.int,
    at_ns: int = AN_HOUR_AGO_NS + 10,
    id_: int = 9_100,
) -> Transfer:
    """Return a PSP fee."""
    worker_id = fee_id(INTENT_ID, pending_id_of(0), generation=0)
    return Transfer(
        id=worker_id if by_worker else TransferId(id_),
        debit_account_id=REVENUE,
        credit_account_id=NOSTRO,
        ledger=1,
        amount=amount,
        user_data_128=user_data_128,
        code=FEE_CODE,
        timestamp_ns=at_ns,
    )


# Both sides.


def known(record: IntentRecord, ledger: Sequence[Transfer]) -> Money:
    """Return what a look-up tells."""
    sought = lookup_ids_for(record)
    found = {one.id: one for one in ledger if one.id in set(sought)}
    return money_known(record, sought, found)


def searched(
    record: IntentRecord,
    ledger: Sequence[Transfer],
    fee_accounts: FeeAccounts | None = FEE_ACCOUNTS,
    *,
    has_all_resolvers: bool = True,
    has_all_fees: bool = True,
) -> Money:
    """Return what a search tells beside it; as an answer may, it holds everything there is."""
    sought = lookup_ids_for(record)
    found = {one.id: one for one in ledger if one.id in set(sought)}
    search = search_for(record, sought, found, fee_code=FEE_CODE, fee_account_id=NOSTRO)
    answer = SearchAnswer(
        tuple(ledger), has_all_resolvers=has_all_resolvers, has_all_fees=has_all_fees
    )
    return money_searched(record, sought, found, search, answer, fee_accounts=fee_accounts)


def judge(
    record: IntentRecord, ledger: Sequence[Transfer], limits: Limits = LIMITS
) -> tuple[Difference, ...]:
    """Return in what the two differ, searching only where that is called for."""
    money = known(record, ledger)
    if needs_search(record, money, limits):
        money = searched(record, ledger)
    return differences(record, money, limits)


def kinds(
    record: IntentRecord, ledger: Sequence[Transfer], limits: Limits = LIMITS
) -> list[DifferenceKind]:
    """Return the kinds of what ``judge`` finds."""
    return [one.kind for one in judge(record, ledger, limits)]


def fixes(
    record: IntentRecord, ledger: Sequence[Transfer], limits: Limits = LIMITS
) -> dict[DifferenceKind, Action | None]:
    """Return what ``judge`` finds, and what would fix it."""
    return {one.kind: one.fix for one in judge(record, ledger, limits)}
