"""Make the use cases and the loops that run them, as the settings say."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from application.ports.ledger import Ledger
from application.ports.notification_queue import NotificationQueue
from application.ports.notifier import Notifier
from application.ports.outbox_repository import OutboxRepository
from application.ports.status_publisher import StatusPublisher
from application.status_queue import StatusQueue
from application.use_cases.deliver_notifications import DeliverNotifications
from application.use_cases.publish_statuses import PublishStatuses
from application.use_cases.settle_batch import SettleBatch
from domain.concluding import Rules
from domain.fees import AccountCode, FeeRule
from domain.retry import Backoff, Jitter, RetryPolicy
from entrypoints.health import Health, HealthServer, Part
from entrypoints.lanes import Lanes
from entrypoints.log_file import together
from entrypoints.loops import Loop, Pace
from entrypoints.settings import LedgerSettings, Settings
from entrypoints.worker import (
    DELIVERY,
    LANES,
    PUBLISHER,
    DeliveryStep,
    LaneStep,
    PublishStep,
    Worker,
)

_PUBLISHER_WAIT_MAX_S: Final = 1.0


def build_jitter() -> Jitter:
    """Return the randomness of backoffs."""
    return lambda upper_ms: random.randint(0, upper_ms)


def build_rules(settings: Settings, jitter: Jitter) -> Rules:
    """Return what conclusions depend on."""
    return Rules(
        fee=build_fee_rule(settings),
        retry=RetryPolicy(
            attempts_max=settings.attempts_max,
            attempts_max_not_found=settings.attempts_max_not_found,
            backoff=Backoff(first_ms=settings.backoff_first_ms, max_ms=settings.backoff_max_ms),
            gives_up=settings.give_up == "auto",
        ),
        jitter=jitter,
    )


def build_fee_rule(settings: LedgerSettings) -> FeeRule:
    """Return what a PSP fee looks like."""
    return FeeRule(
        debit_account=settings.psp_fee_debit_account,
        credit_account=settings.psp_fee_credit_account,
        transfer_code=settings.psp_fee_code,
    )


def known_fee_codes(rule: FeeRule) -> tuple[AccountCode, AccountCode]:
    """Return the account codes of fees of IPPS in THB, the only ones that the sources name."""
    return rule.codes(psp="IPPS", currency="THB")


def build_pace(settings: Settings, jitter: Jitter) -> Pace:
    """Return how loops wait."""
    first_ms = min(settings.backoff_first_ms, settings.outage_backoff_max_ms)
    return Pace(
        tick_ms=settings.tick_ms,
        backoff=Backoff(first_ms=first_ms, max_ms=settings.outage_backoff_max_ms),
        jitter=jitter,
        first_pause_ms=settings.first_pause_ms,
    )


def build_status_queue(settings: Settings) -> StatusQueue:
    """Return the queue between lanes and publisher."""
    return StatusQueue(size_max=settings.status_queue_size_max)


def build_publish_statuses(queue: StatusQueue, publisher: StatusPublisher) -> PublishStatuses:
    """Return the use case of the publisher loop."""
    return PublishStatuses(announcements=queue, publisher=publisher, batch_size=1_000)


def build_deliver_notifications(
    settings: Settings, queue: NotificationQueue, notifier: Notifier
) -> DeliverNotifications:
    """Return the use case of the delivery loop."""
    return DeliverNotifications(
        queue=queue, notifier=notifier, batch_size=settings.notifications_batch_size
    )


def build_delivery_loop(deliver: DeliverNotifications, pace: Pace, health: Health) -> Loop:
    """Return the loop that delivers push jobs."""
    step = DeliveryStep(deliver=deliver, health=health)
    return Loop(
        DELIVERY,
        step,
        pace=pace,
        health=health,
        redis_part=Part.NOTIFICATIONS,
        owner=DELIVERY,
    )


def build_publisher_loop(
    settings: Settings, publish: PublishStatuses, pace: Pace, health: Health
) -> Loop:
    """Return the loop that publishes live statuses."""
    # A stop waits for it, so a long tick must not make it long.
    timeout_s = min(settings.tick_ms / 1_000, _PUBLISHER_WAIT_MAX_S)
    step = PublishStep(publish=publish, health=health, timeout_s=timeout_s)
    return Loop(PUBLISHER, step, pace=pace, health=health, redis_part=Part.STATUS, owner=PUBLISHER)


def build_settle_batch(
    settings: Settings,
    outbox: OutboxRepository,
    ledger: Ledger,
    announcements: StatusQueue,
    rules: Rules,
    delivery_loop: Loop,
) -> SettleBatch:
    """Return the use case of the lanes."""
    return SettleBatch(
        outbox=outbox,
        ledger=ledger,
        announcements=announcements,
        rules=rules,
        batch_size=settings.batch_size,
        ledger_budget_s=settings.ledger_budget_ms / 1_000,
        jobs_written=delivery_loop.wake,
        lines_together=together,
    )


def build_lanes(
    settings: Settings, lane_step: LaneStep, pace: Pace, health: Health, lanes: Lanes
) -> list[Loop]:
    """Return the loops that settle, and let *lanes* wake them."""
    lanes.loops = [
        Loop(
            f"lane-{number}",
            replace(lane_step),
            pace=pace,
            health=health,
            redis_part=Part.STATUS,
            owner=LANES,
        )
        for number in range(1, settings.lanes + 1)
    ]
    return lanes.loops


def build_worker(
    settings: Settings,
    lanes: Sequence[Loop],
    ledger: Ledger,
    publish: PublishStatuses,
    deliver: DeliverNotifications,
    helpers: Sequence[Loop],
    health: Health,
) -> Worker:
    """Return the worker: all loops, and how they end."""
    return Worker(
        lanes=lanes,
        helpers=helpers,
        flushes=[publish.flush, deliver.flush],
        abandon=ledger.close,
        ledger_is_away=lambda: not health.is_up(Part.LEDGER),
        grace_s=settings.grace_ms / 1_000,
    )


def build_health_server(settings: Settings, health: Health) -> HealthServer:
    """Return the server of ``/livez`` and ``/readyz``, not started."""
    return HealthServer(health, host=settings.health_host, port=settings.health_port)
