"""What a user's kernel reads: every function of the view is public, and every array is one of its own."""

import inspect
from typing import Any

import numpy as np
import pytest

import infex
from infex import view
from infex.testing import agree

MADE_BY_LOOPS = {"viewed", "counts"}  # which a kernel does not call: `pulls` and `sums` read the counts
INSTANCE = infex.environments.gaussian(dim=5, arms=20, seed=0)


def test_all_that_a_kernel_may_call_is_listed() -> None:
    own = {
        name
        for name, thing in vars(infex.view).items()
        if not name.startswith("_") and inspect.getmodule(thing) is infex.view
    }
    assert own - MADE_BY_LOOPS == set(infex.view.__all__)


class Racing:
    """The widest arm among those whose upper bound reaches the best lower bound."""

    def choose(self, t: int, evidence: infex.Evidence, rng: np.random.Generator) -> infex.Choice:
        upper, lower = evidence.upper(1.0), evidence.upper(-1.0)
        return infex.Choice(infex.best(np.where(upper >= lower.max(), evidence.widths, -1.0)))


@infex.kernel
def racing(t: int, seen: Any, rng: np.random.Generator) -> int:
    upper = view.upper(seen, 1.0)
    lower = view.upper(seen, -1.0)
    widths = view.widths(seen)
    return view.best(np.where(upper >= lower.max(), widths, -1.0))


class LesserSample:
    """The best arm by the smaller of two sampled scores."""

    def choose(self, t: int, evidence: infex.Evidence, rng: np.random.Generator) -> infex.Choice:
        first = evidence.perturbed(1.0, rng)
        second = evidence.perturbed(1.0, rng)
        return infex.Choice(infex.best(np.minimum(first, second)))


@infex.kernel
def lesser_sample(t: int, seen: Any, rng: np.random.Generator) -> int:
    first = view.perturbed(seen, 1.0, rng)
    second = view.perturbed(seen, 1.0, rng)
    return view.best(np.minimum(first, second))


@pytest.mark.parametrize(
    ("kernel", "policy"),
    [(racing(), Racing()), (lesser_sample(), LesserSample())],
    ids=["racing", "lesser sample"],
)
def test_a_kernel_that_reads_twice_chooses_as_the_same_in_python(kernel: Any, policy: Any) -> None:
    agree(kernel, policy, instances=[INSTANCE], horizon=200)


# Each gives arm 1 if an array that it has read, or changed, was overwritten by what it called next.


@infex.kernel
def solved_twice(t: int, seen: Any, rng: np.random.Generator) -> int:
    first = view.solve(seen, seen.arms[:, 0])
    second = view.solve(seen, seen.arms[:, 1])
    return 1 if (first == second).all() else 0


@infex.kernel
def solved_and_measured(t: int, seen: Any, rng: np.random.Generator) -> int:
    solved = view.solve(seen, seen.arms[:, 0])
    total = solved.sum()
    width = view.width(seen, seen.arms[:, 3])
    return 1 if solved.sum() != total or width <= 0.0 else 0


@infex.kernel
def estimated_and_greedy(t: int, seen: Any, rng: np.random.Generator) -> int:
    scores = view.estimates(seen)
    scores[0] += 100.0
    greedy = view.greedy(seen)
    return 1 if view.best(scores) != 0 or greedy < 0 else 0


@infex.kernel
def theta_and_sample(t: int, seen: Any, rng: np.random.Generator) -> int:
    theta = view.theta(seen)
    total = theta.sum()
    sampled = view.perturbed(seen, 1.0, rng)
    return 1 if theta.sum() != total or sampled.size != 20 else 0


@infex.kernel
def upper_and_sample(t: int, seen: Any, rng: np.random.Generator) -> int:
    upper = view.upper(seen, 2.0)
    total = upper.sum()
    sampled = view.perturbed(seen, 1.0, rng)
    return 1 if upper.sum() != total or sampled.size != 20 else 0


@infex.kernel
def pulls_and_sums(t: int, seen: Any, rng: np.random.Generator) -> int:
    pulls, sums = view.pulls(seen), view.sums(seen)
    pulls[:] = 7.0
    sums[:] = 7.0
    return 1 if view.pulls(seen).sum() != t - 1 or view.sums(seen).sum() == 140.0 else 0


KERNELS = (
    solved_twice, solved_and_measured, estimated_and_greedy, theta_and_sample, upper_and_sample,
    pulls_and_sums,
)  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_an_array_that_a_kernel_has_read_stays_as_it_is(kernel: Any) -> None:
    assert infex.play(INSTANCE, kernel(), 30).counts[1] == 0
    scheduled = infex.play(INSTANCE, infex.Infex(kernel(), infex.always()), 30)
    assert scheduled.counts[1] == 0
    bandit = infex.Bandit(INSTANCE.arms, kernel())
    for _ in range(5):
        decision = bandit.ask()
        bandit.tell(decision, 0.5)
        assert decision.arm == 0
