"""Saved bandits of several kinds, and the decisions with which each must go on.

Beside each `tests/golden/NAME.infex` stands NAME.json: sixty decisions and what was explored, as they came
out before bandits were rewritten. Rewards after loading are 0.9 sin(0.7 t + arm), or with the logistic
estimator 1 where that is above 0.1 and else 0; contexts go round in `inputs.npz`.

`python -m tests.bandit.golden_bandits` saves the files anew, for a change of format while the code still
reads the old one. It leaves the decisions alone: if these change, a bandit behaves otherwise.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from infex import Bandit, Decision

FOLDER = Path(__file__).parent.parent / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.infex"))
CONTEXTS = np.load(FOLDER / "inputs.npz")["contexts"]
SHORT = ("t", "arm", "explored", "reason", "estimate", "low", "high", "propensity")


def loaded(name: str) -> Bandit:
    """A saved bandit."""
    return Bandit.load(FOLDER / f"{name}.infex")


def expected(name: str) -> Any:
    """What it must go on with: `then`, rows of decisions, and `exploration` after them."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def go_on(name: str, bandit: Bandit, rounds: int) -> list[Decision]:
    """The next decisions of a bandit, each told its reward at once."""
    decisions = []
    for _ in range(rounds):
        context = CONTEXTS[(bandit.t + 1) % len(CONTEXTS)] if bandit.features else None
        decisions.append(bandit.ask(context=context))
        bandit.tell(decisions[-1], _reward(name, decisions[-1]))
    return decisions


def row(decision: Decision, length: int) -> list[Any]:
    """A decision as the older, shorter rows have it, or all of it without its id."""
    if length == len(SHORT):
        return [getattr(decision, name) for name in SHORT]
    return list(decision[1:])


def _reward(name: str, decision: Decision) -> float:
    value = 0.9 * math.sin(0.7 * decision.t + decision.arm)
    return float(value > 0.1) if name == "logistic" else value


if __name__ == "__main__":
    for each in NAMES:
        loaded(each).save(FOLDER / f"{each}.infex")
