"""The contract of environments: arms, means and rewards follow from seed and round alone."""

from __future__ import annotations

import numpy as np

from infex.arrays import Floats
from infex.lab.environments import Environment, Instance, OwnInstance, Stretch
from infex.lab.simulation import play
from infex.lab.simulation.simulator import checked_instance
from infex.models.posterior import Posterior
from infex.policies import Choice, Infex, LinUCB
from infex.schedules import every

TRIED = 60
DRAWS = 4000


class Uncompiled:
    """A policy as it is, without its compiled form."""

    def __init__(self, base: Infex) -> None:
        self.base = base

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """What the policy chooses."""
        return self.base.choose(t, posterior, rng)


class EnvironmentContract:
    """Tests for an environment of your own: inherit, say how it is made, and run pytest.

    class TestMine(infex.testing.EnvironmentContract):
        def make(self):
            return Mine()
    """

    unbiased = True  # do rewards have the means that the environment tells?

    def make(self) -> Environment | Instance:
        """The environment, made anew."""
        raise NotImplementedError(f"{type(self).__name__} must say in `make` how its environment is made")

    def _stretches(self, seed: int, horizon: int = TRIED) -> list[Stretch]:
        return list(checked_instance(self.make()).stretches(seed, horizon))

    def test_every_round_has_arms_and_means(self) -> None:
        instance = checked_instance(self.make())
        t = 0
        for stretch in self._stretches(1):
            assert stretch.first == t + 1
            t = stretch.last
            assert stretch.means.shape[1] == instance.count
            assert stretch.ends[-1] >= stretch.last
        assert t == TRIED

    def test_arms_and_means_follow_from_the_seed_and_the_round(self) -> None:
        self._same_rounds(self._stretches(3), self._stretches(3), "made anew")

    def test_one_problem_that_is_asked_twice_gives_the_same_arms_and_means(self) -> None:
        instance = checked_instance(self.make())
        first, again = (list(instance.stretches(3, TRIED)) for _ in range(2))
        self._same_rounds(first, again, "asked again")

    def test_early_rounds_that_are_asked_for_after_later_ones_are_the_same(self) -> None:
        instance = checked_instance(self.make())
        if not isinstance(instance, OwnInstance):
            return  # only a problem of one's own is asked for means by the round
        own, rounds = instance.environment, _by_round(list(instance.stretches(3, TRIED)))
        for t in (TRIED, TRIED // 2, 1, TRIED // 2, 2):
            means, columns = rounds[t - 1]
            arms = instance.fixed_arms if columns is None else columns.T
            if columns is None:
                _refuse_change(instance, "arms", t, instance.fixed_arms, own.arms, "after later ones")
            _refuse_change(instance, "means", t, means, own.means(t, arms), "after later ones")

    def _same_rounds(self, first: list[Stretch], again: list[Stretch], when: str) -> None:
        instance = checked_instance(self.make())
        pairs = zip(_by_round(first), _by_round(again), strict=True)
        for t, ((means, columns), (other_means, other_columns)) in enumerate(pairs, 1):
            if columns is not None:
                _refuse_change(instance, "arms", t, columns, other_columns, when)
            _refuse_change(instance, "means", t, means, other_means, when)

    def test_rewards_follow_from_the_seed_the_round_and_the_mean(self) -> None:
        instance = checked_instance(self.make())
        means = self._stretches(1)[0].means[0].tolist()
        best, worst = int(np.argmax(means)), int(np.argmin(means))
        first = _rewards(instance, means, [best] * 18 + [worst])[-1]
        again = _rewards(instance, means, [worst, best] * 9 + [worst])[-1]
        assert first == again, (
            f"{instance!r}: the reward of a round depends on what was played before it: {first:g}, then "
            f"{again:g}"
        )

    def test_rewards_have_their_means(self) -> None:
        if not self.unbiased:
            return
        instance = checked_instance(self.make())
        means = self._stretches(1)[0].means[0].tolist()
        for arm in {int(np.argmax(means)), int(np.argmin(means))}:
            drawn = np.array(_rewards(instance, means, [arm] * DRAWS))
            slack = 5.0 * drawn.std() / np.sqrt(DRAWS) + 1e-9
            assert abs(drawn.mean() - means[arm]) <= slack, (
                f"rewards of mean {means[arm]:g} average {drawn.mean():g}, more than {slack:.2g} away; say "
                "`unbiased = False` if that is so on purpose"
            )

    def test_compiled_and_python_runs_are_the_same(self) -> None:
        policy = Infex(LinUCB(), every(3))
        one = play(self.make(), policy, TRIED, seed=2, record=True)
        other = play(self.make(), Uncompiled(policy), TRIED, seed=2, record=True)
        np.testing.assert_array_equal(one.arms, other.arms)
        np.testing.assert_array_equal(one.rewards, other.rewards)
        assert one.regret == other.regret

    def test_regret_is_against_the_best_arm_of_each_round(self) -> None:
        run = play(self.make(), LinUCB(), TRIED, seed=2, record=True)
        assert run.arms is not None
        lost = 0.0
        for stretch in self._stretches(2):
            for t in range(stretch.first, stretch.last + 1):
                means = stretch.means[np.searchsorted(stretch.ends, t)]
                lost += means.max() - means[run.arms[t - 1]]
        np.testing.assert_allclose(run.regret, lost, rtol=1e-9, atol=1e-9)


def _rewards(instance: Instance, means: list[float], arms: list[int]) -> list[float]:
    """What arms give in rounds 1, 2, ..., whose means stay."""
    draws, last = instance.draws(5), len(arms)
    table = instance.law.table(Stretch(1, last, np.array([last]), np.array([means])), 5, instance.key)
    if table is not None:
        return [float(row[arm]) for row, arm in zip(table, arms, strict=True)]
    return [instance.law.draw(arm, means[arm], draws) for arm in arms]


def _by_round(stretches: list[Stretch]) -> list[tuple[Floats, Floats | None]]:
    """The means and, where they are drawn anew, the arms of each round."""
    return [
        (
            each.means[np.searchsorted(each.ends, t)],
            None if each.columns is None else each.columns[t - each.first],
        )
        for each in stretches
        for t in range(each.first, each.last + 1)
    ]


def _refuse_change(instance: Instance, what: str, t: int, first: object, again: object, when: str) -> None:
    """What a problem says of a round must follow from the round and the draws that it is given."""
    one, other = np.asarray(first, dtype=np.float64), np.asarray(again, dtype=np.float64)
    if one.shape == other.shape and np.array_equal(one, other):
        return
    far = (
        f", by up to {np.abs(one - other).max():.3g}"
        if one.shape == other.shape
        else f": {one.shape}, {other.shape}"
    )
    raise AssertionError(
        f"{instance!r}, {when}, has other {what} in round {t}{far}. They must follow from t and rng alone: "
        "what moves is a function of t, or is drawn once, in __init__"
    )
