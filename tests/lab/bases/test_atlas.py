"""The atlas: published bases, alone and under schedules, on many problems."""

import csv
import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner
from selenium.webdriver.common.by import By

import infex
from infex import lab
from infex._stats import product_of_means
from infex.cli.main import main
from infex.errors import InfexError, InvalidSetting
from infex.lab.bases.atlas import FIRST_TUNING_SEED, Atlas, Cell, CellKey, Setting, atlas
from infex.lab.bases.catalogue import (
    ALONE,
    BASES,
    PROBLEMS,
    SCHEDULES,
    Base,
    Problem,
    chosen_bases,
    chosen_problems,
    chosen_schedules,
)
from infex.lab.bases.page import atlas_page
from infex.registry import parse
from tests.lab.reports import browser

HORIZON, SEEDS = 120, 13
EASY, CONTEXTS = "gaussian(dim=3, arms=6)", "changing(dim=3, arms=4)"
COLUMNS: list[tuple[str, Setting]] = [(ALONE, "tuned"), ("every(20)", "published")]
NAMES = ["LinUCB", "RandLinUCB", "LinPHE", "SupLinUCB", "Uniform"]


class Careless:
    """A policy that returns no Choice."""

    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        return 0


class Broken:
    """A policy with a fault of its own."""

    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        raise ZeroDivisionError("no such luck")


class Unlucky:
    """A policy that refuses some of its runs half-way, or fails there while it handles a refusal."""

    def __init__(self, refuses: bool) -> None:
        self.refuses = refuses

    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        if t > 30 and ((self.refuses and rng.random() < 0.02) or not self.refuses):
            try:
                raise InvalidSetting("a setting within")
            except InvalidSetting as error:
                if self.refuses:
                    raise
                raise RuntimeError("no such luck") from error
        return infex.Choice(0)


@pytest.fixture(scope="module")
def played() -> Atlas:
    return atlas(
        NAMES, [EASY, CONTEXTS, "d = 10, K = 10"], ["every(5)", "every(20)"],
        seeds=SEEDS, horizon=HORIZON, tuning_seeds=3, workers=1,
    )  # fmt: skip


def by_hand(problem: Callable[[int], Any], policy: str, seeds: Any) -> Any:
    """Regrets of runs without the atlas, where a delta that is not said is one over the horizon."""
    sweep = lab.Sweep(environments=[problem], policies=[policy], horizon=HORIZON, seeds=seeds)
    return [lab.play(problem(seed), sweep.players[0].policy, HORIZON, seed=seed).regret for seed in seeds]


def easy(seed: int) -> Any:
    return lab.environments.gaussian(dim=3, arms=6, seed=seed)


@pytest.mark.filterwarnings("ignore::infex.errors.InfexWarning")
def test_cells_hold_the_runs_that_play_gives(played: Atlas) -> None:
    for base, schedule, policy in [
        ("LinUCB", ALONE, "LinUCB"),
        ("LinUCB", "every(5)", "Infex(LinUCB, every(5))"),
        ("SupLinUCB", "every(20)", "Infex(SupLinUCB, every(20), data=own)"),
    ]:
        cell = played.cells[CellKey(EASY, base, schedule)]
        assert cell.regret.tolist() == by_hand(easy, policy, range(SEEDS))
        assert cell.calls == pytest.approx({ALONE: 1.0, "every(5)": 0.2, "every(20)": 0.05}[schedule])
        assert math.isnan(cell.deviations) == (schedule == ALONE)
        assert not cell.deviations > cell.calls


@pytest.mark.filterwarnings("ignore::infex.errors.InfexWarning")
def test_a_tuned_base_has_the_setting_that_is_best_on_other_seeds(played: Atlas) -> None:
    tuning = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + 3)
    for base in (base for base in played.bases if base.name in ("LinUCB", "RandLinUCB")):
        means = {setting: np.mean(by_hand(easy, setting, tuning)) for setting in base.settings}
        cell = played.cells[CellKey(EASY, base.name, ALONE, "tuned")]
        assert means[cell.expression] == min(means.values())
        assert cell.regret.tolist() == by_hand(easy, cell.expression, range(SEEDS))
    uniform = CellKey(EASY, "Uniform", ALONE)
    assert played.cells[uniform] == played.cells[uniform._replace(setting="tuned")]


