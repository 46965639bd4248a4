"""What a person got wrong: one clear line with the remedy, never a secret, and no restart."""

import socket
from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from entrypoints.sandbox.postgres_server import PostgresServer
from entrypoints.sandbox.resources import HOST, free_port
from tests.helpers.worker_process import CONSOLE_SCRIPT, WorkerProcess, run_command
from tests.integration.worker.conftest import StartWorker, impatient

pytestmark = pytest.mark.integration

DOWN = "outbox: part is down"
UP = "outbox: part is up"
SECRET = "sesame-of-the-database"
REDIS_SECRET = "sesame-of-the-redis"
MIGRATIONS = (
    "0000_init",
    "0001_payment_manager",
    "0002_outbox_retry",
    "0003_notification_outbox",
    "0004_outbox_event_archive",
)


# Bad settings end the process before it does anything.


def test_missing_settings_are_named_in_one_line() -> None:
    done = run_command("run", environment={"REDIS_URL": f"redis://:{REDIS_SECRET}@{HOST}/0"})

    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    for variable in ("DATABASE_URL", "TIGERBEETLE_ADDRESSES", "TIGERBEETLE_CLUSTER_ID"):
        assert variable in line
    assert "REDIS_URL" not in line
    assert REDIS_SECRET not in line
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (
            {
                "OUTBOX_LANES": "0",
                "OUTBOX_BATCH_SIZE": "many",
                "TIGERBEETLE_CLUSTER_ID": SECRET,
            },
            ["OUTBOX_LANES", "OUTBOX_BATCH_SIZE", "TIGERBEETLE_CLUSTER_ID"],
        ),
        ({"DATABASE_URL": f"postgresql://u:{SECRET}@host/pm?sslmod=off"}, ["DATABASE_URL"]),
        (
            {"NOTIFICATIONS_REDIS_URL": f"redis://:{SECRET}@host/zero"},
            ["NOTIFICATIONS_REDIS_URL"],
        ),
    ],
)
def test_bad_settings_are_named_in_one_line_without_their_values(
    bad: dict[str, str], named: list[str]
) -> None:
    good = impatient(
        DATABASE_URL=f"postgresql://worker:{SECRET}@{HOST}:1/pm",
        REDIS_URL=f"redis://:{REDIS_SECRET}@{HOST}:1/0",
        TIGERBEETLE_ADDRESSES=f"{HOST}:1",
    )

    done = run_command("run", environment=good | bad)

    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    for variable in named:
        assert variable in line
    assert SECRET not in line
    assert REDIS_SECRET not in line
    assert done.stdout == ""


def test_setting_that_nobody_knows_is_pointed_out(
    start_worker: StartWorker, settings: dict[str, str]
) -> None:
    worker = start_worker(
        CONSOLE_SCRIPT,
        "run",
        **settings | {"OUTBOX_BATCHSIZE": "7", "TIGERBEETLE_ADDRESSES": f"{HOST}:{free_port()}"},
    )

    worker.wait_for("outbox: worker started")

    assert worker.logged("outbox: unknown setting is ignored", variable="OUTBOX_BATCHSIZE")


# The health server.


def test_health_port_that_is_taken_is_named_with_the_remedy(settings: dict[str, str]) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run_command("run", environment=settings | {"OUTBOX_HEALTH_PORT": port})

    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    assert "OUTBOX_HEALTH_PORT" in line
    assert f"{HOST}:{port}" in line
    assert "choose a free port, or 0" in line


@pytest.mark.parametrize("host", ["ü" * 80, "2001:db8::1"])
def test_health_host_that_is_none_of_ours_is_named_with_the_remedy(
    settings: dict[str, str], host: str
) -> None:
    port = str(free_port())
    done = run_command(
        "run", environment=settings | {"OUTBOX_HEALTH_HOST": host, "OUTBOX_HEALTH_PORT": port}
    )

    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    assert "OUTBOX_HEALTH_HOST" in line
    assert "OUTBOX_HEALTH_PORT" in line
    assert "name an address of this machine" in line


def test_health_server_listens_on_loopback_alone_or_not_at_all(
    start_worker: StartWorker, settings: dict[str, str]
) -> None:
    port = free_port()
    listening = start_worker(**settings | {"OUTBOX_HEALTH_PORT": str(port)})
    silent = start_worker(**settings | {"OUTBOX_HEALTH_PORT": "0"})

    for worker in (listening, silent):
        worker.wait_for(UP, part="database")

    assert listening.listens_on == [(HOST, port)]
    assert silent.listens_on == []


# Migrations.


def test_migrating_twice_does_nothing_the_second_time_and_says_so(empty_database_url: str) -> None:
    environment = {"DATABASE_URL": empty_database_url}

    first = run_command("migrate", environment=environment)
    second = run_command("migrate", environment=environment)

    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout.split() == [word for name in MIGRATIONS for word in ("applied", name)]
    assert second.stdout == "nothing to do: the schema is up to date\n"
    assert first.stderr == second.stderr == ""


