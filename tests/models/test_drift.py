"""When the parameter turns about, what forgets loses less."""

from typing import Any

import numpy as np
import pytest

from infex import Infex, LinUCB, every
from infex.lab.environments import gaussian
from infex.models import Discounted, Windowed
from infex.streams import Rounds, stream
from infex.testing.problems import play, signed

HALF, SEEDS = 600, 6


def losses(estimator: Any) -> Any:
    """The regret after theta has turned about, for every seed; all estimators meet the same noise."""
    found = []
    for seed in range(SEEDS):
        instance = gaussian(dim=4, arms=20, seed=seed)
        uniforms = stream(seed, "drift").random(2 * HALF)
        before = signed(instance.arms, instance.theta, uniforms)
        after = signed(instance.arms, -instance.theta, uniforms)

        def reward(t: int, arm: int, sides: Any = (before, after)) -> float:
            return float(sides[t > HALF].reward(t, arm))

        policy = Infex(LinUCB(scale=0.5), every(5))
        draws = Rounds(seed, "drift").at
        arms = [
            choice.arm for choice in play(policy, instance.arms, reward, draws, 2 * HALF, estimator=estimator)
        ]
        means = -instance.means
        found.append(np.sum(means.max() - means[arms[HALF:]]))
    return np.array(found)


@pytest.mark.compiled
def test_what_forgets_loses_less_after_a_turn() -> None:
    ridge = losses(None)
    for estimator in (Discounted(rate=0.98), Windowed(size=100)):
        forgets = losses(estimator)
        assert np.all(forgets < ridge)
        assert forgets.mean() < 0.5 * ridge.mean()
