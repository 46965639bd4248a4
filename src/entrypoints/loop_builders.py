"""Make the loops that tell lanes when to look, and what lanes share."""

from collections.abc import Sequence

from application.ports.arrivals import Arrivals
from application.ports.exclusive_lock import ExclusiveLock
from application.ports.ledger import Ledger
from application.ports.outbox_repository import OutboxRepository
from application.use_cases.settle_batch import SettleBatch
from entrypoints.exclusive import EXCLUSIVE, STAND_BY_TICK_MS, HoldStep, Turn
from entrypoints.health import Health, Part
from entrypoints.lanes import Lanes
from entrypoints.loops import Loop, Pace
from entrypoints.settings import Settings
from entrypoints.wake_up import LISTENER, ListenStep
from entrypoints.worker import LaneStep


def build_lane_step(
    settings: Settings,
    outbox: OutboxRepository,
    settle_batch: SettleBatch,
    ledger: Ledger,
    health: Health,
    turn: Turn,
    lanes: Lanes,
) -> LaneStep:
    """Return the step of a lane, to be copied for each."""
    return LaneStep(
        outbox=outbox,
        settle_batch=settle_batch,
        ledger=ledger,
        health=health,
        may_claim=turn.is_ours if settings.exclusive else lambda: True,
        wake_another=lanes.wake_one,
    )


def build_listener(
    settings: Settings, arrivals: Arrivals, pace: Pace, health: Health, lanes: Lanes
) -> Sequence[Loop]:
    """Return the loop that waits for orders, or none where that is switched off."""
    if settings.wake_up == "off":
        return ()
    step = ListenStep(arrivals=arrivals, wake_lane=lanes.wake_one, health=health)
    loop = Loop(
        LISTENER,
        step,
        pace=pace,
        health=health,
        redis_part=Part.STATUS,
        owner=LISTENER,
        at_end=arrivals.close,
    )
    return (loop,)


def build_turn_keeper(
    settings: Settings,
    lock: ExclusiveLock,
    turn: Turn,
    pace: Pace,
    health: Health,
    lanes: Lanes,
) -> Sequence[Loop]:
    """Return the loop that waits for this worker's turn and keeps it, or none."""
    if not settings.exclusive:
        return ()
    step = HoldStep(lock=lock, turn=turn, wake_lane=lanes.wake_one, health=health)
    loop = Loop(
        EXCLUSIVE,
        step,
        pace=Pace(tick_ms=STAND_BY_TICK_MS, backoff=pace.backoff, jitter=pace.jitter),
        health=health,
        redis_part=Part.STATUS,
        owner=EXCLUSIVE,
        # Others take over at once, beside what may still be in flight here.
        at_end=lock.release,
    )
    return (loop,)


def build_helpers(
    delivery_loop: Loop,
    publisher_loop: Loop,
    listener: Sequence[Loop],
    turn_keeper: Sequence[Loop],
) -> Sequence[Loop]:
    """Return all loops but the lanes."""
    return (delivery_loop, publisher_loop, *listener, *turn_keeper)
