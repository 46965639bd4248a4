"""The payments that are measured."""

from random import Random

from benchmarks.payments import make_payments, random_ids, time_ordered_ids

START_MS = 1_780_000_000_000


def test_time_ordered_ids_are_version_7_and_ascend() -> None:
    new_id = time_ordered_ids(Random(1), start_ms=START_MS)

    ids = [new_id() for _ in range(1_000)]

    assert ids == sorted(ids)
    assert {one.version for one in ids} == {7}
    assert ids[0].int >> 80 == START_MS
    assert ids[-1].int >> 80 > START_MS


def test_random_ids_do_not_ascend() -> None:
    new_id = random_ids(Random(1))

    ids = [new_id() for _ in range(100)]

    assert ids != sorted(ids)
    assert {one.version for one in ids} == {4}


def test_the_same_seed_makes_the_same_payments_and_no_id_twice() -> None:
    first, second = (
        make_payments(50, random=Random(3), new_id=time_ordered_ids(Random(4), start_ms=START_MS))
        for _ in range(2)
    )

    assert first == second
    ids = [id_ for one in first for id_ in (one.intent_id, *one.pending_ids)]
    assert len(set(ids)) == 150
