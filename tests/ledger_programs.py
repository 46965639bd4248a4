"""Ledger programs: requests sent one after the other, and how a ledger answered them.

Ids are small here; whoever runs a program on a server that keeps everything gives it new
ones. So it is with time: see ``Program``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from domain.transfers import Account, AccountId, Transfer, TransferId

BALANCES: Final = ("debits_pending", "debits_posted", "credits_pending", "credits_posted")

LATEST_NS: Final = 1_000
"""As a timestamp to send: that of the latest account or transfer before the request."""

RELATIVE_NS_MAX: Final = 2_000
"""Timestamps from 1 to here are sent relative to that; 0 and greater ones as they are."""


@dataclass(frozen=True, slots=True)
class CreateAccounts:
    """One request that creates accounts."""

    noun: ClassVar = "accounts"
    accounts: tuple[Account, ...]

    @property
    def events(self) -> Sequence[Account]:
        """The accounts, by the name that both kinds of requests share."""
        return self.accounts


@dataclass(frozen=True, slots=True)
class CreateTransfers:
    """One request that creates transfers."""

    noun: ClassVar = "transfers"
    transfers: tuple[Transfer, ...]

    @property
    def events(self) -> Sequence[Transfer]:
        """The transfers, by the name that both kinds of requests share."""
        return self.transfers


@dataclass(frozen=True, slots=True)
class Wait:
    """Time that passes between two requests."""

    duration_ns: int


Step = CreateAccounts | CreateTransfers | Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is sent: accounts that are sure to be created, then the steps.

    A timestamp of 1 to ``RELATIVE_NS_MAX`` ns is relative: ``LATEST_NS`` stands for the
    timestamp of the program's latest record.
    """

    accounts: tuple[Account, ...]
    steps: tuple[Step, ...]

    @property
    def account_ids(self) -> tuple[AccountId, ...]:
        """Every account id that the program mentions, once, in the order of mention."""
        return tuple(dict.fromkeys(self._account_ids()))

    @property
    def transfer_ids(self) -> tuple[TransferId, ...]:
        """Every transfer id that the program mentions, once, in the order of mention."""
        return tuple(
            dict.fromkeys(
                id_ for transfer in self.transfers for id_ in (transfer.id, transfer.pending_id)
            )
        )

    @property
    def transfers(self) -> Iterator[Transfer]:
        """All transfers that are sent, with those that are sent again."""
        for step in self.steps:
            if isinstance(step, CreateTransfers):
                yield from step.transfers

    def _account_ids(self) -> Iterator[AccountId]:
        yield from (account.id for account in self.accounts)
        for step in self.steps:
            if isinstance(step, CreateAccounts):
                yield from (account.id for account in step.accounts)
        for transfer in self.transfers:
            yield transfer.debit_account_id
            yield transfer.credit_account_id


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountEnd:
    """How an account stood at the end."""

    debits_pending: int
    debits_posted: int
    credits_pending: int
    credits_posted: int
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Balances:
    """The end of a program as older recordings tell it."""

    accounts: Mapping[AccountId, AccountEnd]
    transfer_amounts: Mapping[TransferId, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The end of a program as look-ups show it.

    Accounts and transfers are in the order asked for. Their timestamps begin with 0 and keep
    order, equality and short gaps, all that two ledgers can agree upon. ``resolutions`` has the
    ids that each search found.
    """

    accounts: tuple[Account, ...]
    transfers: tuple[Transfer, ...]
    resolutions: tuple[tuple[TransferId, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """All that a ledger answered: the statuses of each step (of a wait none), and the end."""

    statuses: tuple[tuple[str, ...], ...]
    records: Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A program and what a real server answered."""

    name: str
    program: Program
    statuses: tuple[tuple[str, ...], ...]
    end: Balances | Records
