"""Do two policies choose alike? For one that was written anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from infex.errors import InvalidSetting
from infex.lab.environments import LinearInstance, gaussian
from infex.lab.simulation import Run
from infex.lab.simulation.run import RunSettings
from infex.lab.simulation.simulator import play_copies
from infex.policies import Infex, Policy
from infex.policies.base import checked, policy_info
from infex.schedules import every
from infex.streams import Rounds
from infex.testing.loop import play

Wrapper = Callable[[Policy], Policy]
WRAPPERS: dict[str, Wrapper] = {
    "alone": lambda policy: policy,
    "Infex(..., every(3))": lambda policy: Infex(policy, every(3)),
    "Infex(..., every(3), data='own')": lambda policy: Infex(policy, every(3), data="own"),
}
SAMPLES = tuple(gaussian(dim=dim, arms=arms, seed=7) for dim, arms in ((1, 1), (2, 3), (4, 12), (6, 40)))


def agree(
    policy: Policy,
    reference: Policy,
    *,
    instances: Iterable[LinearInstance] = SAMPLES,
    horizon: int = 300,
    seeds: Iterable[int] = range(2),
) -> None:
    """Raises AssertionError in the first round in which two policies differ; they meet the same draws.

    They play `horizon` rounds of all `instances` from all `seeds`, alone and as bases of `Infex` with
    shared and own data: round by round, with draws of each round's own, as in a `Bandit`; and in whole
    runs as `infex.lab.play` has them, which for a built-in policy are compiled. Both draw the same numbers
    in the same order if they agree.

    `reference` is what the first is compared with.

    >>> import infex
    >>> class Optimist:
    ...     def choose(self, t, posterior, rng):
    ...         return infex.Choice(infex.best(posterior.upper(0.5)))
    >>> infex.testing.agree(Optimist(), infex.policies.FixedBonusUCB(bonus=0.5), horizon=50)
    """
    pair = checked("policy", policy), checked("reference", reference)
    numbers = list(seeds)
    problems = [_checked_instance(each) for each in instances]
    for how, wrap in WRAPPERS.items():
        if "own" in how and any(policy_info(each).uses_explored for each in pair):
            continue
        for instance in problems:
            for seed in numbers:
                where = f"{how}, {instance!r}, seed {seed}"
                wrapped = [wrap(each) for each in pair]
                _by_rounds(wrapped, instance, horizon, seed, where)
                _by_runs(wrapped, instance, horizon, seed, where)


def _checked_instance(instance: object) -> LinearInstance:
    if not isinstance(instance, LinearInstance):
        raise InvalidSetting(f"instances must be problems with fixed arms, got {instance!r}")
    return instance


def _by_rounds(pair: list[Policy], instance: LinearInstance, horizon: int, seed: int, where: str) -> None:
    runs = [_choices(policy, instance, horizon, seed) for policy in pair]
    _same(runs, pair, f"round by round, {where}")


def _choices(policy: Policy, instance: LinearInstance, horizon: int, seed: int) -> list[tuple[int, bool]]:
    rng, draws = instance.draws(seed), Rounds(seed, "agree").at
    found = play(policy, instance.arms, lambda t, arm: instance.reward(arm, rng), draws, horizon)
    return [(choice.arm, choice.explored) for choice in found]


def _by_runs(pair: list[Policy], instance: LinearInstance, horizon: int, seed: int, where: str) -> None:
    # draws are named by a label: two policies with one label draw the same numbers
    settings = [RunSettings(policy, "agree", horizon, record=True) for policy in pair]
    runs = [play_copies(instance, seed, each) for each in settings]
    _same([_arms(run) for run in runs], pair, f"in play, {where}")
    explored = [run.explored for run in runs]
    assert explored[0] == explored[1], f"in play, {where}: {explored} rounds explored"


def _arms(run: Run) -> list[int]:
    assert run.arms is not None
    arms: list[int] = run.arms.tolist()
    return arms


def _same(runs: Sequence[Sequence[object]], pair: list[Policy], where: str) -> None:
    one, other = runs
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True), 1):
        assert mine == theirs, f"{where}: round {t}: {pair[0]!r} has {mine}, {pair[1]!r} has {theirs}"
