"""What Postgres says of intents, for comparing it with the ledger. Reads, and nothing else.

Which intents are selected is decided by one scan, into a cursor that outlives its transaction:
the server keeps the ids, and no snapshot. Each page is then read in a transaction of its own.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg import sql

from adapters.postgres.beginning import STATEMENT_TIMEOUT_MS, Beginning
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_errors
from adapters.postgres.event_archive import ALL_EVENTS
from adapters.postgres.own_connection import own_connection
from adapters.postgres.pool import ANSWER_MARGIN_S, CONNECT_TIMEOUT_S, worker_conninfo
from adapters.postgres.psp_records import PSP_COLUMNS, join_psp, psp_record
from adapters.postgres.session import OwnSession
from domain.conclusions import RecordedLine
from domain.intents import EventId, IntentId
from domain.reconciliation.record import ByIds, EventRecord, IntentRecord, Selection
from domain.reconciliation.shared_transfers import SharedTransfer
from domain.transfers import TransferId

PAGE_INTENTS: Final = 1_000
PAGE_TRANSFERS: Final = 10_000
"""So many are listed by the intents of a page, unless by a single one."""

SELECTION_TIMEOUT_MS: Final = 600_000
"""For the statements that walk over all intents; there is no index that they could use."""

APPLICATION_NAME: Final = "outbox-worker reconcile"

_NAMED: Final = sql.SQL("i.id = ANY(%(ids)s::uuid[])")
# A time to come, an infinite one and none are in every period: they could be in none else.
_IN_PERIOD: Final = sql.SQL("""
    (
        i.updated_at >= %(since)s AND i.updated_at < %(until)s
        OR i.updated_at < %(until)s AND i.status IN ('AUTHORIZED', 'SETTLING')
        OR i.updated_at > now()
        OR i.updated_at = '-infinity'
        OR i.updated_at IS NULL
    )
