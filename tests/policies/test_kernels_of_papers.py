"""LinPHE, LinMED and phased elimination as kernels, each beside a plain version in Python."""

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Choice, Evidence, Infex, LinUCB, every, kernel, play, play_many, view
from infex.environments import changing, gaussian
from infex.errors import InfexError, InvalidSetting
from infex.kernels.compiling import plain_python
from infex.policies.kernel import KernelLearner
from infex.testing import PolicyContract, agree
from tests.simulation.test_playing import assert_same
from tests.simulation.test_stateful import play_in_python

HORIZON = 40 if plain_python else 300


@kernel(a=0.5)
def lin_phe(t: int, seen: Any, rng: Any) -> int:
    """Linear bandits with perturbed history (Kveton et al., 2020), with normal perturbations."""
    arms, pulls, sums, a = seen.arms, view.pulls(seen), view.sums(seen), seen.settings[0]
    moment = np.zeros(arms.shape[0])
    for k in range(pulls.size):
        total = sums[k] + np.sqrt(a * pulls[k]) * rng.standard_normal()
        for i in range(moment.size):
            moment[i] += total * arms[i, k]
    theta = view.solve(seen, moment)
    scores = np.zeros(pulls.size)
    for i in range(moment.size):
        for k in range(pulls.size):
            scores[k] += theta[i] * arms[i, k]
    return view.best(scores)


@dataclass(frozen=True)
class LinPHE:
    a: float = 0.5

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        totals = evidence.sums + np.sqrt(self.a * evidence.pulls) * rng.standard_normal(len(evidence))
        gram = evidence.moments.gram + evidence.penalty * np.eye(evidence.arms.shape[1])
        scores = evidence.arms @ np.linalg.solve(gram, evidence.arms.T @ totals)
        top = scores.max()
        return Choice(int(np.argmax(scores >= top - 1e-12 * (1 + abs(top)))))


@kernel(c=1.0)
def lin_med(t: int, seen: Any, rng: Any) -> int:
    """Minimum empirical divergence (Balagopalan and Jun, 2024), with a uniform design."""
    best, estimates, arms = view.greedy(seen), view.estimates(seen), seen.arms
    weights, difference = np.ones(estimates.size), np.empty(arms.shape[0])
    for k in range(estimates.size):
        for i in range(difference.size):
            difference[i] = arms[i, k] - arms[i, best]
        width, gap = view.width(seen, difference), estimates[best] - estimates[k]
        if k != best and width > 1e-12:
            weights[k] = np.exp(-seen.settings[0] * gap * gap / (width * width))
    left = rng.random() * weights.sum()
    for k in range(estimates.size):
        left -= weights[k]
        if left < 0.0:
            return k
    return best


@dataclass(frozen=True)
class LinMED:
    c: float = 1.0

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        best, estimates, arms = evidence.greedy, evidence.estimates, evidence.arms
        widths = evidence.on(np.ascontiguousarray((arms - arms[best]).T)).widths
        gaps = estimates[best] - estimates
        weights = np.ones(len(evidence))
        far = (widths > 1e-12) & (np.arange(len(evidence)) != best)
        weights[far] = np.exp(-self.c * gaps[far] ** 2 / widths[far] ** 2)
        passed = np.flatnonzero(rng.random() * weights.sum() - np.cumsum(weights) < 0.0)
        return Choice(int(passed[0]) if passed.size else best)


PHASE, PLAYED, OUT = 0, 1, 2  # then one flag for each arm, and the sums of the phase


def room(dim: int, arms: int) -> int:
    return OUT + arms + dim * (dim + 1)


@kernel(width=1.0)
def eliminating(t: int, seen: Any, rng: Any) -> int:
    """Phased elimination: the arms that are left in turn."""
    state, count = seen.state, seen.arms.shape[1]
    left = 0
    for k in range(count):
        left += 1 if state[OUT + k] == 0.0 else 0
    place = int(state[PLAYED]) % left
    for k in range(count):
        if state[OUT + k] == 0.0:
            if place == 0:
                return k
            place -= 1
    return 0


