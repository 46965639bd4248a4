"""When an account is created, in TigerBeetle's order of checks."""

from dataclasses import replace
from typing import Final

from adapters.memory.ledger_account_status import AccountStatus
from adapters.memory.ledger_checks import first_failure
from adapters.memory.ledger_request import EventRules
from adapters.memory.ledger_state import LedgerState
from domain.transfers import U128_MAX, Account, AccountFlags

_KNOWN_FLAGS: Final = 2**6 - 1
_BOTH_LIMITS: Final = (
    AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS | AccountFlags.CREDITS_MUST_NOT_EXCEED_DEBITS
)


def _create_account(state: LedgerState, account: Account, event_ns: int) -> AccountStatus:
    failure = first_failure(
        (account.flags & ~_KNOWN_FLAGS != 0, AccountStatus.RESERVED_FLAG),
        (account.id == 0, AccountStatus.ID_MUST_NOT_BE_ZERO),
        (account.id == U128_MAX, AccountStatus.ID_MUST_NOT_BE_INT_MAX),
    )
    if failure is not None:
        return failure
    if (existing := state.accounts.get(account.id)) is not None:
        return _compare(account, existing)
    failure = _check_new(state, account)
    if failure is not None:
        return failure
    imported = account.flags & AccountFlags.IMPORTED
    state.insert_account(
        replace(account, timestamp_ns=account.timestamp_ns if imported else event_ns)
    )
    return AccountStatus.CREATED


def _compare(sent: Account, existing: Account) -> AccountStatus:
    # CLOSED is compared as it is now: closing an account changes the answer to a replay.
    return (
        first_failure(
            (sent.flags != existing.flags, AccountStatus.EXISTS_WITH_DIFFERENT_FLAGS),
            (
                sent.user_data_128 != existing.user_data_128,
                AccountStatus.EXISTS_WITH_DIFFERENT_USER_DATA_128,
            ),
            (
                sent.user_data_64 != existing.user_data_64,
                AccountStatus.EXISTS_WITH_DIFFERENT_USER_DATA_64,
            ),
            (
                sent.user_data_32 != existing.user_data_32,
                AccountStatus.EXISTS_WITH_DIFFERENT_USER_DATA_32,
            ),
            (sent.ledger != existing.ledger, AccountStatus.EXISTS_WITH_DIFFERENT_LEDGER),
            (sent.code != existing.code, AccountStatus.EXISTS_WITH_DIFFERENT_CODE),
        )
        or AccountStatus.EXISTS
    )


def _check_new(state: LedgerState, account: Account) -> AccountStatus | None:
    regresses = bool(account.flags & AccountFlags.IMPORTED) and (
        account.timestamp_ns <= state.latest_account_ns
        or account.timestamp_ns in state.transfers_by_timestamp
    )
    return first_failure(
        (account.flags & _BOTH_LIMITS == _BOTH_LIMITS, AccountStatus.FLAGS_ARE_MUTUALLY_EXCLUSIVE),
        (account.debits_pending != 0, AccountStatus.DEBITS_PENDING_MUST_BE_ZERO),
        (account.debits_posted != 0, AccountStatus.DEBITS_POSTED_MUST_BE_ZERO),
        (account.credits_pending != 0, AccountStatus.CREDITS_PENDING_MUST_BE_ZERO),
        (account.credits_posted != 0, AccountStatus.CREDITS_POSTED_MUST_BE_ZERO),
        (account.ledger == 0, AccountStatus.LEDGER_MUST_NOT_BE_ZERO),
        (account.code == 0, AccountStatus.CODE_MUST_NOT_BE_ZERO),
        (regresses, AccountStatus.IMPORTED_EVENT_TIMESTAMP_MUST_NOT_REGRESS),
    )


def _burn_nothing(_state: LedgerState, _account: Account, _status: AccountStatus) -> None:
    """A refused account may be sent again with the same id."""


ACCOUNT_RULES: Final = EventRules(
    statuses=AccountStatus,
    imported_flag=AccountFlags.IMPORTED,
    create=_create_account,
    burn=_burn_nothing,
)
