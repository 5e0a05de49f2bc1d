"""Results as objects: read back, made by hand, compared, tested, chosen from and confirmed."""

import itertools
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

import infex
from infex import Greedy, Infex, LinUCB, every, listed
from infex._stats import holm, paired
from infex.errors import InfexError
from infex.lab import Results, Sweep, environments, play, play_many
from infex.registry import label_of
from infex.schedules import from_count
from tests.lab.sweeps import players
from tests.lab.sweeps.test_results import CELL
from tests.lab.sweeps.test_results import results as made


def small(**settings: Any) -> Sweep:
    given: dict[str, Any] = {
        "environments": ["gaussian(dim=2, arms=4)"],
        "policies": ["LinUCB", "Greedy", Infex(LinUCB(), every(5))],
        "horizon": 60,
        "seeds": 3,
    }
    return Sweep(**given | settings)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Path]:
    folder = tmp_path_factory.mktemp("results") / "a"
    return small().run(workers=1, out=folder), folder


def test_results_are_loaded_as_they_were(played: tuple[Results, Path], tmp_path: Path) -> None:
    results, folder = played
    loaded = Results.load(folder)
    assert loaded.table().arrow.equals(results.table().arrow)
    assert (loaded.about, loaded.bases, loaded.policies) == (results.about, results.bases, results.policies)
    loaded.save(tmp_path / "b")
    again = infex.lab.Results.load(tmp_path / "b")
    assert again.table().arrow.equals(results.table().arrow)
    assert again.about == results.about
    with pytest.raises(InfexError, match="holds no results of a sweep"):
        Results.load(tmp_path)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mine.txt").write_text("mine")
    with pytest.raises(InfexError, match="has other contents"):
        results.save(tmp_path / "c")
    results.save(tmp_path / "c", force=True)
    assert len(Results.load(tmp_path / "c").finals) == 9
    with pytest.raises(InfexError, match="cannot write to"):
        results.save("/proc/nowhere")


def test_a_policy_is_found_by_its_object_and_by_any_spelling(played: tuple[Results, Path]) -> None:
    results, _ = played
    (cell,) = results.cells
    name = "Infex(LinUCB, every(5))"
    for given in (
        Infex(LinUCB(), every(5)),
        "Infex(LinUCB,every(5))",
        "Infex(base=LinUCB, schedule=every(m=5))",
    ):
        assert results.has(cell, given)
        assert results.regret(cell, given).tolist() == results.regret(cell, name).tolist()
        assert results.compare(cell, given, Greedy())[0] == 3
        assert list(results.compare(given, "Greedy")) == [cell]
        for read in (
            results.seconds,
            results.spread,
            results.interval,
            results.curves,
            results.bands,
            results.band,
        ):
            np.testing.assert_array_equal(read(cell, given)[0], read(cell, name)[0])
    assert not results.has(cell, Infex(LinUCB(), every(7)))
    with pytest.raises(InfexError, match=r"no runs of 'Infex\(LinUCB, every\(7\)\)' \(did you mean Infex"):
        results.regret(cell, Infex(LinUCB(), every(7)))
    with pytest.raises(InfexError, match=r"policy must be a policy, .* got 3"):
        results.regret(cell, 3)


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration")
def test_a_policy_is_found_by_what_was_played_and_by_nothing_less() -> None:
    played = {
        "listed": Infex(LinUCB(), listed([2, 5, 9])),
        "joined": Infex(LinUCB(), every(5) | every(7)),
        "third": Infex(LinUCB(), every(3)),
        "LinUCB": Greedy(),
    }
    found = Sweep(environments=["gaussian(dim=3, arms=5)"], policies=played, horizon=30, seeds=1).run()
    assert [found.known(policy) for policy in played.values()] == list(played)
    others = [
        Infex(LinUCB(), listed([3, 4])),
        Infex(LinUCB(), every(5) | every(8)),
        Infex(LinUCB(ties="random"), every(3)),
        LinUCB(),
    ]
    for policy in others:
        with pytest.raises(InfexError, match="no runs of"):
            found.known(policy)