def test_ratios_are_those_of_means_with_intervals_around_them(played: Atlas) -> None:
    means = {key: cell.regret.mean() for key, cell in played.cells.items()}
    for key in played.cells:
        ratio = played.regret_ratio(key)
        assert ratio.value == pytest.approx(means[key] / means[key._replace(schedule=ALONE)])
        assert ratio.low / (1 + 1e-12) <= ratio.value <= ratio.high * (1 + 1e-12)
        assert played.regret(key).value == pytest.approx(means[key])


def test_figures_that_join_problems_are_geometric_means(played: Atlas) -> None:
    means = {key: float(cell.regret.mean()) for key, cell in played.cells.items()}
    plays = {"LinPHE": [EASY, "d = 10, K = 10"]}
    for name in NAMES:
        problems = plays.get(name, [EASY, CONTEXTS, "d = 10, K = 10"])
        ratios = [means[CellKey(p, name, "every(5)")] / means[CellKey(p, name, ALONE)] for p in problems]
        found = played.overall_ratio(name, "every(5)")
        assert found.value == pytest.approx(math.prod(ratios) ** (1 / len(ratios)))
        assert found.low < found.value < found.high
        over = [means[CellKey(p, name, ALONE)] / means[CellKey(p, name, ALONE, "tuned")] for p in problems]
        assert played.excess(name).value == pytest.approx(math.prod(over) ** (1 / len(over)))
        common = [EASY, "d = 10, K = 10"]
        first = [means[CellKey(p, "LinUCB", ALONE)] for p in common]
        told = [means[CellKey(p, name, "every(20)", "tuned")] for p in common] / np.array(first)
        relative = played.relative(name, "every(20)", "tuned")
        assert relative.value == pytest.approx(math.prod(told) ** 0.5)
    assert [played.problems[key].name for key in played.common] == [EASY, "d = 10, K = 10"]


def test_the_ratio_on_a_problem_is_that_of_bases_that_can_be_tuned(played: Atlas) -> None:
    for column in COLUMNS:
        ratios = [
            played.regret_ratio(CellKey(CONTEXTS, name, "every(20)", column[1])).value
            for name in ("LinUCB", "RandLinUCB", "SupLinUCB")
        ]
        found = played.problem_ratio(CONTEXTS, "every(20)", column[1])
        assert found.value == pytest.approx(math.prod(ratios) ** (1 / 3))
    with pytest.raises(InvalidSetting, match="problem"):
        played.problem_ratio("nowhere", "every(20)")


@pytest.mark.parametrize("factor", [1.0, 2.0, 4.0])
def test_noise_of_means_is_taken_off_the_spread_of_bases(factor: float) -> None:
    rng, names = np.random.default_rng(3), [f"base {index}" for index in range(11)]
    true = factor ** (np.linspace(0.0, 1.0, 11) / 0.8)  # between the 10th and the 90th of 100: the factor
    found, problems = [], ("one", "two", "three", "four")
    for _ in range(25):
        cells = {
            CellKey(problem, name, schedule): Cell(name, mean * rng.exponential(1.0, 25), 1.0, math.nan, 1.0)
            for problem in problems
            for name, mean in zip(names, true, strict=True)
            for schedule in (ALONE, "every(5)")
        }
        made = Atlas(
            tuple(Base(name, name) for name in names), tuple(Problem(each, each) for each in problems),
            ("every(5)",), 100, tuple(range(25)), 0, cells, {},
        )  # fmt: skip
        found.append(made.spread(ALONE))
        assert 1.0 <= found[-1].low <= found[-1].value <= found[-1].high
    assert np.mean([each.value for each in found]) == pytest.approx(factor, rel=0.12)
    assert sum(each.low <= factor * (1 + 1e-12) and factor <= each.high for each in found) >= 20


