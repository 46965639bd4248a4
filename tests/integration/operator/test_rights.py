"""The rights that docs/running.md lists for operators are those that their commands need."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from adapters.postgres.operator_store import PostgresOperatorStore
from adapters.postgres.outbox_reader import PostgresOutboxReader
from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import Pool, build_pool
from application.errors import DatabaseMisconfiguredError
from application.use_cases.fail_event import FailEvent
from application.use_cases.requeue_event import RequeueEvent
from domain.conclusions import Review
from domain.named_events import Operator
from domain.requeueing import Requeue
from tests.contracts.wallet import FEE_CODE, POST, Wallet
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

GUIDE: Final = (Path(__file__).parents[3] / "docs" / "running.md").read_text()
GRANTS: Final = re.findall(r"^GRANT .* TO outbox_operator;$", GUIDE, re.MULTILINE)
ME: Final = Operator(name="me")


@contextmanager
def as_operator(bench: PostgresBench, grants: list[str]) -> Iterator[Pool]:
    """Connect as a role that was given *grants* and nothing else."""
    bench.execute("CREATE ROLE outbox_operator LOGIN")
    try:
        for grant in grants:
            bench.execute(grant)
        with build_pool(bench.url.replace("postgres@", "outbox_operator@"), size_max=1) as pool:
            yield pool
    finally:
        bench.execute("DROP OWNED BY outbox_operator")
        bench.execute("DROP ROLE outbox_operator")


def test_the_rights_of_the_guide_are_enough_for_every_command(
    wallet: Wallet, bench: PostgresBench
) -> None:
    given_up = wallet.add_case(POST, payload_json="[]")
    wallet.settle()
    pending = wallet.add_case(POST)

    with as_operator(bench, GRANTS) as pool:
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

    with as_operator(bench, only_select) as pool:
        reader = PostgresOutboxReader(pool)
        assert reader.queue(limit=10).total == 0
        assert reader.stuck(older_than=timedelta(0), limit=10).is_any
        assert reader.retried(more_than=0, limit=10).total == 0
        assert len(reader.statistics(since=timedelta(days=36_500))) == 1
        assert reader.intent_of(case.event_id) == case.intent_id
        assert reader.dossier(case.intent_id) is not None
        with pytest.raises(DatabaseMisconfiguredError, match=r"docs/running\.md"):
            RequeueEvent(store=PostgresOperatorStore(pool=pool))(case.event_id, ME)
