"""The in-memory ledger answers random programs as a real server does.

``make ledger-parity`` compares far more of them, and other ones each time.
"""

from collections.abc import Iterator

import pytest

from entrypoints.sandbox.tigerbeetle_server import TigerBeetleServer
from tests.parity.__main__ import in_memory
from tests.parity.long_run import run_for, told
from tests.parity.server import Server, server_at

pytestmark = [pytest.mark.integration, pytest.mark.tigerbeetle]

EVENTS_MIN = 1_000


@pytest.fixture
def server(tigerbeetle_server: TigerBeetleServer) -> Iterator[Server]:
    with server_at(tigerbeetle_server.address) as server:
        yield server


def test_statuses_balances_and_look_ups_agree_with_a_real_server(server: Server) -> None:
    totals, finding = run_for(EVENTS_MIN, "short", server, in_memory, print, batches_at_once=3)

    if finding is not None:
        comparison = finding.comparison
        shown = [
            finding.name,
            *told(comparison.program, comparison.answers.statuses),
            *map(str, comparison.differences),
        ]
        pytest.fail("\n".join(shown), pytrace=False)
    assert totals.transfer_events >= EVENTS_MIN
    assert totals.look_ups > EVENTS_MIN
