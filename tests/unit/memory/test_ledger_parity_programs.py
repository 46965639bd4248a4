"""The programs that hypothesis makes meet every check of the ledger, not just the first ones."""

from typing import Final

import pytest

from adapters.memory.ledger_account_status import AccountStatus
from domain.transfer_status import TransferStatus
from domain.transfers import AccountFlags, Transfer, TransferFlags, TransferId
from tests.ledger_programs import Answers, CreateAccounts, CreateTransfers, Program, Wait
from tests.ledger_runs import run_in_memory
from tests.parity.comparing import generate

BATCHES_MIN: Final = 12
BATCHES_MAX: Final = 300

# A time-out of 2^32 - 1 s from now ends before the greatest timestamp until the year 2126.
UNREACHABLE: Final = {TransferStatus.OVERFLOWS_TIMEOUT}

F = TransferFlags
Run = tuple[Program, Answers]


def statuses_of(run: Run, kind: type[CreateAccounts | CreateTransfers]) -> set[str]:
    program, answers = run
    return {
        status
        for step, statuses in zip(program.steps, answers.statuses, strict=True)
        if isinstance(step, kind)
        for status in statuses
    }


def created(run: Run, flags: TransferFlags) -> list[Transfer]:
    return [t for t in run[1].records.transfers if t.flags & flags == flags]


def reopens(run: Run) -> bool:
    """Whether a transfer that closed an account was voided."""
    transfers = run[1].records.transfers
    closers = {t.id for t in transfers if t.flags & (F.CLOSING_DEBIT | F.CLOSING_CREDIT)}
    return any(t.pending_id in closers for t in transfers)


def has_expired_in_a_wait(run: Run) -> bool:
    waits = any(isinstance(step, Wait) for step in run[0].steps)
    return waits and "pending_transfer_expired" in statuses_of(run, CreateTransfers)


KINDS: Final = (
    F.LINKED | F.POST_PENDING_TRANSFER,
    F.LINKED | F.VOID_PENDING_TRANSFER,
    F.PENDING | F.BALANCING_DEBIT,
    F.BALANCING_CREDIT,
    F.PENDING | F.CLOSING_DEBIT,
    F.PENDING | F.CLOSING_CREDIT,
    F.IMPORTED | F.LINKED,
    F.IMPORTED | F.POST_PENDING_TRANSFER,
)


def features(run: Run) -> set[object]:
    """What there is to be met, in one program."""
    found: set[object] = set()
    found |= {("account", name) for name in statuses_of(run, CreateAccounts)}
    found |= {("transfer", name) for name in statuses_of(run, CreateTransfers)}
    found |= {("created", kind) for kind in KINDS if created(run, kind)}
    found |= {("flag", flag) for account in run[1].records.accounts for flag in account.flags}
    found |= {"reopened"} if reopens(run) else set()
    found |= {"expired"} if has_expired_in_a_wait(run) else set()
    return found


WANTED: Final[set[object]] = {
    *(("account", status.name.lower()) for status in AccountStatus),
    *(("transfer", status.name.lower()) for status in TransferStatus if status not in UNREACHABLE),
    *(("created", kind) for kind in KINDS),
    *(("flag", flag) for flag in AccountFlags),
    "reopened",
    "expired",
}


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """As many runs as it takes to meet everything, but not without end.

    Not a fixed number: which programs hypothesis makes of a seed is up to the modules that are
    loaded, since it draws constants of theirs.
    """
    runs: list[Run] = []
    missing = set(WANTED)
    for batch in range(BATCHES_MAX):
        if batch >= BATCHES_MIN and not missing:
            break
        for program in generate(f"reach.{batch}"):
            run = program, run_in_memory(program)
            runs.append(run)
            missing -= features(run)
    return runs


def test_every_status_kind_and_flag_is_met(runs: list[Run]) -> None:
    met = set().union(*map(features, runs))

    assert WANTED - met == set()


def test_a_status_counts_as_unreachable_only_while_it_is(runs: list[Run]) -> None:
    met = set().union(*map(features, runs))

    assert met & {("transfer", status.name.lower()) for status in UNREACHABLE} == set()


def test_more_than_half_of_the_programs_resolve_a_pending_transfer(runs: list[Run]) -> None:
    resolving = [run for run in runs if any(t.pending_id for t in run[1].records.transfers)]

    assert len(resolving) > len(runs) / 2


def test_a_fifth_of_all_transfers_are_created(runs: list[Run]) -> None:
    sent = sum(1 for program, _ in runs for _ in program.transfers)
    found = sum(len({t.id for t in answers.records.transfers}) for _, answers in runs)

    assert found > sent / 5


def test_searches_find_resolutions(runs: list[Run]) -> None:
    assert sum(any(answers.records.resolutions) for _, answers in runs) > len(runs) / 3


def test_no_import_resolves_what_has_a_time_out_since_a_server_dies_of_it(runs: list[Run]) -> None:
    resolving = F.POST_PENDING_TRANSFER | F.VOID_PENDING_TRANSFER
    deadly = []
    imports = 0
    for program, _ in runs:
        timed: set[TransferId] = set()
        for transfer in program.transfers:
            if transfer.flags & F.IMPORTED and transfer.flags & resolving:
                imports += 1
                deadly += [transfer] if transfer.pending_id in timed else []
            if transfer.timeout_s:
                timed.add(transfer.id)

    assert deadly == []
    assert imports > 0
