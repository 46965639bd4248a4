"""When an event is tried again, and when no more."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.retry import Backoff, RetryPolicy
from domain.verdicts import RetryReason

# DESIGN §8: 12 attempts, 5 for a pending transfer that is not found, the fee for ever.
LIMITS = {
    RetryReason.PENDING_TRANSFER_NOT_FOUND: 5,
    RetryReason.LEDGER_REFUSED: 12,
    RetryReason.IDS_BURNED: 12,
    RetryReason.RESOLUTION_NOT_FOUND: 12,
    RetryReason.OUT_OF_TIME: None,
    RetryReason.UNFORESEEN: 12,
    RetryReason.FEE_ACCOUNT_UNMAPPED: None,
    RetryReason.FEE_REFUSED: None,
    RetryReason.NEEDS_REVIEW: None,
}


def longest(bound_ms: int) -> int:
    return bound_ms


@pytest.mark.parametrize("reason", RetryReason)
def test_each_reason_has_its_limit(reason: RetryReason) -> None:
    assert RetryPolicy().attempts_limit(reason) == LIMITS[reason]


@pytest.mark.parametrize("reason", RetryReason)
def test_a_policy_that_never_gives_up_has_no_limit(reason: RetryReason) -> None:
    assert RetryPolicy(gives_up=False).attempts_limit(reason) is None


def test_the_limits_are_settings() -> None:
    policy = RetryPolicy(attempts_max=7, attempts_max_not_found=3)

    assert policy.attempts_limit(RetryReason.LEDGER_REFUSED) == 7
    assert policy.attempts_limit(RetryReason.PENDING_TRANSFER_NOT_FOUND) == 3


def test_the_delay_doubles_from_one_second_to_five_minutes() -> None:
    delays = [Backoff().delay_ms(failures, longest) for failures in range(12)]

    assert delays == [
        1_000,
        2_000,
        4_000,
        8_000,
        16_000,
        32_000,
        64_000,
        128_000,
        256_000,
        300_000,
        300_000,
        300_000,
    ]


@pytest.mark.parametrize("failures", [30, 31, 64, 10**6, 2**31 - 1])
def test_the_delay_stays_at_its_longest_however_often_it_failed(failures: int) -> None:
    assert Backoff().delay_ms(failures, longest) == 300_000


@given(
    st.integers(min_value=0, max_value=10_000),
    st.integers(min_value=1, max_value=10_000),
    st.integers(min_value=1, max_value=10**6),
    st.integers(),
)
def test_the_delay_is_jittered_over_the_whole_range(
    failures: int, first_ms: int, max_ms: int, seed: int
) -> None:
    backoff = Backoff(first_ms=first_ms, max_ms=max_ms)
    bounds: list[int] = []

    def jitter(bound_ms: int) -> int:
        bounds.append(bound_ms)
        return random.Random(seed).randint(0, bound_ms)

    delay_ms = backoff.delay_ms(failures, jitter)

    assert 0 <= delay_ms <= bounds[0] <= max_ms
    assert bounds[0] >= min(first_ms, max_ms)
    assert bounds[0] <= backoff.delay_ms(failures + 1, longest)


def test_a_count_below_zero_is_as_good_as_none() -> None:
    # retry_count is an ordinary column that people change by hand.
    assert Backoff().delay_ms(-1, longest) == 1_000
