"""The wiring: every port to its adapter, every use case to its ports.

To swap an adapter, override its provider, for example
``Container(notifier=providers.Object(MyNotifier()))``; nothing else changes. Providers build
lazily and closed; ``running`` opens and closes, in a fixed order.
"""

import contextlib
from collections.abc import Iterator, Sequence

from dependency_injector import containers, providers
from redis import Redis

from adapters.postgres.notification_queue import PostgresNotificationQueue
from adapters.postgres.outbox_repository import PostgresOutboxRepository
from adapters.postgres.pool import Pool
from application.errors import MisconfiguredError
from application.ports.arrivals import Arrivals
from application.ports.exclusive_lock import ExclusiveLock
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
from domain.retry import Jitter
from entrypoints.adapter_builders import (
    build_arrivals,
    build_exclusive_lock,
    build_ledger,
    build_pool,
)
from entrypoints.diagnosis import build_diagnose
from entrypoints.exclusive import Turn
from entrypoints.health import Health, HealthServer
from entrypoints.lanes import Lanes
from entrypoints.loop_builders import (
    build_helpers,
    build_lane_step,
    build_listener,
    build_turn_keeper,
)
from entrypoints.loops import Loop, Pace
from entrypoints.redis_builders import (
    build_notifications_redis,
    build_notifier,
    build_redis,
    build_status_publisher,
)
from entrypoints.settings import Settings, load_settings
from entrypoints.worker import LaneStep, Worker
from entrypoints.worker_builders import (
    build_deliver_notifications,
    build_delivery_loop,
    build_health_server,
    build_jitter,
    build_lanes,
    build_pace,
    build_publish_statuses,
    build_publisher_loop,
    build_rules,
    build_settle_batch,
    build_status_queue,
    build_worker,
)


class Container(containers.DeclarativeContainer):
    """Everything there is one of in a process."""

    settings: providers.Provider[Settings] = providers.Singleton(load_settings)
    health: providers.Provider[Health] = providers.Singleton(Health)
    jitter: providers.Provider[Jitter] = providers.Singleton(build_jitter)
    pace: providers.Provider[Pace] = providers.Singleton(build_pace, settings, jitter)
    rules: providers.Provider[Rules] = providers.Singleton(build_rules, settings, jitter)

    pool: providers.Provider[Pool] = providers.Singleton(build_pool, settings)
    outbox: providers.Provider[OutboxRepository] = providers.Singleton(
        PostgresOutboxRepository, pool
    )
    notification_queue: providers.Provider[NotificationQueue] = providers.Singleton(
        PostgresNotificationQueue, pool
    )
    ledger: providers.Provider[Ledger] = providers.Singleton(build_ledger, settings)
    redis: providers.Provider[Redis] = providers.Singleton(build_redis, settings)
    notifications_redis: providers.Provider[Redis] = providers.Singleton(
        build_notifications_redis, settings
    )
    status_publisher: providers.Provider[StatusPublisher] = providers.Singleton(
        build_status_publisher, settings, redis
    )
    notifier: providers.Provider[Notifier] = providers.Singleton(
        build_notifier, settings, notifications_redis
    )

    announcements: providers.Provider[StatusQueue] = providers.Singleton(
        build_status_queue, settings
    )
    publish_statuses: providers.Provider[PublishStatuses] = providers.Singleton(
        build_publish_statuses, announcements, status_publisher
    )
    deliver_notifications: providers.Provider[DeliverNotifications] = providers.Singleton(
        build_deliver_notifications, settings, notification_queue, notifier
    )
    delivery_loop: providers.Provider[Loop] = providers.Singleton(
        build_delivery_loop, deliver_notifications, pace, health
    )
    publisher_loop: providers.Provider[Loop] = providers.Singleton(
        build_publisher_loop, settings, publish_statuses, pace, health
    )
    settle_batch: providers.Provider[SettleBatch] = providers.Singleton(
        build_settle_batch, settings, outbox, ledger, announcements, rules, delivery_loop
    )
    lane_group: providers.Provider[Lanes] = providers.Singleton(Lanes)
    turn: providers.Provider[Turn] = providers.Singleton(Turn)
    lane_step: providers.Provider[LaneStep] = providers.Singleton(
        build_lane_step, settings, outbox, settle_batch, ledger, health, turn, lane_group
    )
    lanes: providers.Provider[Sequence[Loop]] = providers.Singleton(
        build_lanes, settings, lane_step, pace, health, lane_group
    )
    arrivals: providers.Provider[Arrivals] = providers.Singleton(build_arrivals, settings)
    listener: providers.Provider[Sequence[Loop]] = providers.Singleton(
        build_listener, settings, arrivals, pace, health, lane_group
    )
    exclusive_lock: providers.Provider[ExclusiveLock] = providers.Singleton(
        build_exclusive_lock, settings
    )
    turn_keeper: providers.Provider[Sequence[Loop]] = providers.Singleton(
        build_turn_keeper, settings, exclusive_lock, turn, pace, health, lane_group
    )
    helpers: providers.Provider[Sequence[Loop]] = providers.Singleton(
        build_helpers, delivery_loop, publisher_loop, listener, turn_keeper
    )
    worker: providers.Provider[Worker] = providers.Singleton(
        build_worker,
        settings,
        lanes,
        ledger,
        publish_statuses,
        deliver_notifications,
        helpers,
        health,
    )
    health_server: providers.Provider[HealthServer] = providers.Singleton(
        build_health_server, settings, health
    )

    diagnose: providers.Provider[Diagnose] = providers.Singleton(
        build_diagnose, settings, ledger, rules
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
        host = f"[{settings.health_host}]" if ":" in settings.health_host else settings.health_host
        raise MisconfiguredError(
            f"OUTBOX_HEALTH_HOST and OUTBOX_HEALTH_PORT: cannot listen on"
            f" {host}:{settings.health_port} ({error.strerror}); name an address of this machine"
            " and choose a free port, or 0 to do without /livez and /readyz"
        ) from error
