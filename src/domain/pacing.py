"""How a lane paces itself: long pauses and small batches when idle, the reverse under load.

Small batches share a sudden load out between lanes and end soon; large ones cost least for each
event, unless the database refuses many: those cost a write each, in which all locks of the batch
are held. Looking often is quick to see work; looking seldom is cheap.
"""

from typing import Final

from domain.values import value

BATCH_SIZE_MIN: Final = 64
REFUSED_SHARE_MAX: Final = 1 / 8
_DOUBLINGS_MAX: Final = 30


@value
class IdlePause:
    """How long to wait after looking in vain: ``first_ms``, then twice as long each time."""

    first_ms: int
    max_ms: int

    def after(self, vain_looks: int) -> int:
        """Return the pause in ms after *vain_looks* looks, 1 or more, since there was work."""
        doublings = min(max(vain_looks - 1, 0), _DOUBLINGS_MAX)
        return min(self.max_ms, self.first_ms << doublings)


@value
class BatchSizes:
    """How many events to claim at once, ``max`` at most."""

    max: int

    @property
    def first(self) -> int:
        """The size to begin with, and the smallest there is."""
        return min(BATCH_SIZE_MIN, self.max)

    def after(self, size: int, *, claimed: int, refused: int = 0) -> int:
        """Return the size that follows a batch of *size* of which *claimed* were there.

        A full batch doubles it; one that is half empty, or emptier, halves it, and so does one
        in which more than an eighth was *refused* by the database.
        """
        was_dense = refused > claimed * REFUSED_SHARE_MAX
        if claimed >= size and not was_dense:
            return min(self.max, size * 2)
        if claimed * 2 <= size or was_dense:
            return max(self.first, size // 2)
        return size
