"""Interleaved rounds: the machine drifts, so only what ran side by side is compared."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from benchmarks.results import Summary

Contest = Callable[[], float]
"""Runs once; returns events a second."""
Round = Mapping[str, Sequence[float]]
Say = Callable[[str], None]


def play(
    contests: Mapping[str, Contest], *, order: Sequence[str], rounds: int, say: Say
) -> Sequence[Round]:
    """Run the contests in *order*, over and over; return the samples of each round by name."""
    played: list[Round] = []
    for number in range(1, rounds + 1):
        samples: dict[str, list[float]] = defaultdict(list)
        for name in order:
            events_per_s = contests[name]()
            samples[name].append(events_per_s)
            say(f"round {number}/{rounds}: {name}: {events_per_s:,.0f} events/s")
        played.append(samples)
    return played


def speed(played: Sequence[Round], name: str) -> Summary:
    """Return the events a second of *name* over all rounds."""
    return Summary.of([sample for samples in played for sample in samples[name]])


def ratio(played: Sequence[Round], name: str, to: str) -> Summary:
    """Return how many times as fast *name* was as *to*, by round."""
    return Summary.of(
        [statistics.median(samples[name]) / statistics.median(samples[to]) for samples in played]
    )
