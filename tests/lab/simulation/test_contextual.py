"""Runs in contexts: compiled and interpreted alike, like a `Bandit`, and like a slow obvious version."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

from infex import (
    Bandit,
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    budget,
    every,
    features,
    guarded,
    models,
    paused,
    stretched,
    until_certain,
)
from infex.errors import InvalidArms, InvalidSetting
from infex.lab import Sweep, play, play_many
from infex.lab.environments import ContextualInstance, contextual, instances, late, steps
from infex.lab.simulation import simulator
from infex.policies import ContextReduction, FixedBonusUCB, HybridTS, Uniform, doubtful, ledger
from infex.testing import EnvironmentContract
from tests.lab.simulation.in_python import assert_same, play_in_python
from tests.policies.test_contract import MAKERS, OF_FIXED_ARMS

POLICIES: list[Any] = [
    Greedy(),
    Greedy(ties="random"),
    Uniform(),
    EpsilonGreedy(),
    EpsilonGreedy(rate=0.3, ties="random"),
    LinUCB(),
    LinUCB(ties="random", scale=0.3, radius="mixture"),
    FixedBonusUCB(bonus=0.4),
    LinTS(),
    LinTS(sampling="spherical", scale=0.2),
    HybridTS(p=0.5),
    Infex(LinUCB(), every(5)),
    Infex(LinTS(scale=0.3), stretched(1), data="own"),
    Infex(LinUCB(), every(3), data="own"),
    Infex(EpsilonGreedy(), every(2), ties="random"),
    Infex(LinUCB(scale=0.3), guarded(every(2), 2.0)),
    Infex(LinTS(scale=0.1), until_certain(every(2), scale=0.05), data="own"),
    Infex(LinUCB(), budget(paused(every(3), every(5), "make up"), 9), ties="random"),
    Infex(LinUCB(scale=0.3), ledger(0.5, noise=0.6)),
    Infex(LinTS(scale=0.3), doubtful(every(2), scale=0.02), data="own"),
]


def skewed(rng: np.random.Generator, means: Any) -> Any:
    return means + rng.standard_exponential(means.shape) - 1.0


def short(rng: np.random.Generator) -> Any:
    x = rng.standard_normal(3)
    return 0.9 * x / np.linalg.norm(x)


INSTANCES = {
    "sign": contextual(context_dim=4, arms=6, seed=1),
    "one": contextual(context_dim=1, arms=1, seed=2, rewards="gaussian", noise=0.3),
    "chances": contextual(context_dim=9, arms=3, seed=3, rewards="bernoulli", link="logistic"),
    "own": contextual(context_dim=2, arms=17, seed=3, rewards=skewed),
    "drawn": ContextualInstance(thetas=np.eye(3), contexts=short, rewards="student", noise=[0.1, 0.2, 0.3]),
}


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("instance", INSTANCES.values(), ids=list(INSTANCES))
def test_compiled_and_interpreted_runs_are_the_same(
    policy: Any, instance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = play(instance, policy, 150, 7, record=True, penalty=0.7)
    monkeypatch.setattr(instances, "BLOCK", 333)
    assert_same(play_in_python(instance, policy, 150, 7, record=True, penalty=0.7), fast)
    assert_same(play(instance, policy, 150, 7, record=True, penalty=0.7), fast)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_plain_policies_are_played_by_the_compiled_loop(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("it is played in Python")

    monkeypatch.setattr(simulator, "play_in_python", refuse)
    assert play(INSTANCES["sign"], policy, 10).horizon == 10


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in OF_FIXED_ARMS])
def test_every_policy_plays(name: str) -> None:
    policy = MAKERS[name]()
    run = play(INSTANCES["sign"], policy, 60, 3, record=True)
    assert run.counts.sum() == 60
    assert run.losses is not None
    assert run.regret == pytest.approx(run.losses.sum())


def test_a_policy_that_needs_one_regression_for_all_says_so() -> None:
    with pytest.raises(InvalidSetting, match="samples must be arm sets"):
        play(INSTANCES["sign"], ContextReduction(LinUCB()), 5)


@pytest.mark.parametrize(
    "policy",
    [Greedy(), LinUCB(delta=0.1), Infex(LinUCB(delta=0.1, scale=0.4), every(4))],
    ids=repr,
)
def test_a_run_is_what_a_bandit_with_a_disjoint_map_does(policy: Any) -> None:
    instance = INSTANCES["drawn"]
    run = play(instance, policy, 120, 5, record=True, penalty=0.4)
    bandit = Bandit(features=features.disjoint(3, 3), policy=policy, penalty=0.4)
    contexts = np.concatenate([block for _, block in instance.rounds(5, 120)])
    assert run.arms is not None
    assert run.rewards is not None
    for context, arm, reward in zip(contexts, run.arms.tolist(), run.rewards.tolist(), strict=True):
        decision = bandit.ask(context=context)
        assert decision.arm == arm
        bandit.tell(decision, reward)
    assert bandit._agent.model.all.posterior().log_det_ratio == run.log_det_ratio
    assert np.array_equal(bandit.pulls, run.counts)


def slow(instance: ContextualInstance, horizon: int, seed: int, period: int) -> tuple[list[int], float]:
    """Arms and regret of INFEX(LinUCB, every period), by the book: one solve for each round and arm."""
    arms, dim = instance.thetas.shape
    grams, moments, draws = [np.eye(dim)] * arms, [np.zeros(dim)] * arms, instance.draws(seed)
    chosen, lost, t = [], 0.0, 0
    for _, block in instance.rounds(seed, horizon):
        for x in block:
            t += 1
            scores = np.array([x @ np.linalg.solve(g, b) for g, b in zip(grams, moments, strict=True)])
            if t % period == 0:
                betas = [math.sqrt(np.linalg.slogdet(g)[1] + 2 * math.log(horizon)) + 1 for g in grams]
                widths = [math.sqrt(x @ np.linalg.solve(gram, x)) for gram in grams]
                scores = scores + np.array(betas) * widths
            arm, means = int(np.argmax(scores)), instance.thetas @ x
            reward = instance.law.draw(arm, float(means[arm]), draws)
            grams[arm] = grams[arm] + np.outer(x, x)
            moments[arm] = moments[arm] + reward * x
            lost += float(means.max() - means[arm])
            chosen.append(arm)
    return chosen, lost


@pytest.mark.parametrize("seed", range(3))
def test_runs_are_those_of_plain_numpy(seed: int) -> None:
    instance = contextual(context_dim=3, arms=4, seed=seed, rewards="gaussian")
    run = play(instance, Infex(LinUCB(), every(3)), 200, seed, record=True)
    arms, lost = slow(instance, 200, seed, 3)
    assert run.arms is not None
    assert run.arms.tolist() == arms
    assert run.regret == pytest.approx(lost)


def test_many_runs_are_the_single_ones() -> None:
    policy = Infex(LinTS(), every(2))
    problems = [INSTANCES["sign"], INSTANCES["own"]]
    many = play_many(problems, policy, 90, seeds=range(3), record=True, workers=2)
    for run, (instance, seed) in zip(many, [(p, s) for p in problems for s in range(3)], strict=True):
        assert_same(run, play(instance, policy, 90, seed, record=True))


def test_rewards_may_be_late_and_estimators_others() -> None:
    instance = contextual(context_dim=3, arms=4, seed=1, late=late(3))
    narrow, ignore = (
        play(instance, LinUCB(), 80, 1, record=True, pending=way) for way in ("narrow", "ignore")
    )
    assert narrow.arms is not None
    assert narrow.arms.tolist() != ignore.arms.tolist()  # type: ignore[union-attr]
    fitted = play(instance, LinUCB(), 40, 1, estimator=models.Discounted(rate=0.9))
    assert fitted.counts.sum() == 40


def test_a_sweep_names_it_in_text() -> None:
    problem = "contextual(context_dim=3, arms=4)"
    results = Sweep(
        environments=[problem], policies=["LinUCB", "Infex(LinUCB, every(5))"], seeds=2, horizon=100
    ).run(workers=1)
    (cell,) = results.cells
    assert (cell.environment, cell.dim, cell.arms) == (problem, 12, 4)
    for seed in range(2):
        run = play(contextual(context_dim=3, arms=4, seed=seed), LinUCB(), 100, seed)
        assert results.regret(cell, "LinUCB")[seed] == run.regret


class TestOfContexts(EnvironmentContract):
    """The contract of environments."""

    def make(self) -> Any:
        return contextual(context_dim=3, arms=4, seed=2)


def test_contexts_are_drawn_as_arms_of_the_paper_are_and_parameters_on_the_sphere() -> None:
    instance = contextual(context_dim=4, arms=50, seed=1, bound=0.5)
    np.testing.assert_allclose(np.linalg.norm(instance.thetas, axis=1), 0.5)
    contexts = np.concatenate([block for _, block in instance.rounds(1, 20_000)])
    assert np.linalg.norm(contexts, axis=1).max() <= 1 + 1e-12
    np.testing.assert_allclose(np.cov(contexts.T), np.eye(4) * np.trace(np.cov(contexts.T)) / 4, atol=0.005)
    other = pickle.loads(pickle.dumps(instance))
    assert other.key == instance.key != contextual(context_dim=4, arms=50, seed=2, bound=0.5).key
    assert (instance.dim, instance.count, instance.context_dim, instance.theta.size) == (200, 50, 4, 200)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: contextual(0, 3, 1), InvalidSetting, "context_dim must be at least 1"),
        (lambda: contextual(2, 3, 1, moves=steps(10)), InvalidSetting, "one theta"),
        (lambda: ContextualInstance(thetas=[1.0]), InvalidSetting, r"\(K, c\)"),
        (lambda: ContextualInstance(thetas=[[math.nan]]), InvalidSetting, "finite numbers"),
        (lambda: ContextualInstance(thetas=[[0.1]], link="cubic"), InvalidSetting, "link"),
        (lambda: ContextualInstance(thetas=[[0.1]], contexts=3), InvalidSetting, "a function"),
        (
            lambda: play(ContextualInstance(thetas=[[3.0]]), Greedy(), 99),
            InvalidSetting,
            "means must be from",
        ),
        (
            lambda: play(ContextualInstance(thetas=[[0.1]], contexts=lambda rng: [3.0]), Greedy(), 9),
            InvalidArms,
            "the context of round 1",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
