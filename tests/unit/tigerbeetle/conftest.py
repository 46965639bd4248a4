"""Ledgers over scripted clients; no test of this folder may leave a thread behind."""

from collections.abc import Iterator

import pytest

from adapters.tigerbeetle.client import ClientFactory
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.scripted_tigerbeetle import ScriptedTigerBeetle
from tests.unit.tigerbeetle.ledgers import LONG_S, LedgerMaker, adapter_threads


@pytest.fixture
def a_ledger() -> Iterator[LedgerMaker]:
    """Make ledgers over a scripted cluster; they are closed after the test."""
    made: list[tuple[TigerBeetleLedger, ScriptedTigerBeetle]] = []

    def make(
        cluster: ScriptedTigerBeetle,
        *,
        addresses: str = "127.0.0.1:3000",
        cluster_id: int = 0,
        deadline_s: float = LONG_S,
        request_events_max: int = 8189,
        close_timeout_s: float = 5.0,
        keep_alive_s: float = 0.0,
        client_factory: ClientFactory | None = None,
    ) -> TigerBeetleLedger:
        ledger = TigerBeetleLedger(
            addresses=addresses,
            cluster_id=cluster_id,
            deadline_s=deadline_s,
            request_events_max=request_events_max,
            close_timeout_s=close_timeout_s,
            keep_alive_s=keep_alive_s,
            client_factory=client_factory or cluster.make_client,
        )
        made.append((ledger, cluster))
        return ledger

    yield make

    for ledger, cluster in made:
        cluster.close_may_go_on.set()
        ledger.close()
    wait_until(lambda: not adapter_threads(), what=f"{adapter_threads()} end")
