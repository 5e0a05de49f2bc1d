"""The experiment on arms that change, and what it says of its runs."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from infex.lab import Results, Sweep, paper

BASES = {"Infex(LinUCB, every(5))": "LinUCB", "Infex(LinUCB, every(20))": "LinUCB"}


def made(kind: str, curves: dict[str, list[tuple[float, float]]]) -> Results:
    """Results of one cell: for each policy the regret at half time and at the end, run by run."""
    problem = f"changing(dim=4, arms=5, best={kind})"
    rows: list[dict[str, Any]] = []
    for policy, runs in curves.items():
        for seed, values in enumerate(runs):
            for t, regret in zip((50, 100), values, strict=True):
                row: dict[str, Any] = {"key": f"{policy} {seed}", "policy": policy, "seed": seed}
                row |= {"environment": problem, "dim": 4, "arms": 5, "horizon": 100, "t": t, "regret": regret}
                row |= {"seconds": 0.0, "explored": 0, "different": None, "optimal": 0, "log_det_ratio": 0.0}
                rows.append(row | {"regret_exploring": 0.0, "regret_greedy": 0.0})
    settings = Sweep(environments={problem: problem}, policies=["Greedy"]).about()["settings"]
    about = {"policies": list(curves), "horizon": 100, "settings": settings | {"policies": []}}
    return Results(pa.Table.from_pylist(rows), bases=BASES, about=about)


def test_the_default_is_three_problems_of_one_shape() -> None:
    sweep = paper.changing_arms()
    assert [problem.label for problem in sweep.problems] == [
        "changing(dim=10, arms=20)",
        "changing(dim=10, arms=20, best=fixed)",
        "changing(dim=10, arms=20, best=recurring)",
    ]
    assert [player.label for player in sweep.players] == [
        "LinUCB",
        "Infex(LinUCB, every(5))",
        "Infex(LinUCB, every(20))",
        "LinTS",
        "Infex(LinTS, every(5))",
        "Infex(LinTS, every(20))",
        "Greedy",
    ]
    assert (sweep.horizon, len(sweep.seeds)) == (10_000, 20)
    assert sweep.players[0].policy.delta == 1e-4


@pytest.mark.parametrize(("greedy", "holds"), [(11.0, 1), (12.1, 0)])
def test_greedy_is_near_the_best_or_not(greedy: float, holds: int) -> None:
    results = made("moving", {"Infex(LinUCB, every(5))": [(5, 8), (5, 12)], "Greedy": [(1, greedy)] * 2})
    (verdict,) = paper.changing_verdicts(results)
    assert (verdict.holds, verdict.cells) == (holds, 1)
    assert "at most 1.2 times the least" in verdict.claim
    assert f"Infex(LinUCB, every(5)) 10, Greedy {greedy:.0f}" in verdict.note


@pytest.mark.parametrize(
    ("half", "end", "base", "holds"), [(6, 10, 20, 1), (4, 10, 20, 0), (6, 10, 9, 0), (0, 0, 9, 1)]
)
def test_infex_keeps_its_order_or_not(half: float, end: float, base: float, holds: int) -> None:
    curves = {"LinUCB": [(base / 2, base)], "Infex(LinUCB, every(20))": [(half, end)], "Greedy": [(1, 1)]}
    (verdict,) = paper.changing_verdicts(made("fixed", curves))
    assert (verdict.holds, verdict.cells) == (holds, 1)
    if half:
        assert f"Infex(LinUCB, every(20)) {(end - half) / half:.2f}, Greedy 0.00" in verdict.note


@pytest.mark.parametrize(("greedy", "holds"), [([1, 30, 30], 1), ([1, 1, 12], 0)])
def test_greedy_is_hurt_or_not_and_the_instances_are_counted(greedy: list[float], holds: int) -> None:
    curves = {
        "Infex(LinUCB, every(20))": [(5.0, 9.0), (5.0, 10.0), (5.0, 11.0)],
        "Greedy": [(each / 2, each) for each in greedy],
    }
    (verdict,) = paper.changing_verdicts(made("recurring", curves))
    assert (verdict.holds, verdict.cells) == (holds, 1)
    below = sum(one < other for one, other in zip((9, 10, 11), greedy, strict=True))
    assert f"Infex(LinUCB, every(20)) in {below} of 3 instances" in verdict.note
    assert f"in the worst instance Greedy {max(greedy)}, Infex(LinUCB, every(20)) 11;" in verdict.note
    assert verdict.note.endswith("greedy's second half over its first 1.00.")


def test_nothing_is_said_without_greedy_or_infex() -> None:
    assert paper.changing_verdicts(made("moving", {"Greedy": [(1, 2)]})) == []
    assert paper.changing_verdicts(made("moving", {"Infex(LinUCB, every(5))": [(1, 2)]})) == []
    assert paper.changing_verdicts(made("recurring", {"LinUCB": [(1, 2)], "Greedy": [(1, 2)]})) == []


def test_only_arms_that_change_are_spoken_of() -> None:
    curves = {"Infex(LinUCB, every(5))": [(1.0, 2.0)], "Greedy": [(1.0, 2.0)]}
    table = made("moving", curves).table().arrow
    other = table.set_column(
        table.column_names.index("environment"),
        "environment",
        pa.array(["gaussian(dim=4, arms=5)"] * len(table)),
    )
    results = Results(other, bases=BASES, about={"policies": list(curves)})
    assert results.cells
    assert paper.changing_verdicts(results) == []


@pytest.mark.compiled
def test_greedy_is_hurt_where_sets_recur_and_infex_is_not() -> None:
    names = ["Infex(LinUCB, every(20))", "Infex(LinTS, every(20))", "Greedy"]
    sweep = paper.changing_arms(dims=[6], arms=[20], instances=12, horizon=5000, chosen=names)
    results = sweep.run(workers=1)
    (cell,) = [cell for cell in results.cells if "recurring" in cell.environment]
    greedy = np.mean(results.regret(cell, "Greedy"))
    for name in names[:2]:
        assert np.mean(results.regret(cell, name)) < 0.75 * greedy
    (diverse,) = [cell for cell in results.cells if "best" not in cell.environment]
    assert np.mean(results.regret(diverse, "Greedy")) < 0.5 * greedy
