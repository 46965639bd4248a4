"""Transfers and ids as bytes: those of the official client, to the last bit."""

import struct
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tigerbeetle.bindings import CTransfer
from tigerbeetle.lib import c_uint128

from adapters.tigerbeetle.conversion import to_client
from adapters.tigerbeetle.wire import (
    TRANSFER_BYTES,
    pack_ids,
    pack_transfers,
    unpack_transfer,
)
from domain.chains import FIELD_BITS
from domain.transfers import Transfer, TransferId
from tests.helpers.transfer_strategies import transfers, uint
from tests.unit.tigerbeetle.ledgers import a_transfer

NOT_REPRESENTABLE = (OverflowError, TypeError, struct.error)


@given(st.lists(transfers, max_size=5))
def test_transfers_have_the_bytes_that_the_client_would_send(some: list[Transfer]) -> None:
    theirs = (CTransfer * len(some))(*map(CTransfer.from_param, map(to_client, some)))

    assert pack_transfers(some) == bytes(theirs)


@given(transfers)
def test_a_packed_transfer_is_read_as_it_was(transfer: Transfer) -> None:
    assert unpack_transfer(pack_transfers([transfer])) == transfer


@given(st.binary(min_size=TRANSFER_BYTES, max_size=TRANSFER_BYTES))
def test_no_bit_of_a_packed_transfer_is_lost(packed: bytes) -> None:
    assert pack_transfers([unpack_transfer(packed)]) == packed


@given(st.lists(uint(128), max_size=5))
def test_ids_have_the_bytes_that_the_client_would_send(ids: list[int]) -> None:
    theirs = (c_uint128 * len(ids))(*map(c_uint128.from_param, ids))

    assert pack_ids(map(TransferId, ids)) == bytes(theirs)


@pytest.mark.parametrize(("name", "bits"), FIELD_BITS.items())
def test_a_number_that_does_not_fit_is_refused_and_never_cut(name: str, bits: int) -> None:
    for number in (-1, 2**bits, 2**bits + 5, 2**200):
        wrong: dict[str, Any] = {name: number}
        with pytest.raises(NOT_REPRESENTABLE):
            pack_transfers([replace(a_transfer(), **wrong)])


@pytest.mark.parametrize("name", FIELD_BITS)
@pytest.mark.parametrize("value", [1.0, "1", None, b"\x01", Decimal(1), UUID(int=1)])
def test_what_is_no_integer_is_refused(name: str, value: object) -> None:
    wrong: dict[str, Any] = {name: value}

    with pytest.raises(NOT_REPRESENTABLE):
        pack_transfers([replace(a_transfer(), **wrong)])


@pytest.mark.parametrize("id_", [-1, 2**128, 2**128 + 5, 1.0, "1", None, UUID(int=1)])
def test_an_id_that_the_client_would_cut_is_refused(id_: Any) -> None:
    with pytest.raises(NOT_REPRESENTABLE):
        pack_ids([TransferId(1), id_])
