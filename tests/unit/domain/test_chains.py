"""How transfers become a chain, and which chains are never sent."""

from dataclasses import fields, replace
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tigerbeetle.bindings import CTransfer

from domain.chains import FIELD_BITS, chain_fault, close_chain, is_unsigned
from domain.transfers import Transfer, TransferFlags, TransferId
from tests.helpers.transfer_strategies import transfers

LINKED = TransferFlags.LINKED


def members(count: int, *, flags: TransferFlags = TransferFlags.NONE) -> list[Transfer]:
    return [Transfer(id=TransferId(number + 1), flags=flags) for number in range(count)]


def chain_of(*flags: TransferFlags) -> list[Transfer]:
    return [Transfer(id=TransferId(i + 1), flags=flag) for i, flag in enumerate(flags)]


@pytest.mark.parametrize("length", [1, 2, 3, 10])
@pytest.mark.parametrize(
    "flags", [TransferFlags.POST_PENDING_TRANSFER, TransferFlags.VOID_PENDING_TRANSFER]
)
def test_all_members_of_a_chain_but_the_last_are_linked(length: int, flags: TransferFlags) -> None:
    before = members(length, flags=flags)

    chain = close_chain(before)

    assert [member.flags for member in chain] == [*[flags | LINKED] * (length - 1), flags]
    assert [replace(member, flags=flags) for member in chain] == before


@given(st.lists(transfers, min_size=1, max_size=4))
def test_closing_a_chain_changes_nothing_but_the_links(before: list[Transfer]) -> None:
    *linked, last = close_chain(before)

    assert linked == [replace(member, flags=member.flags | LINKED) for member in before[:-1]]
    assert last == before[-1]


@given(st.integers(min_value=1, max_value=50))
def test_a_chain_that_was_closed_can_be_sent(length: int) -> None:
    assert chain_fault(close_chain(members(length))) is None


@pytest.mark.parametrize(
    ("chain", "fault"),
    [
        ([], "an empty chain"),
        (chain_of(LINKED), "an open chain: the last member is linked"),
        (chain_of(LINKED, LINKED), "an open chain: the last member is linked"),
        (
            chain_of(TransferFlags.NONE, LINKED),
            "an open chain: the last member is linked",
        ),
        (
            chain_of(TransferFlags.NONE, TransferFlags.NONE),
            "a torn chain: member 0 is not linked",
        ),
        (
            chain_of(LINKED, TransferFlags.NONE, TransferFlags.NONE),
            "a torn chain: member 1 is not linked",
        ),
        (chain_of(TransferFlags.IMPORTED), "member 0: an import"),
        (chain_of(LINKED, TransferFlags.IMPORTED), "member 1: an import"),
    ],
)
def test_what_is_no_closed_chain_is_not_sent(chain: list[Transfer], fault: str) -> None:
    assert chain_fault(chain) == fault


def test_every_field_of_a_transfer_is_as_wide_as_in_the_official_client() -> None:
    theirs = {name: 8 * getattr(CTransfer, name).size for name, *_ in CTransfer._fields_}

    assert set(FIELD_BITS) == {field.name for field in fields(Transfer)}
    assert {
        name.removesuffix("_ns").removesuffix("_s"): bits for name, bits in FIELD_BITS.items()
    } == theirs


@pytest.mark.parametrize(("name", "bits"), FIELD_BITS.items())
def test_a_value_that_does_not_fit_is_a_fault_of_its_chain(name: str, bits: int) -> None:
    first, last = close_chain(members(2))

    def fault_of(value: Any) -> str | None:
        return chain_fault([first, replace(last, **{name: value})])

    for value in (-1, 2**bits, 1.0, "1", None, True):
        assert fault_of(value) == (
            f"member 1: {name} is no unsigned integer of {bits} bits: {type(value).__name__}"
        )
    if name != "flags":
        assert fault_of(0) is None
        assert fault_of(2**bits - 1) is None


class Number(IntEnum):
    """Integers of another type."""

    ONE = 1
    MANY = 2**16


odd_values = (
    st.integers()
    | st.integers(-(2**130), 2**130)
    | st.sampled_from([2**bits + by for bits in (16, 32, 64, 128) for by in (-1, 0, 1)])
    | st.booleans()
    | st.floats()
    | st.sampled_from([None, "1", b"1", *Number])
)


@given(transfers, st.dictionaries(st.sampled_from(sorted(FIELD_BITS)), odd_values, max_size=3))
def test_a_transfer_is_sent_just_when_every_value_is_an_unsigned_integer_of_its_width(
    transfer: Transfer, odd: dict[str, Any]
) -> None:
    transfer = replace(transfer, flags=transfer.flags & ~(LINKED | TransferFlags.IMPORTED))
    misfits = [name for name, value in odd.items() if not is_unsigned(value, FIELD_BITS[name])]
    odd_flags = odd.get("flags", 0)
    assume("flags" in misfits or not int(odd_flags) & (LINKED | TransferFlags.IMPORTED))

    fault = chain_fault([replace(transfer, **odd)])

    if misfits:
        first = min(misfits, key=list(FIELD_BITS).index)
        assert fault is not None
        assert fault.startswith(f"member 0: {first} is no unsigned integer")
    else:
        assert fault is None


@given(st.integers(), st.integers(min_value=1, max_value=128))
def test_an_integer_is_unsigned_when_its_bits_hold_it(value: int, bits: int) -> None:
    assert is_unsigned(value, bits) is (0 <= value <= 2**bits - 1)


@pytest.mark.parametrize("value", [True, False, 0.0, "0", None, b"\x00"])
def test_what_only_acts_as_an_integer_is_none(value: object) -> None:
    assert not is_unsigned(value, 128)
