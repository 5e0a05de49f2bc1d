"""Commands need the libraries of their own extra alone."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from infex.cli import COMMANDS, extras_with, needed_by

OF_EXPERIMENTS = ("joblib", "pyarrow", "matplotlib", "scipy", "dask", "pandas", "polars", "psycopg")
PROGRAM = f"""
import sys
for name in {OF_EXPERIMENTS}:
    sys.modules[name] = None
from infex.cli.main import main
main(sys.argv[1:], prog_name="infex")
"""
WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from infex.cli import main
main()
"""


def said(*words: str) -> tuple[int, str]:
    """What a command says where the libraries of infex[experiments] are missing."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def test_the_service_and_its_tokens_need_no_library_of_experiments(tmp_path: Path) -> None:
    code, words = said("serve", "--db", f"sqlite:///{tmp_path}/shop.db", "--host", "0.0.0.0")
    assert (code, "infex token make" in words) == (2, True), words
    code, words = said("token", "list", "--db", f"sqlite:///{tmp_path}/shop.db")
    assert (code, words) == (0, "")


def test_a_command_whose_libraries_are_missing_says_what_to_install() -> None:
    code, words = said("lab", "run", "sweep.toml", "--out", "results")
    assert code == 2
    assert "pyarrow is missing; infex lab run needs: pip install 'infex[experiments]'" in words


@pytest.mark.parametrize(
    ("library", "words", "extra"),
    [
        ("click", ["serve"], "infex serve needs: pip install 'infex[service]'"),
        ("click", ["study", "list"], "infex study needs: pip install 'infex[study]'"),
        ("click", ["lab", "run", "sweep.toml"], "infex lab run needs: pip install 'infex[experiments]'"),
        ("click", ["lab"], "infex lab needs: pip install 'infex[experiments]'"),
        ("click", ["--help"], "the commands need: pip install 'infex[experiments]'"),
        (
            "uvicorn",
            ["serve", "--db", "sqlite:///shop.db"],
            "infex serve needs: pip install 'infex[service]'",
        ),
        ("apsw", ["study", "list", "sqlite:///shop.db"], "infex study needs: pip install 'infex[study]'"),
        (
            "msgspec",
            ["token", "list", "--db", "sqlite:///shop.db"],
            "infex token needs: pip install 'infex[service]'",
        ),
    ],
)
def test_a_missing_library_is_said_with_the_extra_of_the_command(
    tmp_path: Path, library: str, words: list[str], extra: str
) -> None:
    (tmp_path / "shop.db").touch()
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, library, *words], capture_output=True, text=True, cwd=tmp_path
    )
    assert ran.returncode in (1, 2)
    assert f"{library} is missing; {extra}" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_library_that_a_commands_own_extra_lacks_is_found_in_another() -> None:
    assert "infex[postgres]" in needed_by("serve", "psycopg")
    assert "infex[service]" in needed_by("serve", "prometheus_client")
    assert not extras_with("numpy")
    assert not extras_with("mine")


def test_every_extra_of_a_command_has_what_commands_are_made_of() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for command in COMMANDS.values():
        assert "click" in project["optional-dependencies"][command.extra]


def test_help_lists_all_commands_and_imports_none_of_them() -> None:
    """Nor any library but click."""
    program = (
        "import sys\n"
        "from infex.cli.main import main\n"
        "before = set(sys.modules)\n"
        "main(sys.argv[1:], prog_name='infex', standalone_mode=False)\n"
        "print(sorted(name for name in set(sys.modules) - before if '_command' in name))\n"
        f"print([name for name in {(*OF_EXPERIMENTS, 'rich', 'msgspec', 'apsw')} if name in sys.modules])\n"
    )
    for words, listed in (
        (["--help"], [path for path in COMMANDS if " " not in path]),
        (["lab", "--help"], [path.split()[1] for path in COMMANDS if " " in path]),
    ):
        ran = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True)
        assert ran.stdout.splitlines()[-2:] == ["[]", "[]"], ran.stderr
        shown = [
            line.split()[0] for line in ran.stdout.splitlines() if line.startswith("  ") and line.strip()
        ]
        assert [name for name in shown if name in listed] == listed
