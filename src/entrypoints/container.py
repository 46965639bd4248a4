"""The wiring: every port to its adapter, every use case to its ports.

To swap an adapter, override its provider, for example
``Container(notifier=providers.Object(MyNotifier()))``; nothing else changes. Providers build
lazily and closed; ``running`` opens and closes, in a fixed order.
"""

import contextlib
import math
import random
from collections.abc import Iterator
from functools import partial
from typing import Final

import structlog
from dependency_injector import containers, providers
from redis import Redis

from adapters.memory.remote_ledger import SCHEME, RemoteLedger
from adapters.postgres.notification_queue import PostgresNotificationQueue
from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import Pool, build_pool
from adapters.redis.connection import build_client
from adapters.redis.status_publisher import RedisStatusPublisher
from adapters.redis.stream_notifier import RedisStreamNotifier
from adapters.tigerbeetle.accounts import TigerBeetleAccounts
from adapters.tigerbeetle.ledger import TigerBeetleLedger
from application.errors import MisconfiguredError
from application.ports.ledger import Ledger
from application.ports.notification_queue import NotificationQueue
from application.ports.notifier import Notifier
from application.ports.outbox_repository import OutboxRepository
from application.ports.status_publisher import StatusPublisher
from application.status_queue import StatusQueue
from application.use_cases.deliver_notifications import DeliverNotifications
from application.use_cases.diagnose import Diagnose
from application.use_cases.publish_statuses import PublishStatuses
from application.use_cases.settle_batch import SettleBatch
from domain.concluding import Rules
from domain.fees import FeeRule
from domain.retry import Backoff, Jitter, RetryPolicy
from entrypoints.diagnosis import build_accounts, build_diagnose
from entrypoints.health import Health, HealthServer, Part
from entrypoints.loops import Loop, Pace
from entrypoints.settings import NOTIFICATIONS_STREAM, Settings, load_settings
from entrypoints.worker import (
    DELIVERY,
    LANES,
    PUBLISHER,
    DeliveryStep,
    LaneStep,
    PublishStep,
    Worker,
)

log = structlog.get_logger(__name__)

CLIENT_NAME: Final = "outbox-worker"


def _jitter() -> Jitter:
    return lambda upper_ms: random.randint(0, upper_ms)


def _pool(settings: Settings) -> Pool:
    return build_pool(
        settings.database_url.get_secret_value(),
        # Each lane and the delivery loop hold one connection at a time.
        size_max=settings.lanes + 1,
        # libpq counts in whole seconds.
        connect_timeout_s=math.ceil(settings.connect_timeout_ms / 1_000),
        statement_timeout_ms=settings.statement_timeout_ms,
    )


def _ledger(settings: Settings) -> Ledger:
    deadline_s = settings.ledger_deadline_ms / 1_000
    if settings.tigerbeetle_addresses.startswith(SCHEME):
        log.warning("outbox: the ledger is in memory, for trying things out only")
        return RemoteLedger(settings.tigerbeetle_addresses, deadline_s=deadline_s)
    return TigerBeetleLedger(
        addresses=settings.tigerbeetle_addresses,
        cluster_id=settings.tigerbeetle_cluster_id,
        deadline_s=deadline_s,
        request_events_max=settings.ledger_request_events_max,
    )


def _redis(settings: Settings) -> Redis:
    return _redis_client(settings, settings.redis_url.get_secret_value(), "REDIS_URL")


def _notifications_redis(settings: Settings) -> Redis:
    if settings.notifications_redis_url is None:
        return _redis(settings)
    url = settings.notifications_redis_url.get_secret_value()
    return _redis_client(settings, url, "NOTIFICATIONS_REDIS_URL")


def _redis_client(settings: Settings, url: str, setting: str) -> Redis:
    return build_client(
        url,
        setting=setting,
        client_name=CLIENT_NAME,
        connect_timeout_s=settings.redis_timeout_ms / 1_000,
        socket_timeout_s=settings.redis_timeout_ms / 1_000,
    )


def _status_publisher(settings: Settings, redis: Redis) -> RedisStatusPublisher:
    return RedisStatusPublisher(redis, full_message=settings.status_full)


