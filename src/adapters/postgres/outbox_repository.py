"""The outbox in Postgres: one claim is one transaction, held open until its block ends."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from adapters.postgres import writing
from adapters.postgres.claimed_rows import read_held
from adapters.postgres.claiming import lock_due
from adapters.postgres.connection import BoundedConnection
from adapters.postgres.errors import translated_errors, translated_write_errors
from adapters.postgres.pool import Pool, transaction
from adapters.postgres.rehearsal import rehearse
from adapters.postgres.untried_search import UntriedSearch
from application.ports.outbox_repository import ClaimedBatch
from domain.conclusions import Acknowledge, Conclusion, Retry, Review, Settle, StatusMessage
from domain.fees import AccountCode, MappedAccount
from domain.intents import ClaimedEvent
from domain.transfers import AccountId


@dataclass(frozen=True, slots=True)
class PostgresClaimedBatch:
    """A ``ClaimedBatch``; its locks are those of the connection's open transaction."""

    _connection: BoundedConnection
    events: Sequence[ClaimedEvent]

    def fee_accounts(self, codes: Collection[AccountCode]) -> Mapping[AccountCode, MappedAccount]:
        """See ``ClaimedBatch.fee_accounts``."""
        with translated_errors():
            rows = self._connection.execute(
                "SELECT code, tb_account_id, ledger FROM pm.tb_account_map"
                " WHERE code = ANY(%s::text[])",
                [list(codes)],
            ).fetchall()
        return {
            code: MappedAccount(account_id=AccountId(account_id.int), ledger=ledger)
            for code, account_id, ledger in rows
        }

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        """See ``ClaimedBatch.some_mapped_accounts``."""
        with translated_errors():
            return _some_mapped_accounts(self._connection, limit)

    def write(self, conclusions: Sequence[Conclusion]) -> Sequence[StatusMessage]:
        """See ``ClaimedBatch.write``."""
        if not conclusions:
            return ()
        # A transaction within a transaction is a savepoint: rolling back to it keeps the locks.
        with translated_write_errors(), self._connection.transaction():
            messages = self._write(conclusions)
            # What PM defers to the commit must be refused here, or one row would stop them all.
            self._connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            return messages

    def _write(self, conclusions: Sequence[Conclusion]) -> Sequence[StatusMessage]:
        messages: list[StatusMessage] = []
        if settles := [one for one in conclusions if isinstance(one, Settle)]:
            messages = writing.settle(self._connection, settles)
            writing.require_all(len(messages), len(settles))
        if acknowledges := [one for one in conclusions if isinstance(one, Acknowledge)]:
            took = writing.acknowledge(self._connection, acknowledges)
            writing.require_all(len(took), len(acknowledges))
        if retries := [one for one in conclusions if isinstance(one, Retry)]:
            took = writing.retry(self._connection, retries)
            writing.require_all(len(took), len(retries))
        if reviews := [one for one in conclusions if isinstance(one, Review)]:
            took = writing.review(self._connection, reviews)
            writing.require_all(len(took), len(reviews))
        return messages


@dataclass(frozen=True, slots=True)
class PostgresOutboxRepository:
    """An ``OutboxRepository`` on *pool*; safe to share between threads."""

    pool: Pool
    _search: UntriedSearch = field(default_factory=UntriedSearch)

    def rehearse(self) -> None:
        """See ``OutboxRepository.rehearse``."""
        with transaction(self.pool) as connection:
            rehearse(connection)

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        """See ``OutboxRepository.some_mapped_accounts``."""
        with transaction(self.pool) as connection:
            return _some_mapped_accounts(connection, limit)

    def claim(self, *, limit: int) -> AbstractContextManager[ClaimedBatch]:
        """See ``OutboxRepository.claim``."""
        return self._claim(limit)

    @contextmanager
    def _claim(self, limit: int) -> Iterator[ClaimedBatch]:
        with transaction(self.pool) as connection:
            held = lock_due(connection, limit=limit, search=self._search)
            yield PostgresClaimedBatch(connection, read_held(connection, held))


def _some_mapped_accounts(connection: BoundedConnection, limit: int) -> list[AccountId]:
    rows = connection.execute(
        "SELECT tb_account_id FROM pm.tb_account_map WHERE tb_account_id IS NOT NULL"
        " ORDER BY code LIMIT %s",
        [limit],
    ).fetchall()
    return [AccountId(account_id.int) for (account_id,) in rows]
