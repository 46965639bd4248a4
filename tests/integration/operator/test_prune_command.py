"""``prune``: what it asks, moves and leaves, and that it can be ended at any moment."""

import json
import signal
from collections.abc import Callable

import psycopg
import pytest

from domain.intents import EventId
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.event_archive import DAY_MS
from tests.contracts.wallet import POST, Case, Wallet
from tests.helpers.outbox_rows import add_events, add_intents
from tests.helpers.worker_process import PATIENCE_S, start_command
from tests.integration.operator.conftest import Run, document
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

EVENTS = 300


@pytest.fixture
def settled(wallet: Wallet, bench: PostgresBench) -> Case:
    """An intent that a worker settled a hundred days ago."""
    case = wallet.add_case(POST)
    wallet.settle()
    bench.finish_event(case.event_id, 100 * DAY_MS)
    return case


@pytest.fixture
def many(bench: PostgresBench) -> list[EventId]:
    """Events that were finished long ago."""
    with psycopg.connect(bench.url, autocommit=True) as connection:
        add_intents(connection, "SETTLED", first=1, last=EVENTS)
        add_events(connection, "processed", first=1, last=EVENTS)
        connection.execute(
            "UPDATE pm.outbox_event SET created_at = created_at - interval '10 years',"
            " processed_at = processed_at - interval '10 years'"
        )
    return bench.outbox_ids()


def test_prune_says_what_it_will_do_and_does_it_on_a_yes(
    bench: PostgresBench, settled: Case, run: Run
) -> None:
    done = run("prune", "--older-than", "90d", stdin="y\n")

    assert done.returncode == 0
    will, how, moved = done.stdout.splitlines()
    assert will.startswith(
        "events to move from pm.outbox_event to pm.outbox_event_archive: 1, finished before 20"
    )
    assert how == "1,000 at a time, each a transaction, with a pause of 100 ms between"
    assert moved == "events moved: 1"
    assert "Go on? [y/N]" in done.stderr
    assert (bench.outbox_ids(), bench.archive_ids()) == ([], [settled.event_id])


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_without_a_yes_nothing_is_moved(
    bench: PostgresBench, settled: Case, run: Run, answer: str
) -> None:
    done = run("prune", "--older-than", "90d", stdin=answer)

    assert done.returncode == 1
    assert "nothing was done" in done.stderr
    assert bench.outbox_ids() == [settled.event_id]


def test_a_dry_run_counts_and_moves_nothing(bench: PostgresBench, settled: Case, run: Run) -> None:
    told = run("prune", "--older-than", "90d", "--dry-run")
    counted = document(run("prune", "--older-than", "90d", "--dry-run", "--json"))

    assert (told.returncode, told.stderr) == (0, "")
    assert "pm.outbox_event_archive: 1, finished before" in told.stdout
    assert counted["would_move"] == 1
    assert bench.outbox_ids() == [settled.event_id]


def test_json_tells_programs_what_was_moved(settled: Case, run: Run) -> None:
    first, second = (
        document(run("prune", "--older-than", "90d", "--yes", "--json")) for _ in range(2)
    )

    assert (first["moved"], first["stopped"]) == (1, False)
    assert (second["moved"], second["stopped"]) == (0, False)
    assert first["before"].endswith("Z")


def test_with_nothing_old_it_says_so_and_asks_nothing(wallet: Wallet, run: Run) -> None:
    wallet.add_case(POST)
    wallet.settle()

    done = run("prune", "--older-than", "1d")

    assert (done.returncode, done.stderr) == (0, "")
    assert "pm.outbox_event_archive: 0, finished before" in done.stdout


def test_an_archived_event_is_shown_as_such(settled: Case, run: Run) -> None:
    run("prune", "--older-than", "90d", "--yes")

    people = run("show", settled.intent_id).stdout
    (event,) = document(run("show", "--event", settled.event_id, "--json"))["events"]

    assert "processed, archived" in people
    assert (event["id"], event["status"]) == (settled.event_id, "processed")
    assert event["archived_at"].endswith("Z")


def test_every_batch_is_moved_and_what_was_moved_is_as_it_was(
    bench: PostgresBench, many: list[EventId], run: Run
) -> None:
    columns = "id, intent_id, action, status, payload, retry_count, created_at, processed_at"
    before = bench.execute(f"SELECT {columns} FROM pm.outbox_event ORDER BY id")

    done = run("prune", "--older-than", "90d", "--yes", "--batch", 7, "--pause-ms", 0)

    assert done.stdout == "events moved: 300\n"
    assert bench.outbox_ids() == []
    assert bench.execute(f"SELECT {columns} FROM pm.outbox_event_archive ORDER BY id") == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_between_two_batches_and_the_next_run_goes_on(
    bench: PostgresBench,
    many: list[EventId],
    run: Run,
    database_url: str,
    number: signal.Signals,
) -> None:
    process = start_command(
        *("prune", "--older-than", "90d", "--yes", "--json"),
        *("--batch", "10", "--pause-ms", "60000"),
        environment={"DATABASE_URL": database_url},
    )
    wait_until(lambda: bench.archive_ids() != [], timeout_s=PATIENCE_S, what="a batch")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, stderr) == (128 + number, "")
    told = json.loads(stdout)
    assert (told["moved"], told["stopped"]) == (10, True)
    assert bench.archive_ids() == many[:10]
    assert run("prune", "--older-than", "90d", "--yes").stdout == f"events moved: {EVENTS - 10}\n"


def test_killed_in_the_middle_each_event_is_in_exactly_one_place(
    bench: PostgresBench, many: list[EventId], run: Run, database_url: str
) -> None:
    process = start_command(
        *("prune", "--older-than", "90d", "--yes", "--batch", "1", "--pause-ms", "1"),
        environment={"DATABASE_URL": database_url},
    )
    is_halfway: Callable[[], bool] = lambda: len(bench.archive_ids()) > 20  # noqa: E731
    wait_until(is_halfway, timeout_s=PATIENCE_S, what="some batches")
    process.kill()
    process.communicate(timeout=PATIENCE_S)

    assert sorted(bench.outbox_ids() + bench.archive_ids()) == many
    run("prune", "--older-than", "90d", "--yes", "--pause-ms", 0)
    assert (bench.outbox_ids(), bench.archive_ids()) == ([], many)
