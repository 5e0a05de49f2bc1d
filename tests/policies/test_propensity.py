"""The probability of exploring, of an arm if the round explores, and of the arm: known and right, or None."""

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Choice,
    Decision,
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Softened,
    every,
    guarded,
    jittered,
    listed,
    paused,
    until_certain,
)
from infex.errors import InvalidSetting
from infex.lab import stream
from infex.models import Posterior
from infex.policies import (
    Control,
    FixedBonusUCB,
    GreedyFirst,
    OptimisticTS,
    Reason,
    Uniform,
    doubtful,
    ledger,
)
from infex.policies.controls import State
from infex.policies.infex import mixture
from infex.testing import PolicyContract, problem
from tests.alike import probability

ARMS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
GIVEN = problem(4, arms=7, dim=3, horizon=400)


def play(policy: Any, rounds: int, seed: int = 0, arms: Any = GIVEN.arms) -> list[Decision]:
    bandit = Bandit(arms, policy, seed=seed)
    decisions = []
    for t in range(1, rounds + 1):
        decisions.append(bandit.ask())
        bandit.tell(decisions[-1], math.sin(3.0 * t + decisions[-1].arm))
    return decisions


def test_probability_is_what_chance_and_law_make_of_it() -> None:
    for policy in (
        Infex(Uniform(), jittered(4, seed=2)),
        Infex(LinUCB(ties="random"), jittered(4, seed=2), ties="random"),
        Infex(Softened(LinUCB(), 0.3), jittered(3)),
        Infex(EpsilonGreedy(rate=0.2), every(3)),
        EpsilonGreedy(rate=0.4),
        LinUCB(),
        Greedy(),
    ):
        for decision in play(policy, 60):
            assert decision.explore_probability is not None
            if decision.explore_probability == 0.0:
                assert not decision.explored
                continue
            assert decision.base_propensity is not None
            greedy = float(decision.arm == decision.greedy)
            if getattr(policy, "ties", "lowest") == "random":
                continue  # ties share what greedy has
            expected = (
                decision.explore_probability * decision.base_propensity
                + (1 - decision.explore_probability) * greedy
            )
            assert decision.propensity == pytest.approx(expected)


def test_where_a_law_is_not_known_it_is_none() -> None:
    for decision in play(Infex(LinTS(), every(3)), 30):
        known = (0.0, None, 1.0) if decision.t % 3 else (1.0, None, None)
        assert (decision.explore_probability, decision.base_propensity, decision.propensity) == known
    for decision in play(Infex(LinTS(), jittered(3, seed=1)), 30):
        assert decision.base_propensity is None
        assert decision.explore_probability is not None
        assert (decision.propensity is None) == (decision.explore_probability > 0)


class Even:
    """A user's base, which tells its law by the hook alone."""

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        return Choice(int(rng.integers(len(posterior))))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        return 1.0 / len(posterior)


@pytest.mark.parametrize("schedule", [every(3), jittered(3)])
@pytest.mark.parametrize("allowed", [None, [True, True, False, True]])
def test_the_law_of_a_users_base_is_known_by_its_hook(schedule: Any, allowed: Any) -> None:
    """In exploring rounds, too: logs of it can be judged by weights."""
    bandit = Bandit(np.eye(4), Infex(Even(), schedule), allowed=allowed)
    rounds = [bandit.ask() for _ in range(60)]
    arms = 4 if allowed is None else 3
    explored = [each for each in rounds if each.explored]
    assert explored
    for each in explored:
        assert each.base_propensity == pytest.approx(1.0 / arms)
        assert each.propensity is not None


@dataclass(frozen=True)
class Choosy(Control):
    """Refuses every arm but one."""

    schedule: Any
    arm_loss: float = 0.05

    def refuses(self, t: int, arm: int, posterior: Posterior, state: State) -> str | None:
        return "skipped: too costly" if posterior.loss(arm) > self.arm_loss else None


def test_a_control_of_ones_own_that_refuses_arms_never_gives_a_probability_of_nil() -> None:
    for base in (LinUCB(), Uniform(), LinTS()):
        decisions = play(Infex(base, Choosy(every(2))), 80)
        assert any(decision.reason == "skipped: too costly" for decision in decisions)
        for decision in decisions:
            assert decision.propensity is None or decision.propensity > 0
            if isinstance(base, Uniform) and decision.t % 2 == 0:
                assert (decision.propensity, decision.explore_probability, decision.base_propensity) == (
                    None,
                    None,
                    None,
                )
            if isinstance(base, LinUCB):  # whose arm is certain, and so is its refusal
                assert decision.propensity == 1.0


