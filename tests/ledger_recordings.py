"""Read recorded ledger programs from a file: one a line, as JSON.

It is strict: a program that was not understood must not pass for one that agrees.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from adapters.memory.ledger_ranges import misfits
from domain.chains import REQUEST_EVENTS_MAX
from domain.transfers import (
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)
from tests.ledger_programs import (
    BALANCES,
    AccountEnd,
    Balances,
    CreateAccounts,
    CreateTransfers,
    Program,
    Recording,
    Records,
    Step,
    Wait,
)

_ACCOUNT_FIELDS: Final = frozenset(
    {
        "id",
        *BALANCES,
        "user_data_128",
        "user_data_64",
        "user_data_32",
        "ledger",
        "code",
        "flags",
        "timestamp",
    }
)
_TRANSFER_FIELDS: Final = frozenset(
    {
        "id",
        "debit_account_id",
        "credit_account_id",
        "amount",
        "pending_id",
        "user_data_128",
        "user_data_64",
        "user_data_32",
        "timeout",
        "ledger",
        "code",
        "flags",
        "timestamp",
    }
)


class MalformedProgramError(ValueError):
    """A line that is no ledger program."""


def read_recordings(path: Path) -> Iterator[Recording]:
    """Yield the recordings of a file in their order; empty lines are skipped.

    Raises:
        MalformedProgramError: with the line's number and what is wrong with it.
        OSError: the file cannot be read.
    """
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield _recording(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise MalformedProgramError(f"line {number}: {error}") from error


def _recording(value: object) -> Recording:
    recording = _object(value, "the program")
    final = _object(_field(recording, "final"), "final")
    name = _field(recording, "name")
    if not isinstance(name, str):
        raise ValueError("name is no string")
    accounts = _accounts(_field(recording, "accounts"), "accounts")
    _check_size(accounts)
    steps = [_step(item) for item in _list(_field(recording, "steps"), "steps")]
    return Recording(
        name=name,
        program=Program(accounts=accounts, steps=tuple(step for step, _ in steps)),
        statuses=tuple(statuses for _, statuses in steps),
        end=_records(final) if "transfers" in final else _balances(final),
    )


def _balances(final: Mapping[str, object]) -> Balances:
    balances = _object(_field(final, "balances"), "final.balances")
    amounts = _object(_field(final, "transfer_amounts"), "final.transfer_amounts")
    return Balances(
        accounts={
            AccountId(_integer(id_, "an account's id")): _account_end(end)
            for id_, end in balances.items()
        },
        transfer_amounts={
            TransferId(_integer(id_, "a transfer's id")): _integer(amount, "an amount")
            for id_, amount in amounts.items()
        },
    )


def _records(final: Mapping[str, object]) -> Records:
    resolutions = _list(_field(final, "resolutions"), "final.resolutions")
    return Records(
        accounts=_accounts(_field(final, "accounts"), "final.accounts"),
        transfers=_transfers(_field(final, "transfers"), "final.transfers"),
        resolutions=tuple(
            tuple(TransferId(_integer(id_, "a transfer's id")) for id_ in _list(ids, "an answer"))
            for ids in resolutions
        ),
    )


def _accounts(value: object, what: str) -> tuple[Account, ...]:
    return tuple(_account(item) for item in _list(value, what))


def _transfers(value: object, what: str) -> tuple[Transfer, ...]:
    return tuple(_transfer(item) for item in _list(value, what))


def _account(value: object) -> Account:
    fields = _integers(value, _ACCOUNT_FIELDS, "an account")
    account = Account(
        id=AccountId(fields.get("id", 0)),
        debits_pending=fields.get("debits_pending", 0),
        debits_posted=fields.get("debits_posted", 0),
        credits_pending=fields.get("credits_pending", 0),
        credits_posted=fields.get("credits_posted", 0),
        user_data_128=fields.get("user_data_128", 0),
        user_data_64=fields.get("user_data_64", 0),
        user_data_32=fields.get("user_data_32", 0),
        ledger=fields.get("ledger", 0),
        code=fields.get("code", 0),
        flags=AccountFlags(fields.get("flags", 0)),
        timestamp_ns=fields.get("timestamp", 0),
    )
    _check_range(account)
    return account


def _transfer(value: object) -> Transfer:
    fields = _integers(value, _TRANSFER_FIELDS, "a transfer")
    transfer = Transfer(
        id=TransferId(fields.get("id", 0)),
        debit_account_id=AccountId(fields.get("debit_account_id", 0)),
        credit_account_id=AccountId(fields.get("credit_account_id", 0)),
        amount=fields.get("amount", 0),
        pending_id=TransferId(fields.get("pending_id", 0)),
        user_data_128=fields.get("user_data_128", 0),
        user_data_64=fields.get("user_data_64", 0),
        user_data_32=fields.get("user_data_32", 0),
        timeout_s=fields.get("timeout", 0),
        ledger=fields.get("ledger", 0),
        code=fields.get("code", 0),
        flags=TransferFlags(fields.get("flags", 0)),
        timestamp_ns=fields.get("timestamp", 0),
    )
    _check_range(transfer)
    return transfer


def _step(value: object) -> tuple[Step, tuple[str, ...]]:
    """Return the step and the statuses that answered it."""
    fields = _object(value, "a step")
    if fields.keys() == {"wait_s"}:
        return Wait(_duration_ns(fields["wait_s"])), ()
    step: CreateAccounts | CreateTransfers
    if fields.keys() == {"create_accounts", "statuses"}:
        step = CreateAccounts(_accounts(fields["create_accounts"], "create_accounts"))
    elif fields.keys() == {"create_transfers", "statuses"}:
        step = CreateTransfers(_transfers(fields["create_transfers"], "create_transfers"))
    else:
        raise ValueError(f"a step of unknown kind: {', '.join(sorted(fields))}")
    _check_size(step.events)
    listed = _list(fields["statuses"], "statuses")
    statuses = tuple(status for status in listed if isinstance(status, str))
    if len(statuses) != len(step.events):
        raise ValueError(f"{len(step.events)} {step.noun} with {len(statuses)} statuses")
    return step, statuses


def _duration_ns(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("wait_s is no number")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"wait_s is {value}")
    return round(value * 1e9)


def _account_end(value: object) -> AccountEnd:
    end = _object(value, "an account's end")
    closed = _field(end, "closed")
    if not isinstance(closed, bool):
        raise ValueError("closed is no boolean")
    amounts = {name: _integer(_field(end, name), name) for name in BALANCES}
    return AccountEnd(**amounts, closed=closed)


def _check_range(record: Account | Transfer) -> None:
    if names := misfits(record):
        raise ValueError(f"out of range: {', '.join(names)}")


def _check_size(events: Sequence[object]) -> None:
    if len(events) > REQUEST_EVENTS_MAX:
        raise ValueError(f"{len(events)} events in one request")


def _integers(value: object, known: frozenset[str], what: str) -> dict[str, int]:
    fields = _object(value, what)
    if unknown := fields.keys() - known:
        raise ValueError(f"{what} has unknown fields: {', '.join(sorted(unknown))}")
    return {name: _integer(number, name) for name, number in fields.items()}


def _integer(value: object, what: str) -> int:
    """Return an integer that may be written as a decimal string, as numbers over 2^53 are."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    raise ValueError(f"{what} is no integer")


def _object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no JSON object")
    return value


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is no JSON array")
    return value


def _field(fields: Mapping[str, object], name: str) -> object:
    if name not in fields:
        raise ValueError(f"{name} is missing")
    return fields[name]
