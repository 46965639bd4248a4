"""The programs that hypothesis makes meet every check of the ledger, not just the first ones."""

from functools import reduce
from operator import or_
from typing import Final

import pytest

from adapters.memory.ledger_account_status import AccountStatus
from domain.transfer_status import TransferStatus
from domain.transfers import AccountFlags, Transfer, TransferFlags, TransferId
from tests.ledger_programs import Answers, CreateAccounts, CreateTransfers, Program, Wait
from tests.ledger_runs import run_in_memory
from tests.parity.comparing import generate

BATCHES_MIN: Final = 12
BATCHES_MAX: Final = 120

# A time-out of 2^32 - 1 s from now ends before the greatest timestamp until the year 2126.
UNREACHABLE: Final = {TransferStatus.OVERFLOWS_TIMEOUT}

Run = tuple[Program, Answers]


def statuses_of(run: Run, kind: type[CreateAccounts | CreateTransfers]) -> set[str]:
    program, answers = run
    return {
        status
        for step, statuses in zip(program.steps, answers.statuses, strict=True)
        if isinstance(step, kind)
        for status in statuses
    }


def names(statuses: type[AccountStatus | TransferStatus]) -> set[str]:
    return {status.name.lower() for status in statuses if status not in UNREACHABLE}


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """As many runs as it takes to meet every status, but not without end."""
    runs: list[Run] = []
    accounts, transfers = names(AccountStatus), names(TransferStatus)
    for batch in range(BATCHES_MAX):
        if batch >= BATCHES_MIN and not accounts and not transfers:
            break
        for program in generate(f"reach.{batch}"):
            run = program, run_in_memory(program)
            runs.append(run)
            accounts -= statuses_of(run, CreateAccounts)
            transfers -= statuses_of(run, CreateTransfers)
    return runs


def test_every_status_of_a_transfer_is_met_but_the_unreachable_ones(runs: list[Run]) -> None:
    met = set().union(*(statuses_of(run, CreateTransfers) for run in runs))

    assert met == names(TransferStatus)


def test_every_status_of_an_account_is_met(runs: list[Run]) -> None:
    met = set().union(*(statuses_of(run, CreateAccounts) for run in runs))

    assert met == names(AccountStatus)


def test_more_than_half_of_the_programs_resolve_a_pending_transfer(runs: list[Run]) -> None:
    resolving = [run for run in runs if any(t.pending_id for t in run[1].records.transfers)]

    assert len(resolving) > len(runs) / 2


def test_a_fifth_of_all_transfers_are_created(runs: list[Run]) -> None:
    sent = sum(1 for program, _ in runs for _ in program.transfers)
    created = sum(len({t.id for t in answers.records.transfers}) for _, answers in runs)

    assert created > sent / 5


def created(run: Run) -> list[Transfer]:
    return list(run[1].records.transfers)


def meets(run: Run, flags: TransferFlags) -> bool:
    return any(transfer.flags & flags == flags for transfer in created(run))


@pytest.mark.parametrize(
    "flags",
    [
        TransferFlags.LINKED | TransferFlags.POST_PENDING_TRANSFER,
        TransferFlags.LINKED | TransferFlags.VOID_PENDING_TRANSFER,
        TransferFlags.PENDING | TransferFlags.BALANCING_DEBIT,
        TransferFlags.BALANCING_CREDIT,
        TransferFlags.PENDING | TransferFlags.CLOSING_DEBIT,
        TransferFlags.PENDING | TransferFlags.CLOSING_CREDIT,
        TransferFlags.IMPORTED | TransferFlags.LINKED,
        TransferFlags.IMPORTED | TransferFlags.POST_PENDING_TRANSFER,
    ],
)
def test_transfers_of_each_kind_are_created(runs: list[Run], flags: TransferFlags) -> None:
    assert sum(meets(run, flags) for run in runs) >= 2


def test_accounts_that_were_closed_are_opened_again(runs: list[Run]) -> None:
    closing = TransferFlags.CLOSING_DEBIT | TransferFlags.CLOSING_CREDIT
    opening = [
        transfer
        for run in runs
        for closer in created(run)
        for transfer in created(run)
        if closer.flags & closing and transfer.pending_id == closer.id
    ]

    assert len(opening) >= 3


def test_accounts_of_every_flag_are_there_at_the_end(runs: list[Run]) -> None:
    ends = [account.flags for _, answers in runs for account in answers.records.accounts]

    assert reduce(or_, ends) == reduce(or_, AccountFlags)


def test_programs_wait_for_money_that_is_still_reserved(runs: list[Run]) -> None:
    waiting = [
        run
        for run in runs
        if any(isinstance(step, Wait) for step in run[0].steps)
        and "pending_transfer_expired" in statuses_of(run, CreateTransfers)
    ]

    assert len(waiting) >= 5


def test_searches_find_resolutions(runs: list[Run]) -> None:
    assert sum(any(answers.records.resolutions) for _, answers in runs) > len(runs) / 3


def test_no_import_resolves_what_has_a_time_out_since_a_server_dies_of_it(runs: list[Run]) -> None:
    resolving = TransferFlags.POST_PENDING_TRANSFER | TransferFlags.VOID_PENDING_TRANSFER
    deadly = []
    imports = 0
    for program, _ in runs:
        timed: set[TransferId] = set()
        for transfer in program.transfers:
            if transfer.flags & TransferFlags.IMPORTED and transfer.flags & resolving:
                imports += 1
                deadly += [transfer] if transfer.pending_id in timed else []
            if transfer.timeout_s:
                timed.add(transfer.id)

    assert deadly == []
    assert imports > 50
