"""What the in-memory ledger holds, and how a broken chain is undone.

Only this module changes the tables; the rules in the modules beside it read them and
decide. Records are immutable, so undoing is putting the former record back.
"""

import heapq
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from typing import TypeVar

from domain.transfers import (
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
    expires_at_ns,
)

K = TypeVar("K")
V = TypeVar("V")


class PendingState(Enum):
    """What became of a pending transfer; its own record never tells."""

    OPEN = auto()
    POSTED = auto()
    VOIDED = auto()
    EXPIRED = auto()


class LedgerState:
    """Accounts, transfers, burned ids, and the state of each pending transfer.

    Both tables are in ascending order of timestamps: an import may not lie before what
    is there already, and all else is stamped by a clock that only goes forward.
    """

    def __init__(self) -> None:
        self.accounts: dict[AccountId, Account] = {}
        self.transfers: dict[TransferId, Transfer] = {}
        self.burned_ids: set[TransferId] = set()
        self.pending_states: dict[TransferId, PendingState] = {}
        self.resolved_by: dict[TransferId, TransferId] = {}
        self.accounts_by_timestamp: dict[int, AccountId] = {}
        self.transfers_by_timestamp: dict[int, TransferId] = {}
        self.ids_by_user_data_128: dict[int, dict[TransferId, None]] = {}
        self._expiries: list[tuple[int, TransferId]] = []
        self._undo: list[Callable[[], object]] = []

    @property
    def latest_account_ns(self) -> int:
        """The greatest timestamp of an account; 0 without accounts."""
        return next(reversed(self.accounts_by_timestamp), 0)

    @property
    def latest_transfer_ns(self) -> int:
        """The greatest timestamp of a transfer; 0 without transfers."""
        return next(reversed(self.transfers_by_timestamp), 0)

    def insert_account(self, account: Account) -> None:
        """Add an account that is not there yet."""
        self._put(self.accounts, account.id, account)
        self._put(self.accounts_by_timestamp, account.timestamp_ns, account.id)

    def insert_transfer(self, transfer: Transfer) -> None:
        """Add a transfer that is not there yet; move its money, close its accounts."""
        self._record(transfer)
        debit = self.accounts[transfer.debit_account_id]
        credit = self.accounts[transfer.credit_account_id]
        if transfer.flags & TransferFlags.PENDING:
            self._put(self.pending_states, transfer.id, PendingState.OPEN)
            if (expires_at := expires_at_ns(transfer)) is not None:
                heapq.heappush(self._expiries, (expires_at, transfer.id))
            debit = replace(debit, debits_pending=debit.debits_pending + transfer.amount)
            credit = replace(credit, credits_pending=credit.credits_pending + transfer.amount)
        else:
            debit = replace(debit, debits_posted=debit.debits_posted + transfer.amount)
            credit = replace(credit, credits_posted=credit.credits_posted + transfer.amount)
        if transfer.flags & TransferFlags.CLOSING_DEBIT:
            debit = replace(debit, flags=debit.flags | AccountFlags.CLOSED)
        if transfer.flags & TransferFlags.CLOSING_CREDIT:
            credit = replace(credit, flags=credit.flags | AccountFlags.CLOSED)
        self._update(debit, credit)

    def post(self, pending: Transfer, posting: Transfer) -> None:
        """Add *posting*: release what *pending* reserves and move the posting's amount."""
        self._record(posting)
        self._put(self.resolved_by, pending.id, posting.id)
        self._release(pending, PendingState.POSTED)
        debit = self.accounts[pending.debit_account_id]
        credit = self.accounts[pending.credit_account_id]
        self._update(
            replace(debit, debits_posted=debit.debits_posted + posting.amount),
            replace(credit, credits_posted=credit.credits_posted + posting.amount),
        )

    def void(self, pending: Transfer, voiding: Transfer) -> None:
        """Add *voiding*: release what *pending* reserves, reopen what it closed."""
        self._record(voiding)
        self._put(self.resolved_by, pending.id, voiding.id)
        self._release(pending, PendingState.VOIDED)

    def expire(self, now_ns: int) -> None:
        """Release every open pending transfer whose time has come by *now_ns*."""
        while self._expiries and self._expiries[0][0] <= now_ns:
            due_ns, pending_id = heapq.heappop(self._expiries)
            pending = self.transfers.get(pending_id)
            # A transfer of a broken chain leaves its entry behind, and may come again later.
            if pending is None or expires_at_ns(pending) != due_ns:
                continue
            if self.pending_states[pending_id] is PendingState.OPEN:
                self._release(pending, PendingState.EXPIRED)
        self.keep()

    def keep(self) -> None:
        """Make all changes final."""
        self._undo.clear()

    def roll_back(self) -> None:
        """Undo all changes since the last ``keep``; burned ids stay burned."""
        while self._undo:
            self._undo.pop()()

    def _record(self, transfer: Transfer) -> None:
        self._put(self.transfers, transfer.id, transfer)
        self._put(self.transfers_by_timestamp, transfer.timestamp_ns, transfer.id)
        same_data = self.ids_by_user_data_128.setdefault(transfer.user_data_128, {})
        self._put(same_data, transfer.id, None)

    def _release(self, pending: Transfer, state: PendingState) -> None:
        self._put(self.pending_states, pending.id, state)
        debit = self.accounts[pending.debit_account_id]
        credit = self.accounts[pending.credit_account_id]
        debit = replace(debit, debits_pending=debit.debits_pending - pending.amount)
        credit = replace(credit, credits_pending=credit.credits_pending - pending.amount)
        if pending.flags & TransferFlags.CLOSING_DEBIT:
            debit = replace(debit, flags=debit.flags & ~AccountFlags.CLOSED)
        if pending.flags & TransferFlags.CLOSING_CREDIT:
            credit = replace(credit, flags=credit.flags & ~AccountFlags.CLOSED)
        self._update(debit, credit)

    def _update(self, *accounts: Account) -> None:
        for account in accounts:
            self._put(self.accounts, account.id, account)

    def _put(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            self._undo.append(partial(table.__setitem__, key, table[key]))
        else:
            self._undo.append(partial(table.__delitem__, key))
        table[key] = value
