"""Write a recorded ledger program as ``tests.ledger_recordings`` reads it: one line of JSON."""

import json
from dataclasses import fields
from typing import Any, Final

from domain.transfers import Account, Transfer
from tests.ledger_programs import (
    Answers,
    CreateAccounts,
    Program,
    Step,
    Wait,
)

_EXACT_MAX: Final = 2**53
"""Greater integers are written as strings: not every reader of JSON keeps them exact."""

_WIRE_NAMES: Final = {"timeout_s": "timeout", "timestamp_ns": "timestamp"}


def line_of(name: str, program: Program, answers: Answers) -> str:
    """Return the line without its end; fields of 0 are left out of accounts and transfers."""
    steps = zip(program.steps, answers.statuses, strict=True)
    return json.dumps(
        {
            "name": name,
            "accounts": list(map(_record, program.accounts)),
            "steps": [_step(step, statuses) for step, statuses in steps],
            "final": {
                "accounts": list(map(_record, answers.records.accounts)),
                "transfers": list(map(_record, answers.records.transfers)),
                "resolutions": [list(map(_number, ids)) for ids in answers.records.resolutions],
            },
        },
        separators=(",", ":"),
    )


def _step(step: Step, statuses: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(step, Wait):
        return {"wait_s": step.duration_ns / 1e9}
    request = "create_accounts" if isinstance(step, CreateAccounts) else "create_transfers"
    return {request: list(map(_record, step.events)), "statuses": list(statuses)}


def _record(record: Account | Transfer) -> dict[str, int | str]:
    values = {field.name: int(getattr(record, field.name)) for field in fields(record)}
    return {
        _WIRE_NAMES.get(name, name): _number(value) for name, value in values.items() if value != 0
    }


def _number(value: int) -> int | str:
    return value if value < _EXACT_MAX else str(value)
