"""The ratios that count: ours against the sources' algorithm and against the SQL floor."""

from typing import Final

from benchmarks import contestants
from benchmarks.arena import Arena
from benchmarks.results import Section
from benchmarks.rounds import Say, play, ratio, speed

LITERAL: Final = "literal"
FLOOR: Final = "floor"
NO_LEDGER: Final = "ours, no ledger"
OURS: Final = "ours"
PAIR: Final = "ours, two processes"
ORDER: Final = (LITERAL, OURS, FLOOR, PAIR, NO_LEDGER)
WHAT: Final = {
    LITERAL: "the sources' algorithm, event by event, no tick",
    FLOOR: f"the same row changes by procedures in Postgres, batch {contestants.FLOOR_BATCH_SIZE}",
    NO_LEDGER: "ours, with a ledger that answers at once",
    OURS: "ours, as it is run: ledger, delivery and statuses included",
    PAIR: "the same in two processes, each with an interpreter of its own",
}
PROCESSES: Final = 2
EVENTS_PER_LITERAL_EVENT: Final = 25
"""How many times as many events ours gets, so that both run for about as long."""


def headline(arena: Arena, *, events: int, rounds: int, say: Say) -> Section:
    """Play all of them against each other."""
    played = play(
        {
            LITERAL: lambda: contestants.literal(
                arena, events=max(events // EVENTS_PER_LITERAL_EVENT, 1)
            ),
            FLOOR: lambda: contestants.floor(arena, events=events),
            NO_LEDGER: lambda: contestants.ours(arena, events=events, with_ledger=False),
            OURS: lambda: contestants.ours(arena, events=events),
            PAIR: lambda: contestants.ours(arena, events=events, processes=PROCESSES),
        },
        order=ORDER,
        rounds=rounds,
        say=say,
    )
    rows = []
    for name, what in WHAT.items():
        summary = speed(played, name)
        rows.append(
            (
                what,
                round(summary.median),
                summary.spread_percent,
                ratio(played, name, LITERAL).median,
                ratio(played, name, FLOOR).median,
            )
        )
    return Section(
        name="headline",
        title=f"{contestants.LANES} lanes, batch {contestants.BATCH_SIZE}, {events:,} events,"
        f" {rounds} rounds",
        columns=("what", "events/s", "spread", "to literal", "to floor"),
        rows=rows,
        ratios={
            "literal": ratio(played, OURS, LITERAL).median,
            "floor": ratio(played, OURS, FLOOR).median,
            "floor, no ledger": ratio(played, NO_LEDGER, FLOOR).median,
        },
    )