def test_bases_that_keep_their_settings_tie_in_the_rank_correlation() -> None:
    rng, names = np.random.default_rng(4), ["a", "b", "c", "d", "e"]
    regrets = {name: rng.exponential(1.0, 15) + 0.1 for name in names}
    lower = dict(zip(names, (1.0, 1.0, 0.5, 0.7, 1.0), strict=True))  # what is left once they are tuned
    cells = {}
    for place, name in enumerate(names):
        for schedule, share in ((ALONE, 1.0), ("every(20)", 0.4 + 0.1 * place)):
            for setting, more in (("published", 1.0), ("tuned", lower[name])):
                key = CellKey("one", name, schedule, "tuned" if setting == "tuned" else "published")
                cells[key] = Cell(name, share * more * regrets[name], 1.0, math.nan, 1.0)
    made = Atlas(
        tuple(Base(name, name, ("other",)) for name in names), (Problem("one", "one"),), ("every(20)",),
        100, tuple(range(15)), 6, cells, {},
    )  # fmt: skip
    (rank,) = (each.figure for each in made.statements() if "rank correlation" in each.words)
    taken = [-math.log(lower[name]) for name in names], [-math.log(0.4 + 0.1 * k) for k in range(5)]
    assert rank.value == pytest.approx(scipy.stats.spearmanr(*taken).statistic)


def test_alone_asks_for_no_schedule_and_a_list_for_several() -> None:
    settings: Any = {"seeds": 1, "horizon": 20, "tune": False, "workers": 1}
    alone = atlas(["LinUCB"], [EASY], ["alone"], **settings)
    assert [key.schedule for key in alone.cells] == [ALONE]
    assert alone.statements() == []
    assert shlex.split(alone.command(CellKey(EASY, "LinUCB", ALONE)))[7:9] == ["--schedule", "alone"]
    several = atlas(["LinUCB"], [EASY], ["every([5, 20])"], **settings)
    assert several.schedules == ("every(5)", "every(20)")
    assert len(several.cells) == 3


def test_what_is_asked_for_twice_is_there_once() -> None:
    assert chosen_schedules(["every(5)", "every([5, 10])", "every(5)"]) == ("every(5)", "every(10)")
    three, four = "gaussian(dim=2, arms=3)", "gaussian(dim=2, arms=4)"
    texts = ["gaussian(dim=2, arms=[3, 4])", four, "gaussian(dim=2, arms=[4, 3])"]
    for asked in (texts, {str(place): text for place, text in enumerate(texts) if text != four}):
        assert [each.name for each in chosen_problems(asked, large=False)] == [three, four]


@pytest.mark.parametrize("empty", [(), {}, iter([])], ids=["tuple", "dict", "iterator"])
def test_asking_for_none_gives_all_of_the_atlas(empty: Any) -> None:
    assert chosen_schedules(empty) == SCHEDULES
    assert chosen_bases(empty) == BASES
    assert chosen_problems(empty, large=False) == PROBLEMS


def test_statements_are_the_figures_that_they_name(played: Atlas) -> None:
    found = {each.words: each.figure for each in played.statements()}
    assert len(found) == 9
    means = {key: float(cell.regret.mean()) for key, cell in played.cells.items()}
    common = [EASY, "d = 10, K = 10"]
    cases: list[tuple[list[str], Setting, str]] = [
        (NAMES, "published", "With all bases at their published settings"),
        (NAMES[:-1], "published", "With the 4 that can be tuned at their published settings"),
        (NAMES[:-1], "tuned", "With the 4 that can be tuned at their tuned settings"),
    ]
    for names, setting, words in cases:
        logs = [
            math.log(means[CellKey(p, name, "every(20)", setting)] / means[CellKey(p, name, ALONE, setting)])
            for p in common
            for name in names
        ]
        (figure,) = (figure for said, figure in found.items() if said.startswith(words))
        assert figure.value == pytest.approx(math.exp(np.mean(logs)))
    (uniform,) = (figure for words, figure in found.items() if "uniform exploration" in words)
    ratios = [
        means[CellKey(p, "Uniform", "every(20)")] / means[CellKey(p, name, "every(20)")]
        for p in common
        for name in NAMES
        if name != "Uniform"
    ]
    assert uniform.value == pytest.approx(scipy.stats.gmean(ratios))
    (rank,) = (figure for words, figure in found.items() if "rank correlation" in words)
    log = {key: math.log(mean) for key, mean in means.items()}
    taken = [
        [
            sum(log[CellKey(p, name, ALONE)] - log[CellKey(p, name, *column)] for p in common)
            for name in NAMES[:-1]
        ]
        for column in COLUMNS
    ]
    assert rank.value == pytest.approx(scipy.stats.spearmanr(*taken).statistic)
    assert -1.0 <= rank.low <= rank.value <= rank.high <= 1.0


