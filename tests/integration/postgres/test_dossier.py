"""What ``show`` reads of columns that the worker does not need, and that a table may lack."""

import pytest

from domain.dossier import Dossier
from domain.intents import IntentId
from tests.contracts.payments import an_intent
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration


@pytest.fixture
def intent_id(bench: PostgresBench) -> IntentId:
    """An intent that its PSP knows."""
    intent = an_intent()
    bench.add_intent(intent)
    bench.execute(
        "UPDATE pm.intent SET channel = 'pos', created_at = '2026-01-01 07:00:00.5+07'"
        " WHERE id = %s",
        intent.id,
    )
    bench.execute(
        "INSERT INTO pm.psp_tx_map (intent_id, psp, state, psp_reference)"
        " VALUES (%s, 'IPPS', 'PENDING', 'ref-1')",
        intent.id,
    )
    return intent.id


def dossier_of(bench: PostgresBench, intent_id: IntentId) -> Dossier:
    """All there is of an intent."""
    dossier = bench.reader.dossier(intent_id)
    assert dossier is not None
    return dossier


def test_the_psps_reference_and_state_are_shown_and_whence_the_intent_came(
    bench: PostgresBench, intent_id: IntentId
) -> None:
    dossier = dossier_of(bench, intent_id)

    [psp] = dossier.psp
    assert (psp.psp, psp.state, psp.psp_reference) == ("IPPS", "PENDING", "ref-1")
    assert dossier.intent is not None
    assert dossier.intent.channel == "pos"
    assert dossier.intent.created_at == "2026-01-01T00:00:00.500Z"


def test_a_column_that_pms_table_lacks_is_shown_as_nothing(
    bench: PostgresBench, intent_id: IntentId
) -> None:
    bench.execute("ALTER TABLE pm.intent DROP COLUMN channel, DROP COLUMN created_at")
    bench.execute("ALTER TABLE pm.psp_tx_map DROP COLUMN state, DROP COLUMN psp_reference")

    dossier = dossier_of(bench, intent_id)

    [psp] = dossier.psp
    assert (psp.psp, psp.state, psp.psp_reference) == ("IPPS", None, None)
    assert dossier.intent is not None
    assert (dossier.intent.channel, dossier.intent.created_at) == (None, None)
