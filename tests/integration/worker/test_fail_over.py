"""The primary is gone and its stand-by takes over, while a worker is at work."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from redis import Redis

from adapters.memory.faulty_ledger import FaultyLedger
from adapters.postgres.migrations import apply_migrations
from tests.helpers.stand_by import Primary, StandBy
from tests.integration.redis.clients import STREAM, entries
from tests.integration.worker.conftest import StartWorker
from tests.integration.worker.gate import Gate, Moment
from tests.integration.worker.payment_manager import PaymentManager

pytestmark = pytest.mark.integration

DOWN = "outbox: part is down"
LOAD = 120
READ_ONLY = "in a read-only transaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """A primary, and a stand-by that has all that it acknowledged."""

    primary: Primary
    stand_by: StandBy
    database: str

    def either(self, wanted: str, *, stand_by_first: bool = False) -> str:
        """Return the URL of whichever is reached first and is as *wanted*."""
        addresses = [self.primary.address, self.stand_by.address]
        if stand_by_first:
            addresses.reverse()
        hosts = ",".join(addresses)
        return f"postgresql://postgres@{hosts}/{self.database}?target_session_attrs={wanted}"


@pytest.fixture
def servers() -> Iterator[Servers]:
    with Primary() as primary:
        database = primary.create_database()
        apply_migrations(primary.url(database))
        with StandBy(primary) as stand_by:
            primary.lose_nothing()
            yield Servers(primary=primary, stand_by=stand_by, database=database)


@pytest.fixture
def database_url(servers: Servers) -> str:
    return servers.primary.url(servers.database)


@pytest.mark.parametrize(
    ("wanted", "moment"),
    [("read-write", Moment.AFTER_FEES), ("any", Moment.BEFORE_CHAINS)],
)
def test_the_worker_goes_on_where_the_stand_by_took_over(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    ledger: FaultyLedger,
    redis: Redis,
    servers: Servers,
    wanted: str,
    moment: Moment,
) -> None:
    url = servers.either(wanted)
    gate = Gate(ledger, moment, nth=3)
    payments = payment_manager.order(LOAD)
    worker = start_worker(
        **settings | {"DATABASE_URL": url, "OUTBOX_BATCH_SIZE": "20", "OUTBOX_LANES": "1"}
    )
    gate.wait_reached(worker)

    servers.primary.kill()
    gate.open()
    worker.wait_for(DOWN, part="database")
    if wanted == "any":
        worker.wait_until(lambda: READ_ONLY in servers.stand_by.log, what="it tries the stand-by")
    servers.stand_by.promote()
    payment_manager.url = servers.stand_by.url(servers.database)
    payment_manager.wait_delivered(worker)

    assert worker.stop() == 0
    assert len(worker.logged(DOWN, part="database")) == 1
    payment_manager.assert_settled_once(payments)
    told = {fields["payload"] for fields in entries(redis, STREAM)}
    assert len(told) == sum(len(payment.told) for payment in payments)
    assert (READ_ONLY in servers.stand_by.log) is (wanted == "any")


def test_sessions_that_began_on_the_stand_by_are_of_use_once_it_took_over(
    payment_manager: PaymentManager,
    start_worker: StartWorker,
    settings: dict[str, str],
    servers: Servers,
) -> None:
    payments = payment_manager.order(LOAD)
    worker = start_worker(**settings | {"DATABASE_URL": servers.either("any", stand_by_first=True)})
    down = worker.wait_for(DOWN, part="database")
    payment_manager.assert_untouched(payments)

    servers.primary.stop()
    servers.stand_by.promote()
    payment_manager.url = servers.stand_by.url(servers.database)
    payment_manager.wait_delivered(worker)

    assert "25006" in down["fault"]
    assert worker.stop() == 0
    assert len(worker.logged(DOWN, part="database")) == 1
    payment_manager.assert_settled_once(payments)