@eliminating.learns(room=room)
def after_a_reward(
    state: Any, settings: Any, arms: Any, arm: int, x: Any, reward: float, explored: bool
) -> None:
    """Sums of a phase; at its end all arms leave that are clearly worse than the best by least squares."""
    d, count = arms.shape
    sums = state[OUT + count :].reshape((d + 1, d))
    state[PLAYED] += 1.0
    for i in range(d):
        sums[d, i] += reward * x[i]
        for j in range(d):
            sums[i, j] += x[i] * x[j]
    left = 0
    for k in range(count):
        left += 1 if state[OUT + k] == 0.0 else 0
    if state[PLAYED] < left * 2.0 ** (state[PHASE] + 1.0):
        return
    system = sums.copy()
    for i in range(d):
        system[i, i] += 1e-3
    for i in range(d):  # Gauss: V is positive definite
        for row in range(i + 1, d):
            factor = system[row, i] / system[i, i]
            for j in range(d):
                system[row, j] -= factor * system[i, j]
            system[d, row] -= factor * system[d, i]
    theta = np.zeros(d)
    for i in range(d - 1, -1, -1):
        theta[i] = system[d, i]
        for j in range(i + 1, d):
            theta[i] -= system[i, j] * theta[j]
        theta[i] /= system[i, i]
    scores = np.zeros(count)
    for k in range(count):
        for i in range(d):
            scores[k] += arms[i, k] * theta[i]
    top = -np.inf
    for k in range(count):
        if state[OUT + k] == 0.0:
            top = max(top, scores[k])
    for k in range(count):
        if scores[k] < top - settings[0] * 2.0 ** -state[PHASE]:
            state[OUT + k] = 1.0
    state[PHASE] += 1.0
    state[PLAYED] = 0.0
    sums[:] = 0.0


class Eliminating:
    """The same as plain lists and NumPy."""

    def __init__(self, width: float = 1.0) -> None:
        self.width = width
        self.phase, self.played = 0, 0
        self.left: list[int] = []
        self.arms: Any = None
        self.told: list[tuple[Any, float]] = []

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        if self.arms is None:
            self.arms, self.left = np.array(evidence.arms), list(range(len(evidence)))
        return Choice(self.left[self.played % len(self.left)])

    def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
        if self.arms is None:
            return
        self.told.append((features, reward))
        self.played += 1
        if self.played < len(self.left) * 2 ** (self.phase + 1):
            return
        x, y = np.array([x for x, _ in self.told]), np.array([y for _, y in self.told])
        theta = np.linalg.solve(x.T @ x + 1e-3 * np.eye(x.shape[1]), x.T @ y)
        scores = self.arms @ theta
        top = max(scores[k] for k in self.left)
        self.left = [k for k in self.left if scores[k] >= top - self.width * 2.0**-self.phase]
        self.phase, self.played, self.told = self.phase + 1, 0, []


@pytest.mark.parametrize(
    ("mine", "plain"),
    [
        (lin_phe(a=0.3), LinPHE(a=0.3)),
        (lin_med(c=0.5), LinMED(c=0.5)),
        (eliminating(width=0.7), Eliminating(width=0.7)),
    ],
    ids=["LinPHE", "LinMED", "phased elimination"],
)
def test_the_kernel_agrees_with_plain_python(mine: Any, plain: Any) -> None:
    agree(mine, plain, horizon=HORIZON, seeds=range(1 if plain_python else 2))


@pytest.mark.parametrize("policy", [lin_phe(), lin_med(), eliminating()], ids=repr)
@pytest.mark.parametrize("wrap", [lambda each: each, lambda each: Infex(each, every(4), data="own")])
def test_a_kernel_is_played_alike_by_both_loops(policy: Any, wrap: Any) -> None:
    problem = gaussian(dim=4, arms=12, seed=5)
    assert_same(
        play(problem, wrap(policy), HORIZON, 3, record=True),
        play_in_python(problem, wrap(policy), HORIZON, 3, record=True),
    )


def test_agree_names_the_round_in_which_two_policies_part() -> None:
    with pytest.raises(
        AssertionError, match=r"round by round, alone, .* round \d+: lin_phe\(a=0.5\) has .*LinPHE"
    ):
        agree(lin_phe(), LinPHE(a=9.0), horizon=50, instances=[gaussian(dim=3, arms=9, seed=1)])

    @kernel
    def honest(t: int, seen: Any, rng: Any) -> int:
        return int(view.unexplored(view.greedy(seen))) if t > 3 else 0

    @dataclass(frozen=True)
    class Boastful:
        def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
            return Choice(evidence.greedy if t > 3 else 0)

    with pytest.raises(AssertionError, match=r"\(., False\)"):
        agree(honest(), Boastful())
    with pytest.raises(InvalidSetting, match="instances must be problems with fixed arms"):
        agree(honest(), honest(), instances=[changing(dim=2, arms=3, seed=1)])


