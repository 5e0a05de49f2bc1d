"""`infex evaluate` on files of logs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import infex
from infex import evaluation
from infex.cli.main import main
from infex.logs import Log
from tests.evaluation.synthetic_logs import as_log


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["evaluate", *map(str, words)], catch_exceptions=False)


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "year.parquet"
    evaluation.write(as_log("jit"), path)
    return path


def test_policies_are_judged_and_compared(year: Path) -> None:
    found = run(year, "--policy", "now", "--policy", "flat=Uniform", "--policy", "Greedy", "--against", "now")
    assert found.exit_code == 0, found.output
    assert "flat is worse than now" in found.output
    same = evaluation.evaluate(
        evaluation.read(year),
        {"now": evaluation.logged, "flat": infex.policies.Uniform(), "Greedy": infex.Greedy()},
        against="now",
    )
    assert str(same).strip() in found.output


def test_figures_are_printed_as_json(year: Path) -> None:
    found = run(year, "--policy", "now", "--policy", "2", "--against", "now", "--json", "--estimator", "dr")
    told = json.loads(found.output)
    assert [each["target"] for each in told["targets"]] == ["now", "2"]
    assert told["comparisons"][0]["verdict"] in ("better", "worse", "cannot tell")
    assert told["targets"][1]["estimator"] == "dr"


def test_a_saved_bandit_and_a_function_are_judged(
    year: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bandit = infex.Bandit(dim=4, policy=infex.LinUCB())
    log = as_log("jit")
    assert log.offers is not None
    bandit.learn(arms=log.offers[np.arange(1200), log.arm], rewards=log.reward)
    bandit.save(tmp_path / "shop.infex")
    (tmp_path / "own_policies.py").write_text("def last(offers, context):\n    return [4] * len(offers)\n")
    monkeypatch.chdir(tmp_path)
    found = run(
        year, "--policy", f"shop={tmp_path / 'shop.infex'}", "--policy", "own_policies:last", "--json"
    )
    shop, last = json.loads(found.output)["targets"]
    greedy = evaluation.evaluate(log, {"x": infex.Greedy()})["x"]
    assert shop["value"] == pytest.approx(greedy.value, abs=1e-12)
    assert last["value"] == pytest.approx(evaluation.evaluate(log, {"x": 4})["x"].value, abs=1e-12)


def test_the_page_is_written(year: Path, tmp_path: Path) -> None:
    page = tmp_path / "evaluation.html"
    found = run(year, "--policy", "now", "--policy", "Uniform", "--against", "now", "--page", page)
    assert found.exit_code == 0
    assert "Which policy would have been better?" in page.read_text()


def test_a_log_is_checked(year: Path, tmp_path: Path) -> None:
    found = run(year, "--check")
    assert found.exit_code == 0
    assert "weights can evaluate arms 0, 1, 2, 3, 4" in found.output
    evaluation.write(as_log("det"), tmp_path / "det.parquet")
    assert "weights cannot evaluate arms 0, 1, 2, 3, 4" in run(tmp_path / "det.parquet", "--check").output
    empty = Log(arm=[0, 1, 0], reward=[np.nan] * 3, propensity=[0.5] * 3)
    evaluation.write(empty, tmp_path / "none.parquet")
    none = run(tmp_path / "none.parquet", "--check", "--json")
    assert none.exit_code == 1
    assert json.loads(none.output)["model"] is None


def test_schedules_are_simulated(year: Path) -> None:
    words = ("--schedule", "every(5)", "--schedule", "every(50)", "--horizon", "200", "--worlds", "3")
    found = run(year, *words)
    assert found.exit_code == 0, found.output
    assert "every(50) " in found.output
    told = json.loads(run(year, *words, "--json").output)
    assert [each["explored"] for each in told["policies"]] == [40.0, 4.0]
    assert told["comparisons"][0]["second"] == "every(5)"


def test_columns_of_any_table_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    rows = "\n".join(f"{'ab'[n % 2]},{n % 3},0.5" for n in range(200))
    path.write_text(f"shown,click,p\n{rows}\n")
    found = run(path, "--arm", "shown", "--reward", "click", "--propensity", "p", "--policy", "a", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["targets"][0]["target"] == "a"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a target"),
        (("--policy", "zebra"), "no arm of the log, no file of a bandit, and no policy"),
        (("--policy", "LinUCB"), "which learns"),
        (("--policy", "now", "--policy", "now"), "two policies are called 'now'"),
        (("--policy", "nowhere:at_all"), "cannot load the target"),
        (("--policy", "now", "--against", "x"), "against must name"),
        (("--policy", "Uniform", "--estimator", "weights"), "estimator must be"),
        (("--policy", "Uniform", "--anytime"), "need rewards"),
        (("--policy", "Uniform", "--bound-missing"), "needs rewards"),
        (("--policy", "Uniform", "--rewards", "0", "1"), "reward must lie from 0 to 1"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(year: Path, words: tuple[str, ...], said: str) -> None:
    found = run(year, *words)
    assert found.exit_code == 2
    assert said in " ".join(found.output.split())


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path / "none.parquet", "--check").exit_code == 2
    (tmp_path / "text.parquet").write_text("hello")
    found = run(tmp_path / "text.parquet", "--check")
    assert found.exit_code == 2
    assert "Traceback" not in found.output
