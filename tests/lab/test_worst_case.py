"""The search of worst cases: what it finds, how it is judged, slopes, the page and the command."""

import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from infex import Infex, LinUCB, Schedule, every, power
from infex.cli.main import main
from infex.errors import InvalidExpression, InvalidSetting
from infex.lab import play_many, theory, worst_case
from infex.lab.environments import LinearInstance, lower_bound
from infex.lab.reports.worst_case import text_rows, worst_case_page, write_worst_cases
from infex.lab.worst_case import FAMILIES, Candidate, Family, WorstCase, WorstCases
from infex.policies import Uniform
from infex.registry import parse
from infex.schedules import from_count, listed

TWO_ARMS = FAMILIES[0]


def small(**more: Any) -> WorstCases:
    """A map of two short horizons."""
    given: dict[str, Any] = {"bases": ["LinUCB"], "schedules": ["power(0.5)"], "horizons": [30, 100]}
    return worst_case.worst_cases(**{**given, "seeds": 20, "workers": 1, **more})


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of few instances."""
    for name, value in {"SCOUT_HORIZONS": (20,), "SCOUT_RESTARTS": 2, "SCOUT_SEEDS": 2}.items():
        monkeypatch.setattr(worst_case, name, value)


# The search


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_search_finds_the_worst_gap_of_exploring_first(seed: int) -> None:
    """n pulls of the arm 1, then greedy for good: the arm is dropped with probability 2 Phi(-gap sqrt(n)).

    A random walk with drift `gap` is below 0 at step n or later so often, but for what it jumps over 0. So
    regret is 2 gap T Phi(-gap sqrt(n)), which is greatest at gap sqrt(n) = 0.752.
    """
    first, horizon = 100, 10_000
    policy = Infex(LinUCB(scale=1e6), listed(range(1, first + 1)))  # every exploration pulls the arm 1
    found = worst_case.search(
        policy, horizon, families=[TWO_ARMS], restarts=12, seeds=60, seed=seed, workers=1
    )
    instance = found.worst.instance(horizon)
    assert 0.4 < instance.gap * math.sqrt(first) < 1.3
    runs = worst_case.judge(policy, instance, horizon, 1500, seed=seed, workers=1)
    regrets = np.array([run.regret for run in runs])
    most = 2 * 0.7518 * NormalDist().cdf(-0.7518) * horizon / math.sqrt(first)
    error = regrets.std(ddof=1) / math.sqrt(regrets.size)
    assert 0.75 * most < regrets.mean() < 1.02 * most + 4 * error


def test_the_search_finds_what_an_exhaustive_grid_finds() -> None:
    policy, horizon = Infex(LinUCB(), power(0.5)), 400
    gaps = np.geomspace(1.0, horizon**-0.6, 15)
    grid = [
        np.mean([run.regret for run in play_many(lower_bound(gap), policy, horizon, range(1500), workers=1)])
        for gap in gaps
    ]
    found = worst_case.search(policy, horizon, families=[TWO_ARMS], restarts=10, seeds=50, workers=1)
    runs = worst_case.judge(policy, found.worst.instance(horizon), horizon, 1500, workers=1)
    assert np.mean([run.regret for run in runs]) > 0.85 * max(grid)


def test_a_search_goes_on_from_its_starts() -> None:
    start = Candidate(TWO_ARMS, (0.5,))
    found = worst_case.search(
        Infex(LinUCB(), power(0.5)), 200, families=[], starts=[start], seeds=5, workers=1
    )
    assert found.worst.family is TWO_ARMS
    assert abs(found.worst.point[0] - 0.5) < 0.6
    assert 2 < found.tried <= 1 + 2 + 3 * 2


def test_one_and_several_workers_find_the_same() -> None:
    policy = Infex(Uniform(), every(3))
    one, two, other = (
        worst_case.search(policy, 60, seeds=3, workers=workers, seed=seed)
        for workers, seed in ((1, 5), (2, 5), (1, 6))
    )
    assert one == two
    assert one.worst != other.worst


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.name)
def test_instances_of_a_family_are_those_that_bounds_speak_of(family: Family) -> None:
    rng = np.random.default_rng(len(family.name))
    for horizon in (2, 100, 10**6):
        corners = [np.zeros(family.coordinates), np.ones(family.coordinates)]
        for point in [*corners, *rng.random((20, family.coordinates))]:
            instance = family.make(point, horizon)
            lengths = np.linalg.norm(instance.arms, axis=1)
            assert max(*lengths, np.linalg.norm(instance.theta)) <= 1 + 1e-9
            assert instance.rewards == "gaussian"
            assert instance.noise == 1.0
    points = rng.random((50, family.coordinates))
    gaps = [min(family.make(point, horizon).gap for point in points) for horizon in (10**2, 10**6)]
    assert 0.0 < gaps[1] < 0.2 * gaps[0]  # scaled with the horizon


# The judgement


@pytest.mark.usefixtures("_quick")
def test_an_instance_is_judged_on_seeds_that_no_search_has_played(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[set[int]] = []

    def listening(instances: Any, policy: Any, horizon: int, seeds: Any, **more: Any) -> Any:
        played.append(set(seeds))
        return play_many(instances, policy, horizon, seeds, **more)

    monkeypatch.setattr(worst_case, "play_many", listening)
    small(seeds=30, seed=3)
    fresh = [seeds for seeds in played if min(seeds) >= 3_500_000]
    searched = set.union(*(seeds for seeds in played if min(seeds) < 3_500_000))
    assert fresh == [set(range(3_500_000, 3_500_030))] * 2
    assert not searched & fresh[0]


def test_fresh_seeds_undo_the_luck_by_which_instances_were_chosen() -> None:
    """Where instances differ by noise alone, the mean of a search is too high; that of fresh seeds is not."""
    same = Family("same", 1, lambda point, horizon: lower_bound(0.3 + 1e-9 * point[0]), "all alike")
    policy, horizon, searched, fresh = Infex(LinUCB(), power(0.3)), 100, [], []
    for seed in range(8):
        found = worst_case.search(
            policy, horizon, families=[same], restarts=30, seeds=3, seed=seed, workers=1
        )
        runs = worst_case.judge(policy, found.worst.instance(horizon), horizon, 100, seed=seed, workers=1)
        searched.append(found.regret)
        fresh += [run.regret for run in runs]
    many = [run.regret for run in play_many(lower_bound(0.3), policy, horizon, range(2000), workers=1)]
    error = math.hypot(np.std(fresh) / math.sqrt(len(fresh)), np.std(many) / math.sqrt(len(many)))
    assert abs(np.mean(fresh) - np.mean(many)) < 4 * error
    assert np.mean(searched) > np.mean(fresh) + 4 * error


# The map


class Planted:
    """A problem whose worse arm costs T^0.7 in T rounds, or up to a hundredth less."""

    @staticmethod
    def make(point: Any, horizon: int) -> LinearInstance:
        return lower_bound(horizon ** (0.7 - 1.0) * (1.0 - 0.01 * float(point[0])), which=1)


@pytest.mark.usefixtures("_quick")
def test_slopes_recover_an_exponent_that_was_planted() -> None:
    always_1 = LinUCB(scale=1e9)  # pulls the arm 1, which has the mean -gap, in every round
    found = worst_case.worst_cases(
        [always_1],
        ["every(1)"],
        [100, 1000, 10_000],
        seeds=12,
        families=[Family("planted", 1, Planted.make, "regret T^0.7")],
        workers=1,
    )
    (slope,) = found.slopes
    for grown in (slope.all, slope.late):
        assert grown.slope == pytest.approx(0.7, abs=0.002)
        assert grown.low == grown.high == pytest.approx(grown.slope)  # all seeds have the same regret
        assert grown.predicted == pytest.approx(0.5, abs=0.01)
    assert slope.all.scatter < 0.03
    assert [cell.regret for cell in found.cells] == pytest.approx([10**1.4, 10**2.1, 10**2.8], rel=0.01)


@pytest.mark.usefixtures("_quick")
def test_scatter_is_the_interval_of_a_line_through_the_horizons() -> None:
    found = small(horizons=[20, 60, 200, 500])
    (slope,) = found.slopes
    logs, regrets = (np.log([getattr(cell, name) for cell in found.cells]) for name in ("horizon", "regret"))
    line = stats.linregress(logs, regrets)
    assert slope.all.slope == pytest.approx(line.slope)
    assert slope.all.scatter == pytest.approx(stats.t.ppf(0.975, 2) * line.stderr)
    assert slope.all.least <= min(slope.all.low, slope.all.slope - slope.all.scatter)
    assert slope.all.most >= max(slope.all.high, slope.all.slope + slope.all.scatter)
    assert slope.late.slope == pytest.approx(np.diff(regrets[2:])[0] / np.diff(logs[2:])[0])
    assert math.isnan(slope.late.scatter)


@pytest.mark.usefixtures("_quick")
def test_a_cell_can_be_played_again_from_what_is_told_of_it() -> None:
    found = small(bases=["LinUCB(scale=0.3)", Uniform()], seeds=15, workers=2, seed=1)
    assert found == small(bases=["LinUCB(scale=0.3)", Uniform()], seeds=15, workers=1, seed=1)
    assert [each[:3] for each in found.cells] == [
        (base, "power(0.5)", horizon) for base in ("LinUCB(scale=0.3)", "Uniform") for horizon in (30, 100)
    ]
    cell = found.cells[1]
    instance = LinearInstance(cell.arms, cell.theta, "gaussian")
    first = found.as_data()["first_fresh_seed"]
    policy = Infex(LinUCB(scale=0.3), power(0.5))
    runs = play_many(instance, policy, cell.horizon, range(first, first + 15), workers=1)
    assert np.mean([run.regret for run in runs]) == cell.regret
    assert cell.low < cell.regret < cell.high
    assert cell.explorations == runs[0].explored == 10
    assert cell.gap == instance.gap
    assert cell.floor == theory.worst_case_bound(100, 10)
    assert cell.exploring == pytest.approx(
        sum(run.regret_exploring for run in runs) / sum(run.regret for run in runs)
    )


@pytest.mark.usefixtures("_quick")
def test_the_worst_regret_is_not_below_the_bound() -> None:
    found = small(schedules=["power([0.2, 0.5])", "logarithmic(2)"], horizons=[100, 1000], seeds=200)
    assert len(found.cells) == 6
    for cell in found.cells:
        assert cell.low > cell.floor


def test_horizons_are_two_to_a_decade() -> None:
    assert worst_case.horizons_to(10**6)[-3:] == [100_000, 316_228, 1_000_000]
    assert worst_case.horizons_to(5000) == [100, 316, 1000, 3162, 5000]
    assert worst_case.horizons_to(100) == [100]


@pytest.mark.usefixtures("_quick")
def test_a_listener_hears_as_often_as_is_said() -> None:
    names: list[str] = []
    small(schedules=["power([0.3, 0.6])"], listener=names.append)
    assert len(names) == worst_case.steps_of(["LinUCB"], ["power([0.3, 0.6])"], [30, 100]) == 6
    assert names[-1] == "LinUCB, power(0.6), T = 100"


@pytest.mark.usefixtures("_quick")
def test_bases_and_schedules_may_have_names() -> None:
    """Two functions without a name look alike; one of them was left out without a word."""
    alike = [from_count(lambda t: t**0.3), from_count(lambda t: t**0.9)]
    with pytest.raises(InvalidSetting, match=r"stands 2 times among the schedules; a dict gives them names"):
        small(schedules=alike)
    found = small(schedules=dict(zip(["rare", "often"], alike, strict=True)), bases={"mine": "LinUCB"})
    assert {(each.base, each.schedule) for each in found.cells} == {("mine", "rare"), ("mine", "often")}
    rare, often = (found.of("mine", name)[-1] for name in ("rare", "often"))
    assert (rare.explorations, often.explorations) == (3, 63)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("base", ["PhasedElimination", "SupLinUCB", "EXP2"])
def test_a_base_that_needs_data_of_its_own_has_them(base: str) -> None:
    found = small(bases=[base], schedules=["every(4)"], horizons=[10, 20], seeds=3, families=[TWO_ARMS])
    cell = found.cells[-1]
    first = found.as_data()["first_fresh_seed"]
    policy = parse(f"Infex({base}, every(4), data=own)")
    runs = play_many(
        LinearInstance(cell.arms, cell.theta, "gaussian"), policy, 20, range(first, first + 3), workers=1
    )
    assert np.mean([run.regret for run in runs]) == cell.regret
    assert [each.explorations for each in found.cells] == [2, 5]


class Alternate:
    """A schedule that has no count."""

    def explores(self, t: int) -> bool:
        return t % 2 == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"horizons": [100]}, "a slope needs at least two horizons, got 100 alone"),
        ({"horizons": [1, 100]}, "horizon must be at least 2, got 1"),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"bases": []}, "needs at least one policy, got none"),
        ({"schedules": []}, "needs at least one schedule, got none"),
        ({"bases": ["LinUCB(scale=[0.1, 0.3])", "LinUCB(scale=0.3)"]}, "stands 2 times among the bases"),
        (
            {"schedules": [Alternate()]},
            "explorations f\\(T\\) must be known beforehand, .*Alternate.* has none",
        ),
        ({"families": []}, "a search needs starts, or families and restarts; got none"),
    ],
)
def test_bad_settings_are_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        small(**given)


def test_names_that_nobody_knows_are_refused() -> None:
    with pytest.raises(InvalidExpression, match=r"unknown name 'LinUCB' in 'LinUCB'.*a schedule is one of"):
        small(schedules=["LinUCB"])
    with pytest.raises(InvalidExpression, match=r"unknown name 'LinUCBB'.*did you mean LinUCB"):
        small(bases=["LinUCBB"])


def test_a_search_refuses_bad_settings() -> None:
    policy = Infex(LinUCB(), power(0.5))
    with pytest.raises(InvalidSetting, match="seeds must be at most 31,250 in a search, got 100,000"):
        worst_case.search(policy, 100, seeds=100_000)
    with pytest.raises(InvalidSetting, match="restarts must be at least 0, got -1"):
        worst_case.search(policy, 100, restarts=-1)
    with pytest.raises(InvalidSetting, match="longest must be at least 100, got 99"):
        worst_case.horizons_to(99)


# The page and the command


def embedded(page: str) -> list[dict[str, Any]]:
    """The data of all charts."""
    pieces = page.split('<script type="application/json">')[1:]
    return [json.loads(piece.split("</script>")[0]) for piece in pieces]


@pytest.mark.usefixtures("_quick")
def test_the_page_holds_the_figures_and_says_what_they_are_not(tmp_path: Path) -> None:
    schedules: list[str | Schedule] = [
        "power([0.3, 0.6])",
        "logarithmic([1, 2])",
        from_count(lambda t: t**0.4),
    ]
    found = small(bases=["LinUCB", "Uniform"], schedules=schedules)
    files = write_worst_cases(found, tmp_path)
    assert [path.name for path in files] == ["worst-case.html", "worst-case.json"]
    page = files[0].read_text()
    for slope in found.slopes:
        end = found.of(slope.base, slope.schedule)[-1]
        assert f"{end.low:,.0f} to {end.high:,.0f}" in page
        assert f"{slope.late.low:.2f} to {slope.late.high:.2f}" in page
    for words in ("lower bounds on the worst case", "fresh seeds", "20 fresh seeds", "T = 100"):
        assert words in page
    charts = embedded(page)
    assert len(charts) == 1 + 2 + 2  # regret, slopes of powers and of logarithms, a chart for each base
    assert charts[0]["series"][0]["y"] == pytest.approx(
        [each.regret for each in sorted(found.ends[:5], key=lambda each: each.explorations)], rel=1e-4
    )
    assert [series["x"] for series in charts[1]["series"]] == [[0.3, 0.6]] * 3
    assert charts[2]["series"][1]["y"] == pytest.approx(
        [each.late.slope for each in found.slopes if (each.base, each.kind) == ("Uniform", "logarithmic")],
        rel=1e-4,
    )
    data = json.loads(files[1].read_text())
    assert [WorstCase(**cell) for cell in data["cells"]] == list(found.cells)
    assert (data["seeds"], data["seed"], data["first_fresh_seed"]) == (20, 0, 500_000)


@pytest.mark.usefixtures("_quick")
def test_too_few_seeds_have_no_interval_and_still_a_page(tmp_path: Path) -> None:
    found = small(seeds=5)
    assert "too few seeds" in worst_case_page(found)
    assert text_rows(found)[1][3] == "too few seeds"
    assert "2 of 2 cells have no interval: too few seeds" in worst_case_page(found)
    assert "agree with the floor" not in worst_case_page(found)
    assert "Late slopes of <code>LinUCB</code>: too few seeds: power(0.5)" in worst_case_page(found)
    write_worst_cases(found, tmp_path)
    assert json.loads((tmp_path / "worst-case.json").read_text())["cells"][0]["low"] is None


@pytest.mark.usefixtures("_quick")
def test_cells_agree_with_the_floor_where_they_have_intervals() -> None:
    found = small()
    assert "2 of 2 cells agree with the floor" in worst_case_page(found)
    assert "no interval" not in worst_case_page(found)
    first, last = found.cells
    mixed = replace(found, cells=(first._replace(low=math.nan, high=math.nan), last))
    assert "1 of 1 cells agree with the floor" in worst_case_page(mixed)
    assert "1 of 2 cells have no interval" in worst_case_page(mixed)
    below = replace(found, cells=(first._replace(low=0.0, high=0.5 * first.floor), last))
    assert "1 of 2 cells agree with the floor" in worst_case_page(below)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize(
    ("seeds", "horizons", "hint"),
    [
        (20, [20, 40, 80], "intervals over fresh seeds alone, as two horizons have no scatter"),
        (20, [10, 20, 40, 60, 80], "hull of both intervals"),
        (3, [20, 40, 80], "without intervals, for too few seeds"),
    ],
)
def test_slopes_are_drawn_with_the_intervals_that_there_are(
    seeds: int, horizons: list[int], hint: str
) -> None:
    found = small(schedules=["power([0.3, 0.6])"], horizons=horizons, seeds=seeds)
    chart = embedded(worst_case_page(found))[1]
    assert chart["hint"].endswith(f"; {hint}.")
    drawn = chart["series"][0]
    lates = [each.late for each in found.slopes]
    if seeds == 3:
        assert drawn["low"] == drawn["high"] == [None, None]
    elif len(horizons) == 3:
        assert drawn["low"] == pytest.approx([each.low for each in lates], rel=1e-4)
        assert drawn["high"] == pytest.approx([each.high for each in lates], rel=1e-4)
    else:
        assert drawn["low"] == pytest.approx([each.least for each in lates], rel=1e-4)
        assert drawn["high"] == pytest.approx([each.most for each in lates], rel=1e-4)


def infex(*words: str) -> Result:
    return CliRunner().invoke(main, ["lab", "worst-case", *words], catch_exceptions=False)


@pytest.mark.usefixtures("_quick")
def test_the_command_writes_a_page_and_prints_a_table_or_json(tmp_path: Path) -> None:
    short = ["--horizon", "30", "--horizon", "1e2", "--base", "Uniform", "--schedule", "every(4)"]
    few = [*short, "--seeds", "12", "--workers", "1", "--out", str(tmp_path / "map")]
    shown = infex(*few)
    assert shown.exit_code == 0
    assert "worst regret found at T = 100" in shown.output
    assert "every(4)" in shown.output
    assert (tmp_path / "map" / "worst-case.html").read_text().startswith("<!doctype html>")
    data = json.loads(infex(*few, "--json").stdout)
    assert data == json.loads((tmp_path / "map" / "worst-case.json").read_text())
    assert [cell["horizon"] for cell in data["cells"]] == [30, 100]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--horizon", "100"], "a slope needs at least two horizons"),
        (["--horizon", "1.5"], "not a whole number of rounds"),
        (["--longest", "50"], "longest must be at least 100, got 50"),
        (["--schedule", "LinUCB"], "a schedule is one of"),
        (["--base", "every(5)"], "a policy is one of"),
        (["--seeds", "0"], "0 is not in the range"),
        (["--schedule", "ledger(1)"], "name a fixed schedule"),
        (["--schedule", "every(5)", "--schedule", "every([5, 6])"], "every(5) stands 2 times"),
    ],
)
def test_the_command_refuses_in_one_line_and_makes_no_folder(
    words: list[str], message: str, tmp_path: Path
) -> None:
    refused = infex(*words, "--out", str(tmp_path / "map"))
    assert not (tmp_path / "map").exists()
    assert refused.exit_code == 2
    assert message in refused.output
    assert "Traceback" not in refused.output


def test_bases_schedules_and_horizons_may_be_read_once_or_be_arrays() -> None:
    settings: Any = {"seeds": 12, "workers": 1, "families": worst_case.FAMILIES[:1]}
    names = ["LinUCB", "Uniform"]
    plain = worst_case.worst_cases(names, ["power(0.5)"], [10, 20], **settings)
    other = worst_case.worst_cases(iter(names), iter(["power(0.5)"]), np.array([10, 20]), **settings)
    assert [each.regret for each in plain.cells] == [each.regret for each in other.cells]
    assert len(plain.cells) == 4
