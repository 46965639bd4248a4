"""The command as people run it: lines, JSON, exit codes; no traceback and no secret."""

import json
import subprocess
import sys
from collections.abc import Callable
from uuid import UUID

import psycopg
import pytest

from entrypoints.sandbox.resources import free_port
from entrypoints.sandbox.tigerbeetle_server import CLUSTER_ID
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import (
    CONSOLE_SCRIPT,
    PATIENCE_S,
    REPOSITORY,
    WorkerProcess,
    run_command,
)
from tests.integration.tigerbeetle.bank import bank_at

pytestmark = pytest.mark.integration

SECRET = "hunter2"
WITHOUT_IO_URING = (sys.executable, "-m", "tests.helpers.seccomp", "refuse", CONSOLE_SCRIPT)


def settings(database_url: str, redis_url: str, tigerbeetle_address: str) -> dict[str, str]:
    return {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "TIGERBEETLE_ADDRESSES": tigerbeetle_address,
        "TIGERBEETLE_CLUSTER_ID": str(CLUSTER_ID),
        "OUTBOX_LEDGER_DEADLINE_MS": "5000",
    }


@pytest.fixture
def nowhere() -> dict[str, str]:
    """The settings of an environment where nothing runs."""
    return settings(
        f"postgresql://pm:{SECRET}@127.0.0.1:{free_port()}/pm",
        f"redis://:{SECRET}@127.0.0.1:{free_port()}",
        f"127.0.0.1:{free_port()}",
    )


@pytest.mark.tigerbeetle
def test_everything_in_order_is_green(
    database_url: str, redis_url: str, tigerbeetle_address: str
) -> None:
    with bank_at(tigerbeetle_address) as bank, psycopg.connect(database_url) as connection:
        for code in ("revenue.THB", "nostro.ipps.THB"):
            connection.execute(
                "INSERT INTO pm.tb_account_map VALUES (%s, %s, 1)",
                [code, UUID(int=bank.open_account(ledger=1))],
            )

    done = run_command("doctor", environment=settings(database_url, redis_url, tigerbeetle_address))

    assert (done.returncode, done.stderr) == (0, "")
    # The server of the tests has the limits of --development.
    assert done.stdout.splitlines()[-1] == "Nothing red, 1 to look at."


def test_everything_away_is_a_red_line_each(nowhere: dict[str, str]) -> None:
    done = run_command("doctor", environment=nowhere)

    assert (done.returncode, done.stderr) == (1, "")
    assert SECRET not in done.stdout
    for setting in ("DATABASE_URL", "REDIS_URL", "TIGERBEETLE_ADDRESSES"):
        assert f"in {setting}" in done.stdout or f"correct {setting}" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("5 red")


def test_one_part_behind_a_black_hole_hides_nothing_of_the_others(
    nowhere: dict[str, str],
    database_url: str,
    redis_url: str,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    proxy = proxy_to(database_url)
    proxy.blackhole()

    done = run_command(
        "doctor",
        "--json",
        environment=nowhere
        | {"DATABASE_URL": proxy.url, "REDIS_URL": redis_url, "OUTBOX_CONNECT_TIMEOUT_MS": "1000"},
    )

    assert (done.returncode, done.stderr) == (1, "")
    body = json.loads(done.stdout)
    verdicts = {(one["subject"], one["what"]): one["verdict"] for one in body["findings"]}
    assert body["verdict"] == "red"
    assert verdicts["Postgres", "reachable"] == "red"
    assert verdicts["TigerBeetle", "replicas"] == "red"
    assert verdicts["Redis, push jobs", "appending"] == "ok"


def test_a_second_redis_is_examined_by_its_own_setting(
    nowhere: dict[str, str], redis_url: str
) -> None:
    elsewhere = {"NOTIFICATIONS_REDIS_URL": nowhere["REDIS_URL"], "REDIS_URL": redis_url}

    done = run_command("doctor", "--json", environment=nowhere | elsewhere)

    (red,) = [
        one
        for one in json.loads(done.stdout)["findings"]
        if one["subject"].startswith("Redis") and one["verdict"] == "red"
    ]
    assert red["subject"] == "Redis, push jobs"
    assert "NOTIFICATIONS_REDIS_URL" in red["remedy"]


def test_a_url_that_cannot_be_used_is_a_red_line_of_its_own_part(nowhere: dict[str, str]) -> None:
    done = run_command("doctor", environment=nowhere | {"REDIS_URL": f"http://:{SECRET}@redis"})

    assert (done.returncode, done.stderr) == (1, "")
    assert SECRET not in done.stdout
    assert "REDIS_URL is not a usable URL" in done.stdout


def test_a_missing_setting_is_one_line(nowhere: dict[str, str]) -> None:
    del nowhere["REDIS_URL"]

    done = run_command("doctor", environment=nowhere)

    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr == "outbox-worker: REDIS_URL: field required\n"


def test_without_io_uring_the_process_lives_to_tell(nowhere: dict[str, str]) -> None:
    done = subprocess.run(
        [*WITHOUT_IO_URING, "doctor"],
        cwd=REPOSITORY,
        env=nowhere | {"PATH": "", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, "")
    assert "io_uring is refused: Operation not permitted" in done.stdout
    assert "seccomp" in done.stdout


def test_without_io_uring_the_worker_says_so_and_lives_on(nowhere: dict[str, str]) -> None:
    environment = nowhere | {"OUTBOX_HEALTH_PORT": "0", "OUTBOX_LOG_FORMAT": "json"}
    with WorkerProcess(environment, command=(*WITHOUT_IO_URING, "run")) as worker:
        fault = worker.wait_for("outbox: part is down", part="ledger")

        assert "io_uring is refused" in fault["fault"]
        assert worker.stop() == 0
