"""Order settlements at a steady rate, and wait for their live status; run as a program.

A process of its own, as producers are: what it does must not slow the worker's threads. It reads
its task from stdin and writes what it saw to stdout, both as JSON.
"""

import json
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import psycopg
from redis import Redis

from benchmarks.payments import PAYLOAD

SESSIONS_MAX: Final = 8
PATIENCE_S: Final = 60.0
_CHANNEL: Final = "intent."
_INSERT: Final = (
    "INSERT INTO pm.outbox_event (intent_id, action, payload)"
    " VALUES (%s, 'post_pending', %s::jsonb)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Order each of *intent_ids*, *rate* of them a second."""

    database_url: str
    redis_url: str
    intent_ids: Sequence[str]
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """From just before the INSERT to the live status, in ms; and the rate that was reached."""

    delays_ms: Sequence[float]
    rate: float


def produce(task: Task) -> Seen:
    """Carry *task* out."""
    sent_s: dict[str, float] = {}
    seen_s: dict[str, float] = {}
    all_seen = threading.Event()
    with Redis.from_url(task.redis_url) as redis, redis.pubsub() as subscription:
        subscription.psubscribe(f"{_CHANNEL}*")
        subscription.get_message(timeout=PATIENCE_S)

        def listen() -> None:
            for message in subscription.listen():
                if message["type"] == "pmessage":
                    seen_s[message["channel"].decode().removeprefix(_CHANNEL)] = time.perf_counter()
                if len(seen_s) == len(task.intent_ids):
                    all_seen.set()
                    return

        threading.Thread(target=listen, daemon=True).start()
        began_s = time.perf_counter()
        sessions = min(SESSIONS_MAX, len(task.intent_ids))
        senders = [
            threading.Thread(target=_send, args=(task, number, sessions, began_s, sent_s))
            for number in range(sessions)
        ]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        if not all_seen.wait(PATIENCE_S):
            raise TimeoutError(f"{len(seen_s)} of {len(task.intent_ids)} statuses were seen")
    sending_s = max(sent_s.values()) - min(sent_s.values())
    return Seen(
        delays_ms=[(seen_s[one] - sent_s[one]) * 1_000 for one in task.intent_ids],
        rate=(len(sent_s) - 1) / sending_s,
    )


def _send(task: Task, number: int, sessions: int, began_s: float, sent_s: dict[str, float]) -> None:
    with psycopg.connect(task.database_url, autocommit=True) as connection:
        for position in range(number, len(task.intent_ids), sessions):
            due_s = began_s + position / task.rate
            time.sleep(max(0.0, due_s - time.perf_counter()))
            intent_id = task.intent_ids[position]
            sent_s[intent_id] = time.perf_counter()
            connection.execute(_INSERT, [intent_id, PAYLOAD])


if __name__ == "__main__":
    json.dump(asdict(produce(Task(**json.load(sys.stdin)))), sys.stdout)
