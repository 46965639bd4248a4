"""A lane looks seldom and takes little when idle, and the reverse under load."""

from itertools import accumulate

import pytest

from domain.pacing import BATCH_SIZE_MIN, BatchSizes, IdlePause


def test_pauses_double_up_to_the_longest() -> None:
    pause = IdlePause(first_ms=50, max_ms=1_000)

    assert [pause.after(looks) for looks in range(1, 8)] == [50, 100, 200, 400, 800, 1_000, 1_000]


def test_a_first_pause_that_is_too_long_is_cut() -> None:
    assert IdlePause(first_ms=50, max_ms=10).after(1) == 10


def test_any_number_of_looks_makes_a_pause() -> None:
    pause = IdlePause(first_ms=1, max_ms=86_400_000)

    assert [pause.after(looks) for looks in (0, 10**9)] == [1, 86_400_000]


def sizes_after(claims: list[int], *, size_max: int) -> list[int]:
    """Return the sizes of the batches that follow batches with so many events in them."""
    sizes = BatchSizes(max=size_max)
    return list(
        accumulate(
            claims, lambda size, claimed: sizes.after(size, claimed=claimed), initial=sizes.first
        )
    )


def test_batches_double_while_they_are_full() -> None:
    assert sizes_after([64, 128, 256, 500], size_max=500) == [64, 128, 256, 500, 500]


def test_batches_shrink_again_when_they_are_half_empty() -> None:
    assert sizes_after([64, 128, 256, 250, 0, 0, 0], size_max=500) == [
        64, 128, 256, 500, 250, 125, 64, 64,
    ]  # fmt: skip


def test_a_batch_that_is_more_than_half_full_stays_as_it_is() -> None:
    # A claim that meets events of others also stops at a little more than half.
    assert sizes_after([64, 65], size_max=500) == [64, 128, 128]


def test_batches_shrink_while_much_is_refused() -> None:
    sizes = BatchSizes(max=500)

    assert sizes.after(500, claimed=500, refused=63) == 250
    assert sizes.after(250, claimed=250, refused=250) == 125
    assert sizes.after(BATCH_SIZE_MIN, claimed=64, refused=64) == BATCH_SIZE_MIN
    assert sizes.after(125, claimed=100, refused=100) == 64


def test_a_few_that_are_refused_do_not_shrink_it() -> None:
    assert BatchSizes(max=500).after(250, claimed=250, refused=31) == 500


@pytest.mark.parametrize("size_max", [1, 20, BATCH_SIZE_MIN])
def test_a_small_maximum_is_the_only_size(size_max: int) -> None:
    assert set(sizes_after([size_max, 0, size_max, 1], size_max=size_max)) == {size_max}