def test_runs_made_by_hand_are_results(tmp_path: Path) -> None:
    problems = [environments.gaussian(dim=3, arms=5, seed=seed) for seed in range(4)]
    runs = {
        "ours": play_many(problems, Infex(LinUCB(), every(5)), 80, seeds=range(4), paired=True),
        "Greedy": play_many(problems, Greedy(), 80, seeds=range(4), paired=True),
    }
    found = Results.of(runs, environment="drawn")
    assert found.policies == ["ours", "Greedy"]
    (cell,) = found.cells
    assert (cell.environment, cell.dim, cell.arms) == ("drawn", 3, 5)
    for name, some in runs.items():
        assert found.regret(cell, name).tolist() == [run.points[1][-1] for run in some]
        np.testing.assert_array_equal(found.curves(cell, name)[1], [run.points[1] for run in some])
    found.save(tmp_path / "a")
    assert Results.load(tmp_path / "a").diff(found).agrees
    listed = Results.of([*runs["ours"], *runs["Greedy"]])
    assert listed.policies == ["Infex(LinUCB(delta=0.0125), every(5))", "Greedy"]
    assert Results.of(
        [*play_many(problems[0], LinUCB(), 9), *play_many(problems[0], Infex(LinUCB(), every(5)), 9)]
    ).bases
    apart = Results.of(runs["ours"], environment=lambda run: f"number {run.seed}")
    assert [each.environment for each in apart.cells] == [f"number {seed}" for seed in range(4)]
    assert len(Results.of([]).finals) == 0
    with pytest.raises(InfexError, match="these runs are of no sweep"):
        found.confirm(5)


def test_runs_that_would_be_paired_wrongly_are_refused() -> None:
    one, other = (environments.gaussian(dim=3, arms=5, seed=seed) for seed in (1, 2))
    with pytest.raises(InfexError, match="two problems with seed 0 are both called 'by hand'"):
        Results.of([play(one, Greedy(), 9), play(other, LinUCB(), 9)])
    later = environments.LinearInstance(one.arms, one.theta, late=3)
    with pytest.raises(InfexError, match="two problems with seed 0 are both called 'by hand'"):
        Results.of([play(one, Greedy(), 9), play(later, LinUCB(), 9)])
    with pytest.raises(InfexError, match="two runs of 'Greedy' on 'by hand' have seed 0"):
        Results.of([play(one, Greedy(), 9), play(one, Greedy(), 9)])
    several = Results.of([play(one, Greedy(), 9), play(one, Greedy(), 10)])
    assert [cell.horizon for cell in several.cells] == several.summary()["horizon"].to_pylist() == [9, 10]
    for given in ([3], 3, {"a": [3]}):
        with pytest.raises(InfexError, match="runs must be what play and play_many give, got a int"):
            Results.of(given)
    alone = play(one, Greedy(), 9)
    assert len(Results.of(alone).finals) == len(Results.of({"a": alone}).finals) == 1


def test_a_name_of_several_settings_shows_those_that_all_runs_share() -> None:
    problem = environments.gaussian(dim=3, arms=5, seed=1)
    runs = [play(problem, LinUCB(scale=0.1 + seed, delta=0.1), 9, seed) for seed in range(2)]
    finals = Results.of({"ours": runs}).finals
    assert finals["scale"].to_pylist() == [None, None]
    assert finals["delta"].to_pylist() == [0.1, 0.1]


def test_a_base_has_columns_beside_those_of_the_policy_around_it() -> None:
    policy = Infex(LinUCB(ties="random", scale=0.5), every(3))
    (facts, *_) = small(policies=[policy]).run(workers=1).finals.to_pylist()
    assert [facts[name] for name in ("ties", "base_ties", "scale")] == ["lowest", "random", 0.5]


def test_a_schedule_of_a_count_is_called_as_it_is_written() -> None:
    def rare(t: int) -> float:
        return math.sqrt(t)

    label = label_of(Infex(LinUCB(), from_count(rare) | every(7)))
    assert label.startswith("Infex(LinUCB, from_count(")
    assert label.endswith("<locals>.rare) | every(7))")


def test_the_summary_has_one_set_of_columns_and_prints_as_a_table(played: tuple[Results, Path]) -> None:
    results, _ = played
    summary = results.summary()
    assert summary.column_names[:5] == ["environment", "dim", "arms", "horizon", "policy"]
    assert small(environments=[players.growing]).run(workers=1).summary().column_names == summary.column_names
    head, *lines = repr(summary).splitlines()
    assert head.split() == summary.column_names
    assert len(lines) == 3
    assert lines[2].split()[:4] == ["gaussian(dim=2,", "arms=4)", "2", "4"]
    assert len({len(line) for line in lines}) == 1
    rows = repr(results.table()).splitlines()
    assert rows[-1] == f"... {len(results.table()):,} rows in all"
    assert len(rows) == 12


RNG = np.random.default_rng(12)
MANY = {
    name: {seed: (float(value), 1.0) for seed, value in enumerate(RNG.exponential(scale, 20))}
    for name, scale in (("A", 10.0), ("B", 30.0), ("C", 12.0))
}


