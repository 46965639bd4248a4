"""``outbox-worker reconcile`` as people run it: lines, JSON, exit codes, and what --fix does."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import pytest
from psycopg.conninfo import make_conninfo

from adapters.memory.faulty_ledger import FaultyLedger, LedgerCall
from adapters.memory.ledger import InMemoryLedger
from adapters.memory.remote_ledger import LedgerServer
from adapters.postgres.probe_schema import RIGHTS
from entrypoints.sandbox.resources import free_port
from tests.contracts.wallet import FEE_CODE, POST, VOID, Case, Wallet, void_by_other
from tests.helpers.worker_process import (
    CONSOLE_SCRIPT,
    PATIENCE_S,
    REPOSITORY,
    run_command,
    start_command,
)
from tests.integration.postgres.postgres_bench import PostgresBench
from tests.unit.memory.memory_bank import MemoryBank

pytestmark = pytest.mark.integration

HOUR_MS = 3_600_000
SECRET = "hunter2"
NOW = ("--grace", "0s")
"""Nothing counts as in flight: the tests have just done it all."""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def wallet(bench: PostgresBench) -> Wallet:
    ledger = InMemoryLedger()
    return Wallet(bench=bench, ledger=FaultyLedger(ledger), bank=MemoryBank(ledger))


@pytest.fixture
def settings(database_url: str, wallet: Wallet) -> Iterator[dict[str, str]]:
    """The settings of the command; no Redis is among them."""
    memory = wallet.ledger.ledger
    assert isinstance(memory, InMemoryLedger)
    with LedgerServer(wallet.ledger, fee_scan=memory) as server:
        yield {
            "DATABASE_URL": database_url,
            "TIGERBEETLE_ADDRESSES": server.url,
            "TIGERBEETLE_CLUSTER_ID": "0",
            "OUTBOX_PSP_FEE_CODE": str(FEE_CODE),
        }


@pytest.fixture
def reconcile(settings: dict[str, str]) -> Run:
    """Run the command; keyword arguments are settings."""

    def run(*arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        return run_command("reconcile", *arguments, environment=settings | changes)

    return run


def settled(wallet: Wallet, count: int = 1) -> list[Case]:
    """Return intents that the worker has settled."""
    cases = [wallet.add_case(POST, frozen=(100, 50), fee_satang=5) for _ in range(count)]
    wallet.settle_until_idle()
    return cases


def unposted(wallet: Wallet, bench: PostgresBench) -> Case:
    """Return an intent that somebody has settled by hand, and its money is frozen."""
    case = wallet.add_case(POST)
    bench.execute("DELETE FROM pm.outbox_event WHERE intent_id = %s", case.intent_id)
    bench.execute(
        "INSERT INTO pm.tx_history (intent_id, line_no, kind, amount_satang, currency)"
        " VALUES (%s, 0, 'PRINCIPAL', 100, 'THB')",
        case.intent_id,
    )
    bench.set_intent_status(case.intent_id, "SETTLED")
    return case


def overdue(wallet: Wallet, bench: PostgresBench) -> Case:
    """Return an intent that nobody has ordered anything for."""
    case = wallet.add_case(POST)
    bench.execute("DELETE FROM pm.outbox_event WHERE intent_id = %s", case.intent_id)
    bench.set_age(case.intent_id, HOUR_MS)
    return case


def kinds(done: "subprocess.CompletedProcess[str]") -> set[tuple[str, str]]:
    """Return intent and kind of each difference of a JSON answer."""
    body = json.loads(done.stdout)
    return {(one["intent_id"], one["kind"]) for one in body["differences"]}


# What is shown.


def test_where_everything_agrees_it_says_so_and_ends_well(wallet: Wallet, reconcile: Run) -> None:
    settled(wallet, 3)
    wallet.add_case(VOID)
    wallet.settle_until_idle()

    done = reconcile(*NOW)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "4 intents checked, no difference.\n"


def test_an_empty_database_agrees_with_any_ledger(reconcile: Run) -> None:
    done = reconcile()

    assert (done.returncode, done.stdout) == (0, "0 intents checked, no difference.\n")


def test_each_difference_is_a_line_and_the_last_line_sums_up(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    settled(wallet)
    frozen, waiting = unposted(wallet, bench), overdue(wallet, bench)

    done = reconcile(*NOW)

    assert (done.returncode, done.stderr) == (1, "")
    header, *lines, summary, empty, _, first_remedy, second_remedy = done.stdout.splitlines()
    assert header.split() == ["intent", "status", "difference", "fix", "detail"]
    columns = [header.index(name) for name in ("status", "difference", "fix", "detail")]
    for line in lines:
        assert all(line[at - 1] == " " != line[at] for at in columns)
    assert sorted(tuple(line.split()[:4]) for line in lines) == sorted(
        [
            (str(frozen.intent_id), "SETTLED", "settled_not_posted", "post_pending"),
            (str(waiting.intent_id), "AUTHORIZED", "no_event", "-"),
        ]
    )
    assert summary == (
        "3 intents checked, 2 differences: 1 no_event, 1 settled_not_posted;"
        " 1 of them the worker can put right (--fix)."
    )
    assert empty == ""
    assert first_remedy.split()[:2] == ["settled_not_posted", "--fix:"]
    assert second_remedy.startswith("no_event ")


def test_json_is_one_document_with_everything_in_it(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    settled(wallet)
    case = unposted(wallet, bench)

    done = reconcile("--json", *NOW)

    assert (done.returncode, done.stderr) == (1, "")
    body = json.loads(done.stdout)
    (difference,) = body.pop("differences")
    assert body == {"intents": 2, "counts": {"settled_not_posted": 1}}
    assert "100" in difference.pop("detail")
    assert difference == {
        "intent_id": str(case.intent_id),
        "status": "SETTLED",
        "kind": "settled_not_posted",
        "fix": "post_pending",
    }


def test_json_without_a_difference_is_a_document_too(wallet: Wallet, reconcile: Run) -> None:
    settled(wallet)

    done = reconcile("--json", *NOW)

    assert done.returncode == 0
    assert json.loads(done.stdout) == {"differences": [], "intents": 1, "counts": {}}


def test_what_steers_a_terminal_is_not_shown(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    case = overdue(wallet, bench)
    bench.execute("ALTER TABLE pm.intent DROP CONSTRAINT intent_status_chk")
    bench.set_intent_status(case.intent_id, "SETTLED")
    bench.execute(
        "INSERT INTO pm.tx_history (intent_id, line_no, kind, amount_satang, currency)"
        " VALUES (%s, 0, E'\\x1b[2J\\n', 1, 'THB')",
        case.intent_id,
    )

    done = reconcile(*NOW)

    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    found, _, _ = done.stdout.partition("\n1 intent checked")
    assert all(str(case.intent_id) in line for line in found.splitlines()[1:])


# What is compared.


def test_an_intent_that_is_in_flight_is_no_difference(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    case = wallet.add_case(POST)
    wallet.settle_until_idle()
    # As it would be in the middle of a batch: the ledger is ahead of the database.
    bench.set_intent_status(case.intent_id, "AUTHORIZED")
    bench.execute("DELETE FROM pm.tx_history")

    assert reconcile().returncode == 0
    assert reconcile("--grace", "0s").returncode == 1


def test_only_what_is_named_is_compared(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    (fine,) = settled(wallet)
    bad = unposted(wallet, bench)
    nobody = str(uuid4())

    assert reconcile(str(fine.intent_id)).returncode == 0
    done = reconcile("--json", *NOW, str(bad.intent_id), nobody)

    assert done.returncode == 1
    assert kinds(done) == {
        (str(bad.intent_id), "settled_not_posted"),
        (nobody, "intent_missing"),
    }


def test_only_the_period_is_compared(wallet: Wallet, bench: PostgresBench, reconcile: Run) -> None:
    case = unposted(wallet, bench)
    bench.set_age(case.intent_id, 30 * HOUR_MS)
    ((changed_at,),) = bench.execute("SELECT updated_at FROM pm.intent")

    assert reconcile(*NOW).returncode == 0
    assert reconcile(*NOW, "--since", "31h").returncode == 1
    assert reconcile(*NOW, "--since", "31h", "--until", "29h").returncode == 1
    assert reconcile(*NOW, "--since", "29h", "--until", "1s").returncode == 0
    assert reconcile(*NOW, "--since", changed_at.isoformat()).returncode == 1
    assert reconcile(*NOW, "--since", "40h", "--until", changed_at.isoformat()).returncode == 0


def test_how_long_things_may_take_can_be_said(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    waiting = overdue(wallet, bench)
    expiring = wallet.add_case(POST, timeout_s=7_200)
    bench.set_retry_count(expiring.event_id, 1)

    done = reconcile("--json", *NOW, "--unordered-after", "2h", "--expiring-within", "3h")

    assert kinds(done) == {(str(expiring.intent_id), "expires_soon")}
    assert kinds(reconcile("--json", *NOW)) == {(str(waiting.intent_id), "no_event")}


# What it may do.


def test_it_needs_no_right_but_to_read(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    settled(wallet)
    case = unposted(wallet, bench)
    bench.execute("DROP ROLE IF EXISTS pm_auditor")
    bench.execute("CREATE ROLE pm_auditor LOGIN")
    bench.execute("GRANT USAGE ON SCHEMA pm TO pm_auditor")
    bench.execute(
        "GRANT SELECT ON pm.intent, pm.outbox_event, pm.outbox_event_archive, pm.psp_tx_map,"
        " pm.tx_history, pm.tb_account_map TO pm_auditor"
    )

    done = reconcile("--json", *NOW, DATABASE_URL=make_conninfo(bench.url, user="pm_auditor"))

    assert kinds(done) == {(str(case.intent_id), "settled_not_posted")}


def test_nothing_is_sent_to_the_ledger_but_questions(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    unposted(wallet, bench)
    wallet.ledger.calls.clear()

    reconcile(*NOW)

    methods = {call.method for call in wallet.ledger.calls}
    assert methods == {"lookup", "lookup_accounts", "find_resolutions"}


# Where the output goes.


def run_shell(
    command: str, settings: dict[str, str], *, stdout: int = subprocess.PIPE, **changes: str
) -> "subprocess.CompletedProcess[str]":
    """Run *command* in a shell, in which ``"$worker"`` is ours; keyword arguments are settings."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "worker": CONSOLE_SCRIPT}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=REPOSITORY,
        env=settings | environment | changes,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("form", ["", "--json"])
