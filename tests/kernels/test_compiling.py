"""Kernels where no cache can be written."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import infex
from infex import kernels
from infex.core import ridge
from infex.kernels import compiling


@pytest.mark.compiled
def test_the_cache_notices_an_edit_in_any_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba by itself looks at the kernel's own file alone, and would go on with what it inlined."""
    cache: Any = compiling.Cache(kernels.best.py_func)  # type: ignore[attr-defined]
    codegen = kernels.best.targetctx.codegen()  # type: ignore[attr-defined]
    before = cache._index_key((), codegen)
    assert cache._index_key((), codegen) == before
    monkeypatch.setattr(compiling, "sources", lambda: "edited")
    assert cache._index_key((), codegen) != before


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


@pytest.mark.compiled
def test_an_index_that_an_older_version_left_is_made_anew(tmp_path: Path) -> None:
    """It may name classes that are gone; then it cannot be read, which must not stop anybody."""
    package = tmp_path / "infex"
    shutil.copytree(Path(infex.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for compiled in Path(ridge.__file__).parent.glob("*.so"):  # where an editable install has built them
        shutil.copy(compiled, package / "core")
    program = "import sys\n"
    program += "sys.meta_path = [each for each in sys.meta_path if 'editable' not in type(each).__module__]\n"
    program += "import infex, numpy; from infex.kernels import best; print(best(numpy.array([1.0, 2.0])))"
    for _ in range(2):
        ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
        assert ran.stdout.strip() == "1", ran.stderr
        indices = list(package.rglob("reading.best-*.nbi"))
        assert indices
        for index in indices:
            version, _ = index.read_bytes().split(b"\x80", 1)
            index.write_bytes(version + b"\x80\x04c" + b"infex.kernels.reading\nGone\n.")
