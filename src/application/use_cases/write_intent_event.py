"""Record a change of an intent's status, then tell who listens: the sources' writeIntentEvent.

For the payment manager and its other workers. The settling of an intent needs no such call: the
worker records and publishes that itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from application.ports.intent_trail import IntentTrail
from domain.conclusions import StatusChange, StatusMessage
from domain.intents import IntentId
from domain.sanitising import sanitise

log = structlog.get_logger(__name__)

PublishFn = Callable[[Sequence[StatusMessage]], None]
"""``StatusPublisher.publish``, which waits for Redis, or ``StatusQueue.put``, which does not."""


@dataclass(slots=True)
class Announcement:
    """The live status that belongs to a recorded change, to be published once, after its commit."""

    message: StatusMessage
    _publish_fn: PublishFn | None

    def publish(self) -> None:
        """Publish, unless that was done; never raises.

        The row is what counts, and it is there: a failure is only logged.
        """
        publish_fn, self._publish_fn = self._publish_fn, None
        if publish_fn is None:
            return
        try:
            publish_fn([self.message])
        except Exception as error:
            log.warning(
                "outbox: live status was not published",
                intent_id=str(self.message.intent_id),
                status=self.message.status,
                fault=sanitise(f"{type(error).__name__}: {error}"),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteIntentEvent:
    """Insert the row, then publish, if a ``publish_fn`` is given: never the other way round."""

    trail: IntentTrail
    publish_fn: PublishFn | None = None

    def __call__(self, intent_id: IntentId, change: StatusChange) -> Announcement:
        """Record *change*; publish its ``status_to`` at once if the row is committed by that.

        Within a transaction it is not: who hears of a status before its commit reads the old
        one, and a rollback makes it false. Nothing is published then: call ``publish`` of what
        is returned after the commit, or forget it after a rollback.

        Idempotency: none; a repeat is a row more. Raises like ``IntentTrail.append``, and never
        for want of Redis.
        """
        recorded = self.trail.append(intent_id, change)
        message = StatusMessage(
            intent_id=intent_id, status=change.status_to, updated_at=recorded.at
        )
        announcement = Announcement(message, self.publish_fn)
        if recorded.is_committed:
            announcement.publish()
        return announcement
