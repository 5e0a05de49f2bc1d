"""Rooms import downward only, and `import infex` loads nothing heavy."""

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import infex

PACKAGE = Path(infex.__file__).parent
GROUND = {"errors", "checks", "arrays"}
ROOMS: dict[str, set[str]] = {  # what each room may import, beside itself
    "errors": set(),
    "version": set(),
    "checks": {"errors"},
    "arrays": {"errors", "checks"},
    "files": set(),
    "core": {"errors", "arrays"},
    "streams": {"checks", "arrays"},
    "_stats": GROUND | {"streams"},
    "schedules": GROUND | {"streams"},
    "models": GROUND | {"core"},
    "policies": GROUND | {"streams", "core", "schedules", "models"},
    "adapters": GROUND | {"models", "policies"},
    "features": GROUND,
    "registry": GROUND  # models: a decision says what its reward is learnt on
    | {"models", "schedules", "policies", "features"},
    "logs": GROUND | {"files", "core", "schedules", "features", "registry"},
    "bandit": GROUND
    | {"version", "files", "streams", "_stats", "schedules", "models", "policies"}
    | {"features", "registry", "logs"},
    "pages": GROUND,
    "lab": GROUND
    | {"files", "streams", "_stats", "core", "schedules", "models", "policies", "features"}
    | {"registry", "logs", "bandit", "pages"},
    "evaluation": GROUND
    | {"files", "streams", "core", "models", "features", "policies"}
    | {"registry", "bandit", "logs", "lab", "pages"},
    "study": GROUND
    | {"version", "files", "models", "schedules", "policies", "features", "registry", "bandit"}
    | {"logs"},
    "service": GROUND
    | {"version", "files", "streams", "features", "policies", "registry", "bandit", "study"},
    "client": GROUND | {"files", "registry", "logs"},
    "cli": GROUND | {"files", "lab", "logs", "evaluation", "study", "service", "client"},
    "__main__": {"cli"},
    "testing": GROUND  # lab: `agree` compares whole runs
    | {"bandit", "streams", "schedules", "models", "policies", "lab", "study"},
}


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """The modules of infex that a file imports, by their full names; not the package, which shows them."""
    return frozenset(_imported(parsed(path)))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "infex":
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("infex."))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_a_room_imports_only_what_its_row_names(path: Path) -> None:
    if room(path) == "__init__":  # the package itself shows what rooms have
        return
    allowed = {room(path), *ROOMS[room(path)]}
    for name in imports(path):
        if name == "infex.__version__":
            continue
        assert name.split(".")[1] in allowed, f"{room(path)} may not import {name}"


def test_every_room_is_on_the_list_and_in_the_architecture() -> None:
    rooms = {room(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert rooms == set(ROOMS)
    drawn = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    for name in ROOMS:
        assert f"`{name}" in drawn, f"docs/architecture.md does not show {name}"


def test_the_rows_hold_no_circle() -> None:
    left = dict(ROOMS)
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert not left


def test_no_row_names_a_room_that_is_not_imported() -> None:
    used: dict[str, set[str]] = {name: set() for name in ROOMS}
    for path in PACKAGE.rglob("*.py"):
        if room(path) != "__init__":
            used[room(path)] |= {name.split(".")[1] for name in imports(path)} - {room(path), "__version__"}
    for name, needs in ROOMS.items():
        assert needs - used[name] <= GROUND, f"{name} does not import {needs - used[name] - GROUND}"


def test_importing_infex_loads_nothing_heavy() -> None:
    heavy = [
        "matplotlib",
        "pandas",
        "polars",
        "pyarrow",
        "scipy",
        "numba",
        "starlette",
        "click",
        "joblib",
        "infex.lab",
        "infex.testing",
    ]
    program = f"import sys, infex; print([name for name in {heavy} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_a_name_that_stands_in_a_module_of_infex_is_found_by_the_message() -> None:
    for name, module in {
        "LinMED": "policies",
        "ledger": "policies",
        "union": "schedules",
        "Lasso": "models",
    }.items():
        with pytest.raises(
            AttributeError, match=f"'infex' has no attribute '{name}': it is infex.{module}.{name}$"
        ):
            getattr(infex, name)
    with pytest.raises(AttributeError, match=r"'infex' has no attribute 'LinMAD'$"):
        getattr(infex, "Lin" + "MAD")


def test_planning_needs_neither_a_table_library_nor_one_for_processes() -> None:
    heavy = ["pyarrow", "joblib", "matplotlib", "click", "scipy.stats", "scipy.special"]
    program = f"import sys, infex; infex.lab.plan; print([name for name in {heavy} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
