"""Looking for a finding among many."""

from collections.abc import Sequence

from domain.findings import Finding, Verdict


def of(findings: Sequence[Finding], what: str) -> Finding:
    """Return the one finding about *what*."""
    (found,) = [finding for finding in findings if finding.what == what]
    return found


def faults(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that are not well."""
    return [finding for finding in findings if finding.verdict is not Verdict.OK]


def reds(findings: Sequence[Finding]) -> list[str]:
    """Return what is red."""
    return [finding.what for finding in findings if finding.verdict is Verdict.RED]
