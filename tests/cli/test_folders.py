"""`infex lab diff`, and `infex lab run` of a folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from infex.cli.main import main
from infex.lab.results import Results
from infex.lab.store import read

TOML = """
policies = ["Greedy", "LinUCB"]
horizon = 60
seeds = {seeds}
[[environments]]
kind = "gaussian"
dim = 2
arms = 4
"""


def lab(*words: str | Path) -> Any:
    return CliRunner().invoke(main, ["lab", *map(str, words)], catch_exceptions=False)


def sweep(tmp_path: Path, seeds: int, out: str) -> Path:
    (tmp_path / "sweep.toml").write_text(TOML.format(seeds=seeds))
    found = lab("run", tmp_path / "sweep.toml", "--out", tmp_path / out, "--workers", "1")
    assert found.exit_code == 0, found.output
    return tmp_path / out


def test_a_folder_is_run_again_from_its_own_sweep(tmp_path: Path) -> None:
    one = sweep(tmp_path, 2, "one")
    again = lab("run", one, "--workers", "1")
    assert again.exit_code == 0, again.output
    assert "0 runs played" in again.output
    assert "4 were there already" in again.output
    other = lab("run", one, "--out", tmp_path / "other", "--workers", "1")
    assert "4 runs played" in other.output
    assert read(tmp_path / "other").about["sweep"] == read(one).about["sweep"]
    same = lab("diff", one, tmp_path / "other")
    assert same.exit_code == 0
    assert (
        same.output == "4 runs agree bit for bit, 0 differ, 0 are in the first alone, 0 in the second alone\n"
    )


def test_a_folder_without_a_sweep_is_refused(tmp_path: Path) -> None:
    found = lab("run", tmp_path)
    assert found.exit_code == 2
    assert "holds no sweep to be played again" in found.output
    one = sweep(tmp_path, 1, "one")
    about = json.loads((one / "sweep.json").read_text())
    about["sweep"]["policies"] = ["Greddy"]
    (one / "sweep.json").write_text(json.dumps(about))
    found = lab("run", one)
    assert found.exit_code == 2
    assert "unknown name 'Greddy'" in " ".join(found.output.split())


def test_what_differs_is_named_and_the_code_tells(tmp_path: Path) -> None:
    one, more = sweep(tmp_path, 1, "one"), sweep(tmp_path, 13, "more")
    found = lab("diff", one, more)
    assert found.exit_code == 1
    assert found.output.startswith("2 runs agree bit for bit, 0 differ, 0 are in the first alone, 24 in the")
    assert f"only in {more}:\n  Greedy on gaussian(dim=2, arms=4) with seed 1 (" in found.output
    assert "  and 14 more\n" in found.output
    told = lab("diff", more, one, "--json")
    assert told.exit_code == 1
    data = json.loads(told.output, parse_constant=pytest.fail)
    assert (data["same"], data["agrees"], len(data["only_one"]), data["only_other"]) == (2, False, 24, [])
    results = read(one)
    table = results.table().arrow
    regret = table["regret"].to_pylist()
    regret[-1] += 1e-9
    edited = table.set_column(table.column_names.index("regret"), "regret", pa.array(regret))
    Results(edited, about=results.about).save(tmp_path / "edited")
    parted = lab("diff", one, tmp_path / "edited")
    assert parted.exit_code == 1
    words = "LinUCB on gaussian(dim=2, arms=4) with seed 0 (dim 2, arms 4, horizon 60): from round 60 on"
    assert f"differ:\n  {words}" in parted.output


def test_a_report_shows_medians_on_logarithmic_axes_or_latex(tmp_path: Path) -> None:
    one = sweep(tmp_path, 3, "one")
    before = (one / "figure1.svg").read_bytes()
    drawn = lab("report", one, "--show", "median", "--log")
    assert drawn.exit_code == 0, drawn.output
    assert (one / "figure1.svg").read_bytes() != before
    results = read(one)
    (cell,) = results.cells
    regret = results.regret(cell, "LinUCB")
    low, high = np.quantile(regret, (0.25, 0.75))
    spread = lab("report", one, "--latex", "--show", "std").output
    assert rf" \pm {regret.std(ddof=1):.1f}$" in spread
    assert lab("report", one, "--latex").output == spread
    assert rf"[{low:.1f},\,{high:.1f}]" in lab("report", one, "--latex", "--show", "median").output
    assert lab("report", one, "--show", "mode").exit_code == 2


def test_folders_without_results_are_refused(tmp_path: Path) -> None:
    found = lab("diff", tmp_path, tmp_path)
    assert found.exit_code == 2
    assert "holds no results of a sweep" in found.output
