"""From the setting to what the client takes."""

import socket
from collections.abc import Sequence

import pytest
from tigerbeetle import ClientClosedError

from adapters.tigerbeetle.addresses import host_addresses, resolve_addresses
from application.errors import LedgerUnavailableError, MisconfiguredError
from tests.helpers.scripted_tigerbeetle import ScriptedTigerBeetle, raises
from tests.unit.tigerbeetle.ledgers import LedgerMaker, a_chain

HOSTS = {
    "tb-0": ["10.0.0.1"],
    "tb-1": ["fe80::1%eth0", "2001:db8::1", "10.0.0.2", "10.0.0.3"],
    "v6-only": ["2001:db8::7"],
    "link-local-only": ["fe80::1%eth0"],
}


def look_up(host: str) -> Sequence[str]:
    if host not in HOSTS:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return HOSTS[host]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("3000", "3000"),
        ("10.1.2.3:3000", "10.1.2.3:3000"),
        ("10.1.2.3", "10.1.2.3:3001"),
        ("[::1]:3000", "[::1]:3000"),
        ("[::1]", "[::1]:3001"),
        ("tb-0:3000", "10.0.0.1:3000"),
        ("tb-0", "10.0.0.1:3001"),
        ("tb-1:3000", "10.0.0.2:3000"),
        ("v6-only:3000", "[2001:db8::7]:3000"),
        ("tb-1:3002, 10.0.0.9:3000 ,tb-0:3001", "10.0.0.2:3002,10.0.0.9:3000,10.0.0.1:3001"),
    ],
)
def test_names_become_numbers_in_the_order_of_the_replicas(setting: str, expected: str) -> None:
    assert resolve_addresses(setting, look_up=look_up) == expected


@pytest.mark.parametrize(
    "setting",
    [
        "",
        ",",
        "10.0.0.1:3000,",
        "tb-0:",
        "tb-0:x",
        "tb-0:0",
        "tb-0:65536",
        "tb-0:-1",
        "tb-0:٣",
        ":3000",
        "0",
        "65536",
        "9" * 5000,
        "::1:3000",
        "[::1",
        "[::1]3000",
        "[]:3000",
        "[tb-0]:3000",
        "[10.0.0.1]:3000",
    ],
)
def test_what_is_no_address_is_a_misconfiguration_that_names_the_setting(setting: str) -> None:
    with pytest.raises(MisconfiguredError, match="TIGERBEETLE_ADDRESSES"):
        resolve_addresses(setting, look_up=look_up)


@pytest.mark.parametrize("setting", ["gone:3000", "link-local-only:3000", "tb-0:3000,gone:3000"])
def test_a_name_that_does_not_resolve_now_is_an_outage(setting: str) -> None:
    with pytest.raises(LedgerUnavailableError, match="TIGERBEETLE_ADDRESSES"):
        resolve_addresses(setting, look_up=look_up)


def test_a_name_that_no_resolver_can_encode_is_a_misconfiguration() -> None:
    with pytest.raises(MisconfiguredError, match="TIGERBEETLE_ADDRESSES"):
        resolve_addresses("x" * 64 + ".example:3000")


def test_the_systems_resolver_knows_localhost() -> None:
    assert {"127.0.0.1", "::1"} & set(host_addresses("localhost"))


def test_the_client_is_given_numbers_for_localhost(a_ledger: LedgerMaker) -> None:
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster, addresses="localhost:3000")

    ledger.create_chains([a_chain(1)])

    assert cluster.addresses in (["127.0.0.1:3000"], ["[::1]:3000"])


def test_a_replica_that_comes_back_at_another_address_is_found(
    a_ledger: LedgerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, str] = {}

    def resolver(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (known[host], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    cluster = ScriptedTigerBeetle()
    ledger = a_ledger(cluster, addresses="tb-0:3000")

    for _ in range(3):
        with pytest.raises(LedgerUnavailableError, match="TIGERBEETLE_ADDRESSES: 'tb-0' does not"):
            ledger.create_chains([a_chain(1)])
    assert cluster.clients == []
    known["tb-0"] = "10.0.0.1"
    ledger.create_chains([a_chain(1)])
    known["tb-0"] = "10.0.0.2"
    cluster.script(raises(ClientClosedError()))
    with pytest.raises(LedgerUnavailableError):
        ledger.create_chains([a_chain(2)])
    ledger.create_chains([a_chain(2)])

    assert cluster.addresses == ["10.0.0.1:3000", "10.0.0.2:3000"]
