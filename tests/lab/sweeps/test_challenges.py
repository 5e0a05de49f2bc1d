"""The suite of challenges, and its scores."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import infex
from infex import Infex, LinUCB, every
from infex.cli.main import main
from infex.errors import InvalidSetting
from infex.lab import Sweep, play
from infex.lab import suite as challenges
from infex.lab.environments import gaussian
from infex.lab.suite import (
    CHALLENGES,
    Score,
    markdown_table,
    overall,
    score_table,
    scores,
    suite,
    suite_page,
    write_suite,
)


@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda each: each.name)
def test_every_challenge_can_be_played(challenge: Any) -> None:
    (problem,) = Sweep(environments=[challenge.environment], policies=["Greedy"]).problems
    run = play(problem.make(3), suite().players[0].policy, 20, seed=3)
    assert run.horizon == 20
    assert challenge.shows.endswith(("?", "."))


def small(**more: Any) -> Any:
    named = {"easy": "gaussian(dim=2, arms=5)", "drift": "gaussian(dim=2, arms=5, moves=steps(every=30))"}
    policies = ["Greedy", "LinUCB", "Uniform"]
    return Sweep(environments=named, policies=policies, horizon=200, **more).run(workers=1)


def test_scores_lie_between_the_best_and_uniform_play() -> None:
    results = small(seeds=14)
    found = scores(results)
    for cell in results.cells:
        means = {policy: results.regret(cell, policy).mean() for policy in results.policies}
        best, worst = min(means.values()), means["Uniform"]
        mine = {each.policy: each for each in found if each.challenge == cell.environment}
        for policy, mean in means.items():
            assert mine[policy].score == pytest.approx((worst - mean) / (worst - best))
            assert mine[policy].low <= mine[policy].score + 1e-12
            assert mine[policy].score <= mine[policy].high + 1e-12
            assert mine[policy].regret == pytest.approx(mean)
        assert max(each.score for each in mine.values()) == 1.0
        assert mine["Uniform"].score == mine["Uniform"].low == mine["Uniform"].high == 0.0
    means = overall(found)
    assert list(means.values()) == sorted(means.values(), reverse=True)
    assert means["LinUCB"] == pytest.approx(
        np.mean([each.score for each in found if each.policy == "LinUCB"])
    )


def test_few_seeds_have_no_interval() -> None:
    assert all(np.isnan([each.low, each.high]).all() for each in scores(small(seeds=11)))


def test_a_suite_that_lacks_runs_is_refused() -> None:
    named = {"easy": "gaussian(dim=2, arms=5)"}
    results = Sweep(environments=named, policies=["Greedy"], horizon=20, seeds=2).run(workers=1)
    with pytest.raises(InvalidSetting, match="a score on 'easy' needs all runs of Uniform"):
        scores(results)


def test_the_page_has_every_challenge_and_policy(tmp_path: Path) -> None:
    results = small(seeds=12)
    page = suite_page(results, scores(results))
    for word in ("Easy", "Drift", "LinUCB", "Greedy", "Uniform", "12 seeds"):
        assert word in page
    assert "http" not in page.replace("http://www.w3.org", "")
    write_suite(results, tmp_path)
    rows = (tmp_path / "scores.csv").read_text().splitlines()
    assert rows[0] == "policy,challenge,score,low,high,regret,milliseconds,explored,deviations,failed"
    assert len(rows) == 1 + 6


def test_challenges_are_chosen_by_name() -> None:
    assert [problem.label for problem in suite(only=["drift"]).problems] == ["drift"]
    with pytest.raises(InvalidSetting, match=r"no challenge is called 'drif' .did you mean drift.*there are"):
        suite(only=["drif"])
    with_own = suite(policies=["LinUCB", "LinUCB(scale=0.2)"], only=["drift"])
    assert [player.label for player in with_own.players].count("LinUCB") == 1
    assert with_own.players[-1].label == "LinUCB(scale=0.2)"


def test_the_command_writes_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(challenges, "SUITE_HORIZON", 50)
    out = tmp_path / "suite"
    given = ["lab", "suite", "--only", "lower bound", "--seeds", "2", "--workers", "1", "--out", str(out)]
    found = CliRunner().invoke(main, [*given, "--policy", "LinUCB(scale=0.2)"])
    assert found.exit_code == 0, found.output
    assert "LinUCB(scale=0.2)" in found.output
    assert {"suite.html", "scores.csv", "results.parquet"} <= {path.name for path in out.iterdir()}
    again = CliRunner().invoke(main, [*given, "--json"])
    assert again.exit_code == 0
    assert '"challenge": "lower bound"' in again.output
    shown = CliRunner().invoke(main, [*given, "--markdown"])
    assert shown.output.splitlines()[0] == "| policy | mean | lower bound |"
    assert "| `Uniform` | 0.00 | 0.00 |" in shown.output.splitlines()


@pytest.fixture
def suite_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`infex lab suite` with 14 seeds of 50 rounds of two challenges, always into one folder."""
    monkeypatch.setattr(challenges, "SUITE_HORIZON", 50)
    (tmp_path / "entrants.py").write_text(ENTRANTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    only = ["--only", "the paper's", "--only", "lower bound"]
    given = ["lab", "suite", *only, "--seeds", "14", "--workers", "1", "--out", str(tmp_path / "out")]
    return lambda *more: CliRunner().invoke(main, [*given, *more], env={"COLUMNS": "200"})


ENTRANTS = """
import infex


class Quitter:
    "Fails in the runs that go badly."
    def choose(self, t, posterior, rng):
        if t == 30 and posterior.estimates.max() < 0.25:
            raise RuntimeError("gave up")
        return infex.Choice(posterior.greedy)


class Crowded:
    "Fails wherever there are two arms."
    def choose(self, t, posterior, rng):
        if len(posterior) == 2:
            raise RuntimeError("too few arms")
        return infex.Choice(posterior.greedy)
"""


def test_an_entrant_with_failed_runs_has_no_score_and_takes_none_from_others(
    suite_command: Callable[..., Any], tmp_path: Path
) -> None:
    """Its other runs are those that went well, so a score over them would be too good."""
    alone = json.loads(suite_command("--json").stdout)
    found = suite_command("--policy", "entrants:Quitter", "--json")
    assert found.exit_code == 1, "a script can tell that runs failed"
    rows = json.loads(found.stdout)
    assert [row for row in rows if row["policy"] != "entrants:Quitter"] == alone
    mine = {row["challenge"]: row for row in rows if row["policy"] == "entrants:Quitter"}
    failures = json.loads((tmp_path / "out" / "failures.json").read_text())
    for name, row in mine.items():
        failed = sum(f" on {name} " in each["run"] for each in failures)
        assert 0 < failed == row["failed"] < 14
        assert row["score"] is row["low"] is row["regret"] is None
    assert all(row["failed"] == 0 for row in alone)


def test_failures_are_marked_on_console_table_and_page(
    suite_command: Callable[..., Any], tmp_path: Path
) -> None:
    console = suite_command("--policy", "entrants:Crowded")
    table = suite_command("--policy", "entrants:Crowded", "--markdown")
    page = (tmp_path / "out" / "suite.html").read_text()
    note = "Means are over the 1 of 2 challenges that all policies with a mean have finished."
    for text in (console.stdout, table.stdout, page):
        assert "14 failed" in text
        assert note in text
    assert "14 runs failed" in page
    marked = [line for line in table.stdout.splitlines() if "Crowded" in line]
    assert len(marked) == 1
    assert marked[0].endswith("| 14 failed |")
    assert "failed" not in suite_command("--markdown").stdout


def test_means_are_over_the_challenges_that_all_have_finished(suite_command: Callable[..., Any]) -> None:
    lines = suite_command("--policy", "entrants:Crowded", "--markdown").stdout.splitlines()
    rows = {cells[0]: cells[1:] for cells in (line.strip("| ").split(" | ") for line in lines[2:-2])}
    assert all(mean == papers for mean, papers, _ in rows.values()), "the other was not played by all"
    assert {bound for _, _, bound in rows.values()} > {"14 failed", "0.00"}
    lines = suite_command("--policy", "entrants:Quitter", "--markdown").stdout.splitlines()
    rows = {cells[0]: cells[1:] for cells in (line.strip("| ").split(" | ") for line in lines[2:-2])}
    assert rows.pop("`entrants:Quitter`")[0] == "", "it has no score at all, so it takes no challenge away"
    for mean, papers, bound in rows.values():
        assert float(mean) == pytest.approx((float(papers) + float(bound)) / 2, abs=0.011)


def test_the_page_counts_explorations_and_deviations_of_schedules_alone() -> None:
    policies = ["LinUCB", "Infex(LinUCB, every(4))", "Uniform"]
    environments = {"easy": "gaussian(dim=2, arms=5)"}
    results = Sweep(environments=environments, policies=policies, horizon=200, seeds=3).run(workers=1)
    found = {each.policy: each for each in scores(results)}
    runs = [
        play(gaussian(dim=2, arms=5, seed=seed), Infex(LinUCB(), every(4)), 200, seed) for seed in range(3)
    ]
    different = np.mean([run.different for run in runs])
    assert found["Infex(LinUCB, every(4))"].explored == 50
    assert found["Infex(LinUCB, every(4))"].deviations == pytest.approx(different)
    page = suite_page(results, scores(results))
    assert f"<td>50</td><td>{different:,.0f}</td>" in page
    assert np.isnan([found["LinUCB"].explored, found["LinUCB"].deviations]).all()
    assert "<td></td><td></td>" in page, "nothing stands there without a schedule, and not 0"


def test_all_entrants_can_play_where_arms_change() -> None:
    (problem,) = suite(only=[CHALLENGES[-1].name]).problems
    for player in suite().players:
        assert play(problem.make(1), player.policy, 3).horizon == 3


def test_the_table_has_a_row_for_each_policy_and_no_negative_nothing() -> None:
    found = [
        Score("a", "one", -0.001, 0, 0, 1, 1, 1, 1), Score("b", "one", 1.0, 0, 0, 1, 1, 1, 1),
        Score("a", "two", 0.456, 0, 0, 1, 1, 1, 1), Score("b", "two", 0.123, 0, 0, 1, 1, 1, 1),
    ]  # fmt: skip
    assert score_table(found) == [
        ["policy", "mean", "one", "two"], ["b", "0.56", "1.00", "0.12"], ["a", "0.23", "0.00", "0.46"],
    ]  # fmt: skip
    assert markdown_table(found).splitlines()[2] == "| `b` | 0.56 | 1.00 | 0.12 |"


def test_the_laboratory_shows_the_table_of_the_suite() -> None:
    """Its columns are the challenges, its rows the entrants, the best first; scores are those of the best."""
    lines = (Path(infex.__file__).parent.parent / "docs" / "laboratory.md").read_text().splitlines()
    first = lines.index("| policy | mean | " + " | ".join(each.name for each in CHALLENGES) + " |")
    rows = [line.strip("| ").split(" | ") for line in lines[first + 2 : first + 2 + len(suite().players)]]
    assert {row[0].strip("`") for row in rows} == {player.label for player in suite().players}
    means = [float(row[1]) for row in rows]
    assert means == sorted(means, reverse=True)
    scored = np.array([[float(score) for score in row[2:]] for row in rows])
    assert scored.max(axis=0).tolist() == [1.0] * len(CHALLENGES)
    np.testing.assert_allclose(means, scored.mean(axis=1), atol=0.011)
