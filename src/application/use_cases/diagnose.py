"""Examine everything the worker depends on, each part by itself."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from application.errors import OutboxError
from application.ports.probe import Probe
from domain.findings import Examined, Finding
from domain.sanitising import sanitise


@dataclass(slots=True)
class _Run:
    """One probe on a thread of its own."""

    probe: Probe
    findings: Sequence[Finding] = ()
    done: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        try:
            self.findings = self.probe.examine()
        except Exception as error:
            self.findings = [_raised(self.probe, error)]
        self.done.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnose:
    """Runs all *probes* at once and keeps what they find.

    None of them can stop another one: what a probe raises is a red finding of its part, and
    so is a probe that has not come back after *timeout_s* (it is left behind).
    """

    probes: Sequence[Probe]
    timeout_s: float

    def __call__(self) -> Sequence[Finding]:
        """Return every finding, in the order of the probes."""
        runs = [_Run(probe) for probe in self.probes]
        for run in runs:
            # Daemons, since one that hangs must not keep the process alive.
            threading.Thread(target=run, name=f"probe-{run.probe.name}", daemon=True).start()
        deadline = time.monotonic() + self.timeout_s
        findings: list[Finding] = []
        for run in runs:
            came_back = run.done.wait(max(0.0, deadline - time.monotonic()))
            findings += run.findings if came_back else [self._hung(run.probe)]
        return findings

    def _hung(self, probe: Probe) -> Finding:
        return Examined(probe.name).red(
            "examination",
            f"not finished after {self.timeout_s:g} s",
            f"see what {probe.name} and the network between are doing, name servers included",
        )


def _raised(probe: Probe, error: Exception) -> Finding:
    examined = Examined(probe.name)
    if isinstance(error, OutboxError):
        return examined.red(
            "settings", sanitise(str(error)), "correct the setting that the message names"
        )
    # Not its message: nobody has looked whether that may be shown.
    return examined.red(
        "examination",
        f"the examination itself failed: {type(error).__name__}",
        "report this as a fault of outbox-worker doctor, with the version of this part",
    )
