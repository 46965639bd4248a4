"""An examination of one part of the worker's surroundings."""

from collections.abc import Sequence
from typing import Protocol

from domain.findings import Finding


class Probe(Protocol):
    """Looks at one part and judges it. It changes nothing, and leaves nothing behind."""

    @property
    def name(self) -> str:
        """The part, as people call it."""
        ...

    def examine(self) -> Sequence[Finding]:
        """Return what was found, faults included; within seconds, whatever the part does.

        A fault of the part is a finding. What is raised is a fault of the probe, or of a
        setting that it cannot even be made from.
        """
        ...
