"""A process with a client at the server that the argument names forks, and both go on.

In a process of its own: to touch the parent's client in the child would abort the parent.
"""

import os
import sys

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from domain.transfers import TransferId
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID
from tests.helpers.holdings import Holdings

DEADLINE_S = 30.0


def run(address: str) -> None:
    """Raise AssertionError unless parent and child have a client each, before and after."""
    ledger = TigerBeetleLedger(addresses=address, cluster_id=CLUSTER_ID, deadline_s=DEADLINE_S)
    assert ledger.lookup([TransferId(1)]) == {}
    before = Holdings.now()

    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for _ in range(2):
                assert ledger.lookup([TransferId(1)]) == {}
            ledger.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    assert ledger.lookup([TransferId(1)]) == {}
    assert Holdings.now() == before, "it is the same client"
    ledger.close()


if __name__ == "__main__":
    run(sys.argv[1])
    print("held")