def test_paired_tests_are_scipys_and_corrected_for_all_rows() -> None:
    other = ("other", 3, 5)
    found = made({CELL: MANY, other: MANY})
    rows = found.tests("A").to_pylist()
    assert [(row["dim"], row["policy"], row["against"]) for row in rows] == [
        (2, "B", "A"), (2, "C", "A"), (3, "B", "A"), (3, "C", "A"),
    ]  # fmt: skip
    for row in rows:
        one, against = (
            np.array([MANY[name][seed][0] for seed in range(20)]) for name in (row["policy"], "A")
        )
        assert row["p"] == pytest.approx(scipy.stats.wilcoxon(one, against).pvalue)
        assert (row["pairs"], row["mean"], row["low"], row["high"], row["below"]) == paired(one, against)
        assert row["median"] == pytest.approx(statistics.median(one - against))
    np.testing.assert_allclose([row["p_holm"] for row in rows], holm([row["p"] for row in rows]))
    with pytest.raises(InfexError, match=r"no runs in x; results.cells are the problems"):
        found.tests("A", cell="x")
    (alone,) = found.tests("A", policy="B", cell=found.cells[0], test="sign").to_pylist()
    assert alone["p"] == alone["p_holm"] == pytest.approx(scipy.stats.binomtest(alone["below"], 20).pvalue)


def test_tests_without_pairs_have_no_p_value() -> None:
    found = made({CELL: {"A": {0: (1.0, 1.0)}, "B": {1: (2.0, 1.0)}}})
    (row,) = found.tests("A").to_pylist()
    assert (row["pairs"], row["p"], row["p_holm"], row["median"]) == (0, None, None, None)


def test_the_worst_case_is_that_over_problems() -> None:
    easy = {"A": {0: (1.0, 1.0)}, "B": {0: (8.0, 1.0)}}
    hard = {"A": {0: (90.0, 1.0)}, "B": {0: (60.0, 1.0)}, "C": {0: (70.0, 1.0)}}
    found = made({("easy", 2, 3): easy, ("hard", 3, 3): hard})
    rows = found.worst().to_pylist()
    assert [(row["policy"], row["problems"], row["environment"], row["regret_mean"]) for row in rows] == [
        ("A", 2, "hard", 90), ("B", 2, "hard", 60), ("C", 1, "hard", 70),
    ]  # fmt: skip
    ratios = [(row["policy"], row["environment"], row["ratio"]) for row in found.worst("ratio").to_pylist()]
    assert ratios == [("A", "hard", 1.5), ("B", "easy", 8), ("C", "hard", pytest.approx(70 / 60))]
    many = made({CELL: {"A": {3: (1.0, 1.0), 9: (50.0, 1.0), 4: (2.0, 1.0)}}}).worst().to_pylist()
    assert [(row["regret_most"], row["seed_of_most"]) for row in many] == [(50, 9)]
    nil = made({CELL: {"A": {0: (0.0, 1.0)}, "B": {0: (1.0, 1.0)}}}).worst("ratio").to_pylist()
    assert [row["ratio"] for row in nil] == [1, float("inf")]
    with pytest.raises(InfexError, match="by must be 'regret' or 'ratio', got 'mean'"):
        found.worst("mean")


def test_slopes_and_bands_are_of_the_curves() -> None:
    found = small(environments=["gaussian(dim=3, arms=9)"], horizon=2000, seeds=14).run(workers=1)
    (cell,) = found.cells
    rounds, curves = found.curves(cell, "LinUCB")
    for since, first in ((None, 200), (500, 500)):
        some = rounds >= first
        value = np.polyfit(np.log(rounds[some]), np.log(curves[:, some].mean(axis=0)), 1)[0]
        slope = found.slope(cell, "LinUCB", since)
        assert slope.value == pytest.approx(value)
        assert 0 <= slope.low < value < slope.high
    mean, median = found.bands(cell, "LinUCB"), found.bands(cell, "LinUCB", 0.5)
    np.testing.assert_allclose(mean.value, curves.mean(axis=0))
    np.testing.assert_allclose(median.value, np.median(curves, axis=0))
    for band in (mean, median):
        assert np.all(curves.min(axis=0) <= band.low)
        assert np.all((band.low <= band.value) & (band.value <= band.high))
        assert np.all(band.high <= curves.max(axis=0))
    last = found.interval(cell, "LinUCB")
    np.testing.assert_allclose([mean.low[-1], mean.high[-1]], last[1:], rtol=0.1)
    with pytest.raises(InfexError, match=r"of must be .* got 1\.5"):
        found.bands(cell, "LinUCB", 1.5)


