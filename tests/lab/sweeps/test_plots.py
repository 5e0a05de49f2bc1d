"""`results.plot` draws what it was asked for, or refuses it."""

import itertools
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from scipy.stats import wilcoxon

from infex import Greedy, LinUCB
from infex.errors import InvalidSetting
from infex.lab import Results, Sweep, paper

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
    assert titles(results.plot(dim=10)) == ["d = 10, K = 4", "d = 10, K = 6"]
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


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_policies_are_drawn_in_the_order_and_under_the_names_that_were_asked_for(results: Results) -> None:
    assert legend_of(results.plot(policies=["Greedy", LinUCB()])) == ["Greedy", "LinUCB"]
    named = results.plot(policies={"LinUCB": "UCB (ours)", Greedy(): "greedy"}, dim=3, arms=4, times=True)
    assert legend_of(named) == ["UCB (ours)", "greedy"]
    times = [text.get_text() for text in named.axes[1].get_yticklabels()]
    assert times == ["greedy", "UCB (ours)"], "from below"
    with pytest.raises(InvalidSetting, match=r"policies must be a list, .* got the text 'Greedy'"):
        results.plot(policies="Greedy")
    with pytest.raises(InvalidSetting, match="no runs of 'Gredy'"):
        results.plot(policies=["Gredy"])


def test_panels_stand_in_the_columns_and_the_size_that_were_asked_for(results: Results) -> None:
    def grid(figure: Figure) -> tuple[int, int]:
        spec = figure.axes[0].get_subplotspec()
        assert spec is not None
        return spec.get_gridspec().get_geometry()

    assert grid(results.plot()) == (2, 3)
    assert grid(results.plot(columns=2)) == (2, 2)
    assert grid(results.plot(columns=9)) == (1, 4)
    assert grid(results.plot(times=True)) == (4, 2)
    assert grid(results.plot(times=True, columns=2)) == (2, 4)
    assert tuple(results.plot(size=(5.5, 2.2)).get_size_inches()) == (5.5, 2.2)
    assert tuple(results.plot(size=(5.5, 2.2), against="period").get_size_inches()) == (5.5, 2.2)
    for wrong in (-1, 0):
        with pytest.raises(InvalidSetting, match=f"columns .* got {wrong}"):
            results.plot(columns=wrong)
    with pytest.raises(InvalidSetting, match="size must be a width and a height"):
        results.plot(size=3)


def test_axes_have_plain_labels_and_nothing_is_drawn_beyond_the_horizon() -> None:
    """Also where lines are so many that bars stand in the place of bands."""
    scales = {f"p{number}": LinUCB(scale=0.1 + number / 10) for number in range(12)}
    many = Sweep(environments=["gaussian(dim=3, arms=4)"], policies=scales, horizon=60, seeds=3).run(
        workers=1
    )
    (axes,) = many.plot(against="round").axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "cumulative regret")
    bars = [each for each in axes.collections if isinstance(each, LineCollection)]
    assert len(bars) == len(scales)
    assert max(segment[:, 0].max() for bar in bars for segment in bar.get_segments()) <= 60
    assert axes.get_xlim()[1] == 60


def lightness_and_hue(colour: Any) -> np.ndarray[Any, Any]:
    """A colour in CIELAB, where distances are those that people see."""
    light = np.array(to_rgb(colour))
    light = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    rows = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ratio = np.array(rows) @ light / np.array([0.9505, 1.0, 1.089])
    root = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def test_the_twelve_policies_of_the_paper_have_colours_that_can_be_told_apart() -> None:
    policies = paper.policies()
    sweep = Sweep(environments=["gaussian(dim=3, arms=4)"], policies=policies, horizon=200, seeds=2)
    lines = sweep.run(workers=1).plot().axes[0].get_lines()
    colours = [lightness_and_hue(line.get_color()) for line in lines]
    assert len(colours) == 12
    apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(colours, 2)]
    assert min(apart) > 25, "2.3 is a difference that one just sees; 25 is that of blue and light blue"
    assert len({line.get_marker() for line in lines}) == 12


def test_a_grid_of_settings_is_drawn_against_the_setting() -> None:
    grid = Sweep(
        environments=["gaussian(dim=3, arms=4)"],
        policies=["LinUCB(scale=[0.1, 0.2, 0.5, 1])", "Greedy"],
        horizon=60,
        seeds=3,
    ).run(workers=1)
    (axes,) = grid.plot().axes
    assert axes.get_xlabel() == "scale"
    (cell,) = grid.cells
    means = [grid.regret(cell, LinUCB(scale=scale)).mean() for scale in (0.1, 0.2, 0.5, 1)]
    assert lines_drawn(grid.plot())[0] == pytest.approx(means)
    across = [line for line in axes.get_lines() if line.get_label() == "Greedy"]
    assert np.asarray(across[0].get_ydata(), dtype=float)[0] == pytest.approx(
        grid.regret(cell, "Greedy").mean()
    ), "it has no scale"
    assert grid.plot(against="round").axes[0].get_xlabel() == "round"
    assert list(grid.grids()) == ["scale"]
    assert sorted(grid.grids()["scale"].values()) == [0.1, 0.2, 0.5, 1]


