"""The contract of policies, on which `Infex` and `Bandit` rely; and whether two policies choose alike."""

import functools
import itertools
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from infex.bandit.agent import Agent, play_round
from infex.errors import InvalidSetting, SparseExploration
from infex.lab.environments import LinearInstance, gaussian
from infex.lab.simulation.python_loop import RunSettings
from infex.lab.simulation.simulator import play_copies
from infex.policies import Choice, Greedy, Infex
from infex.policies.base import Policy, checked, policy_info, propensity_allowed
from infex.schedules import Schedule, always, every, never
from infex.streams import Rounds
from infex.testing.problems import Problem, agent_for, odd_arm_sets, play, problem, signed

HORIZON = 60


class PolicyContract:
    """Tests for a policy of your own: inherit, say how it is made, and run pytest.

    class TestMine(infex.testing.PolicyContract):
        def make(self):
            return Mine()
    """

    def make(self) -> Policy:
        """A new policy, with nothing learnt."""
        raise NotImplementedError(f"{type(self).__name__} must say in `make` how its policy is made")

    def problems(self) -> Iterator[Problem]:
        """Problems to try it on: random ones, and arm sets on which shortcuts go wrong."""
        for seed, (arms, dim) in enumerate([(1, 1), (2, 3), (7, 4), (40, 5)]):
            yield problem(seed, arms=arms, dim=dim, horizon=HORIZON)
        for odd in odd_arm_sets().values():
            yield signed(odd, np.ones(odd.shape[1]) / 2, np.linspace(0.01, 0.99, HORIZON))

    def test_every_choice_is_an_arm_on_offer(self) -> None:
        for given in self.problems():
            for choice in self.run(self.make(), given):
                assert isinstance(choice, Choice), f"choose must return a Choice, got {choice!r}"
                assert 0 <= choice.arm < len(given.arms), f"{choice} of {len(given.arms)} arms"

    def test_a_single_arm_is_always_chosen(self) -> None:
        given = problem(3, arms=1, dim=2, horizon=HORIZON)
        assert {choice.arm for choice in self.run(self.make(), given)} == {0}

    def test_the_same_draws_give_the_same_choices(self) -> None:
        for given in self.problems():
            same(self.run(self.make(), given), self.run(self.make(), given))

    def test_choosing_changes_nothing(self) -> None:
        for given in self.problems():
            agent = self.learnt(self.make(), given)
            before = agent.posterior().estimates.copy(), agent.posterior().widths.copy()
            rounds, answers = Rounds(1, "contract"), dict[int, Choice]()
            for t in (9, 9, 3, 12, 9, 3, 12):
                choice = agent.policy.choose(t, agent.posterior(), rounds.at(t))
                same_choice(agent.policy, t, answers.setdefault(t, choice), choice)
            np.testing.assert_array_equal(agent.posterior().estimates, before[0])
            np.testing.assert_array_equal(agent.posterior().widths, before[1])

    def test_a_run_whose_rounds_are_asked_for_three_times_is_the_same(self) -> None:
        for given in self.problems():
            once = self.run(self.make(), given)
            agent, draws = agent_for(self.make(), given.arms), Rounds(7, "contract")
            for t, first in enumerate(once, 1):
                for _ in range(2):
                    asked = agent.decide(t, agent.posterior(), draws.at(t))
                    same_choice(agent.policy, t, first, asked.choice)
                again, _ = play_round(agent, t, draws.at(t), functools.partial(given.reward, t))
                same_choice(agent.policy, t, first, again)

    def test_no_global_random_state_is_read_or_changed(self) -> None:
        given = problem(5, arms=6, dim=3, horizon=HORIZON)
        runs = []
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002 - the very state that must not matter
            states = random.getstate(), _global_state()
            runs.append(self.run(self.make(), given))
            assert (random.getstate(), _global_state()) == states, "a global random state was changed"
        same(*runs)

    def test_a_choice_says_the_probability_that_the_policy_tells(self) -> None:
        for given in self.problems():
            agent = self.learnt(self.make(), given)
            policy, info = agent.policy, agent.info
            posterior = agent.posterior()
            choice = policy.choose(9, posterior, Rounds(2, "contract").at(9))
            told = propensity_allowed(info, 9, posterior, choice.arm)
            if told is not None and choice.propensity is not None:
                assert abs(choice.propensity - told) < 1e-9, f"it chose with {choice}, and tells {told}"
            assert choice.propensity is None or choice.propensity > 0, f"it chose what cannot be: {choice}"

    def test_probabilities_add_up_to_one(self) -> None:
        for given in self.problems():
            agent = self.learnt(self.make(), given)
            chances = [
                propensity_allowed(agent.info, 9, agent.posterior(), arm) for arm in range(len(given.arms))
            ]
            known = [chance for chance in chances if chance is not None]
            assert not known or abs(sum(known) - 1) < 1e-9, f"probabilities are {chances}"
            assert all(-1e-12 <= chance <= 1 + 1e-12 for chance in known), f"probabilities are {chances}"

    def test_infex_in_all_rounds_is_the_policy_itself(self) -> None:
        for given in self.problems():
            whole = self.run(_infex(self.make(), always()), given)
            same(arms_of(whole), arms_of(self.run(self.make(), given)))

    def test_infex_is_greedy_where_the_schedule_is_silent(self) -> None:
        for given in self.problems():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SparseExploration)
                quiet = _infex(self.make(), never())
            mine, theirs = self.run(quiet, given), self.run(Greedy(), given)
            same(arms_of(mine), arms_of(theirs))
            assert not any(choice.explored for choice in mine)

    def test_with_own_data_the_exploring_rounds_are_a_run_by_itself(self) -> None:
        if policy_info(self.make()).uses_explored:
            self._own_data_within_own_data_is_refused()
            return
        for given in self.problems():
            mixed = self.run(Infex(self.make(), every(3), data="own"), given)
            explored = [choice.arm for choice in mixed if choice.explored]
            same(explored, arms_of(self.run_at(self.make(), given, every_nth=3)))

    def test_a_request_says_which_arms_may_be_played_and_whether_to_explore(self) -> None:
        for given in self.problems():
            agent = self.learnt(self.make(), given)
            if agent.info.learners and not agent.info.uses_places:
                return  # a bandit refuses offers for a learner that knows arms by index
            for t in range(1, 10):
                mask = np.arange(len(given.arms)) % 3 != t % 3
                offered, may_explore = (mask if mask.any() else ~mask), t % 2 == 0
                seen = agent.posterior().requested(offered, may_explore)
                choice = agent.decide(t, seen, Rounds(3, "contract").at(t)).choice
                assert offered[choice.arm], f"{choice} is not among the arms {np.flatnonzero(offered)}"
                assert may_explore or not choice.explored, f"{choice} explores, which was forbidden"

    def _own_data_within_own_data_is_refused(self) -> None:
        try:
            Infex(self.make(), every(3), data="own")
        except InvalidSetting:
            return
        raise AssertionError(f"own data was promised to {self.make()!r}, which keeps its own already")

    def run(self, policy: Policy, given: Problem) -> list[Choice]:
        """A run over the horizon."""
        return play(policy, given.arms, given.reward, Rounds(7, "contract").at, HORIZON)

    def run_at(self, policy: Policy, given: Problem, every_nth: int) -> list[Choice]:
        """A run by itself that meets the noise and the draws of rounds n, 2n, ..."""

        def reward(t: int, arm: int) -> float:
            return given.reward(t * every_nth, arm)

        def draws(t: int) -> np.random.Generator:
            return Rounds(7, "contract").at(t * every_nth)

        return play(policy, given.arms, reward, draws, HORIZON // every_nth)

    def learnt(self, policy: Policy, given: Problem) -> Agent:
        """The policy after 20 pulls of arms in turn."""
        agent = agent_for(policy, given.arms)
        for t in range(1, 21):
            arm = t % len(given.arms)
            agent.model.update(arm, given.reward(t, arm), explored=True, weight=1.0)
        return agent


def _infex(policy: Policy, schedule: Schedule) -> Infex:
    """The policy as a base, with own data if it needs them."""
    return Infex(policy, schedule, data="own" if policy_info(policy).needs_own_data else "shared")


def same(one: list[Any], other: list[Any]) -> None:
    """Two runs agree in every round."""
    for t, (mine, theirs) in enumerate(zip(one, other, strict=True), 1):
        assert mine == theirs, f"round {t} of {len(one)}: {mine} and {theirs}"


def same_choice(policy: Policy, t: int, first: Choice, again: Choice) -> None:
    """Asked again for a round, with the same posterior and draws, a policy chooses the same."""
    pairs = zip(Choice._fields, first, again, strict=True)
    changed = [f"{name} was {was!r}, then {now!r}" for name, was, now in pairs if was != now]
    assert not changed, (
        f"{type(policy).__name__}, asked again for round {t} with the same posterior and draws, chose "
        f"otherwise: {'; '.join(changed)}. `choose` must change nothing: what a policy is to remember goes "
        "into the `policy_state` of its Choice, and what it learns into `learn`"
    )


def arms_of(choices: list[Choice]) -> list[int]:
    """The arms alone."""
    return [choice.arm for choice in choices]


def _global_state() -> tuple[Any, ...]:
    state: Any = np.random.get_state()  # noqa: NPY002 - see above
    return (state[0], tuple(state[1]), *state[2:])


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
    problems = list(instances)
    for each in problems:
        if not isinstance(each, LinearInstance):
            raise InvalidSetting(f"instances must be problems with fixed arms, got {each!r}")
    for (how, wrap), instance, seed in itertools.product(WRAPPERS.items(), problems, numbers):
        if "own" in how and any(policy_info(each).uses_explored for each in pair):
            continue
        if how.endswith("every(3))") and any(policy_info(each).needs_own_data for each in pair):
            continue
        where = f"{how}, {instance!r}, seed {seed}"
        wrapped = [wrap(each) for each in pair]
        for way, play_one in (("round by round", _choices), ("in play", _run)):
            runs = [play_one(each, instance, horizon, seed) for each in wrapped]
            for t, (mine, theirs) in enumerate(zip(*runs, strict=True), 1):
                assert mine == theirs, (
                    f"{way}, {where}: round {t}: {wrapped[0]!r} has {mine}, {wrapped[1]!r} has {theirs}"
                )


def _choices(policy: Policy, instance: LinearInstance, horizon: int, seed: int) -> list[Any]:
    rng, draws = instance.draws(seed), Rounds(seed, "agree").at
    found = play(policy, instance.arms, lambda t, arm: instance.reward(arm, rng), draws, horizon)
    return [(choice.arm, choice.explored) for choice in found]


def _run(policy: Policy, instance: LinearInstance, horizon: int, seed: int) -> list[Any]:
    # draws are named by a label: two policies with one label draw the same numbers
    run = play_copies(instance, seed, RunSettings(policy, "agree", horizon, record=True))
    assert run.arms is not None
    return [*run.arms.tolist(), f"{run.explored} rounds explored"]
