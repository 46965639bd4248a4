"""The worker process: lanes, the delivery loop, the publisher, and how they end.

Lanes settle and never talk to Redis; the delivery loop and the publisher talk to Redis and
are only woken. Losing any of them for a while stops nothing else.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final

import structlog

from application.errors import OutboxError
from application.ledger_identity import ACCOUNTS_MAX, require_own_ledger
from application.ports.ledger import Ledger
from application.ports.outbox_repository import OutboxRepository
from application.use_cases.deliver_notifications import DeliverNotifications
from application.use_cases.publish_statuses import PublishStatuses
from application.use_cases.settle_batch import SettleBatch
from domain.pacing import BatchSizes
from domain.transfers import TransferId
from entrypoints.health import Health, Part
from entrypoints.loops import Loop

log = structlog.get_logger(__name__)

LANES: Final = "lanes"
DELIVERY: Final = "delivery"
PUBLISHER: Final = "publisher"

PROBE_IDS: Final = (TransferId(1),)
"""Looked up to see whether the ledger answers; whether it exists does not matter."""
_CLOSING_S: Final = 2.0
_SIGNAL_DELAY_MAX_S: Final = 1.0


@dataclass(slots=True, kw_only=True)
class LaneStep:
    """Settle one batch, but claim nothing before ledger and database were found in order.

    A claim's locks are in PM's way, so after a fault the ledger is probed with a look-up, and
    the database with the worker's own statements for an event that does not exist.

    Each lane has a step of its own, for the size of its batches. ``may_claim`` is asked before
    each claim; ``wake_another`` is called after a full batch, and must not block.
    """

    outbox: OutboxRepository
    settle_batch: SettleBatch
    ledger: Ledger
    health: Health
    may_claim: Callable[[], bool] = lambda: True
    wake_another: Callable[[], None] = lambda: None
    _size: int = field(init=False)

    def __post_init__(self) -> None:
        self._size = self._sizes.first

    def __call__(self) -> bool:
        """Return whether events were finished, so that there may be more."""
        # One that may not claim would notice no fault of the ledger, were it not to ask.
        if not self.health.is_up(Part.LEDGER) or not self.may_claim():
            self.ledger.lookup(PROBE_IDS)
            if self.health.is_unfit(Part.LEDGER, owner=LANES):
                # It answered before, too. Would it answer what a claim has to ask?
                accounts = self.outbox.some_mapped_accounts(limit=ACCOUNTS_MAX)
                require_own_ledger(self.ledger, accounts)
            self.health.up(Part.LEDGER, owner=LANES)
        if not self.health.is_up(Part.DATABASE):
            self.outbox.rehearse()
            self.health.up(Part.DATABASE, owner=LANES)
        return self.may_claim() and self._settle()

    def _settle(self) -> bool:
        report = self.settle_batch(limit=self._size)
        if report.claimed >= self._size:
            self.wake_another()
        self._size = self._sizes.after(self._size, claimed=report.claimed, refused=report.refused)
        return report.written > 0

    @property
    def _sizes(self) -> BatchSizes:
        return BatchSizes(max=self.settle_batch.batch_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryStep:
    """Deliver one batch of push jobs."""

    deliver: DeliverNotifications
    health: Health

    def __call__(self) -> bool:
        """Return whether jobs were delivered, so that there may be more."""
        report = self.deliver()
        self.health.up(Part.DATABASE, owner=DELIVERY)
        if report.reached:
            self.health.up(Part.NOTIFICATIONS, owner=DELIVERY)
        return report.confirmed > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishStep:
    """Publish what is queued; waits in the queue, not in the loop."""

    publish: PublishStatuses
    health: Health
    timeout_s: float

    def __call__(self) -> bool:
        """Return True: the queue itself waits for work."""
        if self.publish(timeout_s=self.timeout_s):
            self.health.up(Part.STATUS, owner=PUBLISHER)
        return True


class Worker:
    """The loops of one process, from start to stop.

    ``flushes`` are called once all loops have ended: they pass on what lanes still left.
    ``abandon`` ends ledger calls that outlast the grace period; at once where
    ``ledger_is_away``, for which nothing is worth waiting.
    """

    def __init__(
        self,
        *,
        lanes: Sequence[Loop],
        helpers: Sequence[Loop],
        flushes: Sequence[Callable[[], None]],
        abandon: Callable[[], None],
        ledger_is_away: Callable[[], bool],
        grace_s: float,
    ) -> None:
        self._lanes = lanes
        self._helpers = helpers
        self._flushes = flushes
        self._abandon = abandon
        self._ledger_is_away = ledger_is_away
        self._grace_s = grace_s
        self._is_stopping = False
        # Not an Event, whose lock the main thread may hold at the moment when the signal comes.
        self._stops: SimpleQueue[None] = SimpleQueue()

    def run(self) -> bool:
        """Work until SIGTERM, SIGINT or ``stop``; return whether every thread has ended.

        One that has not hangs in a driver, and will not write anything any more: what it
        claimed falls with its connection.

        Must be called on the main thread. A second signal ends the process at once: locks
        fall with the connections, and nothing is lost.
        """
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, self._on_signal)
        for loop in (*self._helpers, *self._lanes):
            loop.start()
        log.info("outbox: worker started", lanes=len(self._lanes))
        self._wait_for_stop()
        return self._shut_down()

    def stop(self) -> None:
        """Begin an orderly stop; may be called from any thread, and more than once."""
        self._is_stopping = True
        self._stops.put(None)

    def _on_signal(self, signal_number: int, _: FrameType | None) -> None:
        if self._is_stopping:
            os._exit(128 + signal_number)
        self.stop()

    def _wait_for_stop(self) -> None:
        while True:
            # A signal that comes just before a wait does not end it, hence the time-out.
            with contextlib.suppress(Empty):
                return self._stops.get(timeout=_SIGNAL_DELAY_MAX_S)

    def _shut_down(self) -> bool:
        """Finish what is in flight within the grace period, then let go of the rest.

        Returns whether every thread has ended.
        """
        log.info("outbox: worker stopping", grace_s=self._grace_s)
        loops = (*self._lanes, *self._helpers)
        for loop in loops:
            loop.stop()
        if self._ledger_is_away():
            self._abandon()
        deadline = time.monotonic() + self._grace_s
        if not _joined(loops, deadline):
            log.warning("outbox: grace period is over; unfinished batches are rolled back")
            self._abandon()
            _joined(loops, time.monotonic() + _CLOSING_S)
        # On a thread that can be left behind: Redis may hang for longer than anybody waits.
        flushing = threading.Thread(target=self._flush_all, name="flush", daemon=True)
        flushing.start()
        flushing.join(_CLOSING_S)
        log.info("outbox: worker stopped")
        return not any(thread.is_alive() for thread in (*loops, flushing))

    def _flush_all(self) -> None:
        for flush in self._flushes:
            with contextlib.suppress(OutboxError):
                flush()


def _joined(loops: Sequence[Loop], deadline: float) -> bool:
    """Wait until *deadline* (monotonic seconds) for *loops*; have all of them ended?"""
    for loop in loops:
        loop.join(max(0.0, deadline - time.monotonic()))
    return not any(loop.is_alive() for loop in loops)
