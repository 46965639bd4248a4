"""Whatever befalls a Redis, settling goes on as if nothing were, and no push job is lost.

The worker's loops run in the test's process, so that it can be seen which of them talk to Redis.
"""

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
from dependency_injector import providers
from redis.connection import AbstractConnection
from structlog.testing import capture_logs

from adapters.redis.pipeline import PIPELINE_LENGTH_MAX
from application.ports.status_publisher import StatusPublisher
from domain.conclusions import StatusMessage
from entrypoints.container import Container, running
from entrypoints.health import Health, Part
from entrypoints.redis_builders import CLIENT_NAME
from entrypoints.sandbox.valkey_server import ValkeyServer
from entrypoints.sandbox.waiting import wait_until
from entrypoints.worker import DELIVERY, PUBLISHER
from tests.helpers.tcp_proxy import TcpProxy
from tests.helpers.worker_process import PATIENCE_S
from tests.integration.redis.clients import FIELD, STREAM, entries
from tests.integration.worker.conftest import impatient
from tests.integration.worker.payment_manager import Payment, PaymentManager
from tests.integration.worker.redis_faults import (
    BLACKHOLED,
    FAULTS,
    KILLED,
    UNREACHABLE,
    Fault,
    Site,
)

pytestmark = pytest.mark.integration

PAYMENTS: Final = 240
OVERFLOW: Final = 60
ATTEMPTS: Final = 4
DOWN: Final = "outbox: part is down"
UP: Final = "outbox: part is up"
LOST: Final = "outbox: live statuses were lost"


class TalkativeHealth(Health):
    """Counts what it is told of faults, known ones included."""

    def __init__(self) -> None:
        super().__init__()
        self.told: Counter[Part] = Counter()

    def down(self, part: Part, fault: str, *, owner: str = "") -> None:
        self.told[part] += 1
        super().down(part, fault, owner=owner)


class CountingPublisher:
    """A ``StatusPublisher`` that counts what Redis took."""

    def __init__(self, publisher: StatusPublisher) -> None:
        self._publisher = publisher
        self.published = 0

    def publish(self, messages: Sequence[StatusMessage]) -> None:
        self._publisher.publish(messages)
        self.published += len(messages)


@dataclass(frozen=True, slots=True)
class Scene:
    """A worker, not started, and the Redis of each of its uses; they may be the same one."""

    container: Container
    health: TalkativeHealth
    publisher: CountingPublisher
    statuses: Site
    jobs: Site
    payment_manager: PaymentManager

    @contextmanager
    def working(self) -> Iterator[None]:
        """Let every loop run."""
        loops = [*self.container.helpers(), *self.container.lanes()]
        with running(self.container):
            for loop in loops:
                loop.start()
            try:
                yield
            finally:
                for loop in loops:
                    loop.stop()
                for loop in loops:
                    loop.join(PATIENCE_S)
                    assert not loop.is_alive()

    def settle(self, payments: list[Payment]) -> float:
        """Order *payments*, wait until they are settled, and return how many a second."""
        start_s = time.monotonic()
        self.payment_manager.enqueue(payments)
        self.payment_manager.wait_settled()
        return len(payments) / (time.monotonic() - start_s)

    def wait_at_rest(self, *payments: Payment) -> None:
        """Wait until all jobs are delivered, and each status published or counted as lost."""
        self.payment_manager.wait_no_job()
        announcements = self.container.announcements()
        wait(
            lambda: self.publisher.published + announcements.dropped == len(payments),
            "all is published",
        )

    def queued_ids(self) -> list[str]:
        """Return the ids of the jobs that wait, oldest first."""
        rows = self.payment_manager.execute(
            "SELECT notification_id::text FROM pm.notification_outbox ORDER BY id"
        )
        return [notification_id for (notification_id,) in rows]

    def ids_on_stream(self) -> list[str]:
        """Return the id of each job on the stream, repeats included, oldest first."""
        jobs = [json.loads(fields[FIELD]) for fields in entries(self.jobs.operator, STREAM)]
        return [job["data"]["notificationId"] for job in jobs]


Arrange = Callable[..., Scene]


@pytest.fixture
def arrange(
    monkeypatch: pytest.MonkeyPatch,
    database_url: str,
    payment_manager: PaymentManager,
    proxy_to: Callable[[str], TcpProxy],
) -> Iterator[Arrange]:
    """Make a scene, for a server's password and with one Redis or two."""
    with ExitStack() as sites:

        def server() -> ValkeyServer:
            return sites.enter_context(ValkeyServer(keeps_data=True))

        def site(password: str) -> Site:
            first = server()
            made = Site(first, proxy_to(first.url), server, password)
            sites.callback(made.close)
            return made

        def make(*, password: str = "", two: bool = False) -> Scene:
            statuses = site(password)
            jobs = site(password) if two else statuses
            settings = impatient(
                DATABASE_URL=database_url,
                REDIS_URL=statuses.url,
                NOTIFICATIONS_REDIS_URL=jobs.url,
                TIGERBEETLE_ADDRESSES="127.0.0.1:1",
                # Of two, the older jobs might be committed later.
                OUTBOX_LANES="1",
                OUTBOX_WAKE_UP="off",
                OUTBOX_TICK_MS="10",
                OUTBOX_STATUS_QUEUE_SIZE_MAX=str(PAYMENTS),
            )
            for name, value in settings.items():
                monkeypatch.setenv(name, value)
            health = TalkativeHealth()
            container = Container(
                health=providers.Object(health),
                ledger=providers.Object(payment_manager.ledger),
            )
            publisher = CountingPublisher(container.status_publisher())
            container.status_publisher.override(providers.Object(publisher))
            return Scene(container, health, publisher, statuses, jobs, payment_manager)

        yield make


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    """All that is logged."""
    with capture_logs() as lines:
        yield lines