def _notifier(settings: Settings, redis: Redis) -> RedisStreamNotifier:
    return RedisStreamNotifier(
        redis,
        stream=NOTIFICATIONS_STREAM,
        field=settings.notifications_field,
        maxlen=settings.notifications_maxlen,
    )


def _rules(settings: Settings, jitter: Jitter) -> Rules:
    return Rules(
        fee=FeeRule(
            debit_account=settings.psp_fee_debit_account,
            credit_account=settings.psp_fee_credit_account,
            transfer_code=settings.psp_fee_code,
        ),
        retry=RetryPolicy(
            attempts_max=settings.attempts_max,
            attempts_max_not_found=settings.attempts_max_not_found,
            backoff=Backoff(first_ms=settings.backoff_first_ms, max_ms=settings.backoff_max_ms),
            gives_up=settings.give_up == "auto",
        ),
        jitter=jitter,
    )


def _status_queue(settings: Settings) -> StatusQueue:
    return StatusQueue(size_max=settings.status_queue_size_max)


def _pace(settings: Settings, jitter: Jitter) -> Pace:
    first_ms = min(settings.backoff_first_ms, settings.outage_backoff_max_ms)
    return Pace(
        tick_ms=settings.tick_ms,
        backoff=Backoff(first_ms=first_ms, max_ms=settings.outage_backoff_max_ms),
        jitter=jitter,
    )


def _delivery_loop(
    settings: Settings,
    queue: NotificationQueue,
    notifier: Notifier,
    pace: Pace,
    health: Health,
) -> Loop:
    deliver = DeliverNotifications(
        queue=queue, notifier=notifier, batch_size=settings.notifications_batch_size
    )
    step = DeliveryStep(deliver=deliver, health=health)
    return Loop(
        DELIVERY,
        step,
        pace=pace,
        health=health,
        redis_part=Part.NOTIFICATIONS,
        owner=DELIVERY,
    )


def _publisher_loop(
    settings: Settings, publish: PublishStatuses, pace: Pace, health: Health
) -> Loop:
    step = PublishStep(publish=publish, health=health, timeout_s=settings.tick_ms / 1_000)
    return Loop(PUBLISHER, step, pace=pace, health=health, redis_part=Part.STATUS, owner=PUBLISHER)


def _publish_statuses(queue: StatusQueue, publisher: StatusPublisher) -> PublishStatuses:
    return PublishStatuses(announcements=queue, publisher=publisher, batch_size=1_000)


def _settle_batch(
    settings: Settings,
    outbox: OutboxRepository,
    ledger: Ledger,
    announcements: StatusQueue,
    rules: Rules,
    delivery_loop: Loop,
) -> SettleBatch:
    return SettleBatch(
        outbox=outbox,
        ledger=ledger,
        announcements=announcements,
        rules=rules,
        batch_size=settings.batch_size,
        ledger_budget_s=settings.ledger_budget_ms / 1_000,
        jobs_written=delivery_loop.wake,
    )


def _worker(
    settings: Settings,
    lane_step: LaneStep,
    ledger: Ledger,
    publish: PublishStatuses,
    delivery_loop: Loop,
    publisher_loop: Loop,
    pace: Pace,
    health: Health,
) -> Worker:
    return Worker(
        lanes=[
            Loop(
                f"lane-{number}",
                lane_step,
                pace=pace,
                health=health,
                redis_part=Part.STATUS,
                owner=LANES,
            )
            for number in range(1, settings.lanes + 1)
        ],
        helpers=[delivery_loop, publisher_loop],
        flush=publish.flush,
        abandon=ledger.close,
        grace_s=settings.grace_ms / 1_000,
    )


def _health_server(settings: Settings, health: Health) -> HealthServer:
    return HealthServer(health, host=settings.health_host, port=settings.health_port)


def _diagnose(
    settings: Settings, accounts: TigerBeetleAccounts | RemoteLedger, rules: Rules
) -> Diagnose:
    return build_diagnose(
        settings,
        accounts,
        rules.fee,
        # Each probe closes its own.
        partial(_redis, settings),
        partial(_notifications_redis, settings),
        NOTIFICATIONS_STREAM,
    )


