"""The loops that settle, as a group that is woken one at a time.

One event is work for one lane: all of them at once would only look in each other's way. A lane
whose batch came back full wakes the next.
"""

from entrypoints.loops import Loop


class Lanes:
    """The lanes of a process; those that are there when it is woken."""

    def __init__(self) -> None:
        self.loops: list[Loop] = []

    def wake_one(self) -> None:
        """Make a lane that waits for work look at once; never blocks.

        Where none waits, each looks once more before it does: it may have looked already when
        the work came.
        """
        idle = next((loop for loop in self.loops if loop.is_idle), None)
        for loop in self.loops if idle is None else [idle]:
            loop.wake()
