"""``outbox-worker watch`` beside a worker that settles what is watched."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID, uuid4

import pytest
from redis import Redis

from entrypoints.sandbox.reaper import reaper
from entrypoints.sandbox.waiting import wait_until
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import PATIENCE_S, run_command, start_command
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.payment_manager import PaymentManager

pytestmark = pytest.mark.integration

NEVER = "100d"
LONG = "60s"
Watching = subprocess.Popen[str]
StartWatch = Callable[..., Watching]


@pytest.fixture
def watch_settings(database_url: str, redis_url: str) -> dict[str, str]:
    """All that the command needs; there is no ledger in it."""
    return {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "OUTBOX_LOG_FORMAT": "json"}


@pytest.fixture
def start_watch(watch_settings: dict[str, str]) -> Iterator[StartWatch]:
    """Start the command, which ends though it waits for what never comes."""
    with ExitStack() as running:

        def start(*arguments: object, **settings: str) -> Watching:
            process = start_command(
                "watch",
                *map(str, arguments),
                *("--timeout", LONG),
                environment=watch_settings | settings,
            )
            running.callback(end, process)
            return process

        yield start


def end(process: Watching) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()
    reaper().forget_process(process.pid)


def lines(process: Watching, count: int) -> list[list[str]]:
    """Return the next *count* lines of stdout, each split into its words."""
    assert process.stdout is not None
    return [process.stdout.readline().split() for _ in range(count)]


def rest(process: Watching) -> tuple[int, list[str], list[str]]:
    """Wait for the end; return exit code, and what was still written on stdout and stderr."""
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    return process.returncode, stdout.splitlines(), stderr.splitlines()


def is_subscribed(redis: Redis, intent_id: UUID) -> bool:
    return redis.pubsub_numsub(f"intent.{intent_id}")[0][1] == 1


def test_a_watch_shows_each_change_live_and_ends_with_the_last(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    start_watch: StartWatch,
) -> None:
    payments = payment_manager.authorize(4)
    process = start_watch(*(payment.intent_id for payment in payments), "--poll", NEVER)
    first = lines(process, 4)
    payment_manager.enqueue(payments)
    worker = start_worker(**settings)

    code, later, errors = rest(process)

    assert [(line[0], line[1], line[3]) for line in first] == [
        (str(payment.intent_id), "AUTHORIZED", "database") for payment in payments
    ]
    assert (code, errors) == (0, [])
    # Only a message can have made it look: it was not to poll again.
    assert sorted(line.split()[:2] for line in later) == sorted(
        [str(payment.intent_id), payment.status] for payment in payments
    )
    assert worker.stop() == 0


def test_each_change_is_one_line_of_json_for_programs(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    start_watch: StartWatch,
) -> None:
    payments = payment_manager.authorize(1)
    intent_id = str(payments[0].intent_id)
    process = start_watch(intent_id, "--json", "--poll", NEVER)
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    payment_manager.enqueue(payments)
    worker = start_worker(**settings | {"OUTBOX_STATUS_FULL": "true"})

    code, later, errors = rest(process)

    documents: list[dict[str, Any]] = [first, *map(json.loads, later)]
    assert (code, errors) == (0, [])
    assert all(document.pop("updated_at").endswith("Z") for document in documents)
    common = {"intent_id": intent_id}
    assert documents == [
        common | {"status": "AUTHORIZED", "source": "database", "is_final": False},
        common | {"status": "SETTLED", "source": "database", "is_final": True},
    ]
    assert worker.stop() == 0


@pytest.mark.parametrize("fault", ["dead", "blackholed"])
def test_without_redis_it_polls_and_says_so_once(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    start_watch: StartWatch,
    proxy_to: Callable[[str], TcpProxy],
    fault: str,
) -> None:
    proxy = proxy_to(settings["REDIS_URL"])
    if fault == "dead":
        proxy.refuse()
    else:
        proxy.blackhole()
    payments = payment_manager.authorize(2)
    process = start_watch(
        *(payment.intent_id for payment in payments),
        *("--poll", "1s"),
        REDIS_URL=proxy.url,
        OUTBOX_REDIS_TIMEOUT_MS="300",
    )
    assert [line[1] for line in lines(process, 2)] == ["AUTHORIZED"] * 2
    payment_manager.enqueue(payments)
    worker = start_worker(**settings)

    code, later, errors = rest(process)

    assert code == 0
    assert sorted(line.split()[0::3] for line in later) == sorted(
        [str(payment.intent_id), "database"] for payment in payments
    )
    assert [(line["event"], line["part"]) for line in map(json.loads, errors)] == [
        ("watch: part is down", "redis")
    ]
    assert worker.stop() == 0


def test_a_settlement_while_redis_is_away_is_shown_and_a_later_one_is_heard(
    payment_manager: PaymentManager,
    start_watch: StartWatch,
    redis_url: str,
    redis: Redis,
    proxy_to: Callable[[str], TcpProxy],
) -> None:
    proxy = proxy_to(redis_url)
    one, two = (payment.intent_id for payment in payment_manager.authorize(2))
    process = start_watch(one, two, "--poll", "1s", REDIS_URL=proxy.url)
    lines(process, 2)
    proxy.refuse()
    payment_manager.execute("UPDATE pm.intent SET status = 'SETTLED' WHERE id = %s", one)

    assert [line[1::2] for line in lines(process, 1)] == [["SETTLED", "database"]]

    proxy.pass_through()
    wait_until(lambda: is_subscribed(redis, two), timeout_s=PATIENCE_S, what="it listens again")
    redis.publish(f"intent.{two}", '{"status":"SETTLING"}')
    assert [line[1::2] for line in lines(process, 1)] == [["SETTLING", "channel"]]

    payment_manager.execute("UPDATE pm.intent SET status = 'FAILED' WHERE id = %s", two)
    code, later, errors = rest(process)
    # In between, a poll may have said that it is AUTHORIZED after all.
    assert (code, later[-1].split()[1::2]) == (0, ["FAILED", "database"])
    assert [(line["event"], line["part"]) for line in map(json.loads, errors)] == [
        ("watch: part is down", "redis"),
        ("watch: part is up", "redis"),
    ]


def test_a_time_out_is_told_and_is_exit_1(
    payment_manager: PaymentManager, watch_settings: dict[str, str]
) -> None:
    one, two = (payment.intent_id for payment in payment_manager.authorize(2))
    payment_manager.execute("UPDATE pm.intent SET status = 'FAILED' WHERE id = %s", one)

    done = run_command("watch", str(one), str(two), "--timeout", "1s", environment=watch_settings)

    assert done.returncode == 1
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["FAILED", "AUTHORIZED"]
    assert done.stderr == "outbox-worker: after 1s, 1 of 2 intents are not final\n"


def test_an_intent_that_is_not_there_is_named_with_exit_1(watch_settings: dict[str, str]) -> None:
    unknown = uuid4()

    done = run_command("watch", str(unknown), environment=watch_settings)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"outbox-worker: there is no intent {unknown}\n"


def test_ctrl_c_ends_it_without_a_word(
    payment_manager: PaymentManager, start_watch: StartWatch, redis: Redis
) -> None:
    (payment,) = payment_manager.authorize(1)
    process = start_watch(payment.intent_id)
    lines(process, 1)

    process.send_signal(signal.SIGINT)

    assert rest(process) == (130, [], [])
    wait_until(lambda: not is_subscribed(redis, payment.intent_id), what="it listens no more")


@pytest.mark.parametrize(
    ("variable", "value", "code", "words"),
    [
        ("REDIS_URL", "", 78, "REDIS_URL: field required"),
        ("DATABASE_URL", "postgresql://127.0.0.1:1/pm", 69, "127.0.0.1"),
    ],
)
def test_what_the_command_cannot_work_with_is_one_line(
    watch_settings: dict[str, str], variable: str, value: str, code: int, words: str
) -> None:
    done = run_command("watch", str(uuid4()), environment=watch_settings | {variable: value})

    assert (done.returncode, done.stdout) == (code, "")
    *_, line = done.stderr.splitlines()
    assert words in line
    assert "Traceback" not in done.stderr
