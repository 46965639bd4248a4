"""What the demo counts, before it judges."""

import psycopg
import pytest

from adapters.memory.ledger import InMemoryLedger
from adapters.postgres.audit_trail import INSERT_AUDIT, audit_values
from domain.conclusions import AuditEvent
from domain.requeueing import REQUEUE
from domain.transfers import AccountId
from entrypoints.demo.evidence import gather
from tests.contracts.payments import an_intent
from tests.contracts.wallet import FEE_CODE

pytestmark = pytest.mark.integration


def test_only_what_made_an_intent_final_counts_as_its_final_audit(database_url: str) -> None:
    intent = an_intent()
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO pm.intent"
            " (id, status, operation_type, amount_satang, currency, user_id, tb_transfer_ids)"
            " VALUES (%s, 'SETTLED', %s, %s, %s, %s, '{}')",
            [
                *(intent.id, intent.operation_type, intent.amount_satang),
                *(intent.currency, intent.user_id),
            ],
        )
        for status_from, reason in (
            ("AUTHORIZED", "outbox"),
            ("SETTLED", "reconcile"),
            ("SETTLED", REQUEUE),
            ("MANUAL_REVIEW", REQUEUE),
        ):
            audit = AuditEvent(
                status_from=status_from, status_to="SETTLED", reason=reason, payload_json="{}"
            )
            connection.execute(INSERT_AUDIT, audit_values(intent.id, audit))

        [evidence] = gather(
            connection,
            InMemoryLedger(),
            {intent.id: intent},
            job_ids=(),
            fee_code=FEE_CODE,
            fee_account=AccountId(1),
        )

    assert evidence.final_audits == 1
