"""How speed follows the number of lanes, of processes, and the size of batches."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks import contestants
from benchmarks.arena import Arena
from benchmarks.results import Section
from benchmarks.rounds import Contest, Say, play, ratio, speed

LANES: Final = (1, 2, 3, 4)
PROCESSES: Final = (1, 2, 3)
BATCH_SIZES: Final = (100, 250, 500, 1_000, 2_000)


def lanes(
    arena: Arena, numbers: Sequence[int] = LANES, *, events: int, rounds: int, say: Say
) -> Section:
    """Compare numbers of lanes in one process."""
    contests = {f"{number} lanes": _ours(arena, events, lanes=number) for number in numbers}
    return _compared("lanes", contests, events=events, rounds=rounds, say=say)


def processes(arena: Arena, *, events: int, rounds: int, say: Say) -> Section:
    """Compare numbers of workers with the lanes of the default."""
    contests = {f"{number} processes": _ours(arena, events, number) for number in PROCESSES}
    return _compared("processes", contests, events=events, rounds=rounds, say=say)


def batches(
    arena: Arena, sizes: Sequence[int] = BATCH_SIZES, *, events: int, rounds: int, say: Say
) -> Section:
    """Compare sizes of batches."""
    contests = {f"batch {size}": _ours(arena, events, batch_size=size) for size in sizes}
    return _compared("batch", contests, events=events, rounds=rounds, say=say)


def _ours(arena: Arena, events: int, processes: int = 1, **settings: object) -> Contest:
    return lambda: contestants.ours(arena, events=events, processes=processes, settings=settings)


def _compared(
    name: str, contests: Mapping[str, Contest], *, events: int, rounds: int, say: Say
) -> Section:
    first = next(iter(contests))
    played = play(contests, order=tuple(contests), rounds=rounds, say=say)
    summaries = {contest: speed(played, contest) for contest in contests}
    return Section(
        name=name,
        title=f"ours, {events:,} events, {rounds} rounds",
        columns=(name, "events/s", "spread", f"to {first}"),
        rows=[
            (contest, round(one.median), one.spread_percent, ratio(played, contest, first).median)
            for contest, one in summaries.items()
        ],
        ratios={contest: ratio(played, contest, first).median for contest in contests},
    )
