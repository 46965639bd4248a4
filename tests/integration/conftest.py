"""What the tests on a real TigerBeetle share: one client and one bank a module.

A development server takes few clients, and each new one costs more than half a second.
"""

from collections.abc import Iterator

import pytest

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer
from tests.integration.tigerbeetle.bank import TigerBeetleBank, bank_at


@pytest.fixture(scope="module")
def tigerbeetle_ledger(tigerbeetle_server: TigerBeetleServer) -> Iterator[TigerBeetleLedger]:
    """The real adapter on the run's own TigerBeetle."""
    ledger = TigerBeetleLedger(addresses=tigerbeetle_server.address, cluster_id=CLUSTER_ID)
    yield ledger
    ledger.close()


@pytest.fixture(scope="module")
def tigerbeetle_bank(tigerbeetle_server: TigerBeetleServer) -> Iterator[TigerBeetleBank]:
    """Accounts and frozen money on the same server."""
    with bank_at(tigerbeetle_server.address) as bank:
        yield bank
