"""Where to look for events that were never tried, behind many that were.

No index tells them apart, so a search reads all that lies before what it finds. Were each claim
to search from the front, a backlog of retried events would be read again for every batch.
"""

from dataclasses import dataclass
from typing import Final

SEARCHES_A_ROUND: Final = 16
FRONT: Final = "-infinity"


@dataclass(slots=True)
class UntriedSearch:
    """Lets a search begin where the last one found something; every so many begin at the front.

    Those find what came to lie before that place: by a late commit, or because somebody set
    ``retry_count`` to 0. Shared by threads: what they overwrite of each other is as good. Times
    are text, for they may be infinite.
    """

    _place: str = FRONT
    _searches: int = 0

    def begin(self) -> str:
        """Return the time of creation from which on to look."""
        is_new_round = self._searches % SEARCHES_A_ROUND == 0
        self._searches += 1
        return FRONT if is_new_round else self._place

    def found_nothing_before(self, created_at: str) -> None:
        """Before *created_at* there is nothing that was never tried, but for what is held."""
        self._place = created_at
