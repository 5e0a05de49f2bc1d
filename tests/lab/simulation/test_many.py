"""Many runs are the runs that `play` gives one by one."""

import threading
from typing import Any

import numpy as np
import pytest

from infex import Greedy, Infex, LinTS, LinUCB, every
from infex.errors import InfexError, LargeReward
from infex.lab.environments import ChangingInstance, LinearInstance, gaussian
from infex.lab.simulation import play, play_many
from tests.lab.simulation.in_python import assert_same
from tests.policies.test_contract import Means

INSTANCES = [gaussian(dim=4, arms=20, seed=seed) for seed in range(3)]


@pytest.mark.compiled
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


@pytest.mark.compiled
@pytest.mark.parametrize("workers", [1, 2])
def test_pairs_are_played_with_their_own_seeds(workers: int) -> None:
    runs = play_many(INSTANCES, LinTS(), 300, [7, 5, 9], record=True, workers=workers, paired=True)
    for run, instance, seed in zip(runs, INSTANCES, (7, 5, 9), strict=True):
        assert_same(run, play(instance, LinTS(), 300, seed, record=True))


def mixed() -> list[LinearInstance]:
    """Problems of two shapes and three laws, some of them twice."""
    small = [gaussian(dim=3, arms=7, seed=seed) for seed in range(3)]
    noisy = gaussian(dim=3, arms=7, seed=1, rewards="gaussian")
    return [*small, small[1], *INSTANCES, noisy, small[0]]


@pytest.mark.parametrize("policy", [Greedy(), Infex(LinTS(scale=0.3), every(5), data="own")], ids=repr)
def test_problems_of_any_shape_and_law_keep_their_order(policy: Any) -> None:
    problems = mixed()
    runs = play_many(problems, policy, 150, seeds=range(11), record=True, workers=1)
    tasks = [(instance, seed) for instance in problems for seed in range(11)]
    for run, (instance, seed) in zip(runs, tasks, strict=True):
        assert (run.instance, run.seed) == (instance, seed)
        assert_same(run, play(instance, policy, 150, seed, record=True))


def test_a_users_code_is_not_called_from_several_threads_at_once() -> None:
    room, threads = np.empty((20, 3)), set()

    def contexts(rng: np.random.Generator) -> Any:
        threads.add(threading.get_ident())
        rng.random(out=room)
        return room / np.sqrt(3)

    instance = ChangingInstance(theta=[0.3, 0.3, 0.3], arms=20, contexts=contexts)
    one, two = (play_many(instance, LinUCB(), 200, range(6), workers=workers) for workers in (1, 2))
    assert [run.regret for run in one] == [run.regret for run in two]
    assert threads == {threading.get_ident()}  # two threads that never met would give the same runs


@pytest.mark.parametrize("call", [play, play_many])
def test_means_far_beyond_the_settings_are_warned_of(call: Any) -> None:
    instance = LinearInstance(np.eye(2), [30.0, 1.0], rewards="gaussian")
    with pytest.warns(LargeReward, match="a reward of 30 is far beyond the noise and bound"):
        call(instance, LinUCB(), 10)
    call(instance, LinUCB(bound=30), 10)


def test_a_learner_starts_each_run_as_it_was_given() -> None:
    learner = Means()
    runs = play_many(INSTANCES[0], learner, 60, seeds=[5, 5], record=True)
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)
    assert learner.rewards == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: play_many([], LinUCB(), 10), "nothing to play: 0 instances with 1 seeds each"),
        (lambda: play_many(INSTANCES, LinUCB(), 10, [1], paired=True), r"a seed for each of 3 .*, got 1"),
        (lambda: play_many(INSTANCES, LinUCB(), 10, seeds=[]), "3 instances with 0 seeds"),
        (lambda: play_many(INSTANCES, LinUCB(), 10, workers=0), "workers must be at least 1, got 0"),
        (lambda: play_many(3, LinUCB(), 10), "instance must be one of infex.lab.environments, got 3"),
        (lambda: play_many(INSTANCES, LinUCB(), 10, seeds=5), r"seeds must be a list .* such as range\(5\)"),
        (lambda: play_many(INSTANCES, LinUCB(), 0), "horizon must be at least 1, got 0"),
    ],
)
def test_bad_calls_are_refused(call: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        call()


def test_a_users_way_of_moving_is_called_from_one_thread_alone() -> None:
    threads = set()

    class Still:
        def path(self, theta: Any, rng: Any) -> Any:
            threads.add(threading.get_ident())
            return self

        def rows(self, first: int, last: int) -> Any:
            return np.array([last]), np.array([[0.5, 0.1]])

    instance = LinearInstance([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.1], moves=Still())
    play_many(instance, LinUCB(), 10, seeds=range(8), workers=4)
    assert threads == {threading.get_ident()}
