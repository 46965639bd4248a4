"""A few workers side by side, each of which is killed now and then and comes again."""

import signal
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self
from uuid import UUID

from domain.intents import IntentId
from tests.helpers.worker_process import LogLine, WorkerProcess
from tests.integration.crowd.journal import Postponement

RETRIED = "outbox: event will be retried"
UNFORESEEN = "outbox: unforeseen error"


@dataclass(slots=True)
class Member:
    """One worker, by whatever process it runs at the moment; ``deaths`` are in ns of time."""

    name: str
    settings: Mapping[str, str]
    lives: list[WorkerProcess] = field(default_factory=list)
    deaths: list[int] = field(default_factory=list)

    def log(self) -> list[LogLine]:
        """What it has logged in all its lives."""
        return [line for life in self.lives for line in life.log]


class Crowd:
    """Workers, one for each of *settings*. As a context manager they are gone on exit."""

    def __init__(self, settings: Mapping[str, Mapping[str, str]]) -> None:
        self.members = {name: Member(name, its) for name, its in settings.items()}
        self._running = ExitStack()

    def __enter__(self) -> Self:
        for member in self.members.values():
            self._begin_life(member)
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def kill(self, name: str) -> None:
        """Kill a worker and start it again."""
        member = self.members[name]
        member.deaths.append(time.time_ns())
        member.lives[-1].send(signal.SIGKILL)
        assert member.lives[-1].wait() == -signal.SIGKILL
        self._begin_life(member)

    def stop(self) -> None:
        """End all of them in order."""
        for member in self.members.values():
            member.lives[-1].send(signal.SIGTERM)
        for member in self.members.values():
            assert member.lives[-1].wait() == 0

    @property
    def deaths(self) -> dict[str, list[int]]:
        """When each worker was killed."""
        return {name: member.deaths for name, member in self.members.items()}

    def postponements(self) -> list[Postponement]:
        """Return every backoff that was told, in the order of telling."""
        return sorted(
            (
                Postponement(
                    worker=name,
                    intent_id=IntentId(UUID(line["intent_id"])),
                    told_ns=_ns(line["timestamp"]),
                    delay_ms=line["delay_ms"],
                )
                for name, member in self.members.items()
                for line in member.log()
                if line["event"] == RETRIED
            ),
            key=lambda one: one.told_ns,
        )

    def surprises(self) -> list[str]:
        """Return what no worker should have to say."""
        lives = [life for member in self.members.values() for life in member.lives]
        return [line for life in lives for line in life.stray_lines] + [
            str(line) for life in lives for line in life.logged(UNFORESEEN)
        ]

    def _begin_life(self, member: Member) -> None:
        member.lives.append(self._running.enter_context(WorkerProcess(member.settings)))


def _ns(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1_000_000) * 1_000
