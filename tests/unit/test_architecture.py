"""What import-linter cannot say: it forbids names, and here all names but a few are forbidden."""

import ast
import sys
from pathlib import Path

import domain

PACKAGE = Path(domain.__file__).parent


def imported_packages(module: Path) -> set[str]:
    """Return the top-level names of everything that *module* imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(name), level=0):
                names.add(name)
            case _:
                pass
    return {name.partition(".")[0] for name in names}


def test_the_values_of_the_domain_are_declared_as_values() -> None:
    """``@dataclass`` is for what changes; frozen ones cost three times as much to make."""
    frozen = [
        f"{module.name}: {node.name}"
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if "frozen=True" in ast.unparse(decorator)
    ]

    assert frozen == []


def test_domain_imports_itself_and_the_standard_library() -> None:
    allowed = sys.stdlib_module_names | {"domain"}
    strangers = {
        module.name: foreign
        for module in PACKAGE.rglob("*.py")
        if (foreign := imported_packages(module) - allowed)
    }

    assert strangers == {}