class Container(containers.DeclarativeContainer):
    """Everything there is one of in a process."""

    settings: providers.Provider[Settings] = providers.Singleton(load_settings)
    health: providers.Provider[Health] = providers.Singleton(Health)
    jitter: providers.Provider[Jitter] = providers.Singleton(_jitter)
    pace: providers.Provider[Pace] = providers.Singleton(_pace, settings, jitter)
    rules: providers.Provider[Rules] = providers.Singleton(_rules, settings, jitter)

    pool: providers.Provider[Pool] = providers.Singleton(_pool, settings)
    outbox: providers.Provider[OutboxRepository] = providers.Singleton(
        PostgresOutboxRepository, pool
    )
    notification_queue: providers.Provider[NotificationQueue] = providers.Singleton(
        PostgresNotificationQueue, pool
    )
    ledger: providers.Provider[Ledger] = providers.Singleton(_ledger, settings)
    redis: providers.Provider[Redis] = providers.Singleton(_redis, settings)
    notifications_redis: providers.Provider[Redis] = providers.Singleton(
        _notifications_redis, settings
    )
    status_publisher: providers.Provider[StatusPublisher] = providers.Singleton(
        _status_publisher, settings, redis
    )
    notifier: providers.Provider[Notifier] = providers.Singleton(
        _notifier, settings, notifications_redis
    )

    announcements: providers.Provider[StatusQueue] = providers.Singleton(_status_queue, settings)
    publish_statuses: providers.Provider[PublishStatuses] = providers.Singleton(
        _publish_statuses, announcements, status_publisher
    )
    delivery_loop: providers.Provider[Loop] = providers.Singleton(
        _delivery_loop, settings, notification_queue, notifier, pace, health
    )
    publisher_loop: providers.Provider[Loop] = providers.Singleton(
        _publisher_loop, settings, publish_statuses, pace, health
    )
    settle_batch: providers.Provider[SettleBatch] = providers.Singleton(
        _settle_batch, settings, outbox, ledger, announcements, rules, delivery_loop
    )
    lane_step: providers.Provider[LaneStep] = providers.Singleton(
        LaneStep, outbox=outbox, settle_batch=settle_batch, ledger=ledger, health=health
    )
    worker: providers.Provider[Worker] = providers.Singleton(
        _worker,
        settings,
        lane_step,
        ledger,
        publish_statuses,
        delivery_loop,
        publisher_loop,
        pace,
        health,
    )
    health_server: providers.Provider[HealthServer] = providers.Singleton(
        _health_server, settings, health
    )

    ledger_accounts: providers.Provider[TigerBeetleAccounts | RemoteLedger] = providers.Singleton(
        build_accounts, settings
    )
    diagnose: providers.Provider[Diagnose] = providers.Singleton(
        _diagnose, settings, ledger_accounts, rules
    )


@contextlib.contextmanager
def running(container: Container) -> Iterator[Container]:
    """Open what has to be opened; close it on the way out, even after a failed start.

    Opening reaches nothing: Postgres, Redis and TigerBeetle may all be away at the start.

    Raises:
        MisconfiguredError: the health server's address cannot be listened on.
    """
    with contextlib.ExitStack() as stack:
        pool = container.pool()
        pool.open(wait=False)
        stack.callback(pool.close, timeout=1)
        stack.callback(container.ledger().close)
        stack.callback(container.redis().close)
        stack.callback(container.notifications_redis().close)
        if container.settings().health_port:
            health_server = container.health_server()
            _start(health_server, container.settings())
            stack.callback(health_server.stop)
        yield container


def _start(health_server: HealthServer, settings: Settings) -> None:
    try:
        health_server.start()
    except OSError as error:
        raise MisconfiguredError(
            f"OUTBOX_HEALTH_PORT: cannot listen on {settings.health_host}:{settings.health_port}"
            f" ({error.strerror}); choose a free port, or 0 to do without /livez and /readyz"
        ) from error
