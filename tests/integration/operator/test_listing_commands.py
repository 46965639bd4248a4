"""``queue``, ``stuck``, ``retries``, ``stats`` and ``show``, run to their end."""

import json
from uuid import UUID, uuid4

import pytest
from typer.testing import CliRunner

from domain.intents import IntentId
from domain.retry import Backoff, RetryPolicy
from entrypoints import cli, logs
from tests.contracts.ledger import new_id
from tests.contracts.wallet import POST, VOID, Case, Wallet, a_psp_record
from tests.integration.operator.conftest import Run, document
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

LISTS = ("queue", "stuck", "retries", "stats")


def waiting_for_ever(wallet: Wallet) -> Case:
    """An order on a pending transfer that is not there, after one attempt."""
    wallet.policy = RetryPolicy(backoff=Backoff(first_ms=300_000))
    case = wallet.add_case(POST, frozen=(), missing=[new_id()])
    wallet.settle()
    return case


@pytest.mark.parametrize("command", LISTS)
def test_nothing_there_is_said_so(run: Run, command: str) -> None:
    done = run(command)

    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout.splitlines()
        == {
            "queue": ["0 pending."],
            "stuck": ["Nothing is stuck."],
            "retries": ["0 pending with more than 5 failures."],
            "stats": ["No event was created in that time."],
        }[command]
    )


def test_the_queue_tells_of_each_event_what_it_waits_for(wallet: Wallet, run: Run) -> None:
    waiting = waiting_for_ever(wallet)
    second = wallet.bench.add_event(waiting.intent_id, VOID, created_after_s=1)
    due = wallet.add_case(POST)
    reviewed = wallet.add_case(POST, status="MANUAL_REVIEW")
    orphan = wallet.bench.add_event(IntentId(uuid4()), created_after_s=9)

    done = run("queue")

    header, *lines, summary = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert header.split()[:4] == ["id", "intent", "action", "retries"]
    by_id = {int(line.split()[0]): line for line in lines}
    assert list(by_id) == [waiting.event_id, due.event_id, reviewed.event_id, second, orphan]
    assert " backoff until 20" in by_id[waiting.event_id]
    assert by_id[waiting.event_id].endswith("Z (pending_transfer_not_found)")
    assert by_id[second].endswith(f" behind event {waiting.event_id}")
    assert by_id[due.event_id].endswith(" due")
    assert by_id[reviewed.event_id].endswith(" intent in MANUAL_REVIEW")
    assert by_id[orphan].endswith(" due; there is no such intent")
    assert summary == "5 pending."


def test_a_long_queue_is_cut_and_counted(wallet: Wallet, run: Run) -> None:
    cases = [wallet.add_case(POST) for _ in range(3)]

    assert run("queue", "--limit", 2).stdout.splitlines()[-1] == "2 of 3 pending."
    body = document(run("queue", "--limit", 2, "--json"))
    assert body["total"] == 3
    assert [event["id"] for event in body["events"]] == [case.event_id for case in cases[:2]]


def test_the_queue_for_programs_has_the_columns_and_the_wait(wallet: Wallet, run: Run) -> None:
    case = waiting_for_ever(wallet)

    [event] = document(run("queue", "--json"))["events"]

    assert event["id"] == case.event_id
    assert event["intent_id"] == str(case.intent_id)
    assert (event["action"], event["status"], event["retry_count"]) == (POST, "pending", 1)
    assert event["waits_for"] == "backoff"
    assert event["retry"]["reason"] == "pending_transfer_not_found"


def test_what_is_stuck_is_listed_and_exit_1_tells_cron(wallet: Wallet, run: Run) -> None:
    waiting = waiting_for_ever(wallet)
    given_up = wallet.add_case(POST, payload_json="[]")
    wallet.settle()
    behind = wallet.bench.add_event(given_up.intent_id, VOID)
    wallet.bench.set_event_age(behind, 10_000)

    done = run("stuck", "--older-than", "5m")

    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert [int(line.split()[0]) for line in lines[1:4]] == [
        given_up.event_id,
        behind,
        waiting.event_id,
    ]
    assert " given up (invalid_payload) " in lines[1]
    assert "invalid_payload: " in lines[1]
    assert " intent in MANUAL_REVIEW " in lines[2]
    assert "pending_transfer_not_found: " in lines[3]
    assert lines[4:] == [
        "1 failed, which needs a person; 1 held up with a failed one; 1 pending for longer than 5m."
    ]
    body = document(run("stuck", "--json"))
    assert [event["id"] for event in body["failed"]["events"]] == [given_up.event_id]
    assert [event["id"] for event in body["waiting"]["events"]] == [waiting.event_id]
    assert [event["id"] for event in body["behind"]["events"]] == [behind]


def test_a_young_event_is_not_stuck(wallet: Wallet, run: Run) -> None:
    wallet.bench.set_event_age(wallet.add_case(POST).event_id, 20_000)

    assert run("stuck").returncode == 0
    assert run("stuck", "--older-than", "10s").returncode == 1


def test_the_most_retried_come_first(wallet: Wallet, run: Run) -> None:
    waiting, other = waiting_for_ever(wallet), wallet.add_case(POST)
    wallet.bench.set_retry_count(waiting.event_id, 6)
    wallet.bench.set_retry_count(other.event_id, 9)

    _, *lines, summary = run("retries").stdout.splitlines()

    assert [int(line.split()[0]) for line in lines] == [other.event_id, waiting.event_id]
    assert " pending_transfer_not_found " in lines[1]
    assert summary == "2 pending with more than 5 failures."
    body = document(run("retries", "--more-than", 8, "--json"))
    assert [event["id"] for event in body["events"]] == [other.event_id]


