"""The rights that docs/running.md lists for operators are those that their commands need."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from adapters.postgres.event_archive import PostgresEventArchive
from adapters.postgres.operator_store import PostgresOperatorStore
from adapters.postgres.outbox_reader import PostgresOutboxReader
from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import Pool, build_pool
from application.errors import DatabaseMisconfiguredError
from application.ports.event_archive import Position
from application.use_cases.fail_event import FailEvent
from application.use_cases.requeue_event import RequeueEvent
from domain.conclusions import Review
from domain.named_events import Operator
from domain.requeueing import Requeue
from tests.contracts.event_archive import AGE, DAY_MS, find_all
from tests.contracts.wallet import FEE_CODE, POST, Wallet
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

GUIDE: Final = (Path(__file__).parents[3] / "docs" / "running.md").read_text()
OPERATOR: Final = "outbox_operator"
PRUNER: Final = "outbox_pruner"
GRANTS: Final = re.findall(rf"^GRANT .* TO {OPERATOR};$", GUIDE, re.MULTILINE)
PRUNER_GRANTS: Final = re.findall(rf"^GRANT .* TO {PRUNER};$", GUIDE, re.MULTILINE)
STORAGE: Final = re.findall(r"^ALTER TABLE .* SET \(.*\);$", GUIDE, re.MULTILINE)
ME: Final = Operator(name="me")


@contextmanager
def as_role(bench: PostgresBench, role: str, grants: list[str]) -> Iterator[Pool]:
    """Connect as *role*, which was given *grants* and nothing else."""
    bench.execute(f"CREATE ROLE {role} LOGIN")
    try:
        for grant in grants:
            bench.execute(grant)
        with build_pool(bench.url.replace("postgres@", f"{role}@"), size_max=1) as pool:
            yield pool
    finally:
        bench.execute(f"DROP OWNED BY {role}")
        bench.execute(f"DROP ROLE {role}")


def test_the_rights_of_the_guide_are_enough_for_every_command(
    wallet: Wallet, bench: PostgresBench
) -> None:
    given_up = wallet.add_case(POST, payload_json="[]")
    wallet.settle()
    pending = wallet.add_case(POST)

    with as_role(bench, OPERATOR, GRANTS) as pool:
        reader, store = PostgresOutboxReader(pool), PostgresOperatorStore(pool=pool)
        assert reader.queue(limit=10).total == 1
        assert reader.dossier(given_up.intent_id) is not None
        requeued = RequeueEvent(store=store)(given_up.event_id, ME)
        fail = FailEvent(
            store=store,
            ledger=wallet.ledger,
            fee_code=FEE_CODE,
            mapped=PostgresOutboxRepository(pool).some_mapped_accounts(limit=1),
        )
        failed = fail(pending.event_id, ME)

    assert isinstance(requeued, Requeue)
    assert isinstance(failed, Review)


def test_reading_asks_for_no_more_than_select(wallet: Wallet, bench: PostgresBench) -> None:
    case = wallet.add_case(POST, payload_json="[]")
    wallet.settle()
    only_select = [re.sub(r", (INSERT|UPDATE|DELETE)", "", grant) for grant in GRANTS]

    with as_role(bench, OPERATOR, only_select) as pool:
        reader = PostgresOutboxReader(pool)
        assert reader.queue(limit=10).total == 0
        assert reader.stuck(older_than=timedelta(0), limit=10).is_any
        assert reader.retried(more_than=0, limit=10).total == 0
        assert len(reader.statistics(since=timedelta(days=36_500))) == 1
        assert reader.intent_of(case.event_id) == case.intent_id
        assert reader.dossier(case.intent_id) is not None
        with pytest.raises(DatabaseMisconfiguredError, match=r"docs/running\.md"):
            RequeueEvent(store=PostgresOperatorStore(pool=pool))(case.event_id, ME)


@pytest.mark.parametrize("missing", [None, *PRUNER_GRANTS])
def test_pruning_asks_for_the_rights_of_the_guide_and_no_less(
    wallet: Wallet, bench: PostgresBench, missing: str | None
) -> None:
    case = wallet.add_case(POST)
    wallet.settle()
    bench.finish_event(case.event_id, 100 * DAY_MS)
    before = bench.archive.cutoff(AGE)
    found = find_all(bench, before=before)
    grants = [grant for grant in PRUNER_GRANTS if grant != missing]

    with as_role(bench, PRUNER, grants) as pool:
        archive = PostgresEventArchive(pool)
        if missing is None:
            assert archive.find(before=before, after=Position(), limit=10).event_ids == found
            assert archive.move(found, before=before) == 1
        else:
            with pytest.raises(DatabaseMisconfiguredError, match=r"docs/running\.md"):
                archive.move(found, before=before)

    assert bench.archive_ids() == ([case.event_id] if missing is None else [])


def test_the_storage_parameters_of_the_guide_are_ones_that_the_server_takes(
    bench: PostgresBench,
) -> None:
    for statement in STORAGE:
        bench.execute(statement)

    options = bench.execute(
        "SELECT relname, cardinality(reloptions) FROM pg_class"
        " WHERE oid IN ('pm.outbox_event'::regclass, 'pm.intent'::regclass) ORDER BY relname"
    )
    assert options == [("intent", 3), ("outbox_event", 2)]
