"""``pm.tb_account_map``, read over a connection of its own for whoever checks it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from adapters.postgres.probe_connection import probe_connection
from application.errors import DatabaseMisconfiguredError
from domain.fees import AccountCode, MappedAccount
from domain.transfers import AccountId


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAccountMap:
    """An ``AccountMap``; connecting and each answer take *timeout_s* at most."""

    dsn: str
    timeout_s: float

    def read(
        self, *, first: Collection[AccountCode], limit: int
    ) -> Mapping[AccountCode, MappedAccount]:
        """See ``AccountMap.read``."""
        with probe_connection(self.dsn, timeout_s=self.timeout_s) as connection:
            rows = connection.execute(
                "SELECT code, tb_account_id, ledger FROM pm.tb_account_map"
                " ORDER BY code = ANY(%s::text[]) DESC, code LIMIT %s",
                [list(first), limit],
            ).fetchall()
        if any(not isinstance(account_id, UUID) for _, account_id, _ in rows):
            raise DatabaseMisconfiguredError("pm.tb_account_map.tb_account_id has not type uuid")
        return {
            code: MappedAccount(account_id=AccountId(account_id.int), ledger=ledger)
            for code, account_id, ledger in rows
        }
