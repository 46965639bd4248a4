"""What an examination of the worker's surroundings found: one fact, judged.

A finding is read by a person in a hurry, so each fault carries its remedy, which names the
setting or the command. Neither text ever holds a secret.
"""

from enum import StrEnum

from domain.values import value


class Verdict(StrEnum):
    """How a finding stands; ``RED`` stops work, ``WARNING`` does not, or not yet."""

    OK = "ok"
    WARNING = "warning"
    RED = "red"


@value
class Finding:
    """One line of a diagnosis; ``remedy`` is empty exactly when the verdict is ``OK``."""

    subject: str
    what: str
    verdict: Verdict
    detail: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if bool(self.remedy) is (self.verdict is Verdict.OK):
            raise ValueError(f"{self.subject}, {self.what}: a fault has a remedy, and only a fault")

    @property
    def is_ok(self) -> bool:
        """Whether nothing has to be done."""
        return self.verdict is Verdict.OK


@value(kw_only=False)
class Examined:
    """Makes the findings of one subject."""

    subject: str

    def ok(self, what: str, detail: str) -> Finding:
        """Return a finding that *what* is as it must be."""
        return Finding(subject=self.subject, what=what, verdict=Verdict.OK, detail=detail)

    def warning(self, what: str, detail: str, remedy: str) -> Finding:
        """Return a finding that *what* is not well, though work goes on."""
        return Finding(
            subject=self.subject, what=what, verdict=Verdict.WARNING, detail=detail, remedy=remedy
        )

    def red(self, what: str, detail: str, remedy: str) -> Finding:
        """Return a finding that *what* stops work, wholly or in part."""
        return Finding(
            subject=self.subject, what=what, verdict=Verdict.RED, detail=detail, remedy=remedy
        )