def test_the_best_base_alone_is_named_with_its_regret_over_that_of_the_first() -> None:
    rng, names, problems = np.random.default_rng(6), ["first", "steady", "lucky", "absent"], ["a", "b", "c"]
    means: dict[Setting, Any] = {  # of each base on each problem; "c" is not played by all
        "published": [[10, 10, 1], [4, 4, 9], [1, 20, 9], [90, 90, 0]],
        "tuned": [[6, 6, 1], [4, 4, 9], [1, 9, 9], [80, 80, 0]],
    }
    seeds, cells, regrets = 14, {}, {}
    for setting, rows in means.items():
        for name, row in zip(names, rows, strict=True):
            for problem, mean in zip(problems, row, strict=True):
                regret = mean * rng.uniform(0.9, 1.1, seeds)
                regrets[setting, name, problem] = regret
                for schedule in (ALONE, "every(20)"):
                    if mean:
                        key = CellKey(problem, name, schedule, setting)
                        cells[key] = Cell(name, regret, 1.0, math.nan, 1.0)
    made = Atlas(
        tuple(Base(name, name, ("other",)) for name in names),
        tuple(Problem(each, each) for each in problems),
        ("every(20)",), 100, tuple(range(seeds)), 6, cells, {},
    )  # fmt: skip
    for setting, best, unit in (
        ("published", "steady", "that of first"),
        ("tuned", "lucky", "that of first at its published setting"),
    ):
        words = f"Alone at {setting} settings, {best} has the least regret, in multiples of {unit}:"
        (figure,) = (each.figure for each in made.statements() if each.words == words)
        pairs = [(regrets[setting, best, each], regrets["published", "first", each]) for each in "ab"]
        ratios = [one.mean() / two.mean() for one, two in pairs]
        assert figure.value == pytest.approx(np.sqrt(np.prod(ratios)))
        rows, weights = np.array([row for pair in pairs for row in pair]), np.array([0.5, -0.5] * 2)
        assert figure == pytest.approx(product_of_means(rows, weights))
        assert figure.low < figure.value < figure.high
    page = atlas_page(made)
    assert "Alone at published settings, steady has the least regret" in page
    assert "The best of many looks better than it is; the table of bases has all." in page


def test_without_tuning_one_best_base_is_named() -> None:
    found = atlas(["LinUCB", "Greedy"], [EASY], ["every(5)"], seeds=12, horizon=60, tune=False, workers=1)
    named = [each.words for each in found.statements() if "has the least regret" in each.words]
    assert len(named) == 1
    assert named[0].startswith("Alone at published settings, ")


def test_verdicts_count_every_pair_of_a_base_and_a_problem(played: Atlas) -> None:
    counts = played.verdicts("every(20)")
    keys = [CellKey(p.name, b.name, "every(20)") for p in played.problems for b in played.bases]
    ratios = [played.regret_ratio(key) for key in keys if key in played.cells]
    assert counts["gains"] == sum(ratio.high < 0.99 for ratio in ratios)
    assert counts["loses"] == sum(ratio.low > 1.01 for ratio in ratios)
    assert sum(counts.values()) == len(ratios) == 14


