"""Rooms import downward only, and `import infex` loads nothing heavy."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import infex

PACKAGE = Path(infex.__file__).parent
ROOMS = [
    "errors",
    "checks",
    "files",
    "streams",
    "schedules",
    "linear",
    "estimators",
    "policies",
    "features",
    "bandit",
    "environments",
    "simulation",
    "theory",
    "reports",
    "experiments",
    "planning",
    "cli",
    "__main__",
    "testing",
]


def imports(path: Path) -> Iterator[str]:
    """The modules of infex that a file imports, by their full names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "infex":
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] == "infex")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_a_room_imports_only_rooms_above_it(path: Path) -> None:
    if room(path) == "__init__":
        assert {name.split(".")[1] for name in imports(path)} <= set(ROOMS[:-1]), (
            "the package leaves testing out"
        )
        return
    allowed = ROOMS[: ROOMS.index(room(path)) + 1]
    for name in imports(path):
        if name == "infex.__version__":
            continue
        assert name.split(".")[1] in allowed, f"{name} is not above {room(path)}"


def test_every_room_is_on_the_list_and_in_the_architecture() -> None:
    rooms = {room(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert rooms == set(ROOMS)
    drawn = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    for name in ROOMS:
        assert f"| `{name}" in drawn, f"docs/architecture.md does not show {name}"


def test_importing_infex_loads_nothing_heavy() -> None:
    heavy = [
        "matplotlib",
        "pandas",
        "polars",
        "pyarrow",
        "scipy",
        "starlette",
        "click",
        "joblib",
        "infex.testing",
        "infex.theory",
    ]
    program = f"import sys, infex; print([name for name in {heavy} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_the_idea_of_the_paper_stays_short() -> None:
    text = (PACKAGE / "policies" / "infex.py").read_text()
    kind = next(
        node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == "Infex"
    )
    code = [line for line in text.splitlines()[kind.lineno - 1 : kind.end_lineno] if line.strip()]
    assert len(code) < 80
