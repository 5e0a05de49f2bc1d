"""Kernels where no cache can be written."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import infex
from infex.linear.compiling import compiled


def test_a_place_without_a_cache_compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def njit(cache: bool = False, **options: object) -> object:
        calls.append(cache)
        if cache:
            raise RuntimeError("cannot cache function 'f': no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", njit)
    assert compiled(abs) is abs
    assert calls == [True, False]


def test_other_faults_of_the_compiler_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def njit(**options: object) -> object:
        raise RuntimeError("out of registers")

    monkeypatch.setattr(numba, "njit", njit)
    with pytest.raises(RuntimeError, match="out of registers"):
        compiled(abs)


@pytest.mark.compiled
def test_the_package_works_where_nothing_can_be_written(tmp_path: Path) -> None:
    package = tmp_path / "infex"
    shutil.copytree(Path(infex.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    program = (
        "import infex; b = infex.Bandit([[1.0]], infex.LinUCB()); b.tell(b.ask(), 1.0); print(b.ask().arm)"
    )
    environment = os.environ | {
        "HOME": str(nowhere),
        "XDG_CACHE_HOME": str(nowhere),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("in the way of a cache")
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "0", ran.stderr
