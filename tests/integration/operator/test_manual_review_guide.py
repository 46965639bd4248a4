"""The SQL of docs/manual_review.md does what the page says, as it is printed."""

import re
from pathlib import Path
from typing import Final
from uuid import uuid4

import psycopg
import pytest

from domain.intents import IntentId
from tests.contracts.wallet import POST, Wallet
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

GUIDE: Final = (Path(__file__).parents[3] / "docs" / "manual_review.md").read_text()


def run_printed(bench: PostgresBench, beginning: str, **variables: object) -> None:
    """Run the statement of the guide that begins so, with variables quoted as psql does."""
    [statement] = re.findall(rf"```sql\n({beginning}.*?)```", GUIDE, re.DOTALL)

    def quoted(variable: re.Match[str]) -> str:
        return psycopg.sql.quote(str(variables[variable[1]]))

    bench.execute(re.sub(r":'(\w+)'", quoted, statement))


def test_what_a_person_settles_is_final_and_told_in_the_trail(
    wallet: Wallet, bench: PostgresBench
) -> None:
    case = wallet.add_case(POST, payload_json="[]")
    wallet.settle()

    for status in ("SETTLED", "FAILED"):
        # The second one finds nothing under review.
        run_printed(bench, "WITH settled", intent_id=case.intent_id, status=status)

    assert wallet.intent_status(case) == "SETTLED"
    assert wallet.audit_trail(case)[1:] == [("MANUAL_REVIEW", "SETTLED")]


def test_only_a_failed_orphan_is_deleted(wallet: Wallet, bench: PostgresBench) -> None:
    case = wallet.add_case(POST, payload_json="[]")
    wallet.settle()
    pending = bench.add_event(IntentId(uuid4()))
    orphan = bench.add_event(IntentId(uuid4()), status="failed")

    for event_id in (case.event_id, pending, orphan):
        run_printed(bench, "DELETE", event_id=event_id)

    assert bench.execute("SELECT id FROM pm.outbox_event ORDER BY id") == [
        (case.event_id,),
        (pending,),
    ]
