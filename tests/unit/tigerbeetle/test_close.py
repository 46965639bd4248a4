"""The orderly end of the ledger."""

import pytest
from structlog.testing import capture_logs

from application.errors import LedgerUnavailableError
from domain.transfers import TransferId
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.scripted_tigerbeetle import WAIT_S, Hang, ScriptedTigerBeetle
from tests.unit.tigerbeetle.ledgers import SHORT_S, LedgerMaker, a_chain, adapter_threads, in_lane


def test_closing_ends_calls_in_flight_with_outcome_unknown(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    hangs = [Hang(), Hang()]
    cluster.script(*hangs)
    ledger = a_ledger(cluster)
    calls = [in_lane(lambda: ledger.create_chains([a_chain(1)])) for _ in hangs]
    for hang in hangs:
        hang.wait_entered()

    with capture_logs() as logs:
        ledger.close()

        for call in calls:
            with pytest.raises(LedgerUnavailableError, match="the ledger was closed"):
                call.result(WAIT_S)
    assert cluster.closes == [1]
    assert [line for line in logs if line["log_level"] != "debug"] == []
    wait_until(lambda: not adapter_threads(), what="all threads have ended")


def test_closing_twice_closes_the_client_once(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)
    ledger.lookup([TransferId(1)])

    ledger.close()
    ledger.close()

    assert cluster.closes == [1]


def test_a_closed_ledger_makes_no_client_again(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)

    ledger.close()

    with pytest.raises(LedgerUnavailableError, match="the ledger was closed"):
        ledger.lookup([TransferId(1)])
    assert cluster.clients == []


def test_closing_waits_for_a_hanging_client_no_longer_than_its_limit(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.close_may_go_on.clear()
    ledger = a_ledger(cluster, close_timeout_s=SHORT_S)
    ledger.lookup([TransferId(1)])

    closing = in_lane(ledger.close)

    closing.result(WAIT_S)
    assert cluster.close_entered.wait(WAIT_S)
    assert not cluster.clients[0].is_closed
    cluster.close_may_go_on.set()
