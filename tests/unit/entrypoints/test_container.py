"""The wiring, which no type checker sees through: every provider is built, nothing is reached."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dependency_injector import providers
from psycopg.conninfo import conninfo_to_dict

from adapters.memory.ledger import InMemoryLedger
from adapters.memory.notifier import InMemoryNotifier
from adapters.memory.status_publisher import InMemoryStatusPublisher
from adapters.postgres.arrivals import PostgresArrivals
from adapters.postgres.exclusive_lock import PostgresExclusiveLock
from adapters.postgres.notification_queue import PostgresNotificationQueue
from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.redis.status_publisher import RedisStatusPublisher
from adapters.redis.stream_notifier import RedisStreamNotifier
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from application.errors import MisconfiguredError
from application.ports.arrivals import Arrivals
from application.ports.exclusive_lock import ExclusiveLock
from application.ports.ledger import Ledger
from application.ports.notification_queue import NotificationQueue
from application.ports.notifier import Notifier
from application.ports.outbox_repository import OutboxRepository
from application.ports.status_publisher import StatusPublisher
from domain.intents import Intent, PspRecord
from entrypoints.container import Container, running
from entrypoints.log_file import together
from entrypoints.sandbox.resources import free_port
from entrypoints.settings import connections_needed
from entrypoints.worker import Worker
from tests.contracts.payments import an_intent

NOWHERE = "127.0.0.1:1"
ENVIRONMENT = {
    "DATABASE_URL": f"postgresql://worker@{NOWHERE}/pm",
    "REDIS_URL": f"redis://{NOWHERE}/0",
    "TIGERBEETLE_ADDRESSES": NOWHERE,
    "TIGERBEETLE_CLUSTER_ID": "0",
    "OUTBOX_HEALTH_PORT": "0",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.fixture
def container() -> Container:
    return Container()


def built(container: Container) -> dict[str, Any]:
    """Build everything, and return it by the name of its provider."""
    return {name: provider() for name, provider in container.providers.items()}


def test_every_provider_is_built_and_nothing_is_opened(container: Container) -> None:
    threads = set(threading.enumerate())
    descriptors = len(list(Path("/proc/self/fd").iterdir()))

    everything = built(container)

    assert {"worker", "settle_batch", "health_server", "notifier"} <= set(everything)
    assert None not in everything.values()
    assert set(threading.enumerate()) == threads
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_the_lines_of_a_batch_are_written_together(container: Container) -> None:
    assert container.settle_batch().lines_together is together


def test_there_is_one_of_everything(container: Container) -> None:
    first, second = built(container), built(container)

    assert [name for name in first if first[name] is not second[name]] == []


def test_every_port_has_its_adapter(container: Container) -> None:
    # The annotations are for the type checker: an adapter that does not fit its port is an error.
    outbox: OutboxRepository = PostgresOutboxRepository(container.pool())
    queue: NotificationQueue = PostgresNotificationQueue(container.pool())
    ledger: Ledger = TigerBeetleLedger(addresses=NOWHERE, cluster_id=0)
    arrivals: Arrivals = PostgresArrivals(dsn="", connect_timeout_s=1)
    lock: ExclusiveLock = PostgresExclusiveLock(dsn="", connect_timeout_s=1)
    publisher: StatusPublisher = RedisStatusPublisher(container.redis(), full_message=False)
    notifier: Notifier = RedisStreamNotifier(
        container.redis(), stream="stream", field="payload", maxlen=None
    )

    everything = built(container)

    assert type(everything["outbox"]) is type(outbox)
    assert type(everything["notification_queue"]) is type(queue)
    assert type(everything["ledger"]) is type(ledger)
    assert type(everything["arrivals"]) is type(arrivals)
    assert type(everything["exclusive_lock"]) is type(lock)
    assert type(everything["status_publisher"]) is type(publisher)
    assert type(everything["notifier"]) is type(notifier)


def test_every_port_can_have_another_adapter_by_an_override_alone() -> None:
    ledger: Ledger = InMemoryLedger()
    publisher: StatusPublisher = InMemoryStatusPublisher()
    notifier: Notifier = InMemoryNotifier()
    container = Container(
        ledger=providers.Object(ledger),
        status_publisher=providers.Object(publisher),
        notifier=providers.Object(notifier),
    )

    assert container.settle_batch().ledger is ledger
    assert container.publish_statuses().publisher is publisher
    assert container.notifier() is notifier
    assert isinstance(container.worker(), Worker)


def test_lanes_and_publisher_share_a_queue(container: Container) -> None:
    assert container.settle_batch().announcements is container.publish_statuses().announcements


# Settings reach what they are for.


def test_push_jobs_have_a_redis_of_their_own_only_when_one_is_named(
    container: Container, environment: pytest.MonkeyPatch
) -> None:
    assert address_of(container.notifications_redis()) == ("127.0.0.1", 1)

    environment.setenv("NOTIFICATIONS_REDIS_URL", "redis://127.0.0.2:2/0")

    other = Container()
    assert address_of(other.redis()) == ("127.0.0.1", 1)
    assert address_of(other.notifications_redis()) == ("127.0.0.2", 2)


def address_of(client: Any) -> tuple[str, int]:
    """Return the host and port that a Redis client connects to."""
    options = client.connection_pool.connection_kwargs
    return options["host"], options["port"]


def test_every_lane_and_the_delivery_loop_get_a_connection(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("OUTBOX_LANES", "5")

    assert Container().pool().max_size == 6


def test_a_listener_runs_unless_it_is_switched_off(environment: pytest.MonkeyPatch) -> None:
    assert [loop.name for loop in Container().helpers()] == ["delivery", "publisher", "listener"]

    environment.setenv("OUTBOX_WAKE_UP", "off")

    assert [loop.name for loop in Container().helpers()] == ["delivery", "publisher"]


def test_only_an_exclusive_worker_waits_for_its_turn(environment: pytest.MonkeyPatch) -> None:
    assert Container().lane_step().may_claim()

    environment.setenv("OUTBOX_EXCLUSIVE", "true")

    exclusive = Container()
    assert not exclusive.lane_step().may_claim()
    assert "exclusive" in [loop.name for loop in exclusive.helpers()]
    exclusive.turn().extend(asked_at_s=exclusive.turn().now_s())
    assert exclusive.lane_step().may_claim()


class FakeSession:
    """Implements ``Arrivals`` and ``ExclusiveLock``: a lock that is held, and no hints."""

    def __init__(self) -> None:
        self.used = threading.Event()
        self.ended = 0

    def wait(self, *, timeout_s: float) -> bool:
        self.used.set()
        return False

    def hold(self) -> bool:
        self.used.set()
        return True

    def watch(self, *, timeout_s: float) -> None:
        pass

    def close(self) -> None:
        self.ended += 1

    release = close


@pytest.mark.parametrize("loops", ["listener", "turn_keeper"])
def test_a_session_ends_with_its_loop_whatever_else_goes_on(
    environment: pytest.MonkeyPatch, loops: str
) -> None:
    # Else an exclusive worker would keep its turn until its last batch is done.
    environment.setenv("OUTBOX_EXCLUSIVE", "true")
    session = FakeSession()
    container = Container(
        arrivals=providers.Object(session), exclusive_lock=providers.Object(session)
    )
    (loop,) = container.providers[loops]()
    loop.start()
    assert session.used.wait(10)

    loop.stop()
    loop.join(10)

    assert session.ended == 1


def test_whoever_wakes_a_lane_wakes_those_of_the_worker(container: Container) -> None:
    assert container.lanes() == container.lane_group().loops
    assert container.lane_step().wake_another == container.lane_group().wake_one


@pytest.mark.parametrize(
    ("wake_up", "exclusive", "connections"),
    [("off", "false", 6), ("auto", "false", 7), ("off", "true", 7), ("auto", "true", 8)],
)
def test_what_listens_and_what_locks_needs_a_connection_more(
    environment: pytest.MonkeyPatch, wake_up: str, exclusive: str, connections: int
) -> None:
    environment.setenv("OUTBOX_LANES", "5")
    environment.setenv("OUTBOX_WAKE_UP", wake_up)
    environment.setenv("OUTBOX_EXCLUSIVE", exclusive)

    assert connections_needed(Container().settings()) == connections


@pytest.mark.parametrize(("set_ms", "timeout_s"), [("5000", "5"), ("1", "1"), ("1001", "2")])
def test_connect_timeout_reaches_the_pool(
    environment: pytest.MonkeyPatch, set_ms: str, timeout_s: str
) -> None:
    environment.setenv("OUTBOX_CONNECT_TIMEOUT_MS", set_ms)

    assert conninfo_to_dict(str(Container().pool().conninfo))["connect_timeout"] == timeout_s


def test_redis_timeout_reaches_both_clients(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OUTBOX_REDIS_TIMEOUT_MS", "1500")
    container = Container()

    for client in (container.redis(), container.notifications_redis()):
        options = client.connection_pool.connection_kwargs
        assert (options["socket_timeout"], options["socket_connect_timeout"]) == (1.5, 1.5)


def test_fee_settings_reach_the_rules(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OUTBOX_PSP_FEE_CODE", "77")
    environment.setenv("OUTBOX_PSP_FEE_DEBIT_ACCOUNT", "pays.{currency}")
    environment.setenv("OUTBOX_PSP_FEE_CREDIT_ACCOUNT", "gets.{psp}")
    intent: Intent = an_intent()
    psp = PspRecord(
        psp="QP",
        receiver_display_name=None,
        psp_fee_satang=1,
        settlement_date=None,
        last_error=None,
    )

    fee = Container().rules().fee

    assert fee.transfer_code == 77
    assert fee.codes_for(intent, psp) == ("pays.THB", "gets.qp")


def test_retry_settings_reach_the_rules(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OUTBOX_ATTEMPTS_MAX", "7")
    environment.setenv("OUTBOX_ATTEMPTS_MAX_NOT_FOUND", "3")
    environment.setenv("OUTBOX_BACKOFF_FIRST_MS", "10")
    environment.setenv("OUTBOX_BACKOFF_MAX_MS", "20")

    retry = Container().rules().retry

    assert (retry.attempts_max, retry.attempts_max_not_found) == (7, 3)
    assert [retry.backoff.delay_ms(failures, lambda upper: upper) for failures in range(3)] == [
        10,
        20,
        20,
    ]


@pytest.mark.parametrize(("value", "gives_up"), [("auto", True), ("never", False)])
def test_giving_up_is_a_setting(
    environment: pytest.MonkeyPatch, value: str, gives_up: bool
) -> None:
    environment.setenv("OUTBOX_GIVE_UP", value)

    assert Container().rules().retry.gives_up is gives_up


def test_loops_pause_no_longer_than_the_setting_for_outages(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("OUTBOX_OUTAGE_BACKOFF_MAX_MS", "30")

    backoff = Container().pace().backoff

    assert [backoff.delay_ms(failures, lambda upper: upper) for failures in range(3)] == [30] * 3


# Opening and closing.


class Closing:
    """A ledger that notes that it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def closing() -> Closing:
    return Closing()


