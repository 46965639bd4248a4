"""tools/mutants: what it lets pass, and what it does not."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

TOOL: Final = Path(__file__).parents[2] / "tools" / "mutants"

FAKE_MUTMUT: Final = """\
#!/bin/sh
case $1 in
run) echo begun; [ ! -e mutants/old ] && mkdir mutants ;;
export-cicd-stats) cp counts mutants/mutmut-cicd-stats.json ;;
results) cat results ;;
show) cat "$2" ;;
esac
"""
DIFF: Final = """\
# NAME: survived
--- src/domain/fees.py
+++ src/domain/fees.py
@@ -1,3 +1,3 @@
 def due(fee):
-    return max(fee, 0)
+    return max(fee, 1)
"""
FUNCTION_MUTANT: Final = "domain.fees.x_due__mutmut_2"
METHOD_MUTANT: Final = "domain.fees.xǁFeeǁdue__mutmut_2"


def an_entry(
    function: str = "domain.fees.due", becomes: str = "return max(fee, 1)", because: str = "so"
) -> str:
    return (
        f"[[accepted]]\nin = {json.dumps(function)}\nline = 'return max(fee, 0)'\n"
        f"becomes = [{json.dumps(becomes)}]\nbecause = {json.dumps(because)}\n"
    )


def judged(
    folder: Path,
    *entries: str,
    survivors: dict[str, str],
    killed: int = 10,
    total: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Return how the tool ends where mutmut tells of *survivors*, names with their status."""
    mutmut = folder / "mutmut"
    mutmut.write_text(FAKE_MUTMUT)
    mutmut.chmod(0o755)
    (folder / "accepted.toml").write_text("\n".join(entries) or "accepted = []")
    (folder / "results").write_text(
        "".join(f"    {name}: {status}\n" for name, status in survivors.items())
    )
    counts = {"killed": killed, "total": killed + len(survivors) if total is None else total}
    (folder / "counts").write_text(json.dumps(counts))
    for name in survivors:
        (folder / name).write_text(DIFF)
    return subprocess.run(
        [sys.executable, TOOL, "./mutmut", "accepted.toml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_passes_where_no_mutant_survives(tmp_path: Path) -> None:
    done = judged(tmp_path, survivors={})

    assert done.returncode == 0
    assert done.stdout == "mutants: 10 mutants, 10 killed, 0 accepted, 0 not\n"


@pytest.mark.parametrize(
    ("mutant", "function"),
    [(FUNCTION_MUTANT, "domain.fees.due"), (METHOD_MUTANT, "domain.fees.Fee.due")],
)
def test_it_passes_where_the_list_has_what_survives(
    tmp_path: Path, mutant: str, function: str
) -> None:
    done = judged(tmp_path, an_entry(function), survivors={mutant: "survived"})

    assert done.returncode == 0
    assert done.stdout == "mutants: 11 mutants, 10 killed, 1 accepted, 0 not\n"


@pytest.mark.parametrize("status", ["survived", "no tests", "timeout", "not checked"])
def test_it_fails_where_a_mutant_is_not_killed_and_shows_it(tmp_path: Path, status: str) -> None:
    done = judged(tmp_path, survivors={FUNCTION_MUTANT: status})

    assert done.returncode == 1
    assert f"{status}: {FUNCTION_MUTANT}\n  in domain.fees.due\n" in done.stdout
    assert "  - return max(fee, 0)\n  + return max(fee, 1)\n" in done.stdout


@pytest.mark.parametrize(
    "entry",
    [an_entry(function="domain.fees.other"), an_entry(becomes="return max(fee, 2)")],
    ids=["of another function", "another change"],
)
def test_it_fails_where_the_list_has_something_else(tmp_path: Path, entry: str) -> None:
    done = judged(tmp_path, entry, survivors={FUNCTION_MUTANT: "survived"})

    assert done.returncode == 1
    assert "0 accepted, 1 not" in done.stdout


def test_it_fails_where_the_list_has_what_survives_no_more(tmp_path: Path) -> None:
    done = judged(tmp_path, an_entry(), survivors={})

    assert done.returncode == 1
    assert "accepted, but no survivor:\n  in domain.fees.due\n" in done.stdout


def test_it_fails_where_the_list_gives_no_reason(tmp_path: Path) -> None:
    done = judged(tmp_path, an_entry(because=""), survivors={FUNCTION_MUTANT: "survived"})

    assert done.returncode == 1
    assert "gives no reason" in done.stderr


@pytest.mark.parametrize(("killed", "total"), [(0, 0), (10, 12)], ids=["none", "one is missing"])
def test_it_fails_where_the_counts_make_no_sense(tmp_path: Path, killed: int, total: int) -> None:
    done = judged(tmp_path, survivors={}, killed=killed, total=total)

    assert done.returncode == 1
    assert "the counts are" in done.stderr


def test_it_fails_with_the_output_of_mutmut_where_mutmut_fails(tmp_path: Path) -> None:
    (tmp_path / "mutants").write_text("in the way")

    done = judged(tmp_path, survivors={})

    assert done.returncode == 1
    assert "begun\n" in done.stderr
    assert "./mutmut run ended with 1" in done.stderr


def test_it_takes_nothing_from_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "mutants").mkdir()
    (tmp_path / "mutants" / "old").touch()

    assert judged(tmp_path, survivors={}).returncode == 0
