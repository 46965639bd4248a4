"""The fixtures that every test may use.

Each server is started when the first test asks for it, so unit tests start none. A test gets what
it may break (a database, keys, a private server) fresh.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import hypothesis
import pytest

from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.resources import ServerFailedError
from entrypoints.sandbox.tigerbeetle_server import (
    TigerBeetleServer,
    find_tigerbeetle,
    how_to_get_one,
)
from entrypoints.sandbox.valkey_server import ValkeyServer
from tests.helpers import oldest_postgres, pgbouncer
from tests.helpers.tcp_proxy import TcpProxy

# Without this, a failed assertion in a contract shows no values.
pytest.register_assert_rewrite("tests.contracts")

OPTIONAL_PROGRAMS = {
    "pgbouncer": (pgbouncer.find_pgbouncer, pgbouncer.HOW_TO_GET_ONE),
    "oldest_postgres": (oldest_postgres.find_binaries, oldest_postgres.HOW_TO_GET_ONE),
}
"""By the marker of the tests that need one: how to find it, and how to get it."""
TIGERBEETLE_FIXTURES = {"tigerbeetle_server", "tigerbeetle_address", "private_tigerbeetle"}
OWN_SETTINGS_PREFIXES = ("PG", "OUTBOX_", "TIGERBEETLE_", "REDIS_", "DATABASE_", "NOTIFICATIONS_")
HARNESS_SETTINGS = {"TIGERBEETLE_BIN"}


def pytest_configure(config: pytest.Config) -> None:
    """Cut the run off from the settings of whoever starts it, their database's address included."""
    for name in list(os.environ):
        if name.startswith(OWN_SETTINGS_PREFIXES) and name not in HARNESS_SETTINGS:
            del os.environ[name]
    try:
        find_tigerbeetle()
    except ServerFailedError as error:
        raise pytest.UsageError(str(error)) from error
    # A loaded machine is no fault of the code under test.
    hypothesis.settings.register_profile(
        "pm-outbox", parent=hypothesis.settings(), deadline=None, print_blob=True
    )
    # Thousands of short runs, in which what finds a mutant today finds it tomorrow.
    hypothesis.settings.register_profile(
        "mutants",
        parent=hypothesis.settings.get_profile("pm-outbox"),
        max_examples=20,
        derandomize=True,
        database=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("pm-outbox")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, one by one, the tests that need a program that is not here."""
    for marker, (find, how_to_get) in OPTIONAL_PROGRAMS.items():
        if find() is None:
            for item in items:
                if item.get_closest_marker(marker) is not None:
                    item.add_marker(pytest.mark.skip(reason=how_to_get))
    needy = [item for item in items if _needs_tigerbeetle(item)]
    for item in needy:
        item.add_marker(pytest.mark.tigerbeetle)
    if needy and find_tigerbeetle() is None:
        for item in needy:
            item.add_marker(pytest.mark.skip(reason=how_to_get_one()))


def _needs_tigerbeetle(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("tigerbeetle") is not None or bool(
        fixtures & TIGERBEETLE_FIXTURES
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that nobody ran for want of a program."""
    remedies = {marker: how_to_get for marker, (_, how_to_get) in OPTIONAL_PROGRAMS.items()}
    for marker, remedy in {"tigerbeetle": how_to_get_one(), **remedies}.items():
        skipped = [
            report.nodeid
            for report in terminalreporter.getreports("skipped")
            if marker in report.keywords and remedy in str(report.longrepr)
        ]
        if not skipped:
            continue
        terminalreporter.section(f"{len(skipped)} {marker.upper()} TESTS WERE NOT RUN", yellow=True)
        for name in skipped:
            terminalreporter.line(f"SKIPPED {name}")
        terminalreporter.line(f"{len(skipped)} tests skipped: {remedy}", yellow=True)


@pytest.fixture(scope="session")
def postgres_server(postgres_cluster: PostgresServer) -> Iterator[PostgresServer]:
    """The run's own Postgres. Do not stop it: ``private_postgres`` is there for that."""
    with PostgresServer(copy_of=postgres_cluster) as server:
        yield server


@pytest.fixture(scope="session")
def migrated_template(postgres_server: PostgresServer) -> str:
    """The name of a database that holds what the migrations make, to copy from."""
    name = postgres_server.create_database()
    _migrate(postgres_server.url(name))
    postgres_server.freeze_database(name)
    return name


@pytest.fixture
def database_url(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    """The URL of a fresh, migrated database."""
    name = postgres_server.create_database(template=migrated_template)
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


@pytest.fixture
def empty_database_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of a fresh database without any table."""
    name = postgres_server.create_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresServer]:
    """A Postgres that is never started: to make one takes seconds, and to copy it does not."""
    with closing(PostgresServer()) as server:
        yield server


@pytest.fixture
def private_postgres(postgres_cluster: PostgresServer) -> Iterator[PostgresServer]:
    """A running Postgres for one test, which may stop, kill, pause and start it."""
    with PostgresServer(copy_of=postgres_cluster) as server:
        yield server


@pytest.fixture
def private_database_url(private_postgres: PostgresServer) -> str:
    """The URL of a migrated database on ``private_postgres``."""
    url = private_postgres.url(private_postgres.create_database())
    _migrate(url)
    return url


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[ValkeyServer]:
    """The run's own Valkey. Do not stop it: ``private_valkey`` is there for that."""
    with ValkeyServer() as server:
        yield server


@pytest.fixture
def redis_url(valkey_server: ValkeyServer) -> str:
    """The URL of a Valkey without any key."""
    valkey_server.flush()
    return valkey_server.url


@pytest.fixture
def private_valkey() -> Iterator[ValkeyServer]:
    """A running Valkey for one test, which may stop, kill, pause and start it.

    What it acknowledged is there again after that.
    """
    with ValkeyServer(keeps_data=True) as server:
        yield server


@pytest.fixture(scope="session")
def tigerbeetle_server() -> Iterator[TigerBeetleServer]:
    """The run's own TigerBeetle; see ``TigerBeetleServer`` for its limits."""
    with TigerBeetleServer() as server:
        yield server


@pytest.fixture
def tigerbeetle_address(tigerbeetle_server: TigerBeetleServer) -> str:
    """The ``host:port`` of a TigerBeetle that all tests share: use random ids, close clients.

    It takes eight clients at a time; a ninth hangs without a word.
    """
    return tigerbeetle_server.address


@pytest.fixture
def private_tigerbeetle() -> Iterator[TigerBeetleServer]:
    """A running TigerBeetle for one test, which may stop, kill, pause and start it."""
    with TigerBeetleServer() as server:
        yield server


@pytest.fixture
def proxy_to() -> Iterator[Callable[[str], TcpProxy]]:
    """Put a proxy in front of a ``host:port`` or a URL; it is gone after the test."""
    with ExitStack() as proxies:
        yield lambda upstream: proxies.enter_context(TcpProxy(upstream))


def _migrate(url: str) -> None:
    """Bring the database to the newest schema."""
    # Not at the top: a fault in there must not stop the tests that need no database.
    from adapters.postgres.migrations import apply_migrations

    apply_migrations(url)