@pytest.mark.parametrize(
    "rule",
    [
        lambda schedule: schedule,
        lambda schedule: paused(schedule, when=listed([2, 5, 6])),
        lambda schedule: paused(schedule, when=listed([2, 5, 6]), missed="make up"),
        lambda schedule: paused(schedule, when=listed([2, 5]), missed="make up", at_most=0.4),
        lambda schedule: until_certain(schedule, scale=0.05),
        lambda schedule: doubtful(schedule, scale=0.05),
        lambda schedule: ledger(0.4, schedule),
    ],
)
def test_the_chance_of_exploring_is_its_share_among_all_draws_with_the_same_past(rule: Any) -> None:
    """Every draw of a jittered schedule over nine rounds, by hand; reasons are part of the past."""
    period, rounds = 3, 9
    pasts: dict[Any, list[tuple[bool, float | None]]] = defaultdict(list)
    for places in itertools.product(range(1, period + 1), repeat=rounds // period):
        schedule = Drawn(period, tuple(block * period + place for block, place in enumerate(places)))
        past: tuple[Any, ...] = ()
        for decision in play(Infex(LinUCB(), rule(schedule)), rounds, arms=ARMS):
            pasts[past].append((decision.explored, decision.explore_probability))
            past = (*past, (decision.explored, decision.reason))
    assert len(pasts) > 20
    for outcomes in pasts.values():
        share = np.mean([explored for explored, _ in outcomes])
        for _, chance in outcomes:
            assert chance == pytest.approx(share)


@dataclass(frozen=True)
class Drawn:
    """A jittered schedule whose draws are given."""

    period: int
    rounds: tuple[int, ...]

    @property
    def grows(self) -> bool:
        return True

    def explores(self, t: int) -> bool:
        return t in self.rounds

    def count(self, t: int) -> int:
        return sum(drawn <= t for drawn in self.rounds)

    def when(self, n: int) -> float:
        return self.rounds[n - 1] if n <= len(self.rounds) else math.inf

    def explore_probability(self, t: int) -> float:
        block, place = divmod(t - 1, self.period)
        return 1.0 / (self.period - place) if self.rounds[block] >= t else 0.0


def test_nothing_is_computed_twice_in_an_exploring_round(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(GIVEN.arms, Infex(LinUCB(), every(1)))
    seen: Counter[str] = Counter()
    for name in ("upper", "perturbed", "width"):
        inner = getattr(Posterior, name)

        def counted(self: Any, *given: Any, name: str = name, inner: Any = inner) -> Any:
            seen[name] += 1
            return inner(self, *given)

        monkeypatch.setattr(Posterior, name, counted)
    bandit.ask()
    assert seen["upper"] == max(seen.values()) == 1


# softened bases


class TestSoftened(PolicyContract):
    def make(self) -> Any:
        return Softened(LinUCB(), share=0.3)


class TestSoftenedSampler(PolicyContract):
    def make(self) -> Any:
        return Softened(LinTS(), share=0.3, draws=20)


class TestSamplerWithALaw(PolicyContract):
    def make(self) -> Any:
        return LinTS(draws=20)


class TestOptimisticSamplerWithALaw(PolicyContract):
    def make(self) -> Any:
        return OptimisticTS(inflation=None, draws=20)


@given(
    share=st.floats(0.01, 1.0),
    base=st.sampled_from(
        [LinUCB(), LinUCB(ties="random"), Uniform(), EpsilonGreedy(rate=0.3), FixedBonusUCB()]
    ),
    seed=st.integers(0, 50),
)
@settings(max_examples=40, deadline=None)
def test_a_softened_law_is_a_mixture_of_full_support(share: float, base: Any, seed: int) -> None:
    policy = Softened(base, share)
    bandit = Bandit(GIVEN.arms, policy, seed=seed)
    for t in range(1, 12):
        posterior = bandit.posterior()
        laws = [probability(policy, t, posterior, arm) for arm in range(7)]
        inner = [probability(base, t, posterior, arm) for arm in range(7)]
        expected = [share / 7 + (1 - share) * law for law in inner if law is not None]
        assert laws == pytest.approx(expected)
        decision = bandit.ask()
        assert decision.base_propensity == decision.propensity == pytest.approx(laws[decision.arm])
        bandit.tell(decision, math.sin(t))


def test_arms_are_played_as_often_as_the_law_says() -> None:
    posterior = Bandit(GIVEN.arms, LinUCB()).posterior()
    for policy in (Softened(LinUCB(), 0.5), Softened(LinTS(), 0.2, draws=50), LinTS(draws=40)):
        laws = np.array([probability(policy, 3, posterior, arm) for arm in range(7)])
        assert laws.sum() == pytest.approx(1.0)
        count = 4000
        rng = stream(1, "played")
        counts = np.bincount([policy.choose(3, posterior, rng).arm for _ in range(count)], minlength=7)
        assert np.all(np.abs(counts / count - laws) < 5 * np.sqrt(laws * (1 - laws) / count) + 1e-9)


@pytest.mark.compiled
def test_the_law_of_lints_is_that_of_plain_sampling_within_its_error() -> None:
    bandit = Bandit(GIVEN.arms, LinTS(scale=0.3), seed=2)
    for t in range(1, 30):
        bandit.tell(bandit.ask(), GIVEN.reward(t, 0))
    posterior = bandit.posterior()
    draws, plays = 4000, 20_000
    rng = stream(5, "plain sampling")
    plain = (
        np.bincount([LinTS(scale=0.3).choose(1, posterior, rng).arm for _ in range(plays)], minlength=7)
        / plays
    )
    known = LinTS(scale=0.3, draws=draws).probabilities(1, posterior)
    error = np.sqrt(plain * (1 - plain) * (1 / draws + 1 / plays))
    assert np.all(np.abs(known - plain) < 5 * error + 1e-3)
    assert (
        len({tuple(LinTS(draws=10).probabilities(t, posterior)) for t in range(1, 9)}) > 1
    )  # drawn anew in each round


def test_a_softened_sampler_logs_a_law_in_every_round_that_may_explore() -> None:
    policy = Infex(Softened(LinTS(), share=0.2, draws=30), jittered(5, seed=3))
    for decision in play(policy, 40):
        if decision.explore_probability:
            assert decision.base_propensity is not None
            assert decision.base_propensity >= 0.2 / 7
            assert decision.propensity is not None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Softened(LinUCB(), 0.0), "share must be above 0, got 0.0"),
        (lambda: Softened(LinUCB(), 1.5), "share must be at most 1, got 1.5"),
        (lambda: Softened(LinUCB), "base must be a policy; got the class LinUCB"),
        (lambda: Softened(LinTS(), draws=0), "draws must be at least 1, got 0"),
        (lambda: LinTS(draws=0), "draws must be at least 1, got 0"),
        (
            lambda: LinTS().probabilities(1, Bandit(ARMS, LinTS()).posterior()),
            r"the probabilities of LinTS are not known; say LinTS\(draws=1000\)",
        ),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        make()


def test_a_mixture_of_what_is_not_known_is_not_known() -> None:
    assert mixture(None, 0.5, 1.0) is None
    assert mixture(0.0, None, 0.7) == 0.7
    assert mixture(1.0, 0.3, None) == 0.3
    assert mixture(0.5, None, 1.0) is None
    assert mixture(0.25, 0.4, 1.0) == pytest.approx(0.85)


def test_a_reason_is_text_that_can_be_counted() -> None:
    reasons = Counter(decision.reason for decision in play(Infex(LinUCB(), guarded(every(2), 0.3)), 60))
    assert reasons[Reason.GREEDY] == reasons["greedy"] == 30
    assert set(reasons) <= set(Reason)
    assert f"{Reason.COST_LIMIT}" == "skipped: cost limit"
    assert isinstance(Choice(0).reason, str)


@pytest.mark.parametrize("seed", range(8))
def test_the_chance_is_not_known_where_pauses_are_drawn(seed: int) -> None:
    """It was said to be 1 or 0, by what the draw had been."""
    policy = Infex(LinUCB(), paused(every(1), when=jittered(2, seed=seed)))
    bandit = Bandit(np.eye(2), policy)
    for _ in range(4):
        decision = bandit.ask()
        assert (decision.explore_probability, decision.propensity) == (None, None)
        assert decision.base_propensity == (1.0 if decision.explored else None)


def test_a_law_is_found_through_every_wrapper() -> None:
    decision = Bandit(np.eye(2), Infex(Softened(GreedyFirst(LinTS()), 0.2), every(1))).ask()
    assert decision.base_propensity is not None


def test_a_law_has_draws_that_a_round_can_take() -> None:
    for make in (lambda: LinTS(draws=10**15), lambda: Softened(LinTS(), draws=10**15)):
        with pytest.raises(InvalidSetting, match="must be at most 1000000, got 1000000000000000"):
            make()
