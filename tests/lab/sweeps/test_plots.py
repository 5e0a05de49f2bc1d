"""`results.plot` draws what it was asked for, or refuses it."""

from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from infex import Greedy, LinUCB
from infex.errors import InvalidSetting
from infex.lab import Results, Sweep

SCALES, PERIODS, DIMS = (0.2, 1.0), (2, 5), (3, 10)


@pytest.fixture(scope="module")
def results() -> Results:
    return Sweep(
        environments=["gaussian(dim=[3, 10], arms=[4, 6])"],
        policies=["Infex(LinUCB(scale=[0.2, 1]), every([2, 5]))", "LinUCB", "Greedy"],
        horizon=60,
        seeds=13,
    ).run(workers=1)


def names(figure: Figure) -> set[str]:
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    return {text.get_text() for legend in legends if legend for text in legend.get_texts()}


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]


def test_all_problems_are_drawn_unless_one_is_asked_for(results: Results) -> None:
    assert titles(results.plot()) == [f"d = {dim}, K = {arms}" for dim in DIMS for arms in (4, 6)]
    assert titles(results.plot(10)) == titles(results.plot(dim=10)) == ["d = 10, K = 4", "d = 10, K = 6"]
    assert titles(results.plot(dim=10, arms=6)) == ["d = 10, K = 6"]
    assert titles(results.plot(arms=[4])) == ["d = 3, K = 4", "d = 10, K = 4"]


def test_only_the_policies_that_were_asked_for_are_drawn(results: Results) -> None:
    assert names(results.plot()) == set(results.policies)
    assert names(results.plot(policy="LinUCB")) == {"LinUCB"}
    assert names(results.plot(policy=["LinUCB()", Greedy()], dim=3)) == {"LinUCB", "Greedy"}
    assert names(results.plot(policy=LinUCB())) == {"LinUCB"}
    assert len(names(results.plot(scale=0.2))) == len(PERIODS)
    assert len(names(results.plot(scale=0.2, period=[2]))) == 1
    line = results.plot(dim=10, arms=4, policy="Greedy").axes[0].get_lines()[0]
    cell = next(cell for cell in results.cells if (cell.dim, cell.arms) == (10, 4))
    np.testing.assert_allclose(
        np.asarray(line.get_ydata(), dtype=float)[-1], results.regret(cell, "Greedy").mean()
    )


def lines_drawn(figure: Figure) -> list[list[float]]:
    """The lines with a name, as they are drawn."""
    named = [line for line in figure.axes[0].get_lines() if not str(line.get_label()).startswith("_")]
    return [np.asarray(line.get_ydata(), dtype=float).tolist() for line in named]


def test_dim_and_policy_are_kept_to_against_a_setting_too(results: Results) -> None:
    figure = results.plot(10, against="period", arms=4)
    finals = results.finals.to_pylist()
    wanted = [
        [
            np.mean(
                [
                    row["regret"]
                    for row in finals
                    if (row["dim"], row["arms"], row["scale"], row["period"]) == (10, 4, scale, period)
                ]
            )
            for period in PERIODS
        ]
        for scale in SCALES
    ]
    np.testing.assert_allclose(lines_drawn(figure), wanted)
    assert len(lines_drawn(results.plot(against="arms", dim=3, policy="LinUCB"))) == 1


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("show", ["std", "interval", "median"])
def test_show_and_log_are_kept_to_against_a_setting_too(results: Results, show: Any, log: bool) -> None:
    figure = results.plot(against="period", dim=10, arms=4, scale=1, show=show, log=log)
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == (("log", "log") if log else ("linear", "linear"))
    cell = next(cell for cell in results.cells if (cell.dim, cell.arms) == (10, 4))
    policies = [f"Infex(LinUCB, every({period}))" for period in PERIODS]
    regrets = [results.regret(cell, policy) for policy in policies]
    if show == "median":
        low, centre, high = np.array([np.quantile(each, (0.25, 0.5, 0.75)) for each in regrets]).T
    elif show == "interval":
        centre, low, high = np.array([results.interval(cell, policy) for policy in policies]).T
    else:
        centre, std = np.array([(each.mean(), each.std(ddof=1)) for each in regrets]).T
        low, high = centre - std, centre + std
    np.testing.assert_allclose(lines_drawn(figure), [centre])
    (bars,) = axes.collections
    assert isinstance(bars, LineCollection)
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends.T, [low, high], rtol=1e-6)
    word = {"std": "one std", "interval": "95 % interval", "median": "quartiles"}[show]
    assert word in axes.get_ylabel()


@pytest.mark.parametrize("against", [None, "period"])
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"scael": 0.2}, "no setting is called 'scael' .did you mean scale"),
        ({"dim": 11}, "no run has dim = 11; there are 3, 10"),
        ({"scale": 3}, "no run has scale = 3; there are 0.2, 1.0"),
        ({"scale": [3, 4]}, "no run has scale = 3 or 4"),
        ({"regret": 3}, "no setting is called 'regret'"),
        ({"policy": "LinUBC"}, "no runs of 'LinUBC'"),
        ({"policy": "Greedy", "scale": 0.2}, "no run has all of policy = Greedy, scale = 0.2"),
        ({"show": "mean"}, "show must be"),
    ],
)
def test_what_cannot_be_drawn_is_refused(results: Results, against: Any, asked: Any, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        results.plot(against=against, **asked)


def test_a_setting_that_none_of_the_runs_has_is_refused(results: Results) -> None:
    with pytest.raises(InvalidSetting, match="none of these runs has a period"):
        results.plot(against="period", policy="Greedy")
    with pytest.raises(InvalidSetting, match="did you mean period"):
        results.plot(against="perod")