def test_an_output_that_cannot_be_written_is_no_difference(
    wallet: Wallet, bench: PostgresBench, settings: dict[str, str], form: str
) -> None:
    unposted(wallet, bench)
    line = "outbox-worker: standard output cannot be written: "

    closed = run_shell(f'"$worker" reconcile --grace 0s {form} --fix --yes >&-', settings)
    full = run_shell(f'"$worker" reconcile --grace 0s {form} --fix --yes >/dev/full', settings)

    assert (closed.returncode, closed.stderr) == (74, f"{line}it is closed\n")
    assert (full.returncode, full.stderr) == (74, f"{line}No space left on device\n")
    assert events(bench) == []


def test_a_reader_that_is_gone_ends_it_as_the_signal_would(
    wallet: Wallet, bench: PostgresBench, settings: dict[str, str]
) -> None:
    unposted(wallet, bench)

    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run_shell('exec "$worker" reconcile --grace 0s --fix --yes', settings, stdout=writer)
    finally:
        os.close(writer)

    assert (done.returncode, done.stderr) == (141, "")
    assert events(bench) == []


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_the_outputs_encoding_lacks_is_written_as_an_escape(
    wallet: Wallet, bench: PostgresBench, settings: dict[str, str], encoding: str
) -> None:
    (case,) = settled(wallet)
    bench.execute("ALTER TABLE pm.intent DROP CONSTRAINT intent_status_chk")
    bench.set_intent_status(case.intent_id, "ส")

    done = run_shell('"$worker" reconcile --grace 0s', settings, PYTHONIOENCODING=encoding)

    assert (done.returncode, done.stderr) == (1, "")
    assert str(case.intent_id) in done.stdout
    assert "\\u0e2a" in done.stdout


