"""When a pending transfer expires, to the nanosecond."""

import pytest

from adapters.memory.ledger import InMemoryLedger
from domain.transfer_status import TransferStatus
from domain.transfers import AccountFlags, AccountId, Transfer, TransferFlags, TransferId
from tests.unit.memory.memory_bank import MemoryBank

NS_PER_S = 1_000_000_000


class StoppedClock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now_ns = 1_000 * NS_PER_S

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def ledger(clock: StoppedClock) -> InMemoryLedger:
    return InMemoryLedger(now_ns=clock)


@pytest.fixture
def bank(ledger: InMemoryLedger) -> MemoryBank:
    return MemoryBank(ledger)


@pytest.fixture
def payer(bank: MemoryBank) -> AccountId:
    return bank.open_account()


@pytest.fixture
def payee(bank: MemoryBank) -> AccountId:
    return bank.open_account()


def resolve(
    ledger: InMemoryLedger, pending_id: TransferId, flag: TransferFlags, *, id_: int = 7
) -> object:
    amount = 100 if flag is TransferFlags.POST_PENDING_TRANSFER else 0
    (status,) = ledger.create_transfers(
        [Transfer(id=TransferId(id_), pending_id=pending_id, amount=amount, flags=flag)]
    )
    return status


def set_next_event(clock: StoppedClock, timestamp_ns: int) -> None:
    """Let the first event of the next request have this very timestamp."""
    clock.now_ns = timestamp_ns - 1


def expiry_ns(ledger: InMemoryLedger, pending_id: TransferId) -> int:
    (pending,) = ledger.lookup_transfers([pending_id])
    return pending.timestamp_ns + pending.timeout_s * NS_PER_S


@pytest.mark.parametrize(
    "flag", [TransferFlags.POST_PENDING_TRANSFER, TransferFlags.VOID_PENDING_TRANSFER]
)
@pytest.mark.parametrize(
    ("offset_ns", "expected"),
    [
        (-1, TransferStatus.CREATED),
        (0, TransferStatus.PENDING_TRANSFER_EXPIRED),
        (1, TransferStatus.PENDING_TRANSFER_EXPIRED),
        (2, TransferStatus.PENDING_TRANSFER_EXPIRED),
    ],
)
def test_a_transfer_is_expired_from_the_nanosecond_of_its_timeout_on(
    ledger: InMemoryLedger,
    bank: MemoryBank,
    clock: StoppedClock,
    payer: AccountId,
    payee: AccountId,
    flag: TransferFlags,
    offset_ns: int,
    expected: TransferStatus,
) -> None:
    pending_id = bank.freeze(payer, payee, 100, timeout_s=5)
    set_next_event(clock, expiry_ns(ledger, pending_id) + offset_ns)

    assert resolve(ledger, pending_id, flag) is expected


def test_within_one_request_earlier_events_are_in_time_and_later_ones_too_late(
    ledger: InMemoryLedger, clock: StoppedClock, payer: AccountId, payee: AccountId
) -> None:
    pendings = [
        Transfer(
            id=TransferId(10 + number),
            debit_account_id=payer,
            credit_account_id=payee,
            amount=1,
            timeout_s=5,
            ledger=1,
            code=1,
            flags=TransferFlags.PENDING,
        )
        for number in range(3)
    ]
    ledger.create_transfers(pendings)
    posts = [
        Transfer(
            id=TransferId(20 + number),
            pending_id=pending.id,
            amount=1,
            flags=TransferFlags.POST_PENDING_TRANSFER,
        )
        for number, pending in enumerate(reversed(pendings))
    ]
    # The middle one meets its own deadline: its expiry is the timestamp of its post.
    set_next_event(clock, expiry_ns(ledger, pendings[1].id) - 1)

    assert ledger.create_transfers(posts) == [
        TransferStatus.CREATED,
        TransferStatus.PENDING_TRANSFER_EXPIRED,
        TransferStatus.PENDING_TRANSFER_EXPIRED,
    ]


