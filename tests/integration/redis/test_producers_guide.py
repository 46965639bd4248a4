"""docs/producers.md: its example runs as it is printed, with the rights that it lists."""

import json
import re
import runpy
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from entrypoints.sandbox.valkey_server import ValkeyServer
from tests.contracts.payments import an_intent
from tests.helpers.tcp_proxy import TcpProxy
from tests.integration.redis.clients import PubSubListener, peer

pytestmark = pytest.mark.integration

GUIDE: Final = (Path(__file__).parents[3] / "docs" / "producers.md").read_text()
(EXAMPLE,) = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
GRANTS: Final = re.findall(r"^GRANT .* TO outbox_producer;$", GUIDE, re.MULTILINE)
(ACL,) = re.findall(r"^ACL SETUSER outbox-producer .*$", GUIDE, re.MULTILINE)


def run(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run *statements* and return the rows of the last, if it has any."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(";".join(statements).encode())
        while cursor.nextset():
            pass
        return cursor.fetchall() if cursor.description is not None else []


def test_the_example_orders_records_and_tells_with_the_rights_of_the_guide(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    database_url: str,
    private_valkey: ValkeyServer,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    intent_id = an_intent().id
    run(
        database_url,
        "INSERT INTO pm.intent (id, status, operation_type, amount_satang)"
        f" VALUES ('{intent_id}', 'CREATED', 'TOP_UP', 100)",
        "CREATE ROLE outbox_producer LOGIN",
        *GRANTS,
    )
    with peer(private_valkey.url) as operator:
        operator.execute_command(*ACL.split())
        monkeypatch.setenv("INTENT_ID", str(intent_id))
        monkeypatch.setenv("DATABASE_URL", database_url.replace("postgres@", "outbox_producer@"))
        monkeypatch.setenv(
            "REDIS_URL", private_valkey.url.replace("//", "//outbox-producer:PASSWORD@")
        )
        program = tmp_path / "producer.py"
        program.write_text(EXAMPLE)
        try:
            with closing(PubSubListener(operator, proxy_to(private_valkey.url))) as listener:
                runpy.run_path(str(program))
                ((channel, body),) = listener.messages()
        finally:
            run(database_url, "DROP OWNED BY outbox_producer", "DROP ROLE outbox_producer")

    assert channel == f"intent.{intent_id}"
    assert json.loads(body)["status"] == "AUTHORIZED"
    assert run(
        database_url,
        "SELECT i.status, e.action, e.status, a.status_from, a.status_to FROM pm.intent i"
        " JOIN pm.outbox_event e ON e.intent_id = i.id JOIN pm.intent_event a USING (intent_id)",
    ) == [("AUTHORIZED", "post_pending", "pending", "CREATED", "AUTHORIZED")]
