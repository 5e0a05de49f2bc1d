"""Many runs are the runs that `play` gives one by one."""

from typing import Any

import numpy as np
import pytest

from infex import Infex, LinTS, LinUCB, every
from infex.environments import gaussian
from infex.errors import InfexError
from infex.simulation import play, play_many
from tests.policies.test_contract import Means
from tests.simulation.test_playing import assert_same

INSTANCES = [gaussian(dim=4, arms=20, seed=seed) for seed in range(3)]


@pytest.mark.parametrize(
    "policy", [LinUCB(), LinTS(scale=0.3), Infex(LinTS(), every(5), data="own")], ids=repr
)
@pytest.mark.parametrize("workers", [None, 1, 2, 5])
def test_many_runs_are_those_of_play_on_any_number_of_threads(policy: Any, workers: int | None) -> None:
    runs = play_many(INSTANCES, policy, 400, seeds=range(4), record=True, workers=workers)
    expected = [(instance, seed) for instance in INSTANCES for seed in range(4)]
    assert len(runs) == len(expected)
    for run, (instance, seed) in zip(runs, expected, strict=True):
        assert run.instance is instance
        assert_same(run, play(instance, policy, 400, seed, record=True))


def test_a_learner_starts_each_run_as_it_was_given() -> None:
    learner = Means()
    runs = play_many(INSTANCES[0], learner, 60, seeds=[5, 5], record=True)
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)
    assert learner.rewards == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: play_many([], LinUCB(), 10), "nothing to play: 0 instances with 1 seeds each"),
        (lambda: play_many(INSTANCES, LinUCB(), 10, seeds=[]), "3 instances with 0 seeds"),
        (lambda: play_many(INSTANCES, LinUCB(), 10, workers=0), "workers must be at least 1, got 0"),
        (lambda: play_many(INSTANCES, LinUCB(), 0), "horizon must be at least 1, got 0"),
    ],
)
def test_bad_calls_are_refused(call: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        call()