def test_figures_are_those_of_the_period(wallet: Wallet, bench: PostgresBench, run: Run) -> None:
    for _ in range(3):
        wallet.bench.set_event_age(wallet.add_case(POST).event_id, 4_000)
    wallet.settle()
    bench.execute(
        "UPDATE pm.outbox_event SET processed_at = created_at + interval '1 second'"
        " * (id - (SELECT min(id) FROM pm.outbox_event))"
    )
    wallet.add_case(VOID)

    header, *lines = run("stats", "--since", "1h").stdout.splitlines()

    assert header.split() == ["action", "status", "count", "average", "s", "p50", "s", "p99", "s"]
    assert [line.split() for line in lines] == [
        ["post_pending", "processed", "3", "1.000", "1.000", "1.980"]
    ]
    [one] = document(run("stats", "--json"))["statistics"]
    assert (one["count"], one["latency_average_ms"], one["latency_p99_ms"]) == (3, 1_000, 1_980)


def test_an_intent_is_shown_whole(wallet: Wallet, run: Run) -> None:
    case = wallet.add_case(POST, frozen=(100, 20), psp=a_psp_record(fee_satang=7, name="สมชาย"))
    wallet.settle()

    by_intent, by_event = run("show", case.intent_id), run("show", "--event", case.event_id)

    assert (by_intent.returncode, by_intent.stderr) == (0, "")
    assert by_event.stdout == by_intent.stdout
    for text in (
        f"intent {case.intent_id}",
        "SETTLED",
        "สมชาย",
        "PRINCIPAL",
        "PSP_FEE",
        "AUTHORIZED",
        "processed",
        "push jobs that wait for Redis",
        str(case.intent.user_id),
    ):
        assert text in by_intent.stdout
    body = document(run("show", case.intent_id, "--json"))
    assert body["intent"]["status"] == "SETTLED"
    assert body["events"][0]["waits_for"] == "nothing"
    assert [line["kind"] for line in body["history"]] == ["PRINCIPAL", "PSP_FEE"]
    assert body["audit"][0]["status_to"] == "SETTLED"
    assert len(body["jobs"]) == 1


@pytest.mark.parametrize("arguments", [(UUID(int=4711),), ("--event", 4711)], ids=str)
def test_an_unknown_intent_is_a_clear_line(run: Run, arguments: tuple[object, ...]) -> None:
    done = run("show", *arguments)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("outbox-worker: there is no ")
    assert str(arguments[-1]) in done.stderr
    told = run("show", *arguments, "--json")
    assert told.returncode == 1
    assert str(arguments[-1]) in document(told)["error"]


def test_hostile_and_odd_values_break_no_listing(
    wallet: Wallet, bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = wallet.add_case(POST, metadata_json=f'{{"n":{"9" * 5_000}}}')
    bench.execute(
        "INSERT INTO pm.outbox_retry (event_id, intent_id, attempts, reason, last_error,"
        " next_attempt_at, first_failed_at, updated_at)"
        " VALUES (%s, %s, 1, '[red]r[/red]', %s, 'infinity', now(), now())",
        case.event_id,
        case.intent_id,
        f"[bold]\x1b[2J\n{'e' * 480}",
    )
    bench.execute("UPDATE pm.outbox_event SET retry_count = 2147483647")
    bench.execute("UPDATE pm.intent SET updated_at = 'infinity', tb_transfer_ids = '{NULL}'")
    bench.execute("UPDATE pm.outbox_event SET payload = %s::jsonb", f'{{"n":{"7" * 5_000}}}')
    for created_at in ("infinity", "-infinity", "4713-01-01 00:00 BC", "294276-12-31 23:59"):
        bench.add_event(case.intent_id)
        bench.execute(
            "UPDATE pm.outbox_event SET created_at = %s"
            " WHERE id = (SELECT max(id) FROM pm.outbox_event)",
            created_at,
        )
    bench.execute(
        "INSERT INTO pm.outbox_event (intent_id, action, status, created_at, processed_at)"
        " VALUES (%s, 'post_pending', 'processed', now(), 'infinity')",
        case.intent_id,
    )
    bench.execute(
        "INSERT INTO pm.intent_event (intent_id, status_from, status_to)"
        " VALUES (%s, NULL, 'PSP_CONFIRMED')",
        case.intent_id,
    )

    # Within this process: so many commands would take long to start.
    monkeypatch.setenv("DATABASE_URL", bench.url)
    monkeypatch.setattr(logs, "configure_logs", lambda **_: None)
    for command in (*LISTS, "show"):
        arguments = [command, str(case.intent_id)] if command == "show" else [command]
        people = CliRunner().invoke(cli.app, arguments)
        programs = CliRunner().invoke(cli.app, [*arguments, "--json"])
        assert people.stderr == ""
        assert {people.exit_code, programs.exit_code} <= {0, 1}
        assert "\x1b" not in people.stdout
        json.loads(programs.stdout)
        if command == "queue":
            assert len(people.stdout.splitlines()) == 7
            assert " -infinity " in people.stdout
        if command == "retries":
            assert " [red]r[/red] " in people.stdout
            assert " infinity " in people.stdout


def test_no_table_of_ours_is_one_line_with_the_remedy(bench: PostgresBench, run: Run) -> None:
    bench.execute("DROP TABLE pm.outbox_retry")

    done = run("queue")

    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr.count("\n") == 1
    assert "outbox-worker migrate" in done.stderr
