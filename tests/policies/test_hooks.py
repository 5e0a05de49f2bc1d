"""What policies declare, read by one walk, whatever they are made of."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import infex
from infex import Bandit, Choice, Greedy, Infex, LinUCB, Softened, every, registry
from infex.errors import InvalidSetting, LargeReward
from infex.lab.environments import gaussian
from infex.models import Posterior
from infex.policies import (
    EXP2,
    ContextReduction,
    ExploreThenCommit,
    GreedyFirst,
    LinIMED,
    OLSBandit,
    SpannerIGW,
    SupLinUCB,
)
from infex.policies.base import policy_info, with_settings

ARMS = np.eye(2)


class Plain:
    """A wrapper that is no dataclass."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return self.base.choose(t, posterior, rng)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Frozen:
    """A wrapper that is a dataclass."""

    base: Any

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return self.base.choose(t, posterior, rng)  # type: ignore[no-any-return]


WRAPPERS: list[Any] = [Plain, Frozen, GreedyFirst, Softened, lambda base: Infex(base, every(2))]


@pytest.mark.parametrize("outer", WRAPPERS)
@pytest.mark.parametrize("inner", WRAPPERS)
def test_hooks_are_found_however_deep_they_stand(outer: Any, inner: Any) -> None:
    base = LinUCB(noise=3.0, bound=2.0)
    if outer is Softened and inner is WRAPPERS[-1]:
        with pytest.raises(InvalidSetting, match=r"cannot be softened: .* put Softened inside"):
            outer(inner(base))
        return
    info = policy_info(outer(inner(base)))
    assert info.chain[-1] is base
    assert len(info.chain) == 3
    assert info.reward_bound == 2.0 + 8 * 3.0
    posterior = Bandit(ARMS, base).posterior()
    assert info.confidence_radius is not None
    assert info.confidence_radius(posterior) == base.confidence_radius(posterior)


def test_rewards_far_beyond_the_settings_of_a_policy_deep_inside_are_warned_of() -> None:
    for policy in (Infex(GreedyFirst(LinUCB()), every(2)), Plain(Plain(LinUCB()))):
        bandit = Bandit(ARMS, policy)
        with pytest.warns(LargeReward):
            bandit.tell(bandit.ask(), 1000.0)


@pytest.mark.parametrize("wrap", [Plain, Frozen, lambda base: Plain(Frozen(Plain(base)))])
def test_a_policy_that_asks_for_the_horizon_is_told_inside_any_wrapper(wrap: Any) -> None:
    wrapped = wrap(ExploreThenCommit())
    run = infex.lab.play(gaussian(dim=2, arms=3, seed=1), wrapped, 200)
    plain = infex.lab.play(gaussian(dim=2, arms=3, seed=1), ExploreThenCommit(), 200)
    assert run.explored == plain.explored > 0
    assert policy_info(wrapped).chain[-1] == ExploreThenCommit()  # it stays as it was


