"""Which servers the doctor lets pass; the tests' own is of one version only."""

from types import SimpleNamespace
from typing import cast

import pytest

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.probe_server import version
from domain.findings import Examined, Verdict


@pytest.mark.parametrize(
    ("server_version", "verdict", "detail"),
    [
        (140_020, Verdict.RED, "Postgres 14"),
        (150_000, Verdict.OK, "Postgres 15"),
        (180_002, Verdict.OK, "Postgres 18"),
        (190_000, Verdict.WARNING, "Postgres 19, not tested yet"),
    ],
)
def test_servers_from_15_on_pass_and_untested_ones_are_told(
    server_version: int, verdict: Verdict, detail: str
) -> None:
    info = SimpleNamespace(server_version=server_version)
    connection = cast(BoundedConnection, SimpleNamespace(info=info))

    finding = version(connection, Examined("Postgres"))

    assert (finding.verdict, finding.detail) == (verdict, detail)
