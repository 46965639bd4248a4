"""Every part is examined, whatever the others do."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from application.errors import MisconfiguredError
from application.use_cases.diagnose import Diagnose
from domain.findings import Examined, Finding, Verdict

LONG_S = 60.0
SHORT_S = 0.05


@dataclass(frozen=True, slots=True)
class FakeProbe:
    """Implements ``Probe`` by a function."""

    name: str
    look: Callable[[], Sequence[Finding]]

    def examine(self) -> Sequence[Finding]:
        return self.look()


def healthy(name: str, *whats: str) -> FakeProbe:
    return FakeProbe(name, lambda: [Examined(name).ok(what, "fine") for what in whats])


def raising(name: str, error: Exception) -> FakeProbe:
    def look() -> Sequence[Finding]:
        raise error

    return FakeProbe(name, look)


def diagnose(*probes: FakeProbe, timeout_s: float = LONG_S) -> Sequence[Finding]:
    return Diagnose(probes=probes, timeout_s=timeout_s)()


def test_findings_come_in_the_order_of_the_probes() -> None:
    second_done = threading.Event()

    def look() -> Sequence[Finding]:
        # Only ends when the second one was not waiting for it.
        assert second_done.wait(LONG_S)
        return [Examined("first").ok("a", "fine")]

    def look_second() -> Sequence[Finding]:
        second_done.set()
        return [Examined("second").ok("b", "fine")]

    findings = diagnose(FakeProbe("first", look), FakeProbe("second", look_second))

    assert [finding.what for finding in findings] == ["a", "b"]


def test_a_setting_that_cannot_be_used_is_a_red_finding_in_its_own_words() -> None:
    findings = diagnose(
        raising("Redis", MisconfiguredError("REDIS_URL is not usable")), healthy("Postgres", "a")
    )

    assert (findings[0].subject, findings[0].verdict) == ("Redis", Verdict.RED)
    assert findings[0].detail == "REDIS_URL is not usable"
    assert findings[1].what == "a"


def test_an_unforeseen_error_is_a_red_finding_that_quotes_nothing() -> None:
    (finding,) = diagnose(raising("Redis", ValueError("redis://:hunter2@host")))

    assert finding.verdict is Verdict.RED
    assert "ValueError" in finding.detail
    assert "hunter2" not in repr(finding)


def test_a_probe_that_hangs_is_a_red_finding_and_hides_no_other() -> None:
    released = threading.Event()

    def hang() -> Sequence[Finding]:
        released.wait(LONG_S)
        return []

    findings = diagnose(FakeProbe("Redis", hang), healthy("Postgres", "a"), timeout_s=SHORT_S)
    released.set()

    assert [(finding.subject, finding.verdict) for finding in findings] == [
        ("Redis", Verdict.RED),
        ("Postgres", Verdict.OK),
    ]
    assert "not finished" in findings[0].detail