def test_migrating_without_postgres_is_told_in_one_line() -> None:
    url = f"postgresql://worker:{SECRET}@{HOST}:{free_port()}/pm"

    done = run_command("migrate", environment={"DATABASE_URL": url})

    assert done.returncode == 69
    (line,) = done.stderr.splitlines()
    assert "refused" in line
    assert SECRET not in line
    assert done.stdout == ""


# A database that does not fit does not end the process: it waits for somebody to mend it.


def assert_red_until(
    worker: WorkerProcess,
    mend: Callable[[], None],
    *,
    remedy: str,
) -> None:
    """The worker says once what is wrong and what to do; once that is done, it goes on."""
    told = worker.wait_for(DOWN, part="database")
    assert remedy in told["fault"]
    code, body = worker.probe("/readyz")
    assert code == 503
    assert remedy in body["faults"]["database"]
    assert worker.probe("/livez")[0] == 200

    mend()
    worker.wait_until(lambda: worker.probe("/readyz")[0] == 200, what="it is ready")

    assert worker.stop() == 0
    assert len(worker.logged(DOWN, part="database")) == 1
    assert SECRET not in "\n".join(worker.lines)


@pytest.fixture
def health_settings(settings: dict[str, str]) -> dict[str, str]:
    return settings | {"OUTBOX_HEALTH_PORT": str(free_port())}


def test_missing_schema_is_told_and_migrating_heals_it(
    start_worker: StartWorker, health_settings: dict[str, str], empty_database_url: str
) -> None:
    worker = start_worker(**health_settings | {"DATABASE_URL": empty_database_url})

    def migrate() -> None:
        done = run_command("migrate", environment={"DATABASE_URL": empty_database_url})
        assert done.returncode == 0

    assert_red_until(worker, migrate, remedy="run `outbox-worker migrate`")


def test_missing_database_is_told_and_making_it_heals_it(
    start_worker: StartWorker,
    health_settings: dict[str, str],
    postgres_server: PostgresServer,
    migrated_template: str,
) -> None:
    name = f"made_later_{uuid4().hex}"
    worker = start_worker(**health_settings | {"DATABASE_URL": postgres_server.url(name)})

    def make() -> None:
        administer(
            postgres_server.url(),
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(migrated_template)
            ),
        )

    try:
        assert_red_until(worker, make, remedy="check DATABASE_URL")
    finally:
        postgres_server.drop_database(name)


def test_wrong_password_is_told_and_the_right_one_heals_it(
    start_worker: StartWorker,
    health_settings: dict[str, str],
    private_postgres: PostgresServer,
    private_database_url: str,
) -> None:
    administer(
        private_database_url,
        sql.SQL("CREATE ROLE worker SUPERUSER LOGIN PASSWORD 'another'"),
        sql.SQL(
            "DO $$ BEGIN EXECUTE format('COPY (VALUES (''host all worker all scram-sha-256''),"
            " (''host all all all trust''), (''local all all trust'')) TO %L',"
            " current_setting('hba_file')); END $$"
        ),
        sql.SQL("SELECT pg_reload_conf()"),
    )
    worker = start_worker(
        **health_settings
        | {"DATABASE_URL": private_database_url.replace("postgres@", f"worker:{SECRET}@")}
    )

    def set_password() -> None:
        administer(
            private_database_url,
            sql.SQL("ALTER ROLE worker PASSWORD {}").format(sql.Literal(SECRET)),
        )

    assert_red_until(worker, set_password, remedy="check DATABASE_URL")


def test_missing_right_on_one_table_is_told_once_and_granting_it_heals_it(
    start_worker: StartWorker,
    health_settings: dict[str, str],
    postgres_server: PostgresServer,
    database_url: str,
    role: str,
) -> None:
    administer(
        database_url,
        sql.SQL("GRANT USAGE ON SCHEMA pm TO {}").format(sql.Identifier(role)),
        sql.SQL("GRANT ALL ON ALL TABLES IN SCHEMA pm TO {}").format(sql.Identifier(role)),
        sql.SQL("REVOKE ALL ON pm.outbox_event FROM {}").format(sql.Identifier(role)),
    )
    refusal = "permission denied for table outbox_event"
    refusals_before = postgres_server.log.count(refusal)
    worker = start_worker(
        **health_settings | {"DATABASE_URL": database_url.replace("postgres@", f"{role}@")}
    )

    def grant() -> None:
        worker.wait_until(
            lambda: postgres_server.log.count(refusal) >= refusals_before + 20,
            what="many attempts were made",
        )
        administer(
            database_url,
            sql.SQL("GRANT ALL ON pm.outbox_event TO {}").format(sql.Identifier(role)),
        )

    assert_red_until(worker, grant, remedy="grant the role in DATABASE_URL")


@pytest.fixture
def role(database_url: str) -> Iterator[str]:
    """A role of the shared server that has no rights."""
    name = f"worker_{uuid4().hex}"
    administer(database_url, sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    yield name
    administer(
        database_url,
        sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)),
        sql.SQL("DROP ROLE {}").format(sql.Identifier(name)),
    )


def administer(url: str, *statements: sql.SQL | sql.Composed) -> None:
    """Run *statements* as the superuser."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