class TestLinPHE(PolicyContract):
    def make(self) -> Any:
        return lin_phe()


class TestEliminating(PolicyContract):
    def make(self) -> Any:
        return eliminating()


def test_a_state_belongs_to_the_policy_and_a_run_leaves_it_alone() -> None:
    policy, problem = eliminating(), gaussian(dim=3, arms=6, seed=1)
    assert isinstance(policy, KernelLearner)
    first = play(problem, policy, 200, record=True)
    assert_same(play(problem, policy, 200, record=True), first)
    assert not policy.state.any()
    for run in play_many([problem] * 3, policy, 200, [0], record=True, workers=1):
        assert_same(run, first)
    bandit = Bandit(problem.arms, policy)
    for _ in range(20):
        bandit.tell(bandit.ask(), 0.5)
    kept = bandit.policy
    assert isinstance(kept, KernelLearner)
    assert kept.state[1] > 0


def test_kernels_with_a_state_are_told_apart_and_travel() -> None:
    def made(step: float) -> Any:
        def choose(t: int, seen: Any, rng: Any) -> int:
            return 0

        def learn(s: Any, n: Any, a: Any, k: int, x: Any, y: float, e: bool) -> None:
            s[0] += 1.0

        mine = kernel(choose)
        mine.learns(room=int(step))(learn)
        return mine

    assert made(1) == made(1)
    assert made(1) != made(2)
    assert pickle.loads(pickle.dumps(eliminating)) is eliminating
    assert copy.deepcopy(eliminating(width=2)) == eliminating(width=2)
    assert repr(eliminating(width=2)) == "eliminating(width=2.0)"
    assert eliminating(width=2).width == 2.0


def test_what_learns_is_checked() -> None:
    @kernel
    def still(t: int, seen: Any, rng: Any) -> int:
        return 0

    with pytest.raises(InvalidSetting, match="room must be at least 1, got 0"):
        still.learns(room=0)
    with pytest.raises(
        InvalidSetting, match="what learns must be a function of state, settings, arms, arm, x"
    ):
        still.learns(room=1)(print)


@pytest.mark.compiled
def test_a_fault_of_what_learns_is_raised() -> None:
    @kernel
    def still(t: int, seen: Any, rng: Any) -> int:
        return 0

    @still.learns(room=1)
    def stumbling(
        state: Any, settings: Any, arms: Any, arm: int, x: Any, reward: float, explored: bool
    ) -> None:
        state[0] += 1.0
        if state[0] == 7.0:
            raise ZeroDivisionError("in the seventh round")

    for data in ("shared", "own"):
        with pytest.raises(ZeroDivisionError, match="in the seventh round"):
            play(gaussian(dim=2, arms=3, seed=1), Infex(still(), every(1), data=data), 50)
    assert play(gaussian(dim=2, arms=3, seed=1), still(), 6).counts[0] == 6


def test_arms_that_change_have_no_pulls() -> None:
    """The array of pulls was empty there, and reading it would have read whatever lies behind it."""
    for how in (play, play_in_python):
        with pytest.raises(InfexError, match="arms that change every round have no pulls of their own"):
            how(changing(dim=2, arms=3, seed=1), lin_phe(), 10)


@kernel
def reader(t: int, seen: Any, rng: Any) -> int:
    """-1 if what it reads does not fit together."""
    x = seen.arms[:, 0].copy()
    theta, width = view.theta(seen).copy(), view.width(seen, x)
    solved = view.solve(seen, x)
    fits = abs(width - view.widths(seen)[0]) < 1e-9 and abs((x * solved).sum() - width * width) < 1e-9
    return (
        view.best(view.estimates(seen))
        if fits and abs((x * theta).sum() - view.estimates(seen)[0]) < 1e-9
        else -1
    )


def test_theta_and_widths_of_any_x_are_those_of_the_arms() -> None:
    for policy in (reader(), Infex(reader(), every(2), data="own"), Infex(LinUCB(), every(2))):
        assert play(gaussian(dim=5, arms=9, seed=2), policy, HORIZON).counts.sum() == HORIZON
        assert play(changing(dim=5, arms=9, seed=2), policy, 50).counts.sum() == 50
