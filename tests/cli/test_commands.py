"""The command line, as a user sees it."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from infex.cli.main import main
from infex.experiments import paper

SMALL = ["--dim", "2", "--dim", "3", "--arms", "4", "--instances", "3", "--horizon", "300", "--workers", "1"]


def infex(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cli") / "small"
    found = infex("reproduce", *SMALL, "--out", str(out))
    assert found.exit_code == 0, found.output
    return out


def test_reproduce_writes_all_that_it_promises(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    figures = {f"figure{number}.{kind}" for number in (1, 2) for kind in ("png", "svg", "pdf")}
    assert names >= figures | {"results.parquet", "summary.csv", "report.html", "sweep.json"}
    with (folder / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "dim", "arms", "policy", "instances", "regret_mean", "regret_std", "regret_median", "seconds_median",
    ]  # fmt: skip
    assert len(rows) == 2 * len(paper.policies())
    assert {row["policy"] for row in rows} == set(paper.policies())
    assert {(row["dim"], row["arms"], row["instances"]) for row in rows} == {("2", "4", "3"), ("3", "4", "3")}


def test_the_default_is_the_papers_whole_experiment() -> None:
    sweep = paper.paper()
    assert len(sweep.problems) == 9
    assert sweep.horizon == 10_000
    assert sweep.seeds == tuple(range(20))
    assert [player.label for player in sweep.players[:5]] == [
        "LinUCB",
        "Infex(LinUCB, every(5))",
        "Infex(LinUCB, every(20))",
        "Infex(LinUCB, every(100))",
        "LinTS",
    ]
    assert sweep.players[1].policy.base.delta == 1e-4


def test_a_second_time_plays_nothing_and_other_contents_are_left_alone(folder: Path, tmp_path: Path) -> None:
    before = (folder / "results.parquet").read_bytes()
    assert infex("reproduce", *SMALL, "--out", str(folder)).exit_code == 0
    assert (folder / "results.parquet").read_bytes() == before
    (tmp_path / "notes.txt").write_text("mine")
    found = infex("reproduce", *SMALL, "--out", str(tmp_path))
    assert found.exit_code == 2
    assert "has other contents; name another, or --force" in found.output


def test_policies_are_chosen_by_name(tmp_path: Path) -> None:
    words = ["--policy", "Infex(LinUCB, every(5))", "--policy", "tests.experiments.players:middle"]
    found = infex("reproduce", *SMALL, *words, "--out", str(tmp_path / "a"))
    assert found.exit_code == 0
    assert "Infex(LinUCB, every(5))" in found.output
    assert "tests.experiments.players:middle" in found.output
    bad = infex("reproduce", *SMALL, "--policy", "LinUBC", "--out", str(tmp_path / "b"))
    assert bad.exit_code == 2
    assert "unknown name 'LinUBC'" in bad.output
    assert not (tmp_path / "b").exists()


def test_run_plays_a_file_and_says_what_failed(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        'horizon = 50\nseeds = 2\npolicies = ["Greedy", "tests.experiments.players:failing"]\n'
        '[[environments]]\nkind = "gaussian"\ndim = 2\narms = 3\n'
    )
    found = infex("run", str(path), "--out", str(tmp_path / "a"), "--workers", "1")
    assert found.exit_code == 1
    assert "2 runs failed" in found.output
    assert "ZeroDivisionError: on purpose" in found.output
    assert len(json.loads((tmp_path / "a" / "failures.json").read_text())) == 2
    assert "runs failed" in (tmp_path / "a" / "report.html").read_text()
    path.write_text(path.read_text().replace("dim = 2", 'dim = "two"'))
    bad = infex("run", str(path), "--out", str(tmp_path / "b"))
    assert bad.exit_code == 2
    assert "sweep.toml" in bad.output
    assert not (tmp_path / "b").exists()


def test_report_draws_again(folder: Path) -> None:
    (folder / "report.html").unlink()
    (folder / "figure1.png").unlink()
    found = infex("report", str(folder))
    assert found.exit_code == 0
    assert (folder / "report.html").exists()
    assert (folder / "figure1.png").exists()
    rows = json.loads(infex("report", str(folder), "--json").output)
    assert len(rows) == 2 * len(paper.policies())
    assert infex("report", str(folder / "nowhere")).exit_code == 2


def test_compare_prints_paired_differences(folder: Path) -> None:
    found = infex("compare", "Infex(LinUCB, every(5))", "LinUCB", "--in", str(folder))
    assert found.exit_code == 0
    assert "of 3" in found.output
    rows: list[dict[str, Any]] = json.loads(
        infex("compare", "Infex(LinUCB, every(5))", "LinUCB", "--in", str(folder), "--json").output
    )
    assert [(row["dim"], row["pairs"]) for row in rows] == [(2, 3), (3, 3)]
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)
    same = json.loads(infex("compare", "Greedy", "Greedy", "--in", str(folder), "--json").output)
    assert [row["mean"] for row in same] == [0, 0]
    bad = infex("compare", "Greedy", "Nobody", "--in", str(folder))
    assert bad.exit_code == 2
    assert "has no runs of 'Nobody'; it has LinUCB," in bad.output


@pytest.mark.parametrize("words", [[], ["reproduce"], ["run"], ["report"], ["compare"]], ids=str)
def test_help_shows_examples(words: list[str]) -> None:
    found = infex(*words, "--help")
    assert found.exit_code == 0
    assert "infex " in found.output
    assert "\\b" not in found.output


@pytest.mark.compiled
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path: Path) -> None:
    words = [
        "reproduce",
        "--dim",
        "5",
        "--arms",
        "50",
        "--instances",
        "30",
        "--policy",
        "LinTS",
        "--out",
        "a",
    ]
    words += ["--horizon", "100000", "--workers", "2"]
    program = [sys.executable, "-c", "from infex.cli import main; main()", *words]
    process = subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.PIPE, env=os.environ, text=True)
    deadline = time.monotonic() + 90
    while not list(tmp_path.glob("a/runs/*.arrow")):
        assert time.monotonic() < deadline, "nothing was finished"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "what was finished is kept in a" in " ".join(said.split())
    kept = len(list(tmp_path.glob("a/runs/*.arrow")))
    assert 0 < kept < 30