def test_the_best_says_how_many_it_was_chosen_from() -> None:
    found = made({CELL: MANY, ("other", 3, 5): {"A": MANY["A"]}})
    cell, alone = found.cells
    best = found.best(cell)
    means = {name: statistics.mean(regret for regret, _ in runs.values()) for name, runs in MANY.items()}
    assert list(best.ranked) == sorted(means, key=means.__getitem__)
    assert (best.policy, best.chosen_from, best.seeds) == (best.ranked[0], 3, 20)
    assert best.regret == found.interval(cell, best.policy)
    assert "the best of 3, chosen on these very seeds" in str(best)
    median = found.best(cell, "median")
    assert median.regret.value == pytest.approx(statistics.median(r for r, _ in MANY[median.policy].values()))
    assert "median regret" in str(median)
    assert str(found.best(alone)).endswith("the only policy")
    with pytest.raises(InfexError, match="there are 2 problems: name one"):
        found.best()
    with pytest.raises(InfexError, match="of must be 'mean' or 'median', got 'mode'"):
        found.best(cell, "mode")
    with pytest.raises(InfexError, match="no runs in Cell"):
        found.best(type(cell)("none", 1, 1))


def test_the_best_is_confirmed_on_seeds_that_did_not_choose_it(tmp_path: Path) -> None:
    settings = {
        "policies": ["LinUCB", "Greedy", "LinUCB(scale=0.2)"],
        "bases": ["LinUCB"],
        "schedules": ["every(5)"],
    }
    found = small(**settings, seeds=[3, 8, 5], horizon=300).run(workers=1, out=tmp_path / "a")
    for results in (found, Results.load(tmp_path / "a")):
        confirmed = results.confirm(4, neighbours=2, workers=1)
        best = confirmed.best
        assert best == results.best()
        assert confirmed.results.about["seeds"] == [9, 10, 11, 12]
        assert set(confirmed.results.policies) == set(best.ranked[:3])
        direct = small(**settings, seeds=range(9, 13), horizon=300).run(workers=1)
        for policy in best.ranked[:3]:
            np.testing.assert_array_equal(
                confirmed.results.regret(confirmed.cell, policy), direct.regret(confirmed.cell, policy)
            )
        assert confirmed.stays == (confirmed.again.policy == best.policy)
        assert confirmed.tests().num_rows == 2
        assert "over 4 fresh seeds" in str(confirmed)
        assert "over the 3 that chose it among 4" in str(confirmed)
    alone = found.confirm(2, neighbours=0, workers=1)
    assert alone.results.policies == [best.policy]
    assert alone.stays
    with pytest.raises(InfexError, match="seeds must be at least 1, got 0"):
        found.confirm(0)


def test_the_best_of_one_horizon_and_penalty_among_several_is_confirmed() -> None:
    found = small(policies=["LinUCB(scale=[0.1, 1.0])"], horizon=[60, 90], penalty=[1.0, 3.0]).run(workers=1)
    assert [cell.horizon for cell in found.cells] == [60, 90]
    confirmed = found.confirm(3, cell=found.cells[1], neighbours=1, workers=1)
    assert set(confirmed.results.policies) == set(confirmed.best.ranked[:2])
    assert confirmed.best.chosen_from == 4
    (horizon,) = set(confirmed.results.finals["horizon"].to_pylist())
    assert horizon == 90
    direct = small(policies=["LinUCB(scale=[0.1, 1.0])"], horizon=90, penalty=[1.0, 3.0], seeds=[3, 4, 5])
    again = direct.run(workers=1)
    for policy in confirmed.results.policies:
        np.testing.assert_array_equal(
            confirmed.results.regret(confirmed.cell, policy), again.regret(again.cells[0], policy)
        )


def test_confirming_plays_policies_and_problems_of_ones_own_too() -> None:
    found = small(environments=[players.small], policies=[players.middle, "Greedy"]).run(workers=1)
    assert found.confirm(2, workers=1).results.regret(found.cells[0], players.middle).size == 2
    broken = small(environments=[players.growing], policies=["Greedy"], seeds=[0]).run(workers=1)
    with pytest.raises(InfexError, match="no fresh run of Cell"):
        broken.confirm(1, workers=1)


def changed(table: pa.Table, place: int, column: str, value: float) -> pa.Table:
    values = table[column].to_pylist()
    values[place] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values, table[column].type))