def test_a_base_that_refuses_a_problem_is_left_out_with_the_reason(played: Atlas) -> None:
    key = CellKey(CONTEXTS, "LinPHE", "every(5)")
    assert key not in played.cells
    assert "arms that change every round have no pulls" in played.refused[key]
    assert played.failures == ()
    with pytest.raises(InvalidSetting, match=r"no runs of 'LinPHE', every\(5\).*have no pulls"):
        played.regret_ratio(key)
    with pytest.raises(InvalidSetting, match=r"has no 'every\(7\)' at the published setting"):
        played.overall_ratio("LinUCB", "every(7)")
    with pytest.raises(InvalidSetting, match="LinUBC"):
        played.relative("LinUBC")
    with pytest.raises(InvalidSetting, match=r"has no 'evry\(5\)' at the published setting"):
        played.verdicts("evry(5)")


def test_few_seeds_have_no_intervals() -> None:
    few = atlas(["LinUCB", "Uniform"], [EASY], ["every(5)"], seeds=3, horizon=40, tune=False, workers=1)
    assert math.isnan(few.overall_ratio("LinUCB", "every(5)").low)
    assert math.isnan(few.regret_ratio(CellKey(EASY, "LinUCB", "every(5)")).high)
    assert few.tuned_schedules == ()


def test_an_atlas_goes_on_in_its_folder(tmp_path: Path) -> None:
    told: list[tuple[int, int, int]] = []

    def draw(**more: Any) -> Atlas:
        told.clear()
        names = {"LinUCB": "LinUCB", "mine": "FixedBonusUCB(bonus=0.5)"}
        return atlas(
            names, {"one": EASY}, ["every(5)"], horizon=60, tune=False, workers=1, out=tmp_path,
            progress=lambda *counts: told.append(counts), **more,
        )  # fmt: skip

    first = draw(seeds=2)
    assert told[0] == (0, 8, 0)
    again = draw(seeds=3)
    assert told[0] == (8, 12, 0)
    key = CellKey("one", "mine", "every(5)")
    assert again.cells[key].regret[:2].tolist() == first.cells[key].regret.tolist()


def test_runs_that_break_are_told_as_failures() -> None:
    found = atlas(
        {"broken": f"{__name__}:Broken", "LinUCB": "LinUCB"}, [EASY], ["every(5)"],
        seeds=2, horizon=20, workers=1,
    )  # fmt: skip
    assert len(found.failures) == 4
    assert all("no such luck" in failure["traceback"] for failure in found.failures)
    assert {key.base for key in found.cells} == {"LinUCB"}


@pytest.mark.parametrize("refuses", [True, False])
def test_a_base_that_refuses_some_runs_alone_or_fails_otherwise_has_not_refused(
    refuses: bool,
) -> None:
    base = {"unlucky": f"{__name__}:Unlucky(refuses={refuses})"}
    found = atlas(base, [EASY], ["alone"], seeds=8, horizon=60, tune=False, workers=1)
    assert found.refused == {}
    assert found.cells == {}
    assert 0 < len(found.failures) <= 8
    assert (len(found.failures) == 8) is not refuses


def test_a_schedule_without_regret_on_a_problem_has_no_overall_ratio() -> None:
    cells = {
        CellKey(problem, "LinUCB", schedule): Cell("LinUCB", np.full(12, regret), 1.0, math.nan, 1.0)
        for problem, schedule, regret in (
            ("one", ALONE, 1.0), ("one", "every(5)", 2.0), ("two", ALONE, 3.0), ("two", "every(5)", 0.0)
        )
    }  # fmt: skip
    problems = (Problem("one", "one"), Problem("two", "two"))
    made = Atlas((Base("LinUCB", "LinUCB"),), problems, ("every(5)",), 9, tuple(range(12)), 0, cells, {})
    assert np.isnan(made.overall_ratio("LinUCB", "every(5)")).all()
    assert made.regret_ratio(CellKey("one", "LinUCB", "every(5)")).value == 2.0
    assert "no regret" in atlas_page(made)


