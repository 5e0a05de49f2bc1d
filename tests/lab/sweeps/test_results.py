"""What is read from a table, against plain references on tables made by hand."""

import csv
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from infex import Bandit, Greedy, Infex, LinUCB, every
from infex.errors import InfexError
from infex.lab import Results, Sweep, paper, play
from infex.lab.environments import gaussian
from tests.lab.sweeps import players

Runs = dict[str, dict[int, tuple[float, float]]]  # by policy and seed: regret and seconds


def results(
    cells: dict[tuple[str, int, int], Runs],
    horizon: int = 10_000,
    forced: tuple[str, ...] = ("OLSBandit",),
    **about: Any,
) -> Results:
    """Results of such runs, in an order that nobody should trust; those `forced` explore in every round."""
    rows: list[dict[str, Any]] = []
    for (environment, dim, arms), runs in cells.items():
        for policy, by_seed in runs.items():
            for seed, (regret, seconds) in reversed(by_seed.items()):
                facts = {"environment": environment, "dim": dim, "arms": arms, "policy": policy, "seed": seed}
                explored = horizon if policy in forced else horizon // 2
                facts |= {"horizon": horizon, "seconds": seconds, "explored": explored}
                different = explored // 3 if policy.startswith("Infex(") else None
                facts |= {"different": different, "optimal": 0}
                facts |= {"regret_exploring": 0.0, "regret_greedy": 0.0, "log_det_ratio": 0.0}
                facts["key"] = f"{environment} {dim} {arms} {policy} {seed}"
                rows += [
                    facts | {"t": horizon // 2, "regret": regret / 4},
                    facts | {"t": horizon, "regret": regret},
                ]
    policies = list(dict.fromkeys(policy for runs in cells.values() for policy in runs))
    problems = {label: label for label, _, _ in cells if label.endswith(")")} or {"any": "lower_bound(gap=1)"}
    settings = Sweep(environments=problems, policies=["Greedy"]).about()["settings"] | {"policies": []}
    given = {"policies": policies, "horizon": horizon, "settings": settings}
    return Results(pa.Table.from_pylist(rows), about=given | about)


CELL = ("gaussian(dim=2, arms=3)", 2, 3)
SKEWED: Runs = {
    "A": {4: (1.0, 3.0), 1: (2.0, 1.0), 9: (9.0, 20.0), 3: (100.0, 4.0)},
    "B": {1: (5.0, 1.0), 3: (50.0, 2.0), 9: (8.0, 9.0), 7: (1000.0, 1.0)},
    "C": {2: (1.0, 1.0)},
}


def test_the_summary_is_that_of_a_plain_reference(tmp_path: Path) -> None:
    found = results({CELL: SKEWED})
    found.save(tmp_path)
    with (tmp_path / "summary.csv").open() as file:
        rows = {row["policy"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["A", "B", "C"]
    for policy in ("A", "B"):
        regret, seconds = zip(*SKEWED[policy].values(), strict=True)
        assert int(rows[policy]["instances"]) == 4
        assert float(rows[policy]["regret_mean"]) == pytest.approx(statistics.mean(regret))
        assert float(rows[policy]["regret_std"]) == pytest.approx(statistics.stdev(regret))
        assert float(rows[policy]["regret_median"]) == pytest.approx(statistics.median(regret))
        assert float(rows[policy]["seconds_median"]) == pytest.approx(statistics.median(seconds))
    assert rows["C"]["regret_std"] == ""
    assert found.summary()["regret_std"].to_pylist()[2] is None


def test_exploring_rounds_and_deviations_are_told_of_every_run_and_in_the_summary(tmp_path: Path) -> None:
    schedule = every(7)
    policies = {"base": LinUCB(), "greedy": Greedy(), "rare": Infex(LinUCB(), schedule)}
    found = Sweep(environments=["gaussian(dim=3, arms=6)"], policies=policies, horizon=150, seeds=[4, 9]).run(
        workers=1, out=tmp_path
    )
    (cell,) = found.cells
    counts = []
    for seed in (4, 9):  # each round again, by itself
        problem = gaussian(dim=3, arms=6, seed=seed)
        run = play(problem, policies["rare"], 150, seed, record=True)
        bandit = Bandit(problem.arms, policies["rare"], horizon=150)
        assert run.arms is not None
        assert run.rewards is not None
        different = 0
        for t, (arm, reward) in enumerate(zip(run.arms, run.rewards, strict=True), 1):
            different += schedule.explores(t) and arm != np.argmax(bandit.estimates().estimate)
            bandit.learn(arms=[arm], rewards=[reward])
        counts.append(different)
    assert found.explored(cell, "rare").tolist() == [21, 21]
    assert found.deviations(cell, "rare").tolist() == counts
    assert np.isnan(found.deviations(cell, "base")).all()
    rows = {row["policy"]: row for row in found.summary().to_pylist()}
    assert rows["rare"]["explored_mean"] == 21
    assert rows["rare"]["different_mean"] == pytest.approx(np.mean(counts))
    assert (rows["base"]["explored_mean"], rows["greedy"]["explored_mean"]) == (150, 0)
    assert rows["base"]["different_mean"] is rows["greedy"]["different_mean"] is None
    with (tmp_path / "summary.csv").open() as file:
        assert [row["different_mean"] for row in csv.DictReader(file)][:2] == ["", ""]


def test_pairs_are_the_seeds_that_both_played() -> None:
    found = results({CELL: SKEWED})
    (cell,) = found.cells
    gaps = [SKEWED["A"][seed][0] - SKEWED["B"][seed][0] for seed in (1, 3, 9)]
    compared = found.compare(cell, "A", "B")
    assert compared.pairs == 3
    assert compared.mean == pytest.approx(statistics.mean(gaps))
    assert compared.below == sum(gap < 0 for gap in gaps) == 1
    assert [side.tolist() for side in found.both(cell, "A", "B")] == [[2, 100, 9], [5, 50, 8]]
    assert [side.tolist() for side in found.both(cell, "A", "B", "seconds")] == [[1, 4, 20], [1, 2, 9]]
    assert found.compare(cell, "A", "C").pairs == 0


def test_policies_are_compared_in_every_cell_that_has_both() -> None:
    shapes = {("mine", 2, 3): SKEWED, ("mine", 3, 3): SKEWED, ("mine", 4, 3): {"A": SKEWED["A"]}}
    found = results(shapes)
    compared = found.compare("A", "B")
    assert list(compared) == found.cells[:2]
    assert compared[found.cells[0]][:2] == found.compare(found.cells[0], "A", "B")[:2]
    given: Any
    for given in (("A", "B", "C"), (found.cells[0], "A")):
        with pytest.raises(InfexError, match="takes two policies, or a cell"):
            found.compare(*given)


def test_unknown_policies_and_cells_are_named() -> None:
    shapes = {("mine", 2, 3): {"Greedy": {0: (1.0, 1.0)}}, ("mine", 3, 3): {"LinUCB": {0: (1.0, 1.0)}}}
    found = results(shapes)
    found.about["policies"] = ["Greedy", "LinUCB", "Mine"]
    cell = found.cells[0]
    for look in (found.regret, found.seconds, found.spread, found.curves, found.band):
        with pytest.raises(
            InfexError, match=r"no runs of 'Greed' \(did you mean Greedy\?\); there are runs of\n"
        ):
            look(cell, "Greed")
        with pytest.raises(InfexError, match=r"no runs of 'LinUCB' in Cell\(environment='mine', dim=2"):
            look(cell, "LinUCB")
    for given in ((cell, "Greedy", "Mine"), ("Greedy", "Mine")):
        with pytest.raises(InfexError, match=r"all runs of 'Mine' failed: .* results\.failures"):
            found.compare(*given)


def test_curves_are_those_of_their_cell() -> None:
    shapes = {("mine", 2, 3): {"A": {0: (4.0, 1.0), 2: (8.0, 1.0)}}, ("mine", 3, 5): {"A": {1: (40.0, 1.0)}}}
    found = results(shapes)
    small, large = found.cells
    assert found.curves(small, "A")[1].tolist() == [[1, 4], [2, 8]]
    assert found.curves(large, "A")[1].tolist() == [[10, 40]]
    rounds, mean, std = found.band(small, "A")
    assert (rounds.tolist(), mean.tolist()) == ([5_000, 10_000], [1.5, 6])
    assert std.tolist() == pytest.approx([statistics.stdev([1, 2]), statistics.stdev([4, 8])])
    assert found.band(large, "A")[2].tolist() == [0, 0]


def test_a_problem_of_several_shapes_has_as_many_cells() -> None:
    found = Sweep(environments=[players.growing], policies=["Greedy"], seeds=4, horizon=40).run(workers=1)
    assert [(cell.dim, found.curves(cell, "Greedy")[1].shape[0]) for cell in found.cells] == [(2, 2), (3, 2)]


INFEX = {f"{base} {m}": f"Infex({base}, every({m}))" for base in ("LinUCB", "LinTS") for m in (5, 20, 100)}
CLAIMS = {
    "LinTS improves": [(INFEX[f"LinTS {m}"], "LinTS") for m in (5, 20, 100)],
    "LinUCB improves": [(INFEX["LinUCB 5"], "LinUCB")],
    "Infex(LinUCB, every(5)) and": [(INFEX["LinUCB 5"], "Greedy")]
    + [(INFEX[f"LinTS {m}"], "Greedy") for m in (5, 20, 100)],
    "Epsilon-greedy": [("EpsilonGreedy", "LinUCB"), ("EpsilonGreedy", "LinTS")],
    "OLSBandit": [(INFEX["LinUCB 5"], "OLSBandit"), (INFEX["LinTS 5"], "OLSBandit")],
}


def verdict(pairs: list[tuple[str, str]], claim: str, low: tuple[float, ...], high: tuple[float, ...]) -> Any:
    """The verdict where the first of each pair has the low figures, one for each seed."""
    values = {high_one: high for _, high_one in pairs} | {low_one: low for low_one, _ in pairs}
    runs = {name: {seed: (each, each) for seed, each in enumerate(given)} for name, given in values.items()}
    found = [each for each in paper.verdicts(results({CELL: runs})) if each.claim.startswith(claim)]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_holds_where_its_first_is_below_its_second(claim: str) -> None:
    few, many = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
    assert verdict(CLAIMS[claim], claim, few, many)[1:3] == (1, 1)
    assert verdict(CLAIMS[claim], claim, many, few)[1:3] == (0, 1)
    # Below in the mean, above in the median.
    torn = verdict(CLAIMS[claim], claim, (4.0, 4.0, 4.0), (3.0, 3.0, 99.0))
    assert torn[1:4] == (1, 1, "In median regret: 0 of 1.")


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_needs_every_one_of_its_pairs(claim: str) -> None:
    names = list(dict.fromkeys(name for pair in CLAIMS[claim] for name in pair))
    firsts = dict.fromkeys(one for one, _ in CLAIMS[claim])
    for odd in firsts:
        runs: Runs = {name: {0: (1.0, 1.0) if name in firsts else (2.0, 2.0)} for name in names}
        runs[odd] = {0: (3.0, 3.0)}
        found = [each for each in paper.verdicts(results({CELL: runs})) if each.claim.startswith(claim)]
        assert [each[1:3] for each in found] == [(0, 1)], odd


def test_olsbandit_is_judged_where_most_of_its_rounds_are_forced() -> None:
    one, other = {0: (1.0, 1.0)}, {0: (9.0, 1.0)}
    usual, preset = "OLSBandit", "OLSBandit(preset=paper)"
    runs: Runs = {INFEX["LinUCB 5"]: {0: (5.0, 1.0)}, INFEX["LinTS 5"]: {0: (5.0, 1.0)}, usual: one}
    shapes = {("gaussian(dim=2, arms=3)", 2, 3): runs, ("gaussian(dim=3, arms=3)", 3, 3): runs}

    def found(cells: Any, forced: tuple[str, ...]) -> list[Any]:
        judged = paper.verdicts(results(cells, forced=forced))
        return [each[1:4] for each in judged if each.claim.startswith("OLSBandit")]

    assert found(shapes, (usual,)) == [(0, 2, "In median regret: 0 of 2.")]
    assert found(shapes, ()) == []
    both = {cell: runs | {preset: other} for cell in shapes}
    told = "In median regret: 2 of 2. Where it forces fewer, in mean regret: 0 of 2."
    assert found(both, (preset,)) == [(2, 2, told)]
    assert found(both, (usual, preset)) == [(2, 2, "In median regret: 2 of 2.")], (
        "by the one that forces more"
    )
    torn = {
        ("gaussian(dim=2, arms=3)", 2, 3): runs | {preset: other},
        ("gaussian(dim=3, arms=3)", 3, 3): runs,
    }
    told = "In median regret: 1 of 1. Where it forces fewer, in mean regret: 0 of 2."
    assert found(torn, (preset,)) == [(1, 1, told)]


@pytest.mark.parametrize(
    ("ratio", "lower", "alike"), [(0.5, 6, 0), (0.89, 6, 0), (0.91, 5, 1), (1.09, 5, 1), (1.2, 5, 0)]
)
def test_times_are_compared_by_medians_with_a_margin(ratio: float, lower: int, alike: int) -> None:
    pairs = [(INFEX[f"{base} {m}"], base) for base in ("LinUCB", "LinTS") for m in (5, 20, 100)]
    runs: Runs = {name: dict.fromkeys(range(3), (1.0, 1.0)) for _, name in pairs}
    runs |= {name: {0: (1.0, 0.5), 1: (1.0, 0.5), 2: (1.0, 90.0)} for name, _ in pairs}
    runs[pairs[0][0]] = dict.fromkeys(range(3), (1.0, ratio))
    (found,) = [each for each in paper.verdicts(results({CELL: runs})) if "time" in each.claim]
    assert (found.holds, found.cells, found.undecided, found.unit) == (lower, 6, alike, "comparisons")


def test_verdicts_are_over_common_seeds() -> None:
    runs: Runs = {
        "LinUCB": {0: (5.0, 1.0), 1: (5.0, 1.0)},
        "Infex(LinUCB, every(5))": {1: (4.0, 1.0), 2: (90.0, 1.0)},
    }
    (found,) = paper.verdicts(results({CELL: runs}))
    assert found[1:4] == (1, 1, "In median regret: 1 of 1.")
    runs["Infex(LinUCB, every(5))"] = {2: (4.0, 1.0)}
    assert paper.verdicts(results({CELL: runs})) == []


def test_claims_are_of_the_papers_problem_alone() -> None:
    runs: Runs = {"LinUCB": {0: (5.0, 1.0)}, "Infex(LinUCB, every(5))": {0: (4.0, 1.0)}}
    for label in ("gaussian(dim=2, arms=3, rewards=gaussian)", "changing(dim=2, arms=3)", "mine"):
        assert paper.verdicts(results({(label, 2, 3): runs})) == []
    text = "gaussian(arms=3, rewards=sign, dim=2)"
    assert Sweep(environments=[text], policies=["Greedy"]).problems[0].label == CELL[0]


def test_another_horizon_than_the_papers_is_said() -> None:
    assert paper.caveat(results({CELL: SKEWED})) == ""
    short = results({CELL: SKEWED}, horizon=400)
    assert paper.caveat(short) == "The paper plays 10,000 rounds; these runs have 400."