""")

_DECLARE: Final = sql.SQL("DECLARE selected NO SCROLL CURSOR WITH HOLD FOR {query}")

_SELECT: Final = sql.SQL(
    "SELECT i.id::text, COALESCE(cardinality(i.tb_transfer_ids), 0) FROM pm.intent i"
    " WHERE {selected}"
)

# First which transfers, then who lists them: groups that know their intents take much more room.
# Only the selected intents' transfers are grouped, which a hash picks out of all that are listed.
# A row is small, however many list the transfer: it has the first FIRST_LISTERS of them.
_SHARED: Final = sql.SQL("""
    WITH mine AS MATERIALIZED (
        SELECT t.id
        FROM pm.intent i CROSS JOIN LATERAL unnest(i.tb_transfer_ids) AS t (id)
        WHERE t.id IS NOT NULL AND {selected}
    ), shared AS MATERIALIZED (
        SELECT t.id
        FROM pm.intent i CROSS JOIN LATERAL unnest(i.tb_transfer_ids) AS t (id)
        WHERE t.id IN (SELECT id FROM mine)
        GROUP BY t.id
        HAVING count(*) > 1
    ), listed AS (
        SELECT
            bool_or({selected}) AS is_selected,
            t.id, i.id AS intent_id, count(*) AS times, count(*) OVER listers AS listers,
            nth_value(i.id, 1) OVER listers AS first,
            nth_value(i.id, 2) OVER listers AS second,
            nth_value(i.id, 3) OVER listers AS third
        FROM pm.intent i
        CROSS JOIN LATERAL unnest(i.tb_transfer_ids) AS t (id)
        JOIN shared s ON s.id = t.id
        GROUP BY t.id, i.id
        WINDOW listers AS (
            PARTITION BY t.id ORDER BY i.id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
    )
    SELECT id, intent_id, times, listers, first, second, third FROM listed WHERE is_selected
""")

# One scan, however many it is about: an array's elements are in no index.
_SHARING: Final = """
    WITH mine AS MATERIALIZED (
        SELECT i.id AS intent_id, t.id
        FROM pm.intent i CROSS JOIN LATERAL unnest(i.tb_transfer_ids) AS t (id)
        WHERE i.id = ANY(%(ids)s::uuid[])
    )
    SELECT DISTINCT mine.intent_id
    FROM pm.intent i
    CROSS JOIN LATERAL unnest(i.tb_transfer_ids) AS t (id)
    JOIN mine ON mine.id = t.id
    WHERE i.id <> mine.intent_id
"""


def _age_ms(column: str) -> sql.Composed:
    """Return how long ago *column* was; an infinite time, or one to come, is just now."""
    return sql.SQL("""
        CASE WHEN isfinite({column}) THEN GREATEST(
            (extract(epoch FROM now()) - extract(epoch FROM {column})) * 1000, 0
        )::bigint ELSE 0 END
    """).format(column=sql.SQL(column))


# Ids that only tell what belongs together stay text, which costs much less than a UUID.
_READ_INTENTS: Final = sql.SQL("""
    SELECT
        i.id::text, COALESCE(i.status, ''), COALESCE(i.amount_satang, 0), COALESCE(i.currency, ''),
        ARRAY(SELECT unnest(i.tb_transfer_ids)),
        {age_ms},
        (extract(epoch FROM now()) * 1000000)::bigint * 1000,
        {psp_columns}
    FROM unnest(%(ids)s::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (SELECT * FROM pm.intent i WHERE i.id = wanted.id OFFSET 0) i
    {join_psp}
""").format(
    age_ms=_age_ms("i.updated_at"), psp_columns=PSP_COLUMNS, join_psp=join_psp(sql.SQL("i.id"))
)

# Fenced, as in claiming: by the index on the status it would walk over the whole backlog.
_READ_EVENTS: Final = sql.SQL("""
    SELECT e.intent_id::text, e.id, e.action, e.status, e.retry_count, {age_ms}
    FROM unnest(%(ids)s::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT * FROM {events} e WHERE e.intent_id = wanted.id OFFSET 0
    ) e
    ORDER BY e.created_at, e.id
""").format(age_ms=_age_ms("e.created_at"), events=ALL_EVENTS)

# Not fenced: the payment manager's table may have no index on intent_id.
_READ_LINES: Final = """
    SELECT h.intent_id::text, COALESCE(h.line_no, -1), COALESCE(h.kind, ''), h.fee_kind, h.account,
           COALESCE(h.amount_satang, 0)
    FROM pm.tx_history h
    WHERE h.intent_id = ANY(%(ids)s::uuid[])
    ORDER BY h.line_no
"""


Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresIntentRecords:
    """``IntentRecords``, each answer over a connection of its own, and only by reading.

    What comes in pages needs a session of its own, for its cursor: behind a pooler in
    transaction mode it raises ``SharedSessionError``.
    """

    dsn: str
    connect_timeout_s: int = CONNECT_TIMEOUT_S
    statement_timeout_ms: int = STATEMENT_TIMEOUT_MS
    page_intents: int = PAGE_INTENTS
    page_transfers: int = PAGE_TRANSFERS

    def now(self) -> datetime:
        """See ``IntentRecords.now``."""
        with self._connection() as connection, connection.begun():
            ((now,),) = connection.execute("SELECT now()").fetchall()
        found: datetime = now
        return found

    def pages(self, selection: Selection) -> Iterator[Sequence[IntentRecord]]:
        """See ``IntentRecords.pages``."""
        with self._session() as connection:
            for rows in self._pages_of(connection, _SELECT, selection):
                for ids in _portions(rows, self.page_transfers):
                    yield _read_page(connection, ids)

    def shared_transfers(self, selection: Selection) -> Iterator[SharedTransfer]:
        """See ``IntentRecords.shared_transfers``."""
        with self._session() as connection:
            for rows in self._pages_of(connection, _SHARED, selection):
                for transfer_id, intent_id, times, listers, *first in rows:
                    yield SharedTransfer(
                        transfer_id=TransferId(transfer_id.int),
                        intent_id=IntentId(intent_id),
                        times=times,
                        listers=listers,
                        first_listers=tuple(map(IntentId, filter(None, first))),
                    )

    def sharing(self, intent_ids: Collection[IntentId]) -> Set[IntentId]:
        """See ``IntentRecords.sharing``."""
        with self._connection() as connection, _selecting(connection):
            rows = connection.execute(_SHARING, {"ids": list(intent_ids)}).fetchall()
        return {IntentId(intent_id) for (intent_id,) in rows}

    @contextmanager
    def _connection(self) -> Iterator[BoundedConnection]:
        conninfo = worker_conninfo(
            self.dsn, connect_timeout_s=self.connect_timeout_s, application_name=APPLICATION_NAME
        )
        with own_connection(conninfo, answer_timeout_s=self.connect_timeout_s) as connection:
            self._prepare(connection)
            yield connection

    @contextmanager
    def _session(self) -> Iterator[BoundedConnection]:
        session = OwnSession(
            self.dsn,
            name=APPLICATION_NAME,
            connect_timeout_s=self.connect_timeout_s,
            # Between two pages it is idle for as long as the ledger and the reader take.
            idle_timeout_s=None,
        )
        with closing(session), translated_errors():
            self._prepare(session.connection)
            yield session.connection

    def _prepare(self, connection: BoundedConnection) -> None:
        # A page's statements cost too little to be compiled, and look too dear not to be.
        connection.beginning = Beginning(
            isolation="REPEATABLE READ",
            is_read_only=True,
            compiles=False,
            statement_timeout_ms=self.statement_timeout_ms,
        )

    def _pages_of(
        self, connection: BoundedConnection, query: sql.SQL, selection: Selection
    ) -> Iterator[Rows]:
        """Yield the rows of *query* as they were when it began, a page at a time."""
        selected, parameters = _condition(selection)
        with _selecting(connection):
            connection.execute(_DECLARE.format(query=query.format(selected=selected)), parameters)
        connection.answer_timeout_s = self.statement_timeout_ms / 1_000 + ANSWER_MARGIN_S
        fetch = sql.SQL("FETCH {} FROM selected").format(self.page_intents)
        while rows := connection.execute(fetch).fetchall():
            yield rows


def _portions(rows: Rows, transfers_max: int) -> Iterator[list[str]]:
    """Cut *rows*, of intents and how many transfers each lists, where they come to too many."""
    ids: list[str] = []
    transfers = 0
    for intent_id, listed in rows:
        if ids and transfers + listed > transfers_max:
            yield ids
            ids, transfers = [], 0
        ids.append(intent_id)
        transfers += listed
    if ids:
        yield ids


def _condition(selection: Selection) -> tuple[sql.SQL, Mapping[str, object]]:
    if isinstance(selection, ByIds):
        return _NAMED, {"ids": list(selection.intent_ids)}
    return _IN_PERIOD, {"since": selection.since, "until": selection.until}


@contextmanager
def _selecting(connection: BoundedConnection) -> Iterator[None]:
    """Run the block in a transaction that may walk over all intents."""
    with connection.begun():
        connection.execute(f"SET LOCAL statement_timeout = '{SELECTION_TIMEOUT_MS}ms'")
        connection.answer_timeout_s = SELECTION_TIMEOUT_MS / 1_000 + ANSWER_MARGIN_S
        yield


def _read_page(connection: BoundedConnection, ids: Sequence[str]) -> Sequence[IntentRecord]:
    parameters = {"ids": f"{{{','.join(ids)}}}"}
    with connection.begun():
        intents = connection.execute(_READ_INTENTS, parameters).fetchall()
        events = connection.execute(_READ_EVENTS, parameters).fetchall()
        lines = connection.execute(_READ_LINES, parameters).fetchall()
    events_of, lines_of = _by_intent(events), _by_intent(lines)
    return [_record(row, events_of.get(row[0], ()), lines_of.get(row[0], ())) for row in intents]


def _by_intent(rows: Rows) -> Mapping[str, Rows]:
    grouped: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        grouped[row[0]].append(row)
    return grouped


def _record(row: tuple[Any, ...], events: Rows, lines: Rows) -> IntentRecord:
    intent_id, status, amount_satang, currency, transfers, age_ms, now_ns, *psp = row
    return IntentRecord(
        id=IntentId(UUID(intent_id)),
        status=status,
        amount_satang=amount_satang,
        currency=currency,
        tb_transfer_ids=tuple(transfers),
        age_ms=age_ms,
        now_ns=now_ns,
        events=tuple([_event(*event) for event in events]),
        psp=psp_record(psp),
        lines=tuple([_line(*line) for line in lines]),
    )


def _event(
    _: str, event_id: int, action: str, status: str, retry_count: int, age_ms: int
) -> EventRecord:
    return EventRecord(
        id=EventId(event_id), action=action, status=status, retry_count=retry_count, age_ms=age_ms
    )


def _line(
    _: str, line_no: int, kind: str, fee_kind: str | None, account: str | None, amount_satang: int
) -> RecordedLine:
    return RecordedLine(
        line_no=line_no,
        kind=kind,
        fee_kind=fee_kind,
        account=account,
        amount_satang=amount_satang,
    )
