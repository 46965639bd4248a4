"""What the probe finds, of a cluster whose client follows a script."""

import socket
from collections.abc import Iterator, Sequence

import pytest
import tigerbeetle as tb

from adapters.tigerbeetle.ledger import TigerBeetleLedger
from adapters.tigerbeetle.probe import TigerBeetleProbe
from domain.findings import Finding
from domain.transfers import AccountId
from entrypoints.sandbox.resources import free_port
from tests.helpers.findings import of, reds
from tests.helpers.scripted_tigerbeetle import Hang, ScriptedTigerBeetle, raises
from tests.unit.tigerbeetle.ledgers import SHORT_S


@pytest.fixture
def cluster() -> ScriptedTigerBeetle:
    return ScriptedTigerBeetle()


@pytest.fixture
def replica() -> Iterator[str]:
    """The address of something that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def nobody() -> str:
    """An address where nothing listens."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def ledger(cluster: ScriptedTigerBeetle, replica: str) -> Iterator[TigerBeetleLedger]:
    ledger = TigerBeetleLedger(
        addresses=replica, cluster_id=0, deadline_s=SHORT_S, client_factory=cluster.make_client
    )
    yield ledger
    ledger.close()


def examine(
    ledger: TigerBeetleLedger, addresses: str, *, io_uring_fault: str | None = None
) -> Sequence[Finding]:
    return TigerBeetleProbe(
        addresses=addresses, ledger=ledger, find_io_uring_fault=lambda: io_uring_fault
    ).examine()


def test_a_healthy_cluster_is_green(ledger: TigerBeetleLedger, replica: str) -> None:
    findings = examine(ledger, replica)

    assert all(finding.is_ok for finding in findings)
    assert [finding.what for finding in findings] == ["io_uring", "replicas", "answers", "limits"]
    assert "32 clients" in of(findings, "limits").detail


def test_without_io_uring_no_client_is_made(
    ledger: TigerBeetleLedger, replica: str, cluster: ScriptedTigerBeetle
) -> None:
    findings = examine(ledger, replica, io_uring_fault="io_uring is refused: not permitted")

    assert reds(findings) == ["io_uring"]
    assert "seccomp" in of(findings, "io_uring").remedy
    assert of(findings, "replicas").is_ok
    assert cluster.clients == []


def test_without_any_replica_no_client_is_made(
    ledger: TigerBeetleLedger, nobody: str, cluster: ScriptedTigerBeetle
) -> None:
    findings = examine(ledger, nobody)

    assert reds(findings) == ["replicas"]
    assert f"{nobody}: Connection refused" in of(findings, "replicas").detail
    assert "TIGERBEETLE_ADDRESSES" in of(findings, "replicas").remedy
    assert cluster.clients == []


def test_a_replica_that_is_away_is_a_warning_when_others_are_there(
    ledger: TigerBeetleLedger, replica: str, nobody: str
) -> None:
    findings = examine(ledger, f"{replica},{nobody}")

    assert reds(findings) == []
    assert of(findings, "replicas").detail == f"{nobody}: Connection refused"
    assert of(findings, "answers").is_ok


def test_an_address_that_is_none_names_the_setting(ledger: TigerBeetleLedger) -> None:
    findings = examine(ledger, "http://tigerbeetle:3000")

    assert reds(findings) == ["replicas"]
    assert "TIGERBEETLE_ADDRESSES" in of(findings, "replicas").remedy


def test_silence_is_red_and_tells_all_that_it_can_mean(
    ledger: TigerBeetleLedger, replica: str, cluster: ScriptedTigerBeetle
) -> None:
    cluster.script(Hang())

    findings = examine(ledger, replica)

    assert reds(findings) == ["answers"]
    for cause in ("TIGERBEETLE_CLUSTER_ID", "most replicas", "client slot", "no older"):
        assert cause in of(findings, "answers").remedy


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (tb.ClientReleaseTooHighError(), "newer than the cluster"),
        (tb.ClientReleaseTooLowError(), "older than the cluster accepts"),
    ],
)
def test_a_release_that_does_not_fit_is_told_in_plain_words(
    ledger: TigerBeetleLedger,
    replica: str,
    cluster: ScriptedTigerBeetle,
    error: Exception,
    words: str,
) -> None:
    cluster.script(raises(error))

    findings = examine(ledger, replica)

    assert reds(findings) == ["answers"]
    assert words in of(findings, "answers").detail


def test_small_limits_are_a_warning(
    ledger: TigerBeetleLedger, replica: str, cluster: ScriptedTigerBeetle
) -> None:
    cluster.lookup_events_max = 2_031

    findings = examine(ledger, replica)

    assert reds(findings) == []
    assert "8 clients" in of(findings, "limits").detail


def test_look_ups_learn_what_a_request_holds(
    ledger: TigerBeetleLedger, cluster: ScriptedTigerBeetle
) -> None:
    cluster.lookup_events_max = 2_031
    cluster.accounts = [tb.Account(id=number, ledger=7, code=1) for number in (1, 5_000, 20_000)]

    found = ledger.lookup_accounts([AccountId(number) for number in range(1, 20_001)])

    assert {account_id: account.ledger for account_id, account in found.items()} == {
        AccountId(1): 7,
        AccountId(5_000): 7,
        AccountId(20_000): 7,
    }
