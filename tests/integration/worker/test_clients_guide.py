"""docs/clients.md: its examples run as they are printed, and its rights are enough."""

import asyncio
import http.client
import json
import re
import runpy
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from redis import Redis

from entrypoints.live_status import LiveStatus
from entrypoints.sandbox.resources import HOST, free_port
from entrypoints.sandbox.valkey_server import ValkeyServer
from tests.helpers.worker_process import PATIENCE_S, WorkerProcess
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.payment_manager import PaymentManager

pytestmark = pytest.mark.integration

GUIDE: Final = (Path(__file__).parents[3] / "docs" / "clients.md").read_text()
SERVER, ASYNC = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
GRANTS: Final = re.findall(r"^GRANT .* TO outbox_client;$", GUIDE, re.MULTILINE)
(ACL,) = re.findall(r"^ACL SETUSER outbox-client .*$", GUIDE, re.MULTILINE)
NEVER_S = 3_600.0


@pytest.fixture
def port(tmp_path: Path, database_url: str, redis_url: str) -> Iterator[int]:
    """Where the guide's server listens."""
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    port = free_port()
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "PORT": str(port)}
    with WorkerProcess(settings, command=(sys.executable, str(program))) as server:
        server.wait_until(lambda: listens(port), what="it listens")
        yield port


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0


def get(port: int, intent_id: object) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE_S)
    connection.request("GET", f"/intents/{intent_id}/status")
    return connection.getresponse()


def next_event(response: http.client.HTTPResponse) -> Any:
    line, end = response.readline(), response.readline()
    assert (line[:6], end) == (b"data: ", b"\n")
    return json.loads(line[6:])


def test_the_server_tells_a_browser_each_status_and_ends_with_the_last(
    port: int, payment_manager: PaymentManager, start_worker: StartWorker, settings: dict[str, str]
) -> None:
    payments = payment_manager.authorize(1)
    with closing(get(port, payments[0].intent_id)) as response:
        assert response.getheader("Content-Type") == "text/event-stream"
        assert next_event(response) == {"status": "AUTHORIZED", "isFinal": False}
        payment_manager.enqueue(payments)
        worker = start_worker(**settings)

        assert next_event(response) == {"status": "SETTLED", "isFinal": True}
        assert response.read() == b""
    assert worker.stop() == 0


def test_the_server_knows_no_intent_that_is_not_there(port: int) -> None:
    with closing(get(port, uuid4())) as response:
        assert response.status == 404


def test_the_asyncio_example_tells_each_status(
    payment_manager: PaymentManager,
    database_url: str,
    redis_url: str,
    redis: Redis,
    tmp_path: Path,
) -> None:
    (payment,) = payment_manager.authorize(1)
    program = tmp_path / "statuses.py"
    program.write_text(ASYNC)
    statuses = runpy.run_path(str(program))["statuses"]

    async def watch(live: LiveStatus) -> list[str]:
        shown: list[str] = []
        async for update in statuses(live, payment.intent_id):
            if not shown:
                payment_manager.execute("UPDATE pm.intent SET status = 'SETTLED'")
                redis.publish(f"intent.{payment.intent_id}", '{"status":"SETTLED"}')
            shown.append(update.status)
        return shown

    with LiveStatus(
        database_url=database_url, redis_url=redis_url, poll_interval_s=NEVER_S
    ) as live:
        assert asyncio.run(watch(live)) == ["AUTHORIZED", "SETTLED"]


def test_the_rights_of_the_guide_are_enough(
    payment_manager: PaymentManager, database_url: str, private_valkey: ValkeyServer
) -> None:
    (payment,) = payment_manager.authorize(1)
    payment_manager.execute("CREATE ROLE outbox_client LOGIN")
    try:
        for grant in GRANTS:
            payment_manager.execute(grant)
        with (
            Redis.from_url(private_valkey.url) as operator,
            LiveStatus(
                database_url=database_url.replace("postgres@", "outbox_client@"),
                redis_url=private_valkey.url.replace("//", "//outbox-client:PASSWORD@"),
                poll_interval_s=NEVER_S,
            ) as live,
        ):
            operator.execute_command(*ACL.split())
            updates = live.watch(payment.intent_id, timeout_s=PATIENCE_S)
            assert next(updates).status == "AUTHORIZED"
            payment_manager.execute("UPDATE pm.intent SET status = 'FAILED'")
            operator.publish(f"intent.{payment.intent_id}", '{"status":"FAILED"}')
            assert [update.status for update in updates] == ["FAILED"]
    finally:
        payment_manager.execute("DROP OWNED BY outbox_client")
        payment_manager.execute("DROP ROLE outbox_client")


def test_watches_beyond_the_limit_poll(
    payment_manager: PaymentManager, database_url: str, redis_url: str, redis: Redis
) -> None:
    one, two = (payment.intent_id for payment in payment_manager.authorize(2))
    with LiveStatus(
        database_url=database_url, redis_url=redis_url, poll_interval_s=0.05, watches_max=1
    ) as live:
        first, second = live.watch(one), live.watch(two)
        assert (next(first).status, next(second).status) == ("AUTHORIZED", "AUTHORIZED")
        assert [redis.publish(f"intent.{watched}", "{}") for watched in (one, two)] == [1, 0]

        payment_manager.execute("UPDATE pm.intent SET status = 'SETTLED'")

        assert [update.status for update in second] == ["SETTLED"]
        assert [update.status for update in first] == ["SETTLED"]
