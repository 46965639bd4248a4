"""The comparison of two ledgers finds what differs, shows it small, and records it."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.ledger_account_status import AccountStatus
from application.errors import LedgerUnavailableError
from domain.ledger_requests import ResolutionSearch, SearchAnswer
from domain.transfer_status import AnyStatus, TransferStatus
from domain.transfers import (
    AMOUNT_MAX,
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)
from entrypoints.sandbox.tigerbeetle_server import how_to_get_one
from tests.ledger_differences import differences
from tests.ledger_programs import Answers, CreateTransfers, Program, Recording
from tests.ledger_recording_lines import line_of
from tests.ledger_recordings import read_recordings
from tests.ledger_runs import new_ledger, run_in_memory
from tests.parity.__main__ import in_memory, main
from tests.parity.comparing import BATCH, Runner, compare, generate
from tests.parity.events import EXPIRES_S
from tests.parity.long_run import run_for
from tests.parity.server import Server, ServerTooSlowError
from tests.replay_ledger import main as replay_ledger

F = TransferFlags


class PostsAllForZero(InMemoryLedger):
    def create_transfers(self, transfers: Sequence[Transfer]) -> list[AnyStatus]:
        return super().create_transfers(
            [
                replace(t, amount=AMOUNT_MAX)
                if t.flags & F.POST_PENDING_TRANSFER and t.amount == 0
                else t
                for t in transfers
            ]
        )


class TakesVoidedForPosted(InMemoryLedger):
    def create_transfers(self, transfers: Sequence[Transfer]) -> list[AnyStatus]:
        wrong = {
            TransferStatus.PENDING_TRANSFER_ALREADY_VOIDED: (
                TransferStatus.PENDING_TRANSFER_ALREADY_POSTED
            )
        }
        statuses = super().create_transfers(transfers)
        return [wrong.get(s, s) if isinstance(s, TransferStatus) else s for s in statuses]


class ForgetsChains(InMemoryLedger):
    def create_transfers(self, transfers: Sequence[Transfer]) -> list[AnyStatus]:
        return super().create_transfers([replace(t, flags=t.flags & ~F.LINKED) for t in transfers])


class ForgetsHistory(InMemoryLedger):
    def create_accounts(self, accounts: Sequence[Account]) -> list[AccountStatus]:
        return super().create_accounts(
            [replace(a, flags=a.flags & ~AccountFlags.HISTORY) for a in accounts]
        )


class NeverExpires(InMemoryLedger):
    def advance_ns(self, duration_ns: int) -> None:
        pass


class LooksUpNoUserData(InMemoryLedger):
    def lookup_transfers(self, ids: Sequence[TransferId]) -> list[Transfer]:
        return [replace(t, user_data_64=0) for t in super().lookup_transfers(ids)]


class StampsRequestsTogether(InMemoryLedger):
    """Leaves no gap in time between two requests."""

    def __init__(self, *, now_ns: Callable[[], int]) -> None:
        stopped_ns = now_ns()
        super().__init__(now_ns=lambda: stopped_ns)


class FindsNothing(InMemoryLedger):
    def find_resolutions(self, search: ResolutionSearch) -> SearchAnswer:
        return SearchAnswer(())


def runner_of(kind: Callable[..., InMemoryLedger]) -> Runner:
    def run(programs: Sequence[Program]) -> list[Answers]:
        return [run_in_memory(program, lambda: new_ledger(kind)) for program in programs]

    return run


@pytest.mark.parametrize(
    "faulty",
    [
        PostsAllForZero,
        TakesVoidedForPosted,
        ForgetsChains,
        ForgetsHistory,
        NeverExpires,
        LooksUpNoUserData,
        StampsRequestsTogether,
        FindsNothing,
    ],
)
def test_a_fault_of_a_ledger_is_found_and_shown_by_a_small_program(
    faulty: Callable[..., InMemoryLedger],
) -> None:
    totals, finding = run_for(
        10_000, "1", in_memory, runner_of(faulty), lambda _: None, batches_at_once=2
    )

    assert totals.differ > 0
    assert finding is not None
    assert finding.comparison.differences
    assert sum(1 for _ in finding.comparison.program.transfers) <= 3


def test_what_differs_is_told_and_recorded_with_the_answers_of_the_real_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "build" / "difference.jsonl"

    status = main(
        ["--events", "100", "--seed", "1", "--out", str(out)],
        open_server=lambda: nullcontext(in_memory),
        other=runner_of(ForgetsChains),
        batches_at_once=1,
    )

    assert status == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith(f"{out}: ")
    assert not lines[-1].endswith(" 0 differ")
    (recording,) = read_recordings(out)
    assert recording.name in lines
    assert replay_ledger([str(out)]) == 0
    (answers,) = runner_of(ForgetsChains)([recording.program])
    told = {line.partition(": ")[2] for line in lines}
    found = {str(difference).partition(": ")[2] for difference in differences(recording, answers)}
    assert found
    assert found <= told


def test_equal_ledgers_agree_and_the_last_line_counts(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(
        ["--events", "100", "--seed", "1"],
        open_server=lambda: nullcontext(in_memory),
        batches_at_once=1,
    )

    assert status == 0
    last = capsys.readouterr().out.splitlines()[-1]
    words = last.split()
    assert words[1::2][0] == "programs,"
    assert int(words[0]) % BATCH == 0
    assert int(words[2]) >= 100
    assert last.endswith(" look-ups, 0 differ")


def test_without_a_server_the_exit_status_is_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TIGERBEETLE_BIN", raising=False)
    monkeypatch.setenv("PATH", "")

    assert main(["--events", "100"]) == 2
    assert capsys.readouterr().err.strip() == how_to_get_one()


def test_a_server_that_is_lost_is_told_with_the_program_under_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Dying(InMemoryLedger):
        def create_transfers(self, transfers: Sequence[Transfer]) -> list[AnyStatus]:
            raise LedgerUnavailableError("gone")

    status = main(
        ["--seed", "1"], open_server=lambda: nullcontext(Server(Dying())), batches_at_once=1
    )

    assert status == 2
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == "the server does not answer any more"
    assert second.startswith("account id=1 ")


def test_a_seed_gives_the_same_programs_each_time() -> None:
    assert generate("7") == generate("7") != generate("8")


def test_what_is_recorded_is_read_again_as_it_was(tmp_path: Path) -> None:
    programs = [program for seed in "abc" for program in generate(seed)]
    answers = in_memory(programs)
    file = tmp_path / "programs.jsonl"
    file.write_text(
        "\n".join(
            line_of("name", program, each) for program, each in zip(programs, answers, strict=True)
        )
    )

    assert list(read_recordings(file)) == [
        Recording(name="name", program=program, statuses=each.statuses, end=each.records)
        for program, each in zip(programs, answers, strict=True)
    ]


def test_programs_share_a_ledger_in_real_time_without_meeting() -> None:
    programs = [program for seed in "abc" for program in generate(seed)]

    compared = compare(programs, Server(InMemoryLedger()), in_memory)

    assert [str(d) for comparison in compared for d in comparison.differences] == []


class Stopwatch:
    """Lets a run seem slow as long as *slow_runs* are left; it is looked at twice a run."""

    def __init__(self, slow_runs: int) -> None:
        self._slow_looks = 2 * slow_runs
        self._now_s = 0.0

    def __call__(self) -> float:
        if self._slow_looks > 0:
            self._slow_looks -= 1
            self._now_s += 1.0
        return self._now_s


BRIEF = Program(
    accounts=tuple(Account(id=AccountId(id_), ledger=1, code=1) for id_ in (1, 2)),
    steps=(
        CreateTransfers(
            (
                Transfer(
                    id=TransferId(101),
                    debit_account_id=AccountId(1),
                    credit_account_id=AccountId(2),
                    amount=5,
                    timeout_s=EXPIRES_S,
                    ledger=1,
                    code=1,
                    flags=F.PENDING,
                ),
            )
        ),
    ),
)


def test_a_run_too_slow_for_its_time_outs_is_done_again_under_new_ids() -> None:
    server = Server(InMemoryLedger(), now_s=Stopwatch(slow_runs=2))

    assert server([BRIEF]) == in_memory([BRIEF])


def test_a_server_that_is_always_too_slow_gives_no_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server(InMemoryLedger(), now_s=Stopwatch(slow_runs=10_000))

    with pytest.raises(ServerTooSlowError):
        server([BRIEF])
    assert main(["--seed", "1"], open_server=lambda: nullcontext(server), batches_at_once=1) == 2
    assert "programs" in capsys.readouterr().err


def test_a_run_without_brief_time_outs_may_take_its_time() -> None:
    (step,) = BRIEF.steps
    assert isinstance(step, CreateTransfers)
    lasting = replace(BRIEF, steps=(CreateTransfers((replace(step.transfers[0], timeout_s=0),)),))
    server = Server(InMemoryLedger(), now_s=Stopwatch(slow_runs=10_000))

    assert server([lasting]) == in_memory([lasting])