class Horizoned:
    """A policy of a user's that cannot choose before it knows the horizon."""

    def __init__(self, horizon: int | None = None) -> None:
        self.horizon = horizon
        self.missing_setting = None if horizon else "Horizoned: say horizon=..."

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        assert self.horizon is not None
        return Choice(t * len(posterior) // (self.horizon + 1))

    def for_problem(self, instance: Any, horizon: int) -> "Horizoned":
        return Horizoned(horizon)


UNSET: list[tuple[Any, Any, str]] = [
    (SupLinUCB(), SupLinUCB(horizon=60), "SupLinUCB needs the horizon"),
    (EXP2(), EXP2(rate=0.1), "rate of EXP2 is not known"),
    (EXP2(), EXP2(horizon=60), "rate of EXP2 is not known"),
    (SpannerIGW(), SpannerIGW(rate=9.0), "rate of SpannerIGW is not known"),
    (SpannerIGW(), SpannerIGW(horizon=60), "rate of SpannerIGW is not known"),
    (LinIMED(variant=2), LinIMED(variant=2, horizon=60), "variant 2 of LinIMED needs the horizon"),
    (ExploreThenCommit(), ExploreThenCommit(rounds=9), "how long to explore is not known"),
    (OLSBandit(preset="paper"), OLSBandit(), "preset 'paper' needs the true gap"),
    (ContextReduction(), ContextReduction(samples=ARMS[None]), "the law of arm sets is not known"),
    (Horizoned(), Horizoned(60), "Horizoned: say horizon="),
]


@pytest.mark.parametrize(("unset", "known", "message"), UNSET, ids=[str(row[1])[:30] for row in UNSET])
def test_a_policy_that_misses_a_setting_is_refused_when_the_bandit_gets_it(
    unset: Any, known: Any, message: str
) -> None:
    def refuse(policy: Any) -> None:
        bandit = Bandit(ARMS, Greedy())
        with pytest.raises(InvalidSetting, match=message):
            Bandit(ARMS, policy)
        with pytest.raises(InvalidSetting, match=message):
            bandit.policy = policy
        assert bandit.ask().arm == 0
        assert bandit.policy == Greedy()

    refuse(unset)
    refuse(GreedyFirst(unset))
    bandit = Bandit(ARMS, known)
    for _ in range(20):
        bandit.tell(bandit.ask(), 0.5)
    infex.lab.play(gaussian(dim=2, arms=3, seed=1), unset, 20)  # which tells what is missing


def test_a_schedule_around_a_policy_that_misses_a_setting_changes_nothing() -> None:
    with pytest.raises(InvalidSetting, match="SupLinUCB needs the horizon: say horizon="):
        Bandit(ARMS, Infex(SupLinUCB(), every(20), data="own"))
    with pytest.raises(InvalidSetting, match="how long to explore is not known"):
        Bandit(ARMS, Infex(LinUCB(), every(20), greedy=ExploreThenCommit()))


def test_every_built_in_policy_plays_in_a_bandit_or_is_refused_before_its_first_round() -> None:
    refused = set()
    for name, entry in registry.POLICIES.items():
        needed = {"Infex": (LinUCB(), every(2)), "Softened": (LinUCB(),)}.get(name, ())
        try:
            bandit = Bandit(np.eye(3), entry.make(*needed))
        except InvalidSetting:
            refused.add(name)
            continue
        for _ in range(30):
            bandit.tell(bandit.ask(), 0.5)
    assert refused == {"SupLinUCB", "EXP2", "SpannerIGW", "ExploreThenCommit", "ContextReduction"}


def test_another_base_leaves_the_wrapper_as_it_is() -> None:
    wrapper = Plain(LinUCB())
    other = with_settings(wrapper, base=Greedy())
    assert isinstance(other, Plain)
    assert (other.base, wrapper.base) == (Greedy(), LinUCB())


def test_a_hook_that_is_no_method_is_refused_by_name() -> None:
    class Odd(Plain):
        confidence_radius = 2.0

    with pytest.raises(
        InvalidSetting, match="confidence_radius of Odd is no method, but infex reads it as one"
    ):
        Bandit(ARMS, Odd(LinUCB()))


def test_a_circle_of_bases_ends() -> None:
    one = Plain(None)
    one.base = Plain(one)
    assert len(policy_info(one).chain) == 2


def constant(self: Any, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
    return Choice(0)


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("propensty", lambda self, t, posterior, arm: 1.0, "propensity"),
        ("lern", lambda self, arm, features, reward, explored: None, "learn"),
        ("use_explored", True, "uses_explored"),
        ("reward_bond", 3.0, "reward_bound"),
    ],
)
def test_a_misspelt_hook_is_refused_by_name_wherever_a_policy_plays(
    name: str, value: Any, meant: str
) -> None:
    policy = type("Mine", (), {"choose": constant, name: value})()
    message = f"Mine has {name}, which infex does not read: call it {meant}"
    for play in (
        lambda: Bandit(ARMS, policy),
        lambda: Bandit(ARMS, Infex(policy, every(2))),
        lambda: infex.lab.play(gaussian(dim=2, arms=3, seed=1), Plain(policy), 10),
    ):
        with pytest.raises(InvalidSetting, match=message):
            play()


def test_attributes_of_ones_own_are_nobodys_business() -> None:
    own = {
        "bases": [1], "radii": [2.0], "learnt": 3, "learned": True, "learner": object(), "rewards": [],
        "reward": 1.0, "explored": 5, "places": (), "bound": 2, "_propensty": 0.5, "scale": 1.0,
    }  # fmt: skip
    policy = type("Mine", (), {"choose": constant, **own})()
    assert Bandit(ARMS, policy).ask().arm == 0
    assert policy_info(Plain(Plain)).chain[1] is Plain  # a class, of which Python lists what it has not


def test_limits_of_nested_policies_look_back_as_far_as_the_longest_window() -> None:
    inner = Infex(LinUCB(), infex.budget(every(2), 1, window=50))
    outer = Infex(inner, infex.budget(every(2), 3, window=70))
    assert policy_info(outer).lookback == 70
    assert policy_info(Plain(inner)).lookback == 50


def test_a_learner_inside_any_wrapper_hears_of_rewards() -> None:
    class Listener:
        def __init__(self) -> None:
            self.heard: list[float] = []

        def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
            return Choice(0)

        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            self.heard.append(reward)

    for wrap in WRAPPERS:
        learner = Listener()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bandit = Bandit(ARMS, wrap(wrap(learner)))
        bandit.tell(bandit.ask(), 0.5)
        assert learner.heard == [0.5]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uses_allowed", lambda self: False),
        ("uses_explored", lambda self: True),
        ("uses_explored", "no"),
        ("reports_explored", 1.0),
        ("reward_bound", "much"),
        ("missing_setting", True),
    ],
)
def test_a_hook_of_another_kind_is_refused(name: str, value: Any) -> None:
    """A method in the place of a word was true, and a forbidden arm explored."""

    def choose(self: Any, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(0)

    policy = type("Mine", (), {"choose": choose, name: value})()
    with pytest.raises(InvalidSetting, match=f"{name} of Mine must be"):
        Bandit(np.eye(2), policy, allowed=[False, True])