def test_a_fault_of_ours_is_no_difference_either(wallet: Wallet, settings: dict[str, str]) -> None:
    done = run_shell(
        f'"{sys.executable}" -c "from entrypoints import cli, settings;'
        ' settings.load_settings = lambda: 1 / 0; cli.main()" doctor',
        settings,
    )

    assert done.returncode == 70
    assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


# --fix.


def events(bench: PostgresBench) -> list[tuple[UUID, str, str]]:
    return [
        (intent_id, action, status)
        for intent_id, action, status in bench.execute(
            "SELECT intent_id, action, status FROM pm.outbox_event ORDER BY id"
        )
    ]


def test_fix_says_what_it_would_do_and_does_nothing_without_a_yes(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    case = unposted(wallet, bench)
    overdue(wallet, bench)

    done = reconcile(*NOW, "--fix")  # its stdin is at its end

    assert (done.returncode, done.stderr) == (1, "Insert 1? [y/N] \n")
    assert done.stdout.splitlines()[-2:] == [
        f"{case.intent_id}  post_pending  since settled_not_posted",
        "Nothing was inserted.",
    ]
    assert events(bench) == []


@pytest.mark.parametrize(("answer", "orders"), [("n\n", 0), ("\n", 0), ("y\n", 1), ("YES\n", 1)])
def test_fix_does_what_it_is_told(
    wallet: Wallet,
    bench: PostgresBench,
    settings: dict[str, str],
    answer: str,
    orders: int,
) -> None:
    unposted(wallet, bench)

    done = run_command("reconcile", *NOW, "--fix", environment=settings, stdin=answer)

    assert (done.returncode, done.stderr) == (1, "Insert 1? [y/N] ")
    assert len(events(bench)) == orders


def test_a_closed_stdin_is_a_no(
    wallet: Wallet, bench: PostgresBench, settings: dict[str, str]
) -> None:
    unposted(wallet, bench)

    done = run_command("reconcile", *NOW, "--fix", environment=settings, stdin=None)

    assert (done.returncode, done.stderr) == (1, "Insert 1? [y/N] \n")
    assert events(bench) == []


def test_what_was_ordered_the_worker_fixes(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    frozen = unposted(wallet, bench)
    released = wallet.add_case(VOID)
    bench.execute("DELETE FROM pm.outbox_event WHERE intent_id = %s", released.intent_id)
    wallet.create(*map(void_by_other, released.pending_ids))

    done = reconcile(*NOW, "--fix", "--yes")

    assert (done.returncode, done.stderr) == (1, "")
    assert "2 of 2 inserted" in done.stdout.splitlines()[-1]
    assert sorted(events(bench)) == sorted(
        [
            (frozen.intent_id, "post_pending", "pending"),
            (released.intent_id, "void_pending", "pending"),
        ]
    )
    for case, status in ((frozen, "SETTLED"), (released, "AUTHORIZED")):
        (audit,) = bench.audit(case.intent_id)
        assert (audit.status_from, audit.status_to, audit.reason) == (status, status, "reconcile")

    wallet.settle_until_idle()

    assert wallet.posted_satang(frozen) == 100
    assert wallet.intent_status(released) == "FAILED"
    assert reconcile(*NOW).returncode == 0


def test_json_tells_what_was_ordered(wallet: Wallet, bench: PostgresBench, reconcile: Run) -> None:
    case = unposted(wallet, bench)

    done = reconcile("--json", "--fix", "--yes", *NOW)

    assert (done.returncode, done.stderr) == (1, "")
    ((event_id,),) = bench.execute("SELECT id FROM pm.outbox_event")
    body = json.loads(done.stdout)
    assert body["has_more"] is False
    assert body["fixes"] == [
        {
            "intent_id": str(case.intent_id),
            "action": "post_pending",
            "outcome": "inserted",
            "event_id": event_id,
            "obstacle": None,
            "detail": f"event {event_id}",
        }
    ]


def test_an_intent_without_an_amount_stops_no_other(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    bad, good = unposted(wallet, bench), unposted(wallet, bench)
    bench.execute(
        "INSERT INTO pm.outbox_event (intent_id, action, status, payload)"
        " VALUES (%s, 'post_pending', 'processed', %s)",
        bad.intent_id,
        '{"feeSplits": [{"account": "revenue.THB", "amountSatang": 1, "kind": "PLATFORM_FEE"}]}',
    )
    bench.execute("ALTER TABLE pm.intent ALTER amount_satang DROP NOT NULL")
    bench.execute("UPDATE pm.intent SET amount_satang = NULL WHERE id = %s", bad.intent_id)

    done = reconcile(*NOW, "--fix", "--yes")

    assert (done.returncode, done.stderr) == (1, "")
    pending = [intent_id for intent_id, _, status in events(bench) if status == "pending"]
    assert pending == [good.intent_id]


def test_one_order_that_is_refused_stops_no_other(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    bad, good = unposted(wallet, bench), unposted(wallet, bench)
    bench.execute(
        "CREATE FUNCTION pm.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF NEW.intent_id = '{bad.intent_id}' THEN RAISE EXCEPTION 'no' USING ERRCODE = '23514';"
        " END IF; RETURN NULL; END $$"
    )
    bench.execute(
        "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON pm.outbox_event"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pm.refuse()"
    )

    done = reconcile(*NOW, "--fix", "--yes")

    assert (done.returncode, done.stderr) == (1, "")
    outcomes = {tuple(line.split()[:2]) for line in done.stdout.splitlines()[-3:-1]}
    assert outcomes == {("refused", str(bad.intent_id)), ("inserted", str(good.intent_id))}
    assert [intent_id for intent_id, _, _ in events(bench)] == [good.intent_id]


def test_what_is_in_the_way_of_an_event_is_told(
    wallet: Wallet, bench: PostgresBench, settings: dict[str, str]
) -> None:
    held, first, second = (unposted(wallet, bench) for _ in range(3))
    # As it would be where somebody else inserts an event between the comparison and the answer.
    bench.execute(
        "CREATE FUNCTION pm.race() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF pg_trigger_depth() = 1 THEN INSERT INTO pm.outbox_event (intent_id, action)"
        " SELECT i.id, NEW.action FROM pm.intent i WHERE i.id <> NEW.intent_id; END IF;"
        " RETURN NULL; END $$"
    )
    bench.execute(
        "CREATE TRIGGER race AFTER INSERT ON pm.outbox_event FOR EACH ROW"
        " EXECUTE FUNCTION pm.race()"
    )
    named = [str(case.intent_id) for case in (held, first, second)]

    with bench.hold_intent(held.intent_id):
        done = run_command(
            "reconcile",
            *(*NOW, "--fix", "--yes", "--json", *named),
            environment=settings | {"OUTBOX_STATEMENT_TIMEOUT_MS": "1000"},
        )

    assert (done.returncode, done.stderr) == (1, "")
    told = {one["intent_id"]: one for one in json.loads(done.stdout)["fixes"]}
    outcomes = {intent_id: (one["outcome"], one["obstacle"]) for intent_id, one in told.items()}
    assert outcomes[str(held.intent_id)] == ("busy", None)
    assert sorted(outcomes[intent_id] for intent_id in named[1:]) == [
        ("inserted", None),
        ("left", "event_pending"),
    ]
    [left] = [one for one in told.values() if one["outcome"] == "left"]
    assert left["detail"].endswith("is pending")


def test_fix_needs_what_the_worker_may_and_to_insert_events(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    unposted(wallet, bench)
    bench.execute("DROP ROLE IF EXISTS pm_fixer")
    bench.execute("CREATE ROLE pm_fixer LOGIN")
    bench.execute("GRANT USAGE ON SCHEMA pm TO pm_fixer")
    for table, rights in RIGHTS.items():
        bench.execute(f"GRANT {', '.join(rights)} ON {table} TO pm_fixer")
    # What docs/running.md names beside those.
    bench.execute("GRANT SELECT ON pm.tx_history, pm.outbox_event_archive TO pm_fixer")
    bench.execute("GRANT INSERT ON pm.outbox_event TO pm_fixer")
    bench.execute("GRANT USAGE ON SEQUENCE pm.outbox_event_id_seq TO pm_fixer")

    done = reconcile(*NOW, "--fix", "--yes", DATABASE_URL=make_conninfo(bench.url, user="pm_fixer"))

    assert (done.returncode, done.stderr) == (1, "")
    assert len(events(bench)) == 1


def test_where_nothing_can_be_fixed_nobody_is_asked(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    overdue(wallet, bench)

    done = reconcile(*NOW, "--fix")

    assert (done.returncode, done.stderr) == (1, "")
    assert "[y/N]" not in done.stdout
    assert done.stdout.endswith("\nNothing was inserted.\n")


# What goes wrong.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--since", "yesterday"], "how long ago"),
        (["--until", "2026-05-29"], "offset"),
        (["--grace", "soon"], "no duration"),
        (["--since", "1h", "--until", "2h"], "before"),
        (["--since", "1h", str(UUID(int=1))], "either intents or a period"),
        (["not-an-intent"], "UUID"),
        (["--fix", "--json"], "--yes"),
    ],
)
def test_what_makes_no_sense_is_a_fault_of_usage(
    reconcile: Run, arguments: list[str], words: str
) -> None:
    done = reconcile(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert words in " ".join(done.stderr.replace("│", " ").split())


def test_output_may_be_piped_into_what_stops_reading(
    wallet: Wallet, bench: PostgresBench, settings: dict[str, str]
) -> None:
    overdue(wallet, bench)

    for arguments in ([], ["--json"]):
        process = start_command("reconcile", *NOW, *arguments, environment=settings)
        assert process.stdout is not None
        process.stdout.close()
        _, errors = process.communicate(timeout=PATIENCE_S)

        assert (process.returncode, errors) == (141, "")


def test_ctrl_c_is_no_difference(
    wallet: Wallet, bench: PostgresBench, settings: dict[str, str]
) -> None:
    unposted(wallet, bench)
    is_asked, may_answer = threading.Event(), threading.Event()

    def answer_late(call: LedgerCall) -> None:
        is_asked.set()
        may_answer.wait(PATIENCE_S)

    wallet.ledger.before = answer_late
    process = start_command("reconcile", *NOW, environment=settings)
    try:
        assert is_asked.wait(PATIENCE_S)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        may_answer.set()

    assert (process.returncode, output, errors) == (130, "", "")


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_database_that_is_away_is_one_line(reconcile: Run, json_too: list[str]) -> None:
    url = f"postgresql://pm:{SECRET}@127.0.0.1:{free_port()}/pm"

    done = reconcile(*json_too, DATABASE_URL=url)

    assert (done.returncode, done.stdout) == (69, "")
    assert len(done.stderr.splitlines()) == 1
    assert SECRET not in done.stderr


def test_a_ledger_that_is_away_is_one_line(
    wallet: Wallet, bench: PostgresBench, reconcile: Run
) -> None:
    unposted(wallet, bench)

    done = reconcile(TIGERBEETLE_ADDRESSES=f"memory://127.0.0.1:{free_port()}")

    assert done.returncode == 69
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_ledger_of_somebody_else_is_one_line_and_no_difference(
    wallet: Wallet, bench: PostgresBench, reconcile: Run, json_too: list[str]
) -> None:
    settled(wallet, 3)
    unposted(wallet, bench)

    with LedgerServer(InMemoryLedger()) as empty:
        done = reconcile(*NOW, *json_too, TIGERBEETLE_ADDRESSES=empty.url)

    assert (done.returncode, done.stdout) == (78, "")
    assert "TIGERBEETLE_ADDRESSES leads to an empty cluster" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_setting_that_is_missing_is_one_line(reconcile: Run) -> None:
    done = reconcile(TIGERBEETLE_CLUSTER_ID="")

    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr == "outbox-worker: TIGERBEETLE_CLUSTER_ID: field required\n"


def test_a_right_that_is_missing_is_one_line(bench: PostgresBench, reconcile: Run) -> None:
    bench.execute("DROP ROLE IF EXISTS pm_stranger")
    bench.execute("CREATE ROLE pm_stranger LOGIN")

    done = reconcile(DATABASE_URL=make_conninfo(bench.url, user="pm_stranger"))

    assert (done.returncode, done.stdout) == (78, "")
    assert "docs/running.md" in done.stderr
    assert len(done.stderr.splitlines()) == 1
