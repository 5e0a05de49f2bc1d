"""Commands need the libraries of their own extra alone."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from infex.cli.extras import EXTRAS_OF_COMMANDS, is_of_extras, needed_by

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
    code, words = said("run", "sweep.toml", "--out", "results")
    assert code == 2
    assert "joblib is missing; infex run needs: pip install 'infex[experiments]'" in words
    code, words = said("--help")
    assert code == 0
    assert all(name in words for name in EXTRAS_OF_COMMANDS)


@pytest.mark.parametrize(
    ("library", "words", "extra"),
    [
        ("click", ["serve"], "infex serve needs: pip install 'infex[service]'"),
        ("click", ["study", "list"], "infex study needs: pip install 'infex[study]'"),
        ("click", ["run", "sweep.toml"], "infex run needs: pip install 'infex[experiments]'"),
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
    assert not is_of_extras("numpy")
    assert not is_of_extras("mine")


def test_every_extra_of_a_command_has_what_commands_are_made_of() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for extra in EXTRAS_OF_COMMANDS.values():
        assert "click" in project["optional-dependencies"][extra]
