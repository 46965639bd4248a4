"""Accounts on an in-memory ledger whose time is that of the machine."""

from dataclasses import dataclass

from domain.transfers import TransferId
from entrypoints.sandbox.waiting import wait_until
from tests.unit.memory.memory_bank import MemoryBank


@dataclass(frozen=True, slots=True)
class PatientBank(MemoryBank):
    """A bank that really waits: its ledger's time is the database's."""

    def wait_expired(self, pending_id: TransferId) -> None:
        (pending,) = self.ledger.lookup_transfers([pending_id])
        payer = pending.debit_account_id
        wait_until(
            lambda: self.balances(payer).debits_pending == 0,
            timeout_s=30.0,
            what="the pending transfer has expired",
        )
