"""Sweeps on Ray and Spark, where they are installed (`make clusters` installs them and runs this)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from docs.building import pages
from tests.lab.sweeps import players
from tests.lab.sweeps.test_sweep import HERE, columns, sweep

PACKAGES = {"local": "joblib", "ray": "ray", "spark": "joblibspark"}
PAGE = pages.DOCS / "clusters.md"
INSTALLED = [name for name, package in PACKAGES.items() if find_spec(package)]

pytestmark = pytest.mark.filterwarnings("default")  # these packages warn of matters of their own


@pytest.mark.parametrize("engine", INSTALLED)
def test_an_engine_gives_the_same(engine: str) -> None:
    policies = ["LinUCB", "Infex(LinTS, every(5))", f"{HERE}:middle"]
    found = sweep(policies=policies).run(engine=engine, workers=2)
    assert not found.failures
    assert columns(found).equals(columns(sweep(policies=policies).run(workers=1)))


@pytest.mark.parametrize("engine", INSTALLED)
def test_a_worker_of_an_engine_that_dies_costs_a_retry(engine: str, tmp_path: Path) -> None:
    policies = ["LinUCB", players.Deadly(str(tmp_path / "died"))]
    results = sweep(policies=policies).run(engine=engine, workers=2)
    assert not results.failures
    assert results.finals.num_rows == 6


@pytest.mark.parametrize("engine", INSTALLED)
def test_the_program_of_the_page_runs_on_an_engine(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = pages.programs(PAGE)
    names: dict[str, Any] = {}
    pages.run_python(PAGE, block, block.code.replace('"dask"', f'"{engine}"'), names)
    alone = names["sweep"].run(workers=1)
    assert names["results"].about["engine"] == engine
    assert columns(names["results"]).equals(columns(alone))
