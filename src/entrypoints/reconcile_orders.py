"""What ``outbox-worker reconcile --fix`` does: insert events for what the worker can put right."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from adapters.postgres.beginning import Beginning
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_write_errors
from adapters.postgres.event_store import PostgresEventStore
from adapters.postgres.intent_records import APPLICATION_NAME
from adapters.postgres.own_connection import own_connection
from adapters.postgres.pool import ANSWER_MARGIN_S, worker_conninfo
from application.errors import DatabaseUnavailableError, RowsRefusedError
from application.use_cases.order_again import OrderAgain
from domain.intents import EventId, IntentId
from domain.reconciliation.differences import Difference
from domain.reconciliation.fixing import NotOrdered, Obstacle
from entrypoints.adapter_builders import build_intent_records
from entrypoints.settings import LedgerSettings

ORDERS_MAX: Final = 10_000
"""In one run: so many differences are remembered until the end, and not more."""


class Outcome(StrEnum):
    """What became of an order."""

    INSERTED = "inserted"
    LEFT = "left"
    """Something is in the way by now."""
    BUSY = "busy"
    """Somebody held the intent's row for too long: try again."""
    REFUSED = "refused"
    """The database did not take the rows."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """An event that was inserted, or was not; *detail* says why not."""

    difference: Difference
    outcome: Outcome
    event_id: EventId | None
    detail: str
    obstacle: Obstacle | None = None


@dataclass(slots=True)
class Fixable:
    """The differences that --fix is for, one an intent, as many as are remembered."""

    differences: dict[IntentId, Difference] = field(default_factory=dict)
    has_more: bool = False

    def add(self, differences: Iterable[Difference]) -> None:
        """Remember those of *differences* that can be fixed."""
        for one in differences:
            if one.fix is None or one.intent_id in self.differences:
                continue
            if len(self.differences) == ORDERS_MAX:
                self.has_more = True
                return
            self.differences[one.intent_id] = one


def order_all(settings: LedgerSettings, differences: Sequence[Difference]) -> Iterator[Ordered]:
    """Order the fixing of each of *differences*, in a transaction of its own.

    Raises, while iterating:
        DatabaseUnavailableError, DatabaseMisconfiguredError: what was yielded is ordered, and
            the next one may be.
    """
    conninfo = worker_conninfo(
        settings.database_url.get_secret_value(), application_name=APPLICATION_NAME
    )
    # Once for all, as it reads all intents, and before any of them is locked.
    sharing = build_intent_records(settings).sharing([one.intent_id for one in differences])
    answer_timeout_s = settings.statement_timeout_ms / 1_000 + ANSWER_MARGIN_S
    with own_connection(conninfo, answer_timeout_s=answer_timeout_s) as connection:
        connection.beginning = Beginning(statement_timeout_ms=settings.statement_timeout_ms)
        for difference in differences:
            yield _order(connection, difference, sharing)


def _order(
    connection: BoundedConnection, difference: Difference, sharing: Set[IntentId]
) -> Ordered:
    try:
        with connection.begun():
            answer = OrderAgain(store=PostgresEventStore(connection), sharing=sharing)(difference)
            with translated_write_errors():
                # What the payment manager defers to the commit is refused here, for this one.
                connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except RowsRefusedError as error:
        return Ordered(difference, Outcome.REFUSED, None, str(error))
    except DatabaseUnavailableError as error:
        if connection.closed:
            raise
        # Somebody holds the intent for too long; the others need not wait for that.
        return Ordered(difference, Outcome.BUSY, None, str(error))
    if isinstance(answer, NotOrdered):
        return Ordered(difference, Outcome.LEFT, None, answer.detail, answer.obstacle)
    return Ordered(difference, Outcome.INSERTED, answer, f"event {answer}")
