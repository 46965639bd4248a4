"""The in-memory ledger answers recorded programs as the real server did."""

from pathlib import Path

import pytest

from adapters.memory.ledger_account_status import AccountStatus
from domain.transfer_status import TransferStatus
from tests.ledger_programs import Recording, Wait
from tests.ledger_recordings import read_recordings
from tests.replay_ledger import main, replay

RECORDINGS = Path(__file__).parents[2] / "data" / "ledger_programs.jsonl"


@pytest.fixture(scope="module")
def recordings() -> list[Recording]:
    return list(read_recordings(RECORDINGS))


def test_every_status_and_the_end_of_every_program_agree(recordings: list[Recording]) -> None:
    statuses = sum(len(step) for recording in recordings for step in recording.statuses)
    assert (len(recordings), statuses) == (632, 13_142)
    assert [difference for recording in recordings for difference in replay(recording)] == []


def test_the_recordings_have_every_status_but_the_unreachable_one(
    recordings: list[Recording],
) -> None:
    met: set[tuple[str, str]] = set()
    for recording in recordings:
        for step, statuses in zip(recording.program.steps, recording.statuses, strict=True):
            if not isinstance(step, Wait):
                met |= {(step.noun, status) for status in statuses}

    assert met == {
        *(("accounts", status.name.lower()) for status in AccountStatus),
        *(("transfers", status.name.lower()) for status in TransferStatus),
    } - {("transfers", "overflows_timeout")}


def program_line(status: str = "created", amount: str = "7", closed: str = "false") -> str:
    account = '{{"id":{},"ledger":1,"code":1}}'
    end = (
        '{{"debits_pending":0,"debits_posted":{},"credits_pending":0,"credits_posted":{},'
        '"closed":' + closed + "}}"
    )
    return (
        '{"name":"one","accounts":[' + account.format(1) + "," + account.format(2) + "],"
        '"steps":[{"create_transfers":[{"id":101,"debit_account_id":1,"credit_account_id":2,'
        '"amount":' + amount + ',"ledger":1,"code":1}],"statuses":["' + status + '"]},'
        '{"wait_s":0.5}],"final":{"balances":{"1":'
        + end.format(7, 0)
        + ',"2":'
        + end.format(0, 7)
        + '},"transfer_amounts":{"101":7}}}'
    )


def run(tmp_path: Path, content: str | bytes) -> int:
    file = tmp_path / "programs.jsonl"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return main([str(file)])


def test_agreeing_programs_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = run(tmp_path, program_line() + "\n\n" + program_line(amount='"7"') + "\n")

    assert status == 0
    assert capsys.readouterr().out == "2 programs, 2 statuses, 0 differ\n"


def test_a_differing_status_is_shown_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(tmp_path, program_line(status="exists"))

    assert status == 1
    assert capsys.readouterr().out.splitlines() == [
        "one: step 0, index 0: expected exists, got created",
        "1 programs, 1 statuses, 1 differ",
    ]


def test_a_differing_end_counts_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = run(tmp_path, program_line(amount="8"))

    assert status == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("one: end, account 1: expected AccountEnd(debits_pending=0,")
    assert lines[2] == "one: end, transfer 101: expected 7, got 8"
    assert lines[3] == "1 programs, 1 statuses, 3 differ"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "line 1: "),
        (b"\xff", "line 1: "),
        ("[" * 100_000, "line 1: "),
        ("[]", "line 1: the program is no JSON object"),
        ('{"name":"x"}', "line 1: final is missing"),
        (program_line() + "\n7", "line 2: the program is no JSON object"),
        (program_line(amount="1.5"), "line 1: amount is no integer"),
        (program_line(amount="true"), "line 1: amount is no integer"),
        (program_line(amount='"-1"'), "line 1: amount is no integer"),
        (program_line(amount="-1"), "line 1: out of range: amount"),
        (program_line(amount=str(2**128)), "line 1: out of range: amount"),
        (program_line().replace('"amount"', '"amonut"'), "line 1: a transfer has unknown fields"),
        (program_line().replace('["created"]', "[]"), "line 1: 1 transfers with 0 statuses"),
        (program_line().replace('["created"]', "[1]"), "line 1: 1 transfers with 0 statuses"),
        (program_line().replace("wait_s", "sleep"), "line 1: a step of unknown kind: sleep"),
        (program_line().replace("0.5", "-1"), "line 1: wait_s is -1"),
        (program_line().replace("0.5", "NaN"), "line 1: wait_s is nan"),
        (program_line(closed="0"), "line 1: closed is no boolean"),
    ],
)
def test_a_malformed_file_gives_one_clear_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | bytes, complaint: str
) -> None:
    status = run(tmp_path, content)

    assert status == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{tmp_path / 'programs.jsonl'}: {complaint}")


def test_a_file_that_is_not_there_gives_one_clear_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([str(tmp_path / "missing.jsonl")])

    assert status == 2
    assert capsys.readouterr().err == f"{tmp_path / 'missing.jsonl'}: No such file or directory\n"


def test_without_a_file_the_usage_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_a_wait_counts_from_the_end_of_the_request_before_it(tmp_path: Path) -> None:
    """However many events a request has, a wait of the whole time-out expires them all."""
    accounts = '[{"id":1,"ledger":1,"code":1},{"id":2,"ledger":1,"code":1}]'
    pendings = ",".join(
        f'{{"id":{id_},"debit_account_id":1,"credit_account_id":2,"amount":1,"timeout":1,'
        '"ledger":1,"code":1,"flags":2}'
        for id_ in range(1_000, 3_000)
    )
    created = ",".join(['"created"'] * 2_000)
    zero = '{"debits_pending":0,"debits_posted":0,"credits_pending":0,"credits_posted":0'
    amounts = ",".join(f'"{id_}":1' for id_ in range(1_000, 3_000))

    status = run(
        tmp_path,
        f'{{"name":"many","accounts":{accounts},"steps":['
        f'{{"create_transfers":[{pendings}],"statuses":[{created}]}},{{"wait_s":1}},'
        '{"create_transfers":[{"id":9000,"pending_id":2999,"flags":8}],'
        '"statuses":["pending_transfer_expired"]}],'
        f'"final":{{"balances":{{"1":{zero},"closed":false}},"2":{zero},"closed":false}}}},'
        f'"transfer_amounts":{{{amounts}}}}}}}',
    )

    assert status == 0
