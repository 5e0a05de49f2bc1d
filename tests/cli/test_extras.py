"""Commands need the libraries of their own extra alone."""

import subprocess
import sys
from pathlib import Path

from infex.cli.main import EXTRAS_OF_COMMANDS

OF_EXPERIMENTS = ("joblib", "pyarrow", "matplotlib", "scipy", "dask", "pandas", "polars", "psycopg")
PROGRAM = f"""
import sys
for name in {OF_EXPERIMENTS}:
    sys.modules[name] = None
from infex.cli.main import main
main(sys.argv[1:], prog_name="infex")
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
