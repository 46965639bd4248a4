"""Reading all transfers of a code: page by page, only as far as somebody asks."""

import pytest
from structlog.testing import capture_logs
from tigerbeetle import TooMuchDataError

from application.errors import LedgerUnavailableError
from domain.transfers import Transfer, TransferId
from tests.helpers.scripted_tigerbeetle import Hang, ScriptedTigerBeetle, raises, replies
from tests.unit.tigerbeetle.ledgers import SHORT_S, LedgerMaker

CODE = 77


@pytest.fixture
def cluster() -> ScriptedTigerBeetle:
    """A cluster with ten fees, at the times 10, 20 … 100."""
    cluster = ScriptedTigerBeetle()
    cluster.transfers = [
        Transfer(id=TransferId(n), code=CODE, timestamp_ns=10 * n) for n in range(1, 11)
    ]
    return cluster


def pages(cluster: ScriptedTigerBeetle) -> list[tuple[int, int]]:
    """Return the limit and the first timestamp of each page that was asked for."""
    return [(query.limit, query.timestamp_min) for (query,) in cluster.sent("query_transfers")]


def test_a_page_is_read_when_the_one_before_is_used_up(
    a_ledger: LedgerMaker, cluster: ScriptedTigerBeetle
) -> None:
    fees = a_ledger(cluster, request_events_max=4).transfers_of_code(CODE, since_ns=15)
    assert pages(cluster) == []

    assert [next(fees).id for _ in range(4)] == [2, 3, 4, 5]
    assert pages(cluster) == [(4, 15)]

    assert [fee.id for fee in fees] == [6, 7, 8, 9, 10]
    assert pages(cluster) == [(4, 15), (4, 51), (4, 91), (4, 101)]


def test_a_page_that_is_too_much_for_the_cluster_is_halved_and_that_is_remembered(
    a_ledger: LedgerMaker, cluster: ScriptedTigerBeetle
) -> None:
    ledger = a_ledger(cluster, request_events_max=8)
    cluster.script(raises(TooMuchDataError()))

    with capture_logs() as logs:
        assert len(list(ledger.transfers_of_code(CODE, since_ns=0))) == 10
        assert len(list(ledger.transfers_of_code(CODE, since_ns=0))) == 10

    assert {limit for limit, _ in pages(cluster)[1:]} == {4}
    assert [(line["event"], line["requests"], line["events_max"]) for line in logs] == [
        ("ledger_request_limit_lowered", "query", 4)
    ]


def test_a_page_that_is_shorter_than_asked_for_is_not_the_end(
    a_ledger: LedgerMaker, cluster: ScriptedTigerBeetle
) -> None:
    cluster.script(replies(cluster.transfers[:3]))

    fees = a_ledger(cluster).transfers_of_code(CODE, since_ns=0)

    assert [fee.id for fee in fees] == list(range(1, 11))


def test_a_single_transfer_that_is_too_much_is_no_endless_loop(
    a_ledger: LedgerMaker, cluster: ScriptedTigerBeetle
) -> None:
    cluster.script(raises(TooMuchDataError()), raises(TooMuchDataError()))

    with pytest.raises(LedgerUnavailableError):
        list(a_ledger(cluster, request_events_max=2).transfers_of_code(CODE, since_ns=0))


def test_a_cluster_that_stops_answering_ends_the_scan_within_the_deadline(
    a_ledger: LedgerMaker, cluster: ScriptedTigerBeetle
) -> None:
    hang = Hang()
    cluster.script(replies(cluster.transfers[:3]), hang)
    fees = a_ledger(cluster, deadline_s=SHORT_S).transfers_of_code(CODE, since_ns=0)
    assert [next(fees).id for _ in range(3)] == [1, 2, 3]

    with pytest.raises(LedgerUnavailableError):
        next(fees)
