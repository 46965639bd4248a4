"""Waiting for something that another process or thread does."""

import time
from collections.abc import Callable

POLL_INTERVAL_S = 0.01


def wait_until(condition: Callable[[], bool], *, timeout_s: float = 10.0, what: str) -> None:
    """Return as soon as *condition* holds.

    Raises:
        TimeoutError: it does not hold after *timeout_s*; the message names *what*.
    """
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"not within {timeout_s:g} s: {what}")
        time.sleep(POLL_INTERVAL_S)
