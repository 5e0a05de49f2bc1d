"""Files of every format load for ever, and go on with the decisions beside them.

Those of format 1 were written before this reader was. The rewards told after loading are
0.9 sin(0.7 t + arm), or 1 where that is above 0.1 and else 0; contexts go round in `inputs.npz`.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Choice, Decision, Evidence, features
from tests.alike import all_unnamed

FOLDER = Path(__file__).parent.parent / "golden"
CONTEXTS = np.load(FOLDER / "inputs.npz")["contexts"]
DISJOINT = "disjoint-contexts"
FIRST = ["linucb-every20", "guarded-budget", "disjoint-contexts", "logistic"]


def reward(name: str, decision: Decision) -> float:
    value = 0.9 * math.sin(0.7 * decision.t + decision.arm)
    return float(value > 0.1) if name.startswith("logistic") else value


def go_on(name: str, bandit: Bandit, rounds: int) -> list[Decision]:
    decisions = []
    for _ in range(rounds):
        t = bandit.t + 1
        decisions.append(bandit.ask(context=CONTEXTS[t % len(CONTEXTS)]) if bandit.features else bandit.ask())
        bandit.tell(decisions[-1], reward(name, decisions[-1]))
    return decisions


@pytest.mark.parametrize("name", [name for name in FIRST if name != DISJOINT])
def test_a_file_of_format_1_goes_on_as_the_code_that_wrote_it_did(name: str) -> None:
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    bandit = Bandit.load(FOLDER / f"{name}.infex")
    assert bandit.t == expected["asked"]
    assert [decision.id for decision in bandit.pending] == [str(key) for key in expected["pending"]]
    for decision, row in zip(go_on(name, bandit, 60), expected["then"], strict=True):
        t, arm, explored, reason, *figures, probability = row
        assert (decision.t, decision.arm, decision.explored, decision.reason) == (t, arm, explored, reason)
        assert (decision.estimate, decision.low, decision.high) == pytest.approx(tuple(figures), abs=1e-9)
        assert decision.probability == probability
    planned, done, skipped, made_up, next_due, cost = expected["exploration"]
    found = bandit.exploration()
    assert (found.planned, found.done, found.skipped, found.made_up) == (planned, done, skipped, made_up)
    assert (found.next_due, found.different) == (next_due, None)
    assert found.cost == pytest.approx(cost, abs=1e-9)


@pytest.mark.parametrize("name", FIRST)
def test_ids_of_format_1_are_told_as_numbers_or_as_text(name: str) -> None:
    bandit = Bandit.load(FOLDER / f"{name}.infex")
    bandit.tell(170, 1.0)
    bandit.tell("171", 1.0)
    bandit.drop(172)
    with pytest.raises(ValueError, match="decision '12' has its reward already"):
        bandit.tell(12, 1.0)
    assert [decision.id for decision in bandit.pending] == ["173"]


@pytest.mark.parametrize("name", FIRST)
def test_a_file_of_format_1_saved_anew_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    bandit = Bandit.load(FOLDER / f"{name}.infex")
    go_on(name, bandit, 17)
    bandit.save(tmp_path / "x.infex")
    again = Bandit.load(tmp_path / "x.infex")
    assert all_unnamed(go_on(name, again, 60)) == all_unnamed(go_on(name, bandit, 60))
    assert again.exploration() == bandit.exploration()
    assert figures(again) == figures(bandit)


def figures(bandit: Bandit) -> Any:
    """All that a bandit says of its arms."""
    context = CONTEXTS[3] if bandit.features else None
    return bandit.estimates(context=context).tolist()


@pytest.mark.parametrize(
    "name", sorted({path.stem for path in FOLDER.glob("format-[2-9]-*.infex")} - {f"format-2-{DISJOINT}"})
)
def test_a_file_goes_on_with_what_stands_beside_it(name: str) -> None:
    """To the last bit but for rounding: a formula that is computed in another order is still the same."""
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    bandit = Bandit.load(FOLDER / f"{name}.infex")
    decisions = go_on(re.sub("format-[0-9]-", "", name), bandit, 60)
    for row, other in zip(rows(decisions), expected["then"], strict=True):
        assert list(row) == rounded(other)
    assert list(bandit.exploration()) == rounded(expected["exploration"])


class Replayed:
    """Plays the arms of these rows, from a round on: t, arm, whether it explored."""

    def __init__(self, rows: list[tuple[int, int, bool]]) -> None:
        self.rows = {t: (arm, explored) for t, arm, explored in rows}

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        return Choice(*self.rows[t])


@pytest.mark.parametrize("name", [DISJOINT, f"format-2-{DISJOINT}"])
def test_a_disjoint_map_that_was_one_regression_goes_on_as_one_for_each_arm(name: str) -> None:
    """Estimates and greedy arms are the same. Radii are not, nor are the arms that they choose: each arm's
    now goes by its own data.
    """
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    then = expected["then"]
    place = {"t": 0, "arm": 1, "explored": 2, "estimate": 4}
    if name != DISJOINT:
        place = {"t": 0, "arm": 1, "explored": 3, "greedy": 4, "estimate": 5}
    rows = [(row[place["t"]], row[place["arm"]], row[place["explored"]]) for row in then]
    bandit = Bandit.load(FOLDER / f"{name}.infex", policy=Replayed(rows), adopt=True)
    assert isinstance(bandit.features, features.Disjoint)
    for decision, row in zip(go_on(name, bandit, 60), then, strict=True):
        assert (decision.arm, decision.explored) == (row[place["arm"]], row[place["explored"]])
        assert decision.estimate == pytest.approx(row[place["estimate"]], abs=1e-9)
        assert decision.explored or decision.greedy == decision.arm
        assert decision.greedy == row[place.get("greedy", place["arm"])] or "greedy" not in place
    done, cost = (expected["exploration"][1], expected["exploration"][-1])
    assert (bandit.exploration().done, bandit.exploration().cost) == (done, pytest.approx(cost, abs=1e-9))


def rounded(row: Any) -> list[Any]:
    """A row, with its floats as they are but for rounding."""
    return [pytest.approx(each, rel=1e-12, abs=1e-12) if isinstance(each, float) else each for each in row]


def rows(decisions: list[Decision]) -> list[tuple[Any, ...]]:
    """Decisions as JSON keeps them, without ids."""
    return [decision[1:] for decision in decisions]
