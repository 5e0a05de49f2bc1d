"""Sweeps of objects that keep something in `self`: every run begins with a copy as it was given."""

import warnings
from typing import Any

import numpy as np
import pytest

import infex
from infex import Infex, every
from infex.errors import CannotCopy
from infex.lab import Results, Sweep
from tests.stateful import EverySeventhQuestion, Holding, Sticky, Stiffening, Tiring, Walk

HERE = "tests.stateful"


def sweep(**given: Any) -> Sweep:
    settings = {"environments": [Walk], "policies": {"ours": Sticky(), "theirs": "LinUCB"}}
    return Sweep(**settings | {"horizon": 60, "seeds": 5} | given)


def regrets(results: Results, policy: str) -> list[float]:
    (cell,) = results.cells
    found: list[float] = results.regret(cell, policy).tolist()
    return found


POLICIES: dict[str, Any] = {
    "object": Sticky(),
    "class by name": f"{HERE}:Sticky",
    "object by name": f"{HERE}:sticky",
    "base": Infex(Sticky(), every(2)),
    "control": Infex(Sticky(), Tiring(every(2))),
}
PROBLEMS: dict[str, Any] = {
    "class": Walk,
    "class by name": f"{HERE}:Walk",
    "object": Walk(),
    "object by name": f"{HERE}:walking",
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_policy_that_counts_has_the_regret_of_fresh_ones(policy: Any) -> None:
    given = sweep(environments=["gaussian(dim=3, arms=5)"], policies={"ours": policy, "theirs": "LinUCB"})
    fresh = Sticky() if isinstance(policy, str) else policy
    truth = [
        infex.lab.play(infex.lab.environments.gaussian(dim=3, arms=5, seed=seed), fresh, 60, seed).regret
        for seed in range(5)
    ]
    for workers in (1, 2, 1):
        assert regrets(given.run(workers=workers), "ours") == truth


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_that_walks_is_the_same_for_all_policies(problem: Any) -> None:
    both, alone = ["LinUCB", "Greedy"], ["Greedy"]
    one = sweep(environments=[problem], policies=both).run(workers=1)
    for policies in (both[::-1], alone):
        other = sweep(environments=[problem], policies=policies).run(workers=1)
        assert regrets(other, "Greedy") == regrets(one, "Greedy")
    two = sweep(environments=[problem], policies=both).run(workers=2)
    assert one.diff(two).agrees


def test_one_and_two_workers_agree_and_nothing_is_warned_of() -> None:
    given = sweep(
        policies={"ours": Sticky(), "theirs": "LinUCB"},
        bases={"sticky": Sticky()},
        schedules={"seventh": EverySeventhQuestion(), "tiring": Tiring(every(2))},
        estimator={"stiff": Stiffening(), "plain": "Ridge"},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        first, second, third = (given.run(workers=workers) for workers in (1, 2, 1))
    assert first.diff(second).agrees
    assert first.diff(third).agrees


def test_a_sweep_plays_objects_as_they_were_given_to_it() -> None:
    policy, problem = Sticky(), Walk()
    given = sweep(policies={"ours": policy}, environments=[problem])
    truth = regrets(given.run(workers=1), "ours")
    policy.counts = np.full(8, 3.0)
    problem.theta = np.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert regrets(given.run(workers=2), "ours") == truth
    assert regrets(given.run(workers=1), "ours") == truth


def test_what_cannot_be_copied_is_refused_when_the_sweep_is_made() -> None:
    with pytest.raises(
        CannotCopy, match=r"the policy Holding cannot be copied: .* - at `policies\['ours'\]`"
    ):
        sweep(policies={"ours": Holding()})