@pytest.fixture
def talkers(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads that have sent something to a Redis as the worker."""
    names: set[str] = set()
    send = AbstractConnection.send_packed_command

    def noted(self: AbstractConnection, *args: Any, **kwargs: Any) -> object:
        if self.client_name == CLIENT_NAME:
            names.add(threading.current_thread().name)
        return send(self, *args, **kwargs)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(AbstractConnection, "send_packed_command", noted)
    return names


def wait(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, timeout_s=PATIENCE_S, what=what)


def changes(logs: list[Any]) -> Mapping[str, list[str]]:
    """Return for each part what was said of its state, in order."""
    said: dict[str, list[str]] = defaultdict(list)
    for line in logs:
        if line["event"] in (DOWN, UP):
            said[line["part"]].append(line["event"])
    return said


def parts_hit(fault: Fault, scene: Scene, site: Site) -> set[Part]:
    """Return the parts that *fault* stops when it befalls *site*."""
    hit = set()
    if fault.stops_jobs and site is scene.jobs:
        hit.add(Part.NOTIFICATIONS)
    if fault.stops_statuses and site is scene.statuses:
        hit.add(Part.STATUS)
    return hit


CASES: Final = [
    *(pytest.param(fault, "the only one", id=fault.name) for fault in FAULTS),
    *(
        pytest.param(UNREACHABLE, which, id=f"unreachable, but only {which}")
        for which in ("that of statuses", "that of jobs")
    ),
]


@pytest.mark.parametrize(("fault", "which"), CASES)
def test_a_fault_in_the_middle_delays_no_settlement_and_costs_no_job(
    fault: Fault, which: str, arrange: Arrange, logs: list[Any], talkers: set[str]
) -> None:
    scene = arrange(password=fault.password, two=which != "the only one")
    site = scene.jobs if which == "that of jobs" else scene.statuses
    hit = parts_hit(fault, scene, site)
    dropped = OVERFLOW if Part.STATUS in hit else 0
    before = scene.payment_manager.authorize(PAYMENTS)
    meanwhile = scene.payment_manager.authorize(PAYMENTS + OVERFLOW)
    with scene.working():
        healthy = scene.settle(before)
        scene.wait_at_rest(*before)
        with fault.of(site):
            faulty = scene.settle(meanwhile)
            wait(lambda: all(scene.health.told[part] >= ATTEMPTS for part in hit), "attempts")
            wait(lambda: scene.container.announcements().dropped == dropped, "overflow")
            kept = scene.queued_ids()
        scene.wait_at_rest(*before, *meanwhile)
        wait(lambda: not scene.health.faults(), "all parts are up")
        wait(lambda: statuses_lost(logs) == dropped, "what was lost is told")

    print(f"{fault.name} ({which}): settling was {faulty / healthy:.2f} times as fast")
    assert talkers == {DELIVERY, PUBLISHER}
    scene.payment_manager.assert_settled_once([*before, *meanwhile])
    if Part.NOTIFICATIONS in hit:
        assert len(kept) == job_count(meanwhile)
    assert_delivered(scene, kept, fault, [] if fault.forgets else before, meanwhile)
    assert changes(logs) == {
        part: [UP, DOWN, UP] if part in hit else [UP] for part in Part if part is not Part.WAKE_UP
    }


def statuses_lost(logs: list[Any]) -> int:
    """Return how many statuses are said to be lost."""
    return sum(line["messages"] for line in logs if line["event"] == LOST)


def job_count(payments: list[Payment]) -> int:
    """Return how many push jobs *payments* have."""
    return sum(len(payment.told) for payment in payments)


def assert_delivered(
    scene: Scene, kept: list[str], fault: Fault, before: list[Payment], meanwhile: list[Payment]
) -> None:
    """All jobs are on the stream, those that were *kept* last and in order.

    Only what the server was asked when it fell silent may be there twice.
    """
    copies = Counter(scene.ids_on_stream())
    assert len(copies) == job_count([*before, *meanwhile])
    assert list(copies)[len(copies) - len(kept) :] == kept, "oldest first"
    repeated = {one for one, count in copies.items() if count > 1}
    assert repeated <= set(kept[:PIPELINE_LENGTH_MAX] if fault.repeats else [])
    assert set(copies.values()) <= {1, 2}


@pytest.mark.parametrize("fault", [KILLED, BLACKHOLED], ids=lambda fault: fault.name)
def test_a_redis_that_is_away_at_the_start_is_found_later(
    fault: Fault, arrange: Arrange, logs: list[Any], talkers: set[str]
) -> None:
    scene = arrange()
    payments = scene.payment_manager.authorize(PAYMENTS)
    with ExitStack() as work:
        with fault.of(scene.jobs):
            work.enter_context(scene.working())
            scene.settle(payments)
            parts = (Part.STATUS, Part.NOTIFICATIONS)
            wait(lambda: all(scene.health.told[part] >= ATTEMPTS for part in parts), "attempts")
            kept = scene.queued_ids()
        scene.wait_at_rest(*payments)

    scene.payment_manager.assert_settled_once(payments)
    assert len(kept) == job_count(payments)
    assert scene.ids_on_stream() == kept
    assert talkers == {DELIVERY, PUBLISHER}
    assert changes(logs) == {
        Part.DATABASE: [UP],
        Part.LEDGER: [UP],
        Part.STATUS: [DOWN, UP],
        Part.NOTIFICATIONS: [DOWN, UP],
    }
