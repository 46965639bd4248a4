"""``requeue`` and ``fail``: what they ask, do, refuse and leave behind."""

import getpass
import json
import threading
from uuid import uuid4

import pytest

from adapters.memory.faulty_ledger import LedgerCall, do_nothing
from adapters.memory.remote_ledger import LedgerServer
from application.use_cases.requeue_event import RequeueEvent
from domain.conclusions import Review
from domain.intents import EventId, IntentId
from domain.named_events import Operator, Refused
from entrypoints.sandbox.resources import free_port
from tests.contracts.settling_reviews import fail_event
from tests.contracts.wallet import POST, VOID, Case, Wallet, post_by_other
from tests.helpers.worker_process import PATIENCE_S, run_command
from tests.integration.operator.conftest import Done, Run, document
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

ME = Operator(name="me")


@pytest.fixture
def given_up(wallet: Wallet) -> Case:
    """An order that a worker gave up: its payload does not parse."""
    case = wallet.add_case(POST, payload_json="[]")
    wallet.settle()
    assert wallet.event_status(case) == "failed"
    return case


def mend(bench: PostgresBench, case: Case) -> None:
    """Do what the producer has to do about such a payload."""
    bench.execute("UPDATE pm.outbox_event SET payload = NULL WHERE id = %s", case.event_id)


def last_audit(bench: PostgresBench, case: Case) -> tuple[str, str, str, dict[str, object]]:
    """The latest audit row of an intent."""
    audit = bench.audit(case.intent_id)[-1]
    return audit.status_from, audit.status_to, audit.reason, json.loads(audit.payload_json)


# requeue


def test_requeue_says_what_it_will_do_and_does_it_on_a_yes(
    wallet: Wallet, bench: PostgresBench, given_up: Case, run: Run
) -> None:
    mend(bench, given_up)

    done = run("requeue", given_up.event_id, "--reason", "ticket 4711", stdin="y\n")

    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"event {given_up.event_id}: {is_now} pending, with no failure counted and no backoff;"
        f" intent {given_up.intent_id} {becomes} AUTHORIZED"
        for is_now, becomes in (("will be", "will become"), ("is", "is now"))
    ]
    assert "Go on? [y/N]" in done.stderr
    assert last_audit(bench, given_up) == (
        "MANUAL_REVIEW",
        "AUTHORIZED",
        "requeue",
        {
            "by": "outbox-worker",
            "eventId": given_up.event_id,
            "action": POST,
            "databaseUser": "postgres",
            "operator": getpass.getuser(),
            "note": "ticket 4711",
        },
    )
    wallet.settle()
    assert wallet.intent_status(given_up) == "SETTLED"


@pytest.mark.parametrize("stdin", ["", "n\n", "\n"])
def test_without_a_yes_nothing_is_done(
    wallet: Wallet, given_up: Case, run: Run, stdin: str
) -> None:
    done = run("requeue", given_up.event_id, stdin=stdin)

    assert done.returncode == 1
    assert done.stderr.endswith("nothing was done\n")
    assert wallet.event_status(given_up) == "failed"
    assert wallet.intent_status(given_up) == "MANUAL_REVIEW"


def test_a_closed_stdin_is_a_no(wallet: Wallet, given_up: Case, run: Run) -> None:
    done = run("requeue", given_up.event_id, stdin=None)

    assert done.returncode == 1
    assert done.stderr.endswith("nothing was done\n")
    assert wallet.event_status(given_up) == "failed"


def test_several_events_are_judged_one_by_one(
    wallet: Wallet, bench: PostgresBench, given_up: Case, run: Run
) -> None:
    processed, pending = wallet.add_case(POST), wallet.add_case(VOID)
    bench.execute(
        "UPDATE pm.outbox_event SET status = 'processed' WHERE id = %s", processed.event_id
    )
    orphan = wallet.bench.add_event(IntentId(uuid4()), status="failed", retry_count=1)
    events = [processed.event_id, given_up.event_id, pending.event_id, orphan, 4711]

    done = run("requeue", *events, "--yes", "--json")

    assert done.returncode == 1
    results = document(done)["results"]
    assert [(one["event_id"], one["outcome"]) for one in results] == [
        (processed.event_id, "refused"),
        (given_up.event_id, "requeued"),
        (pending.event_id, "nothing_to_do"),
        (orphan, "requeued"),
        (4711, "refused"),
    ]
    assert "never goes back" in results[0]["detail"]
    assert wallet.bench.event(orphan).status == "pending"
    assert wallet.event_status(processed) == "processed"