def test_a_difference_names_runs_that_part_and_runs_that_are_missing(played: tuple[Results, Path]) -> None:
    results, folder = played
    table = results.table().arrow
    assert results.diff(results)[:] == results.diff(folder)[:] == (9, (), (), ())
    assert results.diff(Results(changed(table, 0, "seconds", 99.0))).agrees, "computation time is left out"
    assert results.diff(Results(table.take(np.random.default_rng(1).permutation(len(table))))).agrees
    t, regret = table["t"].to_pylist(), table["regret"].to_pylist()
    place = t.index(60) - 4
    found = results.diff(Results(changed(table, place, "regret", np.nextafter(regret[place], 1e9))))
    (parted,) = found.different
    assert (found.same, parted.round, parted.same_content) == (8, t[place], True)
    assert parted.run == "LinUCB on gaussian(dim=2, arms=4) with seed 0 (dim 2, arms 4, horizon 60)"
    assert parted.one == parted.other == regret[t.index(60)]
    log_det_ratios = results.diff(Results(changed(table, t.index(60), "log_det_ratio", -0.0)))
    assert log_det_ratios.different[0].round is None
    assert log_det_ratios.different[0].same_content
    short = table.filter(pa.compute.less(table["t"], 60))
    assert {each.round for each in results.diff(Results(short)).different} == {60}
    less = results.diff(Results(table.filter(pa.compute.not_equal(table["policy"], "Greedy"))))
    assert (less.same, len(less.only_one), less.only_other) == (6, 3, ())
    assert less.only_one[0].startswith("Greedy on gaussian(dim=2, arms=4) with seed 0")
    assert not less.agrees
    assert str(less) == (
        "6 runs agree bit for bit, 0 differ, 3 are in the first alone, 0 in the second alone"
    )
    empty = Results.of([])
    assert (len(results.diff(empty).only_one), len(empty.diff(results).only_other)) == (9, 9)
    assert empty.diff(empty).agrees


def test_another_code_under_the_same_name_is_told(played: tuple[Results, Path]) -> None:
    results, _ = played
    table = results.table().arrow
    keys = [f"other {key}" for key in table["key"].to_pylist()]
    other = changed(table.set_column(0, "key", pa.array(keys)), 0, "regret", 7.0)
    (parted,) = results.diff(Results(other)).different
    assert not parted.same_content
    twice = Results(pa.concat_tables([table, table.set_column(0, "key", pa.array(keys))]))
    assert (results.diff(twice).same, len(results.diff(twice).only_other)) == (9, 9)


def braces(text: str) -> int:
    return text.count("{") - text.count("}")


def test_a_latex_table_has_a_column_for_each_problem() -> None:
    odd = {
        "A_1 & B": dict.fromkeys(range(3), (5.0, 1.0)),
        "B": dict.fromkeys(range(3), (1234.5, 1.0)),
    }
    found = made({("mine_100%", 2, 3): odd, ("other", 2, 3): {"B": {0: (2.0, 1.0)}}})
    beside = {"std": r" \pm 0.0$", "interval": "$", "median": r"$ $[5.0,\,5.0]$"}
    for show in ("std", "interval", "median"):
        text = found.latex(show)
        lines = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert [len(line.replace(r"\&", "").split("&")) for line in lines] == [3, 3, 3]
        assert braces(text.replace(r"\{", "").replace(r"\}", "")) == 0
        assert lines[0] == r"policy & mine\_100\% & other \\"
        assert lines[1] == rf"A\_1 \& B & $\mathbf{{5.0}}{beside[show]} & -- \\"
        assert lines[2].endswith(r" & $\mathbf{2.0}$ \\"), "one run has no spread"
    (cell,) = made({CELL: MANY}).cells
    many = made({CELL: MANY})
    mean, regret = many.interval(cell, "B"), many.regret(cell, "B")
    assert f"${mean.value:.1f}$ $[{mean.low:.1f},\\,{mean.high:.1f}]$" in many.latex("interval")
    assert rf"${regret.mean():.1f} \pm {regret.std(ddof=1):.1f}$" in many.latex("std") == many.latex()
    low, median, high = np.quantile(regret, (0.25, 0.5, 0.75))
    assert rf"${median:.1f}$ $[{low:.1f},\,{high:.1f}]$" in many.latex("median")
    with pytest.raises(InfexError, match="show must be"):
        found.latex("mode")


def test_special_letters_of_latex_are_written_out() -> None:
    from infex.lab.reports.latex import SPECIAL, escaped

    for one, other in itertools.product(SPECIAL, repeat=2):
        assert escaped(one + other) == SPECIAL[one] + SPECIAL[other]
