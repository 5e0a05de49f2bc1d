"""Names, order and grids: what a user said is what tables, titles and figures say."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Greedy, Infex, LinTS, LinUCB, every
from infex._stats import mean_intervals
from infex.errors import InvalidSetting
from infex.lab import Results, Sweep, environments, paper, play_many
from infex.models import Discounted
from tests.lab.sweeps import players

ONE: dict[str, Any] = {"environments": ["gaussian(dim=2, arms=4)"], "horizon": 60, "seeds": 2}


def run(**given: Any) -> Results:
    return Sweep(**ONE | {"policies": ["Greedy"]} | given).run(workers=1)


def labels(**given: Any) -> list[str]:
    return [player.label for player in Sweep(**ONE | given).players]


def test_a_list_of_objects_under_one_name_is_as_a_list_in_text() -> None:
    scales = (0.1, 0.5, 1.0)
    objects = labels(policies={"wide": [LinUCB(scale=scale) for scale in scales]})
    assert objects == ["wide(scale=0.1)", "wide(scale=0.5)", "wide(scale=1)"]
    assert labels(policies={"wide": "LinUCB(scale=[0.1, 0.5, 1])"}) == objects
    grid = [Infex(LinUCB(scale=scale), every(period)) for scale in (0.1, 0.5) for period in (5, 20)]
    assert labels(policies={"ours": grid}) == [
        f"ours(period={period}, scale={scale})" for scale in (0.1, 0.5) for period in (5, 20)
    ]
    mixed = [LinUCB(scale=0.1), Greedy(), players.Level(1)]
    assert labels(policies={"any": mixed}) == ["any(LinUCB(scale=0.1))", "any(Greedy)", "any(Level(arm=1))"]
    assert labels(policies={"any": ["LinUCB(scale=[0.1, 1])", "Greedy"]}) == [
        "any(LinUCB(scale=0.1))",
        "any(LinUCB)",
        "any(Greedy)",
    ]
    assert labels(policies={"alone": [LinUCB(scale=0.1)]}) == ["alone"]


def test_the_runs_of_a_named_list_are_those_of_its_objects(tmp_path: Path) -> None:
    policies = [LinUCB(scale=0.1), LinUCB(scale=0.5), players.Level(1)]
    plain = run(policies=policies)
    results = Sweep(**ONE | {"policies": {"wide": policies}}).run(workers=1, out=tmp_path)
    assert len(results.policies) == 3
    assert all(name.startswith("wide(") for name in results.policies)
    for name, label in zip(results.policies, plain.policies, strict=True):
        np.testing.assert_array_equal(
            results.regret(results.cells[0], name), plain.regret(plain.cells[0], label)
        )
    for policy in policies:
        assert results.regret(results.cells[0], policy).size == 2
    assert Results.load(tmp_path).confirm(1, workers=1).results.policies


def test_lists_stand_under_the_names_of_schedules_estimators_and_environments_too() -> None:
    assert labels(bases={"b": [LinUCB(), LinTS()]}, schedules={"s": [every(2), every(5)]}) == [
        f"Infex({base}, s(m={m}))" for base in ("b(LinUCB)", "b(LinTS)") for m in (2, 5)
    ]
    several = labels(policies=["Greedy"], estimator={"short": [Discounted(rate=0.5), Discounted(rate=0.9)]})
    assert several == ["Greedy [estimator=short(rate=0.5)]", "Greedy [estimator=short(rate=0.9)]"]
    problems = {"two": [players.square, "gaussian(dim=2, arms=3)"], "one": [players.small]}
    found = Sweep(**ONE | {"environments": problems, "policies": ["Greedy"]})
    assert [each.label for each in found.problems][1:] == ["two(gaussian(dim=2, arms=3))", "one"]
    with pytest.raises(InvalidSetting, match=r"policy must be a policy, .* - at `policies\['bad'\]`"):
        labels(policies={"bad": [LinUCB(), 3]})


def test_rows_of_the_summary_are_in_the_order_that_was_given() -> None:
    policies = ["LinUCB", "Greedy", "Infex(LinUCB, every(5))", "EpsilonGreedy"]
    problems = ["gaussian(dim=3, arms=4)", "lower_bound(gap=0.2)", "gaussian(dim=2, arms=9)"]
    summary = run(environments=problems, policies=policies).summary()
    assert summary["policy"].to_pylist() == policies * 3
    assert summary["environment"].to_pylist() == [problem for problem in problems for _ in policies]


def test_a_problem_keeps_the_name_that_a_user_gave_it() -> None:
    problem = environments.gaussian(dim=3, arms=5, seed=1)
    by_dict = run(environments={"mine": "gaussian(dim=3, arms=5)"})
    by_class = run(environments=[players.Seesaw])
    by_hand = Results.of(play_many(problem, Greedy(), 20), environment="my problem")
    for results, name in (
        (by_dict, "mine"),
        (by_class, f"{players.__name__}:Seesaw"),
        (by_hand, "my problem"),
    ):
        assert [results.title(cell) for cell in results.cells] == [name]
        assert name.replace("_", r"\_") in results.latex()
        assert set(results.summary()["environment"].to_pylist()) == {name}
        assert results.plot().axes[0].get_title(loc="left") == name
    plain = run(environments=["gaussian(dim=3, arms=5)"])
    assert [plain.title(cell) for cell in plain.cells] == ["d = 3, K = 5"]
    unnamed = Results.of(play_many(problem, Greedy(), 20))
    assert [unnamed.title(cell) for cell in unnamed.cells] == ["d = 3, K = 5"]
    several = run(environments={"mine": players.growing}, horizon=[20, 30])
    assert [several.title(cell) for cell in several.cells] == [
        f"mine: d = {dim}, K = 4, T = {horizon}" for dim in (2, 3) for horizon in (20, 30)
    ]
    long = run(environments={"mine": players.small}, horizon=[20, 30])
    assert [long.title(cell) for cell in long.cells] == ["mine, T = 20", "mine, T = 30"]


def test_regret_against_a_setting_has_the_intervals_of_its_means() -> None:
    results = run(policies=["LinUCB(scale=[0.2, 1])"], seeds=14)
    table = results.against("scale").table()
    assert table.column_names == ["line", "scale", "runs", "mean", "low", "high", "std", "median"]
    (cell,) = results.cells
    regrets = [results.regret(cell, policy) for policy in results.policies]
    for row, (mean, low, high) in zip(table.to_pylist(), mean_intervals(regrets), strict=True):
        assert (row["runs"], row["mean"], row["low"], row["high"]) == (14, mean, low, high)
    few = run(policies=["LinUCB(scale=[0.2, 1])"], seeds=3).against("scale").table()
    assert few["low"].to_pylist() == few["high"].to_pylist() == [None, None]
    assert str(few.schema.field("low").type) == "double"


def values_of_grids(results: Results) -> dict[str, list[float]]:
    return {setting: sorted({*values.values()}) for setting, values in results.grids(least=2).items()}


def test_the_settings_that_make_a_grid_are_told() -> None:
    grid = run(
        policies=["Infex(LinUCB(scale=[0.2, 1]), every([1, 5, 20]))", "Greedy"],
        environments=["gaussian(dim=[2, 3], arms=4)"],
        horizon=[20, 40],
    )
    assert values_of_grids(grid) == {"period": [1, 5, 20], "scale": [0.2, 1.0]}
    for setting, values in values_of_grids(grid).items():
        assert any(line.values == values for line in grid.against(setting).lines)
    assert values_of_grids(run(policies=["LinUCB", "Greedy", "LinTS"])) == {}, "they differ in their kinds"
    assert values_of_grids(run(policies=["LinUCB"], horizon=[20, 40])) == {}, "delta goes with the horizon"
    assert values_of_grids(run(policies=["LinUCB"], penalty=[0.5, 2.0])) == {"penalty": [0.5, 2.0]}
    own = run(policies=[f"{players.__name__}:Level(arm=[0, 1], size=2.0)"])
    assert values_of_grids(own) == {"arm": [0, 1]}
    assert values_of_grids(paper.paper(dims=[2], arms=[3], instances=1, horizon=9).run(workers=1)) == {
        "period": [5, 20, 100]
    }
    assert values_of_grids(Results.of([])) == {}


def test_an_empty_list_under_a_name_is_an_empty_sweep() -> None:
    with pytest.raises(InvalidSetting, match="an empty sweep: 0 environments, 0 policies"):
        Sweep(environments={"none": []}, policies={"none": []})
