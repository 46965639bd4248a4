"""A finding without its remedy is a complaint."""

import pytest

from domain.findings import Examined, Finding, Verdict

EXAMINED = Examined("Postgres")


def test_findings_are_about_the_subject_that_was_examined() -> None:
    findings = [
        EXAMINED.ok("version", "18"),
        EXAMINED.warning("version", "19", "look for a release"),
        EXAMINED.red("version", "9", "upgrade"),
    ]

    assert {finding.subject for finding in findings} == {"Postgres"}
    assert [finding.verdict for finding in findings] == list(Verdict)
    assert [finding.is_ok for finding in findings] == [True, False, False]


@pytest.mark.parametrize(
    ("verdict", "remedy"), [(Verdict.RED, ""), (Verdict.WARNING, ""), (Verdict.OK, "do this")]
)
def test_a_fault_has_a_remedy_and_only_a_fault(verdict: Verdict, remedy: str) -> None:
    with pytest.raises(ValueError, match="a fault has a remedy"):
        Finding(subject="Postgres", what="version", verdict=verdict, detail="-", remedy=remedy)
