"""What an operator's store meets in Postgres alone: odd audit rows, deleted rows, triggers."""

import threading
from datetime import UTC, datetime

import pytest

from adapters.postgres.claimed_rows import claimed_of_row
from adapters.postgres.operator_store import PostgresHeldEvent, PostgresOperatorStore
from adapters.postgres.pool import Pool
from domain.intents import ClaimedEvent, EventId, IntentId
from entrypoints.sandbox.waiting import wait_until
from tests.contracts.payments import an_intent
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration


def add_event(bench: PostgresBench, *, status: str) -> tuple[IntentId, EventId]:
    """An intent and an event of it."""
    intent = an_intent(status=status)
    bench.add_intent(intent)
    return intent.id, bench.add_event(intent.id)


def status_before_review(bench: PostgresBench, event_id: EventId) -> str | None:
    """What an intent was before a person had to look."""
    found = bench.operators.read(event_id)
    assert found is not None
    return found.status_before_review


def add_audit(
    bench: PostgresBench, intent_id: IntentId, before: str, after: str, hour: int | None
) -> None:
    """A row of the audit trail, written at an hour or at no time at all."""
    bench.execute(
        "INSERT INTO pm.intent_event (intent_id, status_from, status_to, created_at)"
        " VALUES (%s, %s, %s, %s)",
        intent_id,
        before,
        after,
        None if hour is None else datetime(2026, 1, 1, hour, tzinfo=UTC),
    )


def test_an_audit_row_without_a_time_is_not_the_latest(bench: PostgresBench) -> None:
    bench.execute("ALTER TABLE pm.intent_event ALTER created_at DROP NOT NULL")
    intent_id, event_id = add_event(bench, status="MANUAL_REVIEW")
    add_audit(bench, intent_id, "SETTLING", "MANUAL_REVIEW", 1)
    add_audit(bench, intent_id, "AUTHORIZED", "MANUAL_REVIEW", None)

    assert status_before_review(bench, event_id) == "SETTLING"


@pytest.mark.parametrize(
    "rows",
    [
        [("AUTHORIZED", "MANUAL_REVIEW"), ("SETTLING", "MANUAL_REVIEW")],
        [("AUTHORIZED", "MANUAL_REVIEW"), ("MANUAL_REVIEW", "AUTHORIZED")],
        [("MANUAL_REVIEW", "AUTHORIZED"), ("AUTHORIZED", "MANUAL_REVIEW")],
    ],
)
def test_which_of_two_rows_of_one_time_is_the_later_is_not_guessed(
    bench: PostgresBench, rows: list[tuple[str, str]]
) -> None:
    intent_id, event_id = add_event(bench, status="MANUAL_REVIEW")
    for before, after in rows:
        add_audit(bench, intent_id, before, after, 1)

    assert status_before_review(bench, event_id) is None


def test_the_states_of_a_psp_tell_nothing_of_the_intents(bench: PostgresBench) -> None:
    intent_id, event_id = add_event(bench, status="MANUAL_REVIEW")
    add_audit(bench, intent_id, "SETTLING", "MANUAL_REVIEW", 1)
    add_audit(bench, intent_id, "SENT", "PSP_CONFIRMED", 2)

    assert status_before_review(bench, event_id) == "SETTLING"


def test_an_event_that_is_deleted_meanwhile_is_read_as_it_was(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, event_id = add_event(bench, status="AUTHORIZED")

    def delete_first(row: tuple[object, ...]) -> ClaimedEvent:
        bench.execute("DELETE FROM pm.outbox_event WHERE id = %s", event_id)
        return claimed_of_row(row)

    monkeypatch.setattr("adapters.postgres.operator_store.claimed_of_row", delete_first)

    found = bench.operators.read(event_id)

    assert found is not None
    assert found.status == "pending"
    assert bench.operators.read(event_id) is None


def test_what_was_waited_for_the_intent_is_not_waited_for_the_event_again(
    bench: PostgresBench, pool: Pool
) -> None:
    intent_id, event_id = add_event(bench, status="AUTHORIZED")
    store = PostgresOperatorStore(pool=pool, lock_timeout_ms=60_000)
    left: list[str] = []

    def hold() -> None:
        with store.hold(event_id) as held:
            assert isinstance(held, PostgresHeldEvent)
            left.extend(*held._connection.execute("SHOW lock_timeout").fetchall())

    operator = threading.Thread(target=hold)
    with bench.hold_intent(intent_id):
        operator.start()
        wait_until(
            lambda: bool(
                bench.execute(
                    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                    " AND datname = current_database()"
                    " AND query_start < clock_timestamp() - interval '100 ms'"
                )
            ),
            what="the operator waits for a while",
        )
    operator.join()

    [left_of_a_minute] = left
    assert int(left_of_a_minute.removesuffix("ms")) < 59_910
