"""``python -m benchmarks``, or ``make bench``: one run, its tables, and the ratios at the end."""

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from benchmarks.arena import arena
from benchmarks.claims import claims
from benchmarks.costs import costs, statements
from benchmarks.delays import delays
from benchmarks.headline import headline
from benchmarks.memory import memory
from benchmarks.results import Section
from benchmarks.scaling import BATCH_SIZES, LANES, batches, lanes, processes


class Part(StrEnum):
    """What can be measured."""

    HEADLINE = "headline"
    LANES = "lanes"
    PROCESSES = "processes"
    BATCH = "batch"
    COSTS = "costs"
    STATEMENTS = "statements"
    DELAYS = "delays"
    MEMORY = "memory"
    CLAIMS = "claims"


BY_DEFAULT: Final = (Part.HEADLINE, Part.LANES, Part.BATCH, Part.COSTS)
SHORT_LANES: Final = (1, 2, 3)
SHORT_BATCH_SIZES: Final = (100, 500, 2_000)


class Ids(StrEnum):
    """How ids of intents and pending transfers are made."""

    ORDERED = "ordered"
    RANDOM = "random"


def main(
    only: Annotated[
        list[Part] | None,
        typer.Option(help=f"Measure this part; may be repeated. Default: {', '.join(BY_DEFAULT)}."),
    ] = None,
    events: Annotated[int, typer.Option(min=100, help="Events in each of our runs.")] = 20_000,
    rounds: Annotated[int, typer.Option(min=1, help="Interleaved rounds.")] = 3,
    ids: Annotated[Ids, typer.Option(help="Ids in order of time, or random.")] = Ids.ORDERED,
    delay_seconds: Annotated[int, typer.Option(min=2, help="How long each load lasts.")] = 20,
    memory_events: Annotated[
        int, typer.Option(min=1_000, help="Events that one worker settles.")
    ] = 1_000_000,
    finished: Annotated[
        str, typer.Option(help="Numbers of finished rows to claim beside, separated by commas.")
    ] = "0,1000000,5000000",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything as JSON to this file.")
    ] = None,
) -> None:
    """Measure the worker beside others on servers of its own, and print ratios.

    Numbers of one run may be compared with each other, and with nothing else.
    """
    console, progress = Console(), Console(stderr=True)

    def say(text: str) -> None:
        progress.print(text, style="dim", highlight=False)

    # Without a choice, a taste of everything that is quick.
    is_short = only is None
    few = 1 if is_short else rounds
    with arena(ordered=ids is Ids.ORDERED) as ring:
        conditions = ring.conditions()
        for name, value in conditions.items():
            console.print(f"{name}: {value}", highlight=False)
        lane_numbers = SHORT_LANES if is_short else LANES
        sizes = SHORT_BATCH_SIZES if is_short else BATCH_SIZES
        measure: Mapping[Part, Callable[[], Section]] = {
            Part.HEADLINE: lambda: headline(ring, events=events, rounds=rounds, say=say),
            Part.LANES: lambda: lanes(ring, lane_numbers, events=events, rounds=few, say=say),
            Part.PROCESSES: lambda: processes(ring, events=events, rounds=rounds, say=say),
            Part.BATCH: lambda: batches(ring, sizes, events=events, rounds=few, say=say),
            Part.COSTS: lambda: costs(ring, events=events),
            Part.STATEMENTS: lambda: statements(ring, events=events),
            Part.DELAYS: lambda: delays(ring, seconds=delay_seconds, say=say),
            Part.MEMORY: lambda: memory(ring, events=memory_events, say=say),
            Part.CLAIMS: lambda: claims(
                ring, finished=[int(one) for one in finished.split(",")], say=say
            ),
        }
        sections = []
        for part in only or BY_DEFAULT:
            section = measure[part]()
            section.show(console)
            sections.append(section)
    if json_file is not None:
        json_file.write_text(json.dumps(_as_json(conditions, sections), indent=1) + "\n")
    for section in sections:
        for name, ratio in section.ratios.items():
            if name in ("literal", "floor"):
                console.print(f"ratio {name}: {ratio:.2f}", highlight=False)


def _as_json(conditions: Mapping[str, str], sections: Sequence[Section]) -> dict[str, object]:
    return {"conditions": dict(conditions), "sections": [one.as_json() for one in sections]}


if __name__ == "__main__":
    typer.run(main)
