"""How requests and answers of a remote in-memory ledger look in JSON, numbers exact."""

from collections.abc import Sequence
from dataclasses import astuple, fields
from itertools import islice
from typing import Any, Final
from uuid import UUID

from application.ports.fee_scan import FeeScan
from application.ports.ledger import Ledger
from domain.intents import IntentId
from domain.ledger_requests import ChainAnswer, ChainRefused, ResolutionSearch, SearchAnswer
from domain.transfer_status import status_of
from domain.transfers import (
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)

_FIELDS: Final = tuple(field.name for field in fields(Transfer))
_ACCOUNT_FIELDS: Final = tuple(field.name for field in fields(Account))

FEE_PAGE_TRANSFERS: Final = 1_000

Packed = Sequence[int]


def pack(record: Transfer | Account) -> Packed:
    """Return the fields' values in their order."""
    return [int(value) for value in astuple(record)]


def unpack(packed: Packed) -> Transfer:
    """Reverse ``pack`` of a transfer."""
    values: dict[str, Any] = dict(zip(_FIELDS, packed, strict=True))
    return Transfer(**values | {"flags": TransferFlags(values["flags"])})


def unpack_account(packed: Packed) -> Account:
    """Reverse ``pack`` of an account."""
    values: dict[str, Any] = dict(zip(_ACCOUNT_FIELDS, packed, strict=True))
    return Account(**values | {"flags": AccountFlags(values["flags"])})


def pack_search(search: ResolutionSearch) -> dict[str, Any]:
    """Return *search* as an object."""
    return {
        "intent_id": str(search.intent_id),
        "pendings": list(map(pack, search.pendings)),
        "fee_code": search.fee_code,
        "fee_credit_account_id": search.fee_credit_account_id,
    }


def unpack_chain_answer(packed: Any) -> ChainAnswer:
    """Reverse what ``answer`` makes of the answer to a chain."""
    if isinstance(packed, str):
        return ChainRefused(packed)
    return tuple(map(status_of, packed))


def unpack_search_answer(packed: Any) -> SearchAnswer:
    """Reverse what ``answer`` makes of the answer to a search."""
    transfers, has_all_resolvers, has_all_fees = packed
    return SearchAnswer(
        tuple(map(unpack, transfers)),
        has_all_resolvers=has_all_resolvers,
        has_all_fees=has_all_fees,
    )


def answer(ledger: Ledger, request: Any) -> Any:
    """Carry *request*, a method's name and its argument, out and pack the answer."""
    match request:
        case ["create_chains", chains]:
            sent = [tuple(map(unpack, chain)) for chain in chains]
            return list(map(_pack_chain_answer, ledger.create_chains(sent)))
        case ["lookup", ids]:
            return list(map(pack, ledger.lookup(list(map(TransferId, ids))).values()))
        case ["lookup_accounts", ids]:
            return list(map(pack, ledger.lookup_accounts(list(map(AccountId, ids))).values()))
        case ["find_resolutions", search]:
            found = ledger.find_resolutions(_unpack_search(search))
            transfers = list(map(pack, found.transfers))
            return [transfers, found.has_all_resolvers, found.has_all_fees]
        case _:
            raise ValueError(f"no such request: {request!r}")


def fee_page(fee_scan: FeeScan, code: int, since_ns: int) -> list[Packed]:
    """Return the first transfers that *fee_scan* finds, packed; none at its end."""
    found = fee_scan.transfers_of_code(code, since_ns=since_ns)
    return list(map(pack, islice(found, FEE_PAGE_TRANSFERS)))


def _pack_chain_answer(answer: ChainAnswer) -> str | list[int]:
    if isinstance(answer, ChainRefused):
        return answer.detail
    return [int(getattr(status, "code", status)) for status in answer]  # type: ignore[arg-type]


def _unpack_search(packed: dict[str, Any]) -> ResolutionSearch:
    account_id = packed["fee_credit_account_id"]
    return ResolutionSearch(
        intent_id=IntentId(UUID(packed["intent_id"])),
        pendings=tuple(map(unpack, packed["pendings"])),
        fee_code=packed["fee_code"],
        fee_credit_account_id=None if account_id is None else AccountId(account_id),
    )
