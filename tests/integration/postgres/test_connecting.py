"""What is wrong with DATABASE_URL, said without giving its secrets away."""

import psycopg
import pytest

from adapters.postgres.pool import build_pool
from application.errors import DatabaseUnavailableError, MisconfiguredError
from entrypoints.sandbox.postgres_server import PostgresServer
from tests.integration.postgres.postgres_bench import PostgresBench

pytestmark = pytest.mark.integration

PASSWORD = "hunter2"


def claim_once(url: str) -> None:
    with (
        build_pool(url, size_max=1, connect_timeout_s=1) as pool,
        PostgresBench(url, pool).outbox.claim(limit=1),
    ):
        pass


@pytest.mark.parametrize(
    ("part", "wrong", "message"),
    [
        ("postgres@", f"nobody:{PASSWORD}@", 'role "nobody" does not exist'),
        ("/test_", f"/nowhere?password={PASSWORD}&application_name=", 'database "nowhere" does'),
    ],
)
def test_a_wrong_user_or_database_is_a_misconfiguration(
    database_url: str, part: str, wrong: str, message: str
) -> None:
    with pytest.raises(MisconfiguredError, match=message) as caught:
        claim_once(database_url.replace(part, wrong))

    assert "check DATABASE_URL" in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_a_wrong_password_is_a_misconfiguration(private_postgres: PostgresServer) -> None:
    with psycopg.connect(private_postgres.socket_url(), autocommit=True) as connection:
        connection.execute("CREATE ROLE worker LOGIN PASSWORD 'right'")
        ((hba_file,),) = connection.execute("SHOW hba_file").fetchall()
        connection.execute(
            "COPY (VALUES ('local all all trust'),"
            f" ('host all worker 127.0.0.1/32 scram-sha-256')) TO '{hba_file}'"
        )
        connection.execute("SELECT pg_reload_conf()")
    url = private_postgres.url().replace("postgres@", f"worker:{PASSWORD}@")

    with pytest.raises(MisconfiguredError, match="password authentication failed") as caught:
        claim_once(url)
    assert PASSWORD not in str(caught.value)
    with pytest.raises(MisconfiguredError, match="no password supplied"):
        claim_once(url.replace(f":{PASSWORD}", ""))
    with pytest.raises(MisconfiguredError, match=r"no pg_hba\.conf entry"):
        claim_once(private_postgres.url())


def test_a_server_that_has_no_session_to_spare_is_an_outage(
    database_url: str, postgres_server: PostgresServer
) -> None:
    with psycopg.connect(postgres_server.socket_url(), autocommit=True) as connection:
        connection.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
        try:
            with pytest.raises(DatabaseUnavailableError, match="too many connections"):
                claim_once(database_url.replace("postgres@", "crowded@"))
        finally:
            connection.execute("DROP ROLE crowded")


@pytest.mark.parametrize(
    "url", [f"postgres//u:{PASSWORD}@h/x", f"postgresql://u:{PASSWORD}@h/x?colour=blue"]
)
def test_a_url_that_is_none_is_not_quoted(url: str) -> None:
    with pytest.raises(MisconfiguredError, match="DATABASE_URL") as caught:
        build_pool(url, size_max=1)

    assert PASSWORD not in str(caught.value)
    assert caught.value.__cause__ is None
