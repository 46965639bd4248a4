"""Which ids our transfers have: a replay must find what an earlier attempt did."""

from collections.abc import Callable
from hashlib import blake2b
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import transfer_ids
from domain.intents import Action, IntentId
from domain.transfer_ids import fee_id, resolution_id
from domain.transfers import U128_MAX, TransferId

INTENT_ID = IntentId(UUID("550e8400-e29b-41d4-a716-446655440000"))
PENDING_ID = TransferId(0x0190A0B0C0D0_7000_8000_0000DEADBEEF)

# Computed once, by hand, from the words of DESIGN §7.
POST_GENERATION_0 = 0x0190A0B0C0D0_33F31D8320CB5C25B4E4
VOID_GENERATION_1 = 0x0190A0B0C0D0_B400454F6D643EC9051E
FEE_GENERATION_0 = 0x0190A0B0C0D0_3789F92C4782CE6542BA

intent_ids = st.uuids().map(IntentId)
pending_ids = st.integers(min_value=1, max_value=U128_MAX - 1).map(TransferId)
generations = st.integers(min_value=0, max_value=2**31)
inputs = st.tuples(intent_ids, st.sampled_from([*Action, "psp_fee"]), pending_ids, generations)


def id_of(intent_id: IntentId, kind: str, pending_id: TransferId, generation: int) -> TransferId:
    if kind == "psp_fee":
        return fee_id(intent_id, pending_id, generation=generation)
    return resolution_id(intent_id, Action(kind), pending_id, generation=generation)


def expected_id(prefix_of: int, hashed: bytes) -> int:
    """DESIGN §7: 48 bits of the pending id, then 80 bits of BLAKE2b."""
    digest = blake2b(hashed, digest_size=10).digest()
    return int.from_bytes(prefix_of.to_bytes(16, "big")[:6] + digest, "big")


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("generation", [0, 1, 2**31])
def test_the_id_of_a_resolution_follows_from_intent_action_pending_and_generation(
    action: Action, generation: int
) -> None:
    hashed = (
        INTENT_ID.bytes
        + str(action).encode()
        + PENDING_ID.to_bytes(16, "big")
        + generation.to_bytes(8, "big")
    )

    made = resolution_id(INTENT_ID, action, PENDING_ID, generation=generation)
    assert made == expected_id(PENDING_ID, hashed)


@pytest.mark.parametrize("generation", [0, 1, 2**31])
def test_the_id_of_a_fee_follows_from_intent_and_generation(generation: int) -> None:
    hashed = INTENT_ID.bytes + b"psp_fee" + generation.to_bytes(8, "big")

    made = fee_id(INTENT_ID, PENDING_ID, generation=generation)
    assert made == expected_id(PENDING_ID, hashed)


def test_the_ids_of_yesterday_are_the_ids_of_tomorrow() -> None:
    # Transfers with these ids exist; an id that changes moves money twice.
    post = resolution_id(INTENT_ID, Action.POST_PENDING, PENDING_ID, generation=0)
    void = resolution_id(INTENT_ID, Action.VOID_PENDING, PENDING_ID, generation=1)
    fee = fee_id(INTENT_ID, PENDING_ID, generation=0)

    assert (post, void, fee) == (POST_GENERATION_0, VOID_GENERATION_1, FEE_GENERATION_0)


@given(inputs)
def test_an_id_begins_like_its_pending_transfer_and_is_one_that_the_ledger_takes(
    of: tuple[IntentId, str, TransferId, int],
) -> None:
    made = id_of(*of)

    assert made >> 80 == of[2] >> 80
    assert 0 < made < U128_MAX


@given(inputs)
def test_the_same_inputs_give_the_same_id(of: tuple[IntentId, str, TransferId, int]) -> None:
    assert id_of(*of) == id_of(*of)


@given(st.lists(inputs, min_size=2, max_size=20, unique=True))
def test_different_inputs_give_different_ids(
    different: list[tuple[IntentId, str, TransferId, int]],
) -> None:
    # Of a fee, the pending id gives only the place: one intent has one fee.
    distinct = {
        (intent_id, kind, pending_id >> 80 if kind == "psp_fee" else pending_id, generation)
        for intent_id, kind, pending_id, generation in different
    }

    assert len({id_of(*of) for of in different}) == len(distinct)


@given(intent_ids, pending_ids, generations)
def test_neighbouring_inputs_do_not_run_into_each_other(
    intent_id: IntentId, pending_id: TransferId, generation: int
) -> None:
    other_intent_id = IntentId(UUID(int=intent_id.int ^ 1))
    other_pending_id = TransferId(pending_id ^ 1)
    post, void = Action

    made = [
        resolution_id(intent_id, post, pending_id, generation=generation),
        resolution_id(intent_id, void, pending_id, generation=generation),
        resolution_id(intent_id, post, pending_id, generation=generation + 1),
        resolution_id(intent_id, post, other_pending_id, generation=generation),
        resolution_id(other_intent_id, post, pending_id, generation=generation),
        fee_id(intent_id, pending_id, generation=generation),
        fee_id(intent_id, pending_id, generation=generation + 1),
        fee_id(other_intent_id, pending_id, generation=generation),
    ]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("kind", [*Action, "psp_fee"])
@pytest.mark.parametrize(
    ("neighbour", "digest", "made"),
    [(0, b"\x00" * 10, 1), (U128_MAX, b"\xff" * 10, U128_MAX - 1)],
    ids=["lowest", "highest"],
)
def test_the_two_ids_that_the_ledger_reserves_are_never_made(
    monkeypatch: pytest.MonkeyPatch, kind: str, neighbour: int, digest: bytes, made: int
) -> None:
    monkeypatch.setattr(transfer_ids, "blake2b", digest_that_is(digest))

    assert id_of(INTENT_ID, kind, TransferId(neighbour), 0) == made


def digest_that_is(value: bytes) -> Callable[..., object]:
    class Digest:
        def __init__(self, hashed: bytes, *, digest_size: int) -> None:
            assert digest_size == len(value)

        def digest(self) -> bytes:
            return value

    return Digest