@pytest.fixture
def watched(closing: Closing) -> Container:
    return Container(ledger=providers.Object(closing))


@pytest.fixture
def taken_port(environment: pytest.MonkeyPatch) -> Iterator[int]:
    """A port that somebody else listens on, as the setting for the health server."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        environment.setenv("OUTBOX_HEALTH_PORT", str(port))
        yield port


def test_what_was_opened_is_closed(
    watched: Container, closing: Closing, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("OUTBOX_HEALTH_PORT", str(free_port()))

    with running(watched):
        assert not watched.pool().closed
        assert closing.closed == 0
        port = watched.health_server().port

    assert watched.pool().closed
    assert closing.closed == 1
    assert not listens(port)


def test_what_was_opened_is_closed_when_the_work_fails(
    watched: Container, closing: Closing
) -> None:
    with pytest.raises(ZeroDivisionError), running(watched):
        raise ZeroDivisionError

    assert watched.pool().closed
    assert closing.closed == 1


@pytest.mark.usefixtures("taken_port")
def test_what_was_opened_is_closed_after_a_failed_start(
    watched: Container, closing: Closing
) -> None:
    with pytest.raises(MisconfiguredError), running(watched):
        pytest.fail("it cannot run")

    assert watched.pool().closed
    assert closing.closed == 1


def test_port_that_is_taken_is_named_with_the_remedy(watched: Container, taken_port: int) -> None:
    with (
        pytest.raises(
            MisconfiguredError,
            match=rf"OUTBOX_HEALTH_PORT: cannot listen on 127\.0\.0\.1:{taken_port} .*, or 0 ",
        ),
        running(watched),
    ):
        pytest.fail("it cannot run")


@pytest.mark.parametrize(
    ("host", "shown"), [("ü" * 80, "ü" * 80), ("2001:db8::1", r"\[2001:db8::1\]")]
)
def test_health_host_that_is_none_of_ours_is_named_with_the_remedy(
    watched: Container, environment: pytest.MonkeyPatch, host: str, shown: str
) -> None:
    environment.setenv("OUTBOX_HEALTH_HOST", host)
    environment.setenv("OUTBOX_HEALTH_PORT", str(free_port()))

    with (
        pytest.raises(
            MisconfiguredError,
            match=rf"^OUTBOX_HEALTH_HOST and .*: cannot listen on {shown}:\d+ \(.+\); name an ",
        ),
        running(watched),
    ):
        pytest.fail("it cannot run")


def test_health_server_is_not_started_when_it_is_switched_off(watched: Container) -> None:
    with running(watched), pytest.raises(RuntimeError, match="not started"):
        _ = watched.health_server().port


def listens(port: int) -> bool:
    """Whether somebody listens on the loopback *port*."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