def test_the_command_of_a_base_that_is_named_like_one_of_the_atlas_plays_what_was_played() -> None:
    problems, settings = ["gaussian(dim=2, arms=5)"], {"seeds": 3, "horizon": 150, "tuning_seeds": 3}
    found = atlas({"mine": "LinUCB"}, problems, ["every(20)"], **settings, workers=1)
    key = CellKey(problems[0], "mine", ALONE, "tuned")
    words = shlex.split(found.command(key))
    assert "--no-tune" in words
    assert found.cells[key] is found.cells[key._replace(setting="published")]
    tuned = atlas(["LinUCB"], problems, ["every(20)"], **settings, workers=1)
    assert "--tune" in shlex.split(tuned.command(CellKey(problems[0], "LinUCB", ALONE, "tuned")))


def test_a_list_in_an_expression_gives_settings_to_tune_or_several_problems() -> None:
    found = atlas(
        ["FixedBonusUCB(bonus=[2.0, 0.1])"], ["gaussian(dim=2, arms=[3, 4])"], ["every(20)"],
        seeds=2, horizon=80, tuning_seeds=2, workers=1,
    )  # fmt: skip
    (base,) = found.bases
    assert base.settings == ("FixedBonusUCB(bonus=2)", "FixedBonusUCB(bonus=0.1)")
    assert [problem.name for problem in found.problems] == [
        "gaussian(dim=2, arms=3)", "gaussian(dim=2, arms=4)"
    ]  # fmt: skip
    played = {cell.expression for key, cell in found.cells.items() if key.setting == "published"}
    assert played == {"FixedBonusUCB(bonus=2)"}
    settings: Any = {"seeds": 1, "horizon": 10, "tune": False, "workers": 1}
    named = atlas(["LinUCB"], {"two": "gaussian(dim=2, arms=[3, 4])"}, ["alone"], **settings)
    assert named.problems == found.problems
    assert found.is_complete


def test_a_policy_that_chooses_nothing_sensible_has_failed_and_not_refused(tmp_path: Path) -> None:
    words = ["--base", f"{__name__}:Careless", "--problem", EASY, "--schedule", "every(5)", "--no-tune"]
    more = ["--seeds", "1", "--horizon", "10", "--workers", "1", "--out", str(tmp_path / "a")]
    done = CliRunner().invoke(main, ["lab", "atlas", *words, *more])
    assert done.exit_code == 1
    assert "failed:" in done.output
    assert "must return a Choice" in done.output


def test_the_command_says_what_was_left_out_and_ends_with_1_if_nothing_is_left(tmp_path: Path) -> None:
    def run(*bases: str) -> Any:
        words = [word for base in bases for word in ("--base", base)]
        more = ["--problem", CONTEXTS, "--schedule", "every(5)", "--no-tune", "--seeds", "1"]
        out = ["--horizon", "10", "--workers", "1", "--out", str(tmp_path / bases[0])]
        return CliRunner().invoke(main, ["lab", "atlas", *words, *more, *out])

    alone = run("LinPHE")
    assert f"left out: LinPHE on {CONTEXTS}: arms that change every round" in alone.output
    assert alone.exit_code == 1
    assert run("LinUCB", "Uniform").exit_code == 0


def test_the_command_of_a_base_of_ones_own_names_its_expression() -> None:
    found = atlas(
        {"mine": "FixedBonusUCB(bonus=0.5)"}, {"easy": EASY}, ["every(5)"], seeds=1, horizon=20, workers=1
    )
    words = shlex.split(found.command(CellKey("easy", "mine", "every(5)")))
    assert words[words.index("--base") + 1] == "FixedBonusUCB(bonus=0.5)"
    assert words[words.index("--problem") + 1] == EASY


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bases": ["LinUCB, mixed"]}, "the atlas has no 'LinUCB, mixed'"),
        ({"problems": ["near tie"]}, "did you mean near ties"),
        ({"bases": [3]}, "bases must be names or expressions, such as 'my.module:Policy()', got 3"),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"seeds": 2_000_000}, "seeds must be fewer than 1000000"),
        ({"tuning_seeds": 0}, "tuning_seeds must be at least 1, got 0"),
        ({"schedules": ["evry(5)"]}, "did you mean every"),
        ({"horizon": 0}, "horizon"),
    ],
)
def test_what_no_atlas_can_be_of_is_refused_by_name(given: Any, words: str) -> None:
    with pytest.raises(InfexError, match=re.escape(words)):
        atlas(**({"bases": ["LinUCB"], "problems": [EASY], "horizon": 10, "seeds": 1} | given))


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_propensities_of_a_base_are_known_exactly_if_the_atlas_says_so(base: Base) -> None:
    assert len({*base.settings}) == len(base.settings) in (1, 5)
    problem = lab.environments.gaussian(dim=3, arms=6, seed=2)
    run = lab.play(problem, parse(base.published), 60, seed=1)
    assert run.horizon == 60
    policy: Any = parse(base.published)
    hook = getattr(policy, "for_problem", None)
    bandit = infex.Bandit(problem.arms, hook(problem, 200) if hook else policy, seed=1)
    propensities = []
    for _ in range(30):
        decision = bandit.ask()
        propensities.append(decision.propensity)
        bandit.tell(decision, float(problem.means[decision.arm]))
    assert all(each is not None for each in propensities[1:]) == (base.propensities == "exact")


