"""What operators are told: one line a change of state, and the two probes."""

import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from structlog.testing import capture_logs

from entrypoints.health import Health, HealthServer, Part

KNOWN_FROM_THE_START = set(Part) - {Part.WAKE_UP}


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
def server(health: Health) -> Iterator[HealthServer]:
    server = HealthServer(health, host="127.0.0.1", port=0)
    server.start()
    yield server
    server.stop()


def get(server: HealthServer, path: str, *, host: str = "127.0.0.1") -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection(host, server.port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_a_part_is_down_until_it_was_reached(health: Health) -> None:
    assert set(health.faults()) == KNOWN_FROM_THE_START
    assert not health.is_ready()

    health.up(Part.LEDGER)

    assert health.is_up(Part.LEDGER)
    assert not health.is_up(Part.DATABASE)
    assert set(health.faults()) == KNOWN_FROM_THE_START - {Part.LEDGER}


def test_settling_needs_database_and_ledger_and_no_redis(health: Health) -> None:
    health.up(Part.DATABASE)
    assert not health.is_ready()
    health.up(Part.LEDGER)
    assert health.is_ready()

    health.down(Part.STATUS, "away")
    health.down(Part.NOTIFICATIONS, "away")
    assert health.is_ready()

    health.down(Part.DATABASE, "away")
    assert not health.is_ready()
    health.up(Part.DATABASE)
    health.down(Part.LEDGER, "away")
    assert not health.is_ready()


def test_a_change_of_state_is_one_line(health: Health) -> None:
    with capture_logs() as logs:
        for _ in range(3):
            health.up(Part.LEDGER)
        health.down(Part.LEDGER, "no answer")
        health.down(Part.LEDGER, "no answer")
        health.down(Part.LEDGER, "still no answer")
        health.up(Part.LEDGER)

    assert logs == [
        {"event": "outbox: part is up", "part": "ledger", "log_level": "info"},
        {
            "event": "outbox: part is down",
            "part": "ledger",
            "fault": "no answer",
            "log_level": "error",
        },
        {"event": "outbox: part is up", "part": "ledger", "log_level": "info"},
    ]
    assert health.faults().get(Part.LEDGER) is None


def test_a_part_that_is_away_from_the_start_is_one_line(health: Health) -> None:
    with capture_logs() as logs:
        health.down(Part.LEDGER, "no answer")
        health.down(Part.LEDGER, "no answer")

    assert [line["event"] for line in logs] == ["outbox: part is down"]


def test_the_newest_fault_is_shown(health: Health) -> None:
    health.down(Part.LEDGER, "no answer")
    health.down(Part.LEDGER, "refused")

    assert health.faults()[Part.LEDGER] == "refused"


def test_an_outage_that_turns_out_to_be_a_misconfiguration_is_told(health: Health) -> None:
    # What only a person can mend must be in the log, and not once a round.
    with capture_logs() as logs:
        health.down(Part.LEDGER, "no answer")
        for _ in range(3):
            health.down(Part.LEDGER, "not ours", owner="lanes")
            health.down(Part.LEDGER, "no answer")

    assert [line["fault"] for line in logs] == ["no answer", "not ours"]


def test_a_misconfiguration_is_noted_until_its_owner_gets_along(health: Health) -> None:
    assert not health.is_unfit(Part.LEDGER, owner="lanes")
    health.down(Part.LEDGER, "not ours", owner="lanes")

    health.up(Part.LEDGER)
    health.down(Part.LEDGER, "no answer")
    assert health.is_unfit(Part.LEDGER, owner="lanes")
    assert not health.is_unfit(Part.LEDGER, owner="delivery")

    health.up(Part.LEDGER, owner="lanes")
    assert not health.is_unfit(Part.LEDGER, owner="lanes")


def test_lanes_that_see_the_same_outage_make_one_line(health: Health) -> None:
    health.up(Part.LEDGER)
    barrier = threading.Barrier(8)

    def lane() -> None:
        barrier.wait(10)
        health.down(Part.LEDGER, "no answer")

    with capture_logs() as logs:
        lanes = [threading.Thread(target=lane) for _ in range(8)]
        for thread in lanes:
            thread.start()
        for thread in lanes:
            thread.join(10)

    assert len(logs) == 1


def test_a_fault_of_one_owner_is_not_over_because_another_gets_along(health: Health) -> None:
    # A table that delivering needs is missing; to the lanes Postgres looks well.
    with capture_logs() as logs:
        for _ in range(3):
            health.up(Part.DATABASE, owner="lanes")
            health.down(Part.DATABASE, "no table", owner="delivery")

    assert [line["event"] for line in logs] == ["outbox: part is up", "outbox: part is down"]
    assert health.faults()[Part.DATABASE] == "no table"

    health.up(Part.DATABASE, owner="delivery")

    assert health.is_up(Part.DATABASE)


def test_an_outage_is_over_when_anybody_reaches_the_part(health: Health) -> None:
    health.down(Part.DATABASE, "refused")

    health.up(Part.DATABASE, owner="delivery")

    assert health.is_up(Part.DATABASE)


def test_every_fault_of_a_part_is_shown_once(health: Health) -> None:
    health.down(Part.DATABASE, "no table", owner="lanes")
    health.down(Part.DATABASE, "no table", owner="delivery")
    health.down(Part.DATABASE, "refused")

    assert health.faults()[Part.DATABASE] == "no table; refused"

    health.up(Part.DATABASE, owner="lanes")

    assert health.faults()[Part.DATABASE] == "no table"


def test_the_process_is_alive_whatever_is_down(server: HealthServer) -> None:
    assert get(server, "/livez") == (200, {"alive": True})


def test_the_process_is_not_alive_without_one_of_its_loops(
    health: Health, server: HealthServer
) -> None:
    health.died("lane-2")
    health.died("lane-1")

    assert get(server, "/livez") == (503, {"alive": False, "dead_loops": ["lane-1", "lane-2"]})


def test_readiness_names_what_is_wrong(health: Health, server: HealthServer) -> None:
    health.up(Part.DATABASE)
    health.up(Part.STATUS)
    health.up(Part.NOTIFICATIONS)
    health.down(Part.LEDGER, "no answer within 10 s")

    assert get(server, "/readyz") == (
        503,
        {"ready": False, "faults": {"ledger": "no answer within 10 s"}},
    )

    health.up(Part.LEDGER)
    assert get(server, "/readyz") == (200, {"ready": True, "faults": {}})
    assert get(server, "/readyz?verbose=1")[0] == 200


def test_a_redis_that_is_down_is_shown_and_does_not_make_it_unready(
    health: Health, server: HealthServer
) -> None:
    health.up(Part.DATABASE)
    health.up(Part.LEDGER)
    health.up(Part.NOTIFICATIONS)
    health.down(Part.STATUS, "away")

    assert get(server, "/readyz") == (200, {"ready": True, "faults": {"status": "away"}})


def test_lanes_that_nobody_wakes_are_shown_and_do_not_make_it_unready(
    health: Health, server: HealthServer
) -> None:
    for part in KNOWN_FROM_THE_START:
        health.up(part)
    health.down(Part.WAKE_UP, "polling only")

    assert get(server, "/readyz") == (200, {"ready": True, "faults": {"wake_up": "polling only"}})


def test_an_exclusive_worker_tells_its_role(health: Health, server: HealthServer) -> None:
    for part in KNOWN_FROM_THE_START:
        health.up(part)
    health.role = "stand-by"

    assert get(server, "/readyz") == (200, {"ready": True, "role": "stand-by", "faults": {}})


@pytest.mark.parametrize("path", ["/", "/livez/", "/metricz", "/../livez"])
def test_another_path_is_not_found(server: HealthServer, path: str) -> None:
    assert get(server, path)[0] == 404


def test_a_probe_says_nothing_on_the_log(
    server: HealthServer, capfd: pytest.CaptureFixture[str]
) -> None:
    get(server, "/livez")

    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_taken_is_an_error_at_the_start(
    health: Health, server: HealthServer
) -> None:
    second = HealthServer(health, host="127.0.0.1", port=server.port)

    with pytest.raises(OSError, match="in use"):
        second.start()

    second.stop()
    assert get(server, "/livez")[0] == 200


def has_ipv6() -> bool:
    """Whether this machine has a loopback of IPv6; containers often have none."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
def test_an_ipv6_address_is_listened_on(health: Health) -> None:
    server = HealthServer(health, host="::1", port=0)
    server.start()
    try:
        assert get(server, "/livez", host="::1")[0] == 200
    finally:
        server.stop()


@pytest.mark.parametrize("host", ["ü" * 80, "a..b", "192.0.2.1", "2001:db8::1"])
def test_a_host_that_cannot_be_listened_on_is_an_error_with_a_reason(
    health: Health, host: str
) -> None:
    with pytest.raises(OSError, match=r".+") as raised:
        HealthServer(health, host=host, port=0).start()

    assert raised.value.strerror


def test_a_server_that_was_stopped_listens_no_more(health: Health) -> None:
    server = HealthServer(health, host="127.0.0.1", port=0)
    server.start()
    port = server.port

    server.stop()
    server.stop()

    with pytest.raises(ConnectionRefusedError):
        HTTPConnection("127.0.0.1", port, timeout=10).request("GET", "/livez")


def test_a_server_that_was_not_started_has_no_port(health: Health) -> None:
    with pytest.raises(RuntimeError, match="not started"):
        _ = HealthServer(health, host="127.0.0.1", port=0).port
