"""A client that nobody uses looks something up, lest the cluster evict its session."""

import threading

import pytest
from structlog.testing import capture_logs
from tigerbeetle import ClientEvictedError

from application.errors import LedgerUnavailableError
from domain.transfers import TransferId
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.scripted_tigerbeetle import (
    WAIT_S,
    Hang,
    ScriptedTigerBeetle,
    answers,
    raises,
)
from tests.unit.tigerbeetle.ledgers import SHORT_S, LedgerMaker, adapter_threads, in_lane
from tests.unit.tigerbeetle.test_fork import in_child

IDLE_S = 0.02
SEVERAL = 5


def kept_alive(cluster: ScriptedTigerBeetle) -> int:
    """Return how often the clients of *cluster* were kept alive."""
    return len(cluster.sent("lookup_accounts"))


def wait_kept_alive(cluster: ScriptedTigerBeetle, times: int = SEVERAL) -> None:
    """Wait until that has happened *times* more."""
    until = kept_alive(cluster) + times
    wait_until(lambda: kept_alive(cluster) >= until, what="the client is kept alive")


def wait_long_enough(a_ledger: LedgerMaker) -> None:
    """Wait for as long as an idle client takes to be kept alive several times."""
    clock = ScriptedTigerBeetle()
    ledger = a_ledger(clock, keep_alive_s=IDLE_S)
    ledger.lookup([TransferId(1)])
    wait_kept_alive(clock)
    ledger.close()


def test_an_idle_client_looks_something_up_again_and_again(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster, keep_alive_s=IDLE_S)

    with capture_logs() as logs:
        ledger.lookup([TransferId(1)])
        wait_kept_alive(cluster)
        ledger.lookup([TransferId(1)])
        wait_kept_alive(cluster)

    assert cluster.closes == [0]
    assert {tuple(ids) for ids in cluster.sent("lookup_accounts")} == {(1,)}
    assert logs == []


def test_a_ledger_that_was_never_used_has_nothing_to_keep_alive(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    a_ledger(cluster, keep_alive_s=IDLE_S)

    assert adapter_threads() == [], "nothing is there that could make a client"
    wait_long_enough(a_ledger)
    assert cluster.clients == []


def test_it_can_be_switched_off(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster, keep_alive_s=0)
    ledger.lookup([TransferId(1)])

    wait_long_enough(a_ledger)

    assert kept_alive(cluster) == 0


def test_a_client_that_is_being_asked_is_left_alone(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(hang := Hang())
    ledger = a_ledger(cluster, keep_alive_s=IDLE_S)
    call = in_lane(lambda: ledger.lookup([TransferId(1)]))
    hang.wait_entered()

    wait_long_enough(a_ledger)

    assert kept_alive(cluster) == 0
    hang.release()
    assert call.result(WAIT_S) == {}
    wait_kept_alive(cluster)


def test_a_lost_session_is_found_out_while_idle_and_the_next_call_has_a_new_client(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(answers, raises(ClientEvictedError()))
    ledger = a_ledger(cluster, keep_alive_s=IDLE_S)

    with capture_logs() as logs:
        ledger.lookup([TransferId(1)])
        wait_until(lambda: cluster.closes == [1], what="the lost client is closed")
        wait_until(lambda: not adapter_threads(), what="its threads have ended")
        assert len(cluster.clients) == 1, "nobody has asked for another"
        assert ledger.lookup([TransferId(1)]) == {}
        wait_kept_alive(cluster)

    assert cluster.closes == [1, 0]
    assert {line["log_level"] for line in logs} == {"debug"}


def test_a_keep_alive_without_an_answer_is_given_up_at_the_deadline(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(answers, hang := Hang())
    ledger = a_ledger(cluster, deadline_s=SHORT_S, keep_alive_s=IDLE_S)
    ledger.lookup([TransferId(1)])

    hang.wait_entered()

    wait_until(lambda: cluster.closes == [1], what="the silent client is closed")
    assert ledger.lookup([TransferId(1)]) == {}


def test_a_call_that_comes_during_a_keep_alive_ends_with_it_or_is_answered(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(answers, hang := Hang(), call_hangs := Hang())
    ledger = a_ledger(cluster, deadline_s=SHORT_S, keep_alive_s=IDLE_S)
    ledger.lookup([TransferId(1)])
    hang.wait_entered()

    call = in_lane(lambda: ledger.lookup([TransferId(2)]))
    call_hangs.wait_entered()

    with pytest.raises(LedgerUnavailableError):
        call.result(WAIT_S)
    wait_until(lambda: cluster.closes == [1], what="it is closed once")


def test_closing_ends_a_keep_alive_in_flight(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(answers, hang := Hang())
    ledger = a_ledger(cluster, keep_alive_s=IDLE_S)
    ledger.lookup([TransferId(1)])
    hang.wait_entered()

    in_lane(ledger.close).result(WAIT_S)

    assert cluster.closes == [1]
    wait_until(lambda: not adapter_threads(), what="all threads have ended")


def test_keeping_alive_does_not_keep_the_process_alive(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster, keep_alive_s=IDLE_S)
    ledger.lookup([TransferId(1)])

    wait_kept_alive(cluster)

    ours = [each for each in threading.enumerate() if each.name in adapter_threads()]
    assert ours
    assert all(each.daemon for each in ours)


def test_a_forked_child_keeps_its_own_client_alive_and_the_parent_its_own(
    a_ledger: LedgerMaker,
) -> None:
    # The scripted client fails whoever touches it in another process.
    cluster = ScriptedTigerBeetle()
    cluster.script(answers, hang := Hang())
    ledger = a_ledger(cluster, keep_alive_s=IDLE_S)
    ledger.lookup([TransferId(1)])
    hang.wait_entered()

    def check() -> None:
        assert adapter_threads() == []
        ledger.lookup([TransferId(1)])
        wait_kept_alive(cluster)
        assert len(cluster.clients) == 2
        ledger.close()
        assert cluster.closes == [0, 1]

    assert in_child(check) == 0
    hang.release()
    wait_kept_alive(cluster)
    assert cluster.closes == [0]
