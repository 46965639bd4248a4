"""Small strategies that draw evenly: hypothesis itself prefers small numbers and short lists."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


def any_of(values: Sequence[T]) -> st.SearchStrategy[T]:
    """One of *values*, each as likely as any other. The first is the simplest."""
    assert len(values) <= 256, "hypothesis prefers the first ones of so many"
    return st.sampled_from(values)


def one_of(*weighted: tuple[int, st.SearchStrategy[T]]) -> st.SearchStrategy[T]:
    """A value of one of the strategies, each as often as its weight says."""
    strategies = [strategy for weight, strategy in weighted for _ in range(weight)]
    return any_of(strategies).flatmap(lambda strategy: strategy)


def lists_of(elements: st.SearchStrategy[T], *, size_max: int) -> st.SearchStrategy[list[T]]:
    """Lists of 1 to *size_max* elements, long ones more often than short ones."""
    sizes = [size for size in range(1, size_max + 1) for _ in range(size)]
    return any_of(sizes).flatmap(lambda size: st.lists(elements, min_size=size, max_size=size))