def test_lines_against_a_setting_have_the_names_of_their_policies() -> None:
    sweep = Sweep(
        environments=["gaussian(dim=3, arms=4)"],
        policies={
            "ours": "Infex(LinUCB(scale=[0.1, 1]), every(5))",
            "sampled": "Infex(LinTS(scale=[0.1, 1]), every(5))",
            "plain": "LinUCB(scale=[0.1, 1])",
        },
        horizon=60,
        seeds=2,
    )
    named = sweep.run(workers=1)
    (cell,) = named.cells
    lines = {line.name: line for line in named.against("scale").lines}
    assert list(lines) == ["ours", "sampled", "plain"]
    for name, line in lines.items():
        for value, regrets in zip(line.values, line.regrets, strict=True):
            assert regrets.tolist() == named.regret(cell, f"{name}(scale={value:g})").tolist()
    assert legend_of(named.plot(against="scale", policies={"ours": "INFEX", "plain": "LinUCB"})) == [
        "INFEX",
        "LinUCB",
    ]
    assert legend_of(named.plot(against="scale", policies=["ours"])) == ["ours"]
    assert legend_of(named.plot(against="round", policies={"ours": "INFEX"})) == [
        "INFEX(scale=0.1)",
        "INFEX(scale=1)",
    ]
    texts = ["Infex(LinUCB(scale=[0.1, 1]), every([5, 9]))", "LinUCB(scale=[0.1, 1])"]
    plain = Sweep(environments=["gaussian(dim=3, arms=4)"], policies=texts, horizon=60, seeds=2).run(
        workers=1
    )
    assert [line.name for line in plain.against("scale").lines] == [
        "Infex(LinUCB, every(5))",
        "Infex(LinUCB, every(9))",
        "LinUCB",
    ]
    assert [line.name for line in plain.against("period").lines] == [
        "Infex(LinUCB(scale=0.1), every(m))",
        "Infex(LinUCB, every(m))",
    ]
    with pytest.raises(InvalidSetting, match="at least one policy"):
        plain.plot(policies=[])


def test_few_values_of_a_setting_are_no_grid(results: Results) -> None:
    assert results.grids() == {}


def test_a_latex_table_marks_what_is_significant() -> None:
    """Against p-values of SciPy, corrected by hand."""
    sweep = Sweep(
        environments=["gaussian(dim=3, arms=6)"],
        policies={"ucb": "LinUCB", "tuned": "LinUCB(scale=0.2)", "never": "Greedy"},
        horizon=400,
        seeds=20,
    )
    found = sweep.run(workers=1)
    (cell,) = found.cells
    regret = {name: found.regret(cell, name) for name in found.policies}
    best = min(regret, key=lambda name: regret[name].mean())
    p = {name: wilcoxon(regret[name] - regret[best]).pvalue for name in regret if name != best}
    first, second = sorted(p, key=lambda name: p[name])
    corrected = {first: 2 * p[first], second: max(2 * p[first], p[second])}
    text = found.latex(policies={"never": "greedy", "tuned": "ours", "ucb": "LinUCB"}, against="ucb")
    rows = {line.split(" & ")[0]: line for line in text.splitlines() if line.endswith(r"\\")}
    names = {"never": "greedy", "tuned": "ours", "ucb": "LinUCB"}
    assert list(rows)[1:] == list(names.values())
    for name, shown in names.items():
        bold = name == best or corrected[name] >= 0.05
        assert (r"\mathbf" in rows[shown]) == bold, name
    assert r"\dagger" not in rows["LinUCB"], "it is not compared with itself"
    assert r"$d = 3$, $K = 6$" in rows["policy"]
    assert r"\begin{table}" in text
    assert r"\caption{Final regret over 20 runs: mean $\pm$ standard deviation." in text
    assert r"differs significantly from LinUCB" in text
    own = found.latex(caption="Mine.", label="tab:mine")
    assert "\\caption{Mine.}\n\\label{tab:mine}" in own
    assert "dagger" not in own


def lines_drawn(figure: Figure) -> list[list[float]]:
    """The lines with a name and a mark for each value, as they are drawn."""
    lines = [line for line in figure.axes[0].get_lines() if line.get_marker() == "."]
    named = [line for line in lines if not str(line.get_label()).startswith("_")]
    return [np.asarray(line.get_ydata(), dtype=float).tolist() for line in named]


def test_dim_and_policy_are_kept_to_against_a_setting_too(results: Results) -> None:
    figure = results.plot(dim=10, against="period", arms=4)
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
    word = {"std": "one standard deviation", "interval": "95 % interval", "median": "quartiles"}[show]
    (legend,) = figure.legends
    assert word in legend.get_title().get_text()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("period", "final regret")


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


class Broken:
    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        raise RuntimeError("never")


def test_a_sweep_in_which_no_run_went_well_has_neither_figure_nor_table() -> None:
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies={"bad": Broken()}, horizon=9, seeds=1)
    with pytest.warns(RuntimeWarning, match="1 of 1 runs failed"):
        failed = sweep.run(workers=1)
    for draw in (failed.plot, failed.latex):
        with pytest.raises(InvalidSetting, match="no run went well"):
            draw()