def test_money_is_released_by_the_next_request_after_the_expiry(
    ledger: InMemoryLedger, bank: MemoryBank, payer: AccountId, payee: AccountId
) -> None:
    pending_id = bank.freeze(payer, payee, 100, timeout_s=5)
    ledger.advance_ns(4 * NS_PER_S)
    before = bank.balances(payer)
    bank.wait_expired(pending_id)

    assert before.debits_pending == 100
    assert bank.balances(payer).debits_pending == 0
    assert bank.balances(payee).credits_pending == 0


def test_a_refusal_at_the_very_moment_of_expiry_leaves_the_release_to_the_next_request(
    ledger: InMemoryLedger, clock: StoppedClock, bank: MemoryBank, payee: AccountId
) -> None:
    spender = bank.open_account(flags=AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS)
    ledger.create_transfers([payment(1, payee, spender)])
    pending_id = bank.freeze(spender, payee, 100, timeout_s=5)
    set_next_event(clock, expiry_ns(ledger, pending_id))
    post = Transfer(
        id=TransferId(2),
        pending_id=pending_id,
        amount=100,
        flags=TransferFlags.POST_PENDING_TRANSFER,
    )

    first = ledger.create_transfers([post, payment(3, spender, payee)])
    second = ledger.create_transfers([payment(4, spender, payee)])

    assert first == [TransferStatus.PENDING_TRANSFER_EXPIRED, TransferStatus.EXCEEDS_CREDITS]
    assert second == [TransferStatus.CREATED]


def payment(id_: int, debit: AccountId, credit: AccountId) -> Transfer:
    return Transfer(
        id=TransferId(id_),
        debit_account_id=debit,
        credit_account_id=credit,
        amount=100,
        ledger=1,
        code=1,
    )


def test_a_resolved_transfer_does_not_expire_afterwards(
    ledger: InMemoryLedger, bank: MemoryBank, payer: AccountId, payee: AccountId
) -> None:
    pending_id = bank.freeze(payer, payee, 100, timeout_s=5)
    resolve(ledger, pending_id, TransferFlags.POST_PENDING_TRANSFER)
    bank.wait_expired(pending_id)

    again = resolve(ledger, pending_id, TransferFlags.POST_PENDING_TRANSFER, id_=8)

    assert again is TransferStatus.PENDING_TRANSFER_ALREADY_POSTED
    assert bank.balances(payer).debits_posted == 100


def test_a_timeout_of_0_never_expires(
    ledger: InMemoryLedger, bank: MemoryBank, payer: AccountId, payee: AccountId
) -> None:
    pending_id = bank.freeze(payer, payee, 100)
    ledger.advance_ns(100 * 365 * 86_400 * NS_PER_S)

    assert (
        resolve(ledger, pending_id, TransferFlags.VOID_PENDING_TRANSFER) is TransferStatus.CREATED
    )


def test_a_transfer_of_a_broken_chain_that_comes_again_expires_by_its_second_life(
    ledger: InMemoryLedger, bank: MemoryBank, payer: AccountId, payee: AccountId
) -> None:
    pending = Transfer(
        id=TransferId(10),
        debit_account_id=payer,
        credit_account_id=payee,
        amount=100,
        timeout_s=5,
        ledger=1,
        code=1,
        flags=TransferFlags.PENDING | TransferFlags.LINKED,
    )
    ledger.create_transfers([pending, payment(11, payer, payer)])
    ledger.advance_ns(3 * NS_PER_S)
    ledger.create_transfers([pending, payment(12, payer, payee)])
    ledger.advance_ns(3 * NS_PER_S)
    after_first_life = bank.balances(payer).debits_pending
    ledger.advance_ns(2 * NS_PER_S)

    assert after_first_life == 100
    assert bank.balances(payer).debits_pending == 0


def test_an_account_closed_by_a_pending_transfer_reopens_when_that_expires(
    ledger: InMemoryLedger, bank: MemoryBank, payer: AccountId, payee: AccountId
) -> None:
    pending_id = bank.freeze(payer, payee, 0, timeout_s=5, flags=TransferFlags.CLOSING_CREDIT)
    closed = bank.balances(payee).flags
    bank.wait_expired(pending_id)

    assert closed & AccountFlags.CLOSED
    assert not bank.balances(payee).flags & AccountFlags.CLOSED
