"""Operators beside a running worker: nobody waits for long, nobody undoes the other."""

import pytest

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.memory.remote_ledger import SCHEME
from tests.helpers.worker_process import run_command
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.gate import Gate, Moment
from tests.integration.worker.payment_manager import PaymentManager

pytestmark = pytest.mark.integration


def event_of(payment_manager: PaymentManager) -> str:
    """The id of the only event."""
    ((event_id,),) = payment_manager.execute("SELECT id FROM pm.outbox_event")
    return str(event_id)


def test_what_a_worker_gave_up_it_settles_once_it_is_requeued(
    payment_manager: PaymentManager, start_worker: StartWorker, settings: dict[str, str]
) -> None:
    payments = payment_manager.authorize(1)
    payment_manager.execute(
        "INSERT INTO pm.outbox_event (intent_id, action, payload) VALUES (%s, %s, '[]')",
        payments[0].intent_id,
        payments[0].action,
    )
    worker = start_worker(**settings)
    payment_manager.wait_settled(worker)
    environment = {"DATABASE_URL": settings["DATABASE_URL"]}
    stuck = run_command("stuck", environment=environment)
    payment_manager.execute("UPDATE pm.outbox_event SET payload = NULL")

    requeued = run_command("requeue", event_of(payment_manager), "--yes", environment=environment)

    assert (stuck.returncode, requeued.returncode) == (1, 0)
    assert "given up (invalid_payload)" in stuck.stdout
    payment_manager.wait_delivered(worker)
    assert payment_manager.execute("SELECT status FROM pm.intent") == [(payments[0].status,)]
    assert run_command("stuck", environment=environment).returncode == 0
    assert worker.stop() == 0


def test_an_operator_waits_in_vain_for_a_worker_that_is_settling_and_changes_nothing(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    ledger: FaultyLedger,
) -> None:
    payments = payment_manager.order(1)
    payment_manager.execute("UPDATE pm.outbox_event SET retry_count = 1")
    gate = Gate(ledger, Moment.BEFORE_CHAINS)
    worker = start_worker(**settings | {"OUTBOX_LEDGER_DEADLINE_MS": "60000"})
    gate.wait_reached(worker)
    event_id = event_of(payment_manager)
    environment = settings | {"TIGERBEETLE_ADDRESSES": SCHEME + settings["TIGERBEETLE_ADDRESSES"]}

    held = [
        run_command(command, event_id, "--yes", environment=environment)
        for command in ("fail", "requeue")
    ]
    gate.open()
    payment_manager.wait_delivered(worker)
    too_late = run_command("fail", event_id, "--yes", environment=environment)

    assert [done.returncode for done in held] == [69, 69]
    assert all("try again in a moment" in done.stderr for done in held)
    assert too_late.returncode == 1
    assert "it is processed" in too_late.stderr
    assert payment_manager.execute("SELECT status_from, status_to FROM pm.intent_event") == [
        ("AUTHORIZED", payments[0].status)
    ]
    assert payment_manager.execute("SELECT status FROM pm.intent") == [(payments[0].status,)]
    assert worker.stop() == 0