def test_names_of_the_atlas_are_its_own() -> None:
    for names in ([b.name for b in BASES], [p.name for p in PROBLEMS], list(SCHEDULES)):
        assert len({*names}) == len(names)


def test_a_cell_is_played_again_by_its_command(played: Atlas, tmp_path: Path) -> None:
    key = CellKey("d = 10, K = 10", "RandLinUCB", "every(20)", "published")
    words = shlex.split(played.command(key))
    assert words[:3] == ["infex", "lab", "atlas"]
    out = str(tmp_path / "cell")
    done = CliRunner().invoke(main, [*words[1:-1], out, "--workers", "1", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    (row,) = (row for row in rows if row["schedule"] == "every(20)")
    assert row["regret"] == played.regret(key).value
    with Path(out, "atlas.csv").open() as file:
        written = list(csv.DictReader(file))
    assert float(written[1]["regret"]) == row["regret"]
    assert written[1]["schedule"] == "every(20)"


def test_the_page_holds_every_cell_and_its_command(played: Atlas, tmp_path: Path) -> None:
    page = next(path for path in played.write(tmp_path) if path.suffix == ".html").read_text()
    links = re.findall(r'<a href="#(cell-[\d-]+)">([^<]*)', page)
    assert len(links) == len(played.cells) == len({name for name, _ in links})
    for name, _ in links:
        assert f'<li id="{name}"><code>infex lab atlas' in page
    regret = played.regret(CellKey("d = 10, K = 10", "Uniform", ALONE))
    assert any(text.startswith(f"{regret.value:,.0f} ") for _, text in links)
    ratio = played.overall_ratio("SupLinUCB", "every(5)")
    assert f"{ratio.value:.2f} <span" in page
    assert "Refused by LinPHE: arms that change every round" in page


def test_the_command_lists_what_the_atlas_has() -> None:
    listed = CliRunner().invoke(main, ["lab", "atlas", "--list"]).output
    for name in (*(b.name for b in BASES), *(p.name for p in PROBLEMS), *SCHEDULES):
        assert name in listed


def test_the_command_ends_with_1_if_runs_failed_and_says_how_many(tmp_path: Path) -> None:
    words = ["--base", f"{__name__}:Broken", "--base", "LinUCB", "--problem", EASY, "--schedule", "every(5)"]
    more = ["--seeds", "4", "--horizon", "10", "--workers", "1", "--no-tune", "--out", str(tmp_path / "a")]
    done = CliRunner().invoke(main, ["lab", "atlas", *words, *more])
    assert done.exit_code == 1
    assert "8 runs failed" in done.output
    assert done.output.count("ZeroDivisionError: no such luck") == 5
    assert "and 3 more" in done.output


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_wrong_with_the_page(played: Atlas, tmp_path: Path, width: int) -> None:
    played.write(tmp_path)
    with browser.opened(tmp_path / "atlas.html", width) as driver:
        browser.refuse_what_axe_finds(driver)
        assert driver.get_log("browser") == []
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        charts = driver.find_elements(By.CSS_SELECTOR, "figure.chart")
        assert len(charts) == 5
        assert all(each.find_elements(By.CSS_SELECTOR, "svg") for each in charts)
