"""A forked child and its parent's client."""

import os
import traceback
import warnings
from collections.abc import Callable

from domain.transfer_status import TransferStatus
from domain.transfers import TransferId
from tests.helpers.scripted_tigerbeetle import Hang, ScriptedTigerBeetle
from tests.unit.tigerbeetle.ledgers import LedgerMaker, a_chain, in_lane


def in_child(check: Callable[[], None]) -> int:
    """Run *check* in a forked child; return the child's exit code."""
    with warnings.catch_warnings():
        # Python warns of the very thing that is tested: a fork beside threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            check()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_forked_child_makes_its_own_client_and_leaves_the_parents_alone(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)
    ledger.create_chains([a_chain(1)])

    def check() -> None:
        assert ledger.create_chains([a_chain(2)]) == [(TransferStatus.CREATED,)]
        assert len(cluster.clients) == 2
        ledger.close()
        assert cluster.closes == [0, 1]

    assert in_child(check) == 0
    assert ledger.create_chains([a_chain(3)]) == [(TransferStatus.CREATED,)]
    assert len(cluster.clients) == 1


def test_a_child_forked_while_a_call_is_in_flight_is_not_blocked_by_it(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    cluster.script(hang := Hang())
    ledger = a_ledger(cluster)
    call = in_lane(lambda: ledger.lookup([TransferId(1)]))
    hang.wait_entered()

    def check() -> None:
        assert ledger.lookup([TransferId(2)]) == {}
        ledger.close()

    assert in_child(check) == 0
    hang.release()
    assert call.result(10) == {}
    assert cluster.closes == [0]


def test_a_child_that_only_closes_the_ledger_does_not_touch_the_parents_client(
    a_ledger: LedgerMaker,
) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster)
    ledger.lookup([TransferId(1)])

    def check() -> None:
        ledger.close()
        assert cluster.closes == [0]

    assert in_child(check) == 0
