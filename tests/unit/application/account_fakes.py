"""Fakes of the ports that the accounts' probe reads."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from adapters.memory.ledger import InMemoryLedger
from application.errors import LedgerUnavailableError, OutboxError
from domain.fees import AccountCode, MappedAccount
from domain.transfers import Account, AccountId


@dataclass(slots=True)
class FakeAccountMap:
    """Implements ``AccountMap``."""

    rows: dict[AccountCode, MappedAccount] = field(default_factory=dict)
    fault: OutboxError | None = None

    def read(
        self, *, first: Collection[AccountCode], limit: int
    ) -> Mapping[AccountCode, MappedAccount]:
        if self.fault is not None:
            raise self.fault
        codes = sorted(self.rows, key=lambda code: (code not in first, code))
        return {code: self.rows[code] for code in codes[:limit]}


@dataclass(slots=True)
class FakeLedgerAccounts:
    """Implements ``LedgerAccounts`` on an in-memory ledger; counts its calls."""

    ledger: InMemoryLedger
    fault: OutboxError | None = None
    calls: int = 0

    def lookup_accounts(self, ids: Collection[AccountId]) -> Mapping[AccountId, Account]:
        self.calls += 1
        if self.fault is not None:
            raise self.fault
        return self.ledger.lookup_accounts(ids)

    def close(self) -> None:
        self.fault = LedgerUnavailableError("the ledger was closed")
