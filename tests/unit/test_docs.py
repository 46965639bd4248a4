"""What the documents say of the repository is so."""

import ast
import re
from pathlib import Path

import pytest
from typer.main import get_group

from domain.reconciliation.differences import DifferenceKind
from entrypoints.cli import app
from entrypoints.reconcile_remedies import REMEDIES

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.fixture(scope="module")
def test_names() -> set[str]:
    return {
        name
        for path in ROOT.glob("tests/**/*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text())
    }


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_that_a_document_names_exists(document: Path, test_names: set[str]) -> None:
    named = set(re.findall(r"`(test_\w+)`", document.read_text()))

    assert named <= test_names


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    linked = {target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target}
    named = set(re.findall(r"`((?:src|docs|tests|migrations|ops)/[\w./-]+)`", text))

    assert [path for path in linked if not (document.parent / path).exists()] == []
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_what_reconcile_tells_is_explained_kind_by_kind() -> None:
    text = (ROOT / "docs" / "reconcile.md").read_text()

    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", text, re.MULTILINE)

    assert [kind for kind, _, _ in rows] == [str(kind) for kind in DifferenceKind]
    for kind, _, what_to_do in rows:
        # The command says the same in a line.
        assert what_to_do.replace("`", "").startswith(REMEDIES[DifferenceKind(kind)])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_document_names_exists(document: Path) -> None:
    named = set(
        re.findall(r"(?:`|\$ |^)outbox-worker ([a-z][a-z-]*)", document.read_text(), re.MULTILINE)
    )

    assert named <= set(get_group(app).commands)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_that_an_example_imports_is_there(document: Path) -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
    imported = [
        (node.module or "", alias.name)
        for node in ast.walk(ast.parse("".join(examples)))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]

    assert [
        (module, name)
        for module, name in imported
        if not hasattr(__import__(module, fromlist=[name]), name)
    ] == []
