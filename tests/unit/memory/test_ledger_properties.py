"""Whatever is sent, the in-memory ledger keeps its books."""

from collections import defaultdict
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from adapters.memory.ledger import InMemoryLedger
from domain.transfer_status import TransferStatus
from domain.transfers import (
    AMOUNT_MAX,
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)

LIMITS = [
    AccountFlags.NONE,
    AccountFlags.NONE,
    AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS,
    AccountFlags.CREDITS_MUST_NOT_EXCEED_DEBITS,
]
ACCOUNTS = [
    Account(id=AccountId(1 + number), ledger=1 + number // 4, code=1, flags=flags)
    for number, flags in enumerate(LIMITS * 2)
]

# Few ids and amounts, so that transfers meet each other and replays are common.
ids = st.integers(1, 12)
links = st.sampled_from([TransferFlags.NONE, TransferFlags.NONE, TransferFlags.LINKED])
payments = st.builds(
    Transfer,
    id=ids,
    debit_account_id=st.integers(1, 9),
    credit_account_id=st.integers(1, 9),
    amount=st.sampled_from([0, 1, 5, 2**127, AMOUNT_MAX]),
    timeout_s=st.sampled_from([0, 0, 1]),
    ledger=st.sampled_from([1, 1, 2]),
    code=st.just(1),
    flags=st.sampled_from(
        [
            TransferFlags.NONE,
            TransferFlags.PENDING,
            TransferFlags.PENDING,
            TransferFlags.PENDING | TransferFlags.CLOSING_DEBIT,
            TransferFlags.BALANCING_DEBIT,
            TransferFlags.BALANCING_CREDIT | TransferFlags.PENDING,
        ]
    ),
)
resolutions = st.builds(
    Transfer,
    id=ids,
    pending_id=ids,
    amount=st.sampled_from([0, 1, 5, AMOUNT_MAX]),
    flags=st.sampled_from(
        [TransferFlags.POST_PENDING_TRANSFER, TransferFlags.VOID_PENDING_TRANSFER]
    ),
)
events = st.builds(
    lambda event, link: replace(event, flags=event.flags | link), payments | resolutions, links
)
requests = st.lists(events, min_size=1, max_size=8)
programs = st.lists(requests | st.just(None), min_size=1, max_size=8)
"""None stands for a second that passes."""

BURNING = {
    TransferStatus.DEBIT_ACCOUNT_NOT_FOUND,
    TransferStatus.CREDIT_ACCOUNT_NOT_FOUND,
    TransferStatus.PENDING_TRANSFER_NOT_FOUND,
    TransferStatus.EXCEEDS_CREDITS,
    TransferStatus.EXCEEDS_DEBITS,
    TransferStatus.DEBIT_ACCOUNT_ALREADY_CLOSED,
    TransferStatus.CREDIT_ACCOUNT_ALREADY_CLOSED,
}
HIDDEN_BEHIND_A_BURNED_ID = {
    TransferStatus.ID_ALREADY_FAILED,
    TransferStatus.LINKED_EVENT_FAILED,
    TransferStatus.LINKED_EVENT_CHAIN_OPEN,
}

Program = list[list[Transfer] | None]


def new_ledger() -> InMemoryLedger:
    ledger = InMemoryLedger(now_ns=lambda: 1_000)
    ledger.create_accounts(ACCOUNTS)
    return ledger


def run(ledger: InMemoryLedger, program: Program) -> None:
    for request in program:
        if request is None:
            ledger.advance_ns(1_000_000_000)
        else:
            ledger.create_transfers(request)


@given(programs)
def test_debits_equal_credits_in_every_ledger(program: Program) -> None:
    ledger = new_ledger()
    run(ledger, program)

    pending: dict[int, int] = defaultdict(int)
    posted: dict[int, int] = defaultdict(int)
    for account in ledger.all_accounts():
        pending[account.ledger] += account.debits_pending - account.credits_pending
        posted[account.ledger] += account.debits_posted - account.credits_posted
    assert set(pending.values()) | set(posted.values()) == {0}


@given(programs)
def test_no_account_exceeds_its_limit_or_falls_below_0(program: Program) -> None:
    ledger = new_ledger()
    run(ledger, program)

    for account in ledger.all_accounts():
        debits = account.debits_pending + account.debits_posted
        credits_ = account.credits_pending + account.credits_posted
        assert min(account.debits_pending, account.credits_pending) >= 0
        if account.flags & AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS:
            assert debits <= account.credits_posted
        if account.flags & AccountFlags.CREDITS_MUST_NOT_EXCEED_DEBITS:
            assert credits_ <= account.debits_posted


@given(programs)
def test_each_pending_transfer_is_resolved_at_most_once(program: Program) -> None:
    ledger = new_ledger()
    run(ledger, program)

    resolved = [transfer.pending_id for transfer in ledger.all_transfers() if transfer.pending_id]
    assert len(resolved) == len(set(resolved))


@given(programs, requests)
def test_a_chain_is_all_or_nothing(program: Program, request: list[Transfer]) -> None:
    ledger = new_ledger()
    run(ledger, program)
    accounts, transfers = ledger.all_accounts(), ledger.all_transfers()
    chain = [
        replace(member, flags=member.flags | TransferFlags.LINKED) for member in request[:-1]
    ] + [replace(request[-1], flags=request[-1].flags & ~TransferFlags.LINKED)]

    statuses = ledger.create_transfers(chain)

    if set(statuses) == {TransferStatus.CREATED}:
        assert len(ledger.all_transfers()) == len(transfers) + len(chain)
    else:
        assert TransferStatus.CREATED not in statuses
        culprits = [s for s in statuses if s is not TransferStatus.LINKED_EVENT_FAILED]
        assert len(culprits) == 1
        assert (ledger.all_accounts(), ledger.all_transfers()) == (accounts, transfers)


@given(programs)
def test_a_burned_id_stays_burned(program: Program) -> None:
    ledger = new_ledger()
    burned: set[TransferId] = set()
    for request in program:
        if request is None:
            ledger.advance_ns(1_000_000_000)
            continue
        for transfer, status in zip(request, ledger.create_transfers(request), strict=True):
            if transfer.id in burned:
                assert status in HIDDEN_BEHIND_A_BURNED_ID
            elif status in BURNING:
                burned.add(transfer.id)

    assert ledger.lookup_transfers(list(burned)) == []


@given(programs, requests)
def test_a_fully_created_request_sent_again_moves_nothing(
    program: Program, request: list[Transfer]
) -> None:
    ledger = new_ledger()
    run(ledger, program)
    statuses = ledger.create_transfers(request)
    accounts, transfers = ledger.all_accounts(), ledger.all_transfers()

    again = ledger.create_transfers(request)

    if set(statuses) == {TransferStatus.CREATED}:
        assert set(again) <= {TransferStatus.EXISTS, TransferStatus.LINKED_EVENT_FAILED}
        assert (ledger.all_accounts(), ledger.all_transfers()) == (accounts, transfers)
