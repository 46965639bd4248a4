"""The in-memory database fails on demand, as a real one does."""

import contextlib

import pytest

from adapters.memory.database import Step
from application.errors import DatabaseUnavailableError
from tests.contracts.payments import a_settle, an_intent
from tests.unit.memory.memory_bench import InMemoryBench

AWAY = DatabaseUnavailableError("away")


@pytest.fixture
def bench() -> InMemoryBench:
    return InMemoryBench()


def settle_all(bench: InMemoryBench) -> None:
    with bench.outbox.claim(limit=10) as batch:
        batch.write([a_settle(claimed) for claimed in batch.events])


def settle_in_spite_of_errors(bench: InMemoryBench) -> None:
    with bench.outbox.claim(limit=10) as batch, contextlib.suppress(DatabaseUnavailableError):
        batch.write([a_settle(claimed) for claimed in batch.events])


@pytest.mark.parametrize("step", [Step.BEGIN, Step.WRITE, Step.COMMIT])
def test_a_fault_before_the_commit_loses_the_transaction_once(
    bench: InMemoryBench, step: Step
) -> None:
    intent = an_intent()
    bench.add_intent(intent)
    event_id = bench.add_event(intent.id)
    bench.database.fail_once(step, AWAY)

    with pytest.raises(DatabaseUnavailableError):
        settle_all(bench)
    assert bench.event(event_id).status == "pending"

    settle_all(bench)
    assert bench.event(event_id).status == "processed"


def test_a_lost_answer_to_the_commit_loses_nothing_else(bench: InMemoryBench) -> None:
    intent = an_intent()
    bench.add_intent(intent)
    event_id = bench.add_event(intent.id)
    bench.database.fail_once(Step.COMMIT_ANSWER, AWAY)

    with pytest.raises(DatabaseUnavailableError):
        settle_all(bench)

    assert bench.event(event_id).status == "processed"


def test_a_block_that_ignores_the_loss_of_its_transaction_does_not_commit(
    bench: InMemoryBench,
) -> None:
    intent = an_intent()
    bench.add_intent(intent)
    event_id = bench.add_event(intent.id)
    bench.database.fail_once(Step.WRITE, AWAY)

    with pytest.raises(DatabaseUnavailableError, match="had failed"):
        settle_in_spite_of_errors(bench)
    assert bench.event(event_id).status == "pending"
