"""Chains of linked transfers: TigerBeetle applies all of a chain, or none.

A chain whose last member keeps ``LINKED`` is open, and would merge with whatever follows it
in its request. So a chain is closed anew for the members at hand, and looked at once more
before it is sent.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter, rshift
from typing import Final

from domain.transfers import Transfer, TransferFlags

REQUEST_EVENTS_MAX: Final = 8_189
"""Events that one request takes in TigerBeetle's default configuration."""

FIELD_BITS: Final[Mapping[str, int]] = {
    "id": 128,
    "debit_account_id": 128,
    "credit_account_id": 128,
    "amount": 128,
    "pending_id": 128,
    "user_data_128": 128,
    "user_data_64": 64,
    "user_data_32": 32,
    "timeout_s": 32,
    "ledger": 32,
    "code": 16,
    "flags": 16,
    "timestamp_ns": 64,
}
"""How wide each field of a transfer is on the wire."""

_field_values: Final = attrgetter(*FIELD_BITS)
_WIDTHS: Final = tuple(FIELD_BITS.values())
_INTEGERS: Final = frozenset({int, TransferFlags})

# As plain integers: the operators of flags are slow, and every transfer is looked at.
_LINKED: Final = TransferFlags.LINKED.value
_IMPORTED: Final = TransferFlags.IMPORTED.value


def close_chain(members: Sequence[Transfer]) -> tuple[Transfer, ...]:
    """Link *members*, of which none is linked yet, into one chain: all but the last."""
    *linked, last = members
    return (*[member.linked() for member in linked], last)


def chain_fault(chain: Sequence[Transfer]) -> str | None:
    """Return why *chain* cannot be sent as one chain, whatever the ledger's state; or None.

    TigerBeetle's client checks ranges for a whole request at once, wraps flags silently and
    takes ``True`` for 1; here a fault costs its own chain only. An import would decide how
    all chains of its request are taken, so there is none.
    """
    if not chain:
        return "an empty chain"
    linked = []
    for position, member in enumerate(chain):
        fault = _field_fault(member)
        if fault is not None:
            return f"member {position}: {fault}"
        flags = int(member.flags)
        if flags & _IMPORTED:
            return f"member {position}: an import"
        linked.append(flags & _LINKED)
    if linked.pop():
        return "an open chain: the last member is linked"
    if not all(linked):
        return f"a torn chain: member {linked.index(0)} is not linked"
    return None


def is_unsigned(value: object, bits: int) -> bool:
    """Is *value* an integer that *bits* bits hold, and nothing that merely acts as one?"""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << bits


def _field_fault(member: Transfer) -> str | None:
    values = _field_values(member)
    # The usual case, quickly. Of a number that fits, nothing is left beyond its bits; of a
    # negative one, always something.
    if _INTEGERS.issuperset(map(type, values)) and not any(map(rshift, values, _WIDTHS)):
        return None
    for name, bits in FIELD_BITS.items():
        value = getattr(member, name)
        if not is_unsigned(value, bits):
            return f"{name} is no unsigned integer of {bits} bits: {type(value).__name__}"
    return None
