"""The harness itself: a test that relies on a server is worth what the server is worth."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import redis
import tigerbeetle

from adapters.postgres.probe_server import VERSION_MIN
from entrypoints.sandbox.local_server import LocalServer
from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.resources import HOST, MEMORY_FOLDER, ServerFailedError
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID, TigerBeetleServer
from entrypoints.sandbox.valkey_server import ValkeyServer, valkey_client
from entrypoints.sandbox.waiting import wait_until
from tests.helpers import oldest_postgres

pytestmark = pytest.mark.integration

SHORT_S = 0.3
REPOSITORY = Path(__file__).parents[2]


class TestPostgres:
    def test_migrated_database_is_fresh_for_each_test(self, database_url: str) -> None:
        with psycopg.connect(database_url) as connection:
            row = connection.execute("SELECT count(*) FROM pm.outbox_event").fetchone()

            assert row == (0,)

    def test_empty_database_has_no_schema_of_ours(self, empty_database_url: str) -> None:
        with psycopg.connect(empty_database_url) as connection:
            row = connection.execute("SELECT to_regnamespace('pm')").fetchone()

            assert row == (None,)

    def test_same_database_is_reached_over_tcp_and_unix_socket(
        self, postgres_server: PostgresServer, empty_database_url: str
    ) -> None:
        name = empty_database_url.rpartition("/")[2]
        with psycopg.connect(empty_database_url, autocommit=True) as connection:
            connection.execute("CREATE TABLE seen (by text)")
        with psycopg.connect(postgres_server.socket_url(name)) as connection:
            row = connection.execute("SELECT to_regclass('seen') IS NOT NULL").fetchone()

            assert row == (True,)

    def test_database_in_use_is_dropped_all_the_same(self, postgres_server: PostgresServer) -> None:
        name = postgres_server.create_database()
        with psycopg.connect(postgres_server.url(name)) as connection:
            postgres_server.drop_database(name)

            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")

    def test_a_private_server_is_not_the_one_that_all_tests_share(
        self, postgres_server: PostgresServer, private_postgres: PostgresServer
    ) -> None:
        folders = set()
        for server in (postgres_server, private_postgres):
            with psycopg.connect(server.url()) as connection:
                folders.add(connection.execute("SHOW data_directory").fetchone())
        assert len(folders) == 2

    def test_durable_server_forces_commits_to_a_disk(self) -> None:
        names = ("fsync", "synchronous_commit", "full_page_writes", "max_connections")
        with (
            PostgresServer(durable=True, settings={"max_connections": "7"}) as server,
            psycopg.connect(server.url()) as client,
        ):
            shown = {
                name: client.execute(f"SHOW {name}".encode()).fetchall()[0][0]
                for name in (*names, "data_directory")
            }

        folder = Path(shown.pop("data_directory"))
        assert MEMORY_FOLDER not in map(str, folder.parents)
        assert shown == {
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            "max_connections": "7",
        }

    @pytest.mark.parametrize("end", [PostgresServer.stop, PostgresServer.kill])
    def test_committed_rows_survive_the_end_of_the_server(
        self, private_postgres: PostgresServer, end: Callable[[PostgresServer], None]
    ) -> None:
        url = private_postgres.url()
        with psycopg.connect(url, autocommit=True) as client:
            client.execute("CREATE TABLE kept AS SELECT 7 AS number")
            end(private_postgres)
            with pytest.raises(psycopg.OperationalError):
                client.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(url)
        private_postgres.start()
        with psycopg.connect(url) as client:
            assert client.execute("SELECT number FROM kept").fetchone() == (7,)

    @pytest.mark.oldest_postgres
    def test_another_release_is_run_where_the_environment_names_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("POSTGRES_BIN_DIR", str(oldest_postgres.find_binaries()))
        with PostgresServer() as server, psycopg.connect(server.url()) as connection:
            assert connection.info.server_version // 10_000 == VERSION_MIN

    def test_a_folder_without_programs_is_named(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("POSTGRES_BIN_DIR", str(tmp_path))

        with pytest.raises(ServerFailedError, match=f"{tmp_path}/postgres cannot be run"):
            PostgresServer()

    def test_paused_server_answers_when_it_goes_on(self, private_postgres: PostgresServer) -> None:
        with psycopg.connect(private_postgres.url(), autocommit=True) as client:
            private_postgres.pause()
            started_s = time.monotonic()
            resumer = threading.Timer(SHORT_S, private_postgres.resume)
            resumer.start()
            client.execute("SELECT 1")

            assert time.monotonic() - started_s >= SHORT_S
            resumer.join()


class TestValkey:
    def test_keys_are_gone_for_the_next_test(
        self, valkey_server: ValkeyServer, redis_url: str
    ) -> None:
        with valkey_client(redis_url) as client:
            client.set("left", "behind")
            valkey_server.flush()

            assert client.dbsize() == 0

    @pytest.mark.parametrize("end", [ValkeyServer.stop, ValkeyServer.kill])
    def test_acknowledged_entries_survive_the_end_of_the_server(
        self, private_valkey: ValkeyServer, end: Callable[[ValkeyServer], None]
    ) -> None:
        with valkey_client(private_valkey.url) as client:
            client.xadd("jobs", {"payload": "1"})
            end(private_valkey)
            with pytest.raises(redis.ConnectionError):
                client.ping()
            private_valkey.start()

            assert client.xlen("jobs") == 1

    def test_paused_server_lets_requests_wait(self, private_valkey: ValkeyServer) -> None:
        with valkey_client(private_valkey.url, timeout_s=SHORT_S) as client:
            private_valkey.pause()
            with pytest.raises(redis.TimeoutError):
                client.ping()
            private_valkey.resume()

            assert client.ping()


class TestTigerBeetle:
    def test_server_answers(self, tigerbeetle_address: str) -> None:
        assert self.lookup(tigerbeetle_address) == []

    @pytest.mark.parametrize("end", [TigerBeetleServer.stop, TigerBeetleServer.kill])
    def test_accounts_survive_the_end_of_the_server(
        self, private_tigerbeetle: TigerBeetleServer, end: Callable[[TigerBeetleServer], None]
    ) -> None:
        account = tigerbeetle.Account(id=1, ledger=1, code=1)
        with self.client(private_tigerbeetle.address) as client:
            client.create_accounts([account])
        end(private_tigerbeetle)
        private_tigerbeetle.start()

        assert [found.id for found in self.lookup(private_tigerbeetle.address)] == [1]

    def test_paused_server_answers_when_it_goes_on(
        self, private_tigerbeetle: TigerBeetleServer
    ) -> None:
        private_tigerbeetle.pause()
        started_s = time.monotonic()
        resumer = threading.Timer(SHORT_S, private_tigerbeetle.resume)
        resumer.start()

        assert self.lookup(private_tigerbeetle.address) == []
        assert time.monotonic() - started_s >= SHORT_S
        resumer.join()

    def client(self, address: str) -> tigerbeetle.ClientSync:
        return tigerbeetle.ClientSync(cluster_id=CLUSTER_ID, replica_addresses=address)

    def lookup(self, address: str) -> list[tigerbeetle.Account]:
        with self.client(address) as client:
            return list(client.lookup_accounts([1]))


class TestReaper:
    def test_servers_and_folders_go_with_a_run_that_is_killed(self) -> None:
        script = (
            "import time\n"
            "from entrypoints.sandbox.postgres_server import PostgresServer\n"
            "from entrypoints.sandbox.valkey_server import ValkeyServer\n"
            "servers = [PostgresServer(), ValkeyServer()]\n"
            "for server in servers:\n"
            "    server.start()\n"
            "    print(server.folder, server.port, flush=True)\n"
            "time.sleep(60)\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
        ) as run:
            assert run.stdout is not None
            servers = [run.stdout.readline().split() for _ in range(2)]
            run.kill()

        folders, ports = zip(*servers, strict=True)
        wait_until(lambda: not any(Path(f).exists() for f in folders), what="folders are gone")
        assert not any(accepts(int(port)) for port in ports)


class Broken(LocalServer):
    """A server that ends at once."""

    name = "broken"

    def command(self) -> list[str]:
        return ["sh", "-c", "echo no such luck; exit 1"]

    def is_ready(self) -> bool:
        return False


def test_server_that_cannot_start_says_why() -> None:
    with pytest.raises(ServerFailedError, match="no such luck"), Broken():
        pass


def accepts(port: int) -> bool:
    """Say whether somebody listens on *port*."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