def test_all_unfinished_events_of_an_intent_come_back_at_once(
    wallet: Wallet, given_up: Case, run: Run
) -> None:
    later = wallet.bench.add_event(given_up.intent_id, POST, created_after_s=9, retry_count=3)

    done = run("requeue", "--intent", given_up.intent_id, "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    for event_id in (given_up.event_id, later):
        state = wallet.bench.event(event_id)
        assert (state.status, state.retry_count) == ("pending", 0)
    assert wallet.audit_trail(given_up) == [
        ("AUTHORIZED", "MANUAL_REVIEW"),
        ("MANUAL_REVIEW", "AUTHORIZED"),
        ("AUTHORIZED", "AUTHORIZED"),
    ]
    assert run("requeue", "--intent", uuid4(), "--yes").returncode == 1


def test_two_operators_at_once_order_once(wallet: Wallet, given_up: Case, run: Run) -> None:
    outcomes: list[Done] = []
    operators = [
        threading.Thread(target=lambda: outcomes.append(run("requeue", given_up.event_id, "--yes")))
        for _ in range(2)
    ]
    for operator in operators:
        operator.start()
    for operator in operators:
        operator.join(PATIENCE_S)

    assert [done.returncode for done in outcomes] == [0, 0]
    assert sorted("nothing to do" in done.stdout for done in outcomes) == [False, True]
    assert len(wallet.audit_trail(given_up)) == 2


def test_an_event_that_is_held_is_refused_for_now(wallet: Wallet, given_up: Case, run: Run) -> None:
    with wallet.bench.hold_intent(given_up.intent_id):
        done = run("requeue", given_up.event_id, "--yes")

    assert done.returncode == 69
    assert done.stderr.startswith(f"event {given_up.event_id}: not done: a worker or the payment")
    assert wallet.event_status(given_up) == "failed"


@pytest.mark.parametrize("before", ["NULL", "''", "'MANUAL_REVIEW'", "'PSP_CONFIRMED'"], ids=str)
def test_an_intent_whose_old_status_is_not_told_stays_under_review(
    wallet: Wallet, bench: PostgresBench, given_up: Case, before: str
) -> None:
    bench.execute(f"UPDATE pm.intent_event SET status_from = {before}")

    refused = RequeueEvent(store=wallet.bench.operators)(given_up.event_id, ME)

    assert isinstance(refused, Refused)
    assert "by hand" in refused.detail
    assert wallet.event_status(given_up) == "failed"
    assert wallet.intent_status(given_up) == "MANUAL_REVIEW"


KEEP = (
    "CREATE FUNCTION pm.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    " CREATE TRIGGER keep BEFORE UPDATE ON pm.{} FOR EACH ROW EXECUTE FUNCTION pm.keep()"
)


@pytest.mark.parametrize("order", ["requeue", "fail"])
@pytest.mark.parametrize(
    "ddl",
    [
        "ALTER TABLE pm.intent_event"
        " ADD CHECK (reason NOT IN ('requeue', 'given_up_by_hand')) NOT VALID",
        KEEP.format("intent"),
        KEEP.format("outbox_event"),
    ],
    ids=["check", "intent is kept", "event is kept"],
)
def test_what_pms_tables_refuse_is_refused_whole(
    wallet: Wallet, bench: PostgresBench, given_up: Case, ddl: str, order: str
) -> None:
    case = given_up if order == "requeue" else wallet.add_case(POST)
    before = wallet.event_status(case), wallet.intent_status(case), wallet.audit_trail(case)
    bench.execute(ddl)

    use_case = (
        RequeueEvent(store=wallet.bench.operators) if order == "requeue" else fail_event(wallet)
    )
    refused = use_case(case.event_id, ME)

    assert isinstance(refused, Refused)
    assert refused.detail.startswith("the database refuses it: ")
    after = wallet.event_status(case), wallet.intent_status(case), wallet.audit_trail(case)
    assert after == before


# fail


def test_fail_says_what_it_will_do_and_does_it_on_a_yes(
    wallet: Wallet, bench: PostgresBench, run_fail: Run
) -> None:
    case = wallet.add_case(POST, frozen=(100, 20))

    done = run_fail(case.event_id, "--reason", "the shop is gone", stdin="y\n")

    assert done.returncode == 0
    planned, reported = done.stdout.splitlines()
    assert planned == (
        f"event {case.event_id}: will become failed; intent {case.intent_id} will become"
        " MANUAL_REVIEW; nobody is told, no money moves"
    )
    assert reported.startswith(f"event {case.event_id}: is now failed")
    assert wallet.event_status(case) == "failed"
    assert wallet.intent_status(case) == "MANUAL_REVIEW"
    assert wallet.frozen_satang(case) == 120
    status_from, status_to, reason, payload = last_audit(bench, case)
    assert (status_from, status_to, reason) == ("AUTHORIZED", "MANUAL_REVIEW", "given_up_by_hand")
    assert payload["operator"] == getpass.getuser()
    assert payload["databaseUser"] == "postgres"
    assert payload["note"] == "the shop is gone"


def test_fail_without_a_yes_does_nothing(wallet: Wallet, run_fail: Run) -> None:
    case = wallet.add_case(POST)

    done = run_fail(case.event_id)

    assert done.returncode == 1
    assert done.stderr.endswith("nothing was done\n")
    assert wallet.event_status(case) == "pending"


def test_fail_is_refused_where_the_money_has_moved(wallet: Wallet, run_fail: Run) -> None:
    case = wallet.add_case(VOID, frozen=(100, 20))
    wallet.create(post_by_other(case.pending_ids[1], 20))

    done = run_fail(case.event_id, "--yes", "--json")

    assert done.returncode == 1
    [result] = document(done)["results"]
    assert result["outcome"] == "refused"
    assert f"pending transfer {case.pending_ids[1]:032x} is posted (20 satang)" in result["detail"]
    assert f"outbox-worker requeue {case.event_id}" in result["detail"]
    assert wallet.event_status(case) == "pending"


def test_fail_without_an_answer_of_the_ledger_does_nothing(
    wallet: Wallet, run_fail: Run, ledger_server: LedgerServer
) -> None:
    case = wallet.add_case(POST)
    ledger_server.pause()

    done = run_fail(case.event_id, "--yes")

    ledger_server.resume()
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith("outbox-worker: ")
    assert done.stderr.count("\n") == 1
    assert wallet.event_status(case) == "pending"
    assert wallet.intent_status(case) == "AUTHORIZED"


@pytest.mark.tigerbeetle
def test_fail_without_a_tigerbeetle_does_nothing(wallet: Wallet, database_url: str) -> None:
    case = wallet.add_case(POST)

    done = run_command(
        "fail",
        str(case.event_id),
        "--yes",
        environment={
            "DATABASE_URL": database_url,
            "TIGERBEETLE_ADDRESSES": f"127.0.0.1:{free_port()}",
            "TIGERBEETLE_CLUSTER_ID": "0",
            "OUTBOX_LEDGER_DEADLINE_MS": "1000",
        },
    )

    assert (done.returncode, done.stdout) == (69, "")
    assert wallet.event_status(case) == "pending"


def test_an_orphan_is_given_up_alone(wallet: Wallet, run_fail: Run) -> None:
    intent_id = IntentId(uuid4())
    event_id = wallet.bench.add_event(intent_id)

    done = run_fail(event_id, "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert wallet.bench.event(event_id).status == "failed"
    assert list(wallet.bench.audit(intent_id)) == []


def test_no_worker_comes_between_the_ledgers_answer_and_the_end(wallet: Wallet) -> None:
    case = wallet.add_case(POST)
    claims: list[int] = []

    def settle_meanwhile(_: LedgerCall) -> None:
        wallet.ledger.after = do_nothing
        claims.append(wallet.settle().claimed)

    wallet.ledger.after = settle_meanwhile
    use_case = fail_event(wallet)
    given_up = use_case(case.event_id, ME)

    assert claims == [0]
    assert isinstance(given_up, Review)
    assert wallet.posted_satang(case) == 0


def test_what_a_worker_settled_between_plan_and_yes_is_refused(wallet: Wallet) -> None:
    case = wallet.add_case(POST)
    use_case = fail_event(wallet)
    assert isinstance(use_case.plan(case.event_id, ME), Review)
    wallet.settle()

    assert isinstance(use_case(case.event_id, ME), Refused)
    assert wallet.intent_status(case) == "SETTLED"


def test_an_unknown_event_is_a_clear_line(run: Run, run_fail: Run) -> None:
    for done in (run("requeue", 4711), run_fail(4711)):
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "event 4711: refused: there is no event 4711\n"


def test_an_unknown_event_needs_no_ledger(wallet: Wallet) -> None:
    use_case = fail_event(wallet)

    assert isinstance(use_case(EventId(4711), ME), Refused)
    assert wallet.ledger.calls == []
