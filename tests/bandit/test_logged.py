"""Learning from logs is as if their rewards had been told, without rounds."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Greedy, Infex, LinUCB, every, features, models
from infex.errors import InvalidArms, InvalidContext, InvalidReward, UnknownArm
from infex.models.layout import ArmRow

ARMS = np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -0.5]])
MAPS: dict[str, Any] = {
    "disjoint": features.disjoint(["a", "b", "c"], context_dim=2),
    "products": features.interactions(ARMS, context_dim=2, labels=["a", "b", "c"], longest=2.0),
    "joined": features.joined(lambda z, arm: [z[0] * arm, z[1], 1.0], [0.1, 0.5, 0.9], dim=3, longest=2.0),
}
KINDS = ["fixed", "labelled", "changing", *MAPS]
ESTIMATORS: list[Any] = [
    None,
    None,
    models.Weighted(weight=lambda x: 1.0 + float(x[0]) ** 2),
    models.Discounted(),
    models.Windowed(size=7),
    models.Logistic(),
    models.Lasso(),
]


def made(kind: str, penalty: float, estimator: Any, data: Any) -> Bandit:
    policy = Infex(LinUCB(), every(3), data=data)
    if kind in MAPS:
        return Bandit(features=MAPS[kind], policy=policy, penalty=penalty, estimator=estimator)
    if kind == "changing":
        return Bandit(dim=2, policy=policy, penalty=penalty, estimator=estimator)
    labels = ["a", "b", "c"] if kind == "labelled" else None
    return Bandit(ARMS, policy, penalty=penalty, estimator=estimator, labels=labels)


def rows(bandit: Bandit, rng: np.random.Generator, count: int) -> tuple[Any, Any, Any]:
    """Contexts, arms as they are named, and the features that each reward is learnt on."""
    places = rng.integers(3, size=count)
    z = rng.normal(size=(count, 2))
    z /= 2.0 * np.linalg.norm(z, axis=1, keepdims=True)
    if bandit.features is not None:
        named = [bandit.labels[k] for k in places] if bandit.labels else places
        found = [bandit.features(context)[place] for context, place in zip(z, places, strict=True)]
        return z, named, np.array(found).reshape(count, bandit.features.dim)
    if not len(bandit.arms):
        return None, z, z
    named = ["abc"[k] for k in places] if bandit.labels else places.tolist()
    return None, named, ARMS[places]


@given(
    kind=st.sampled_from(KINDS),
    estimator=st.sampled_from(ESTIMATORS),
    penalty=st.sampled_from([1e-8, 0.3, 5.0]),
    data=st.sampled_from(["shared", "own"]),
    seed=st.integers(0, 999),
)
@settings(max_examples=120, deadline=None)
def test_a_log_is_learnt_as_if_it_had_been_told(
    kind: str, estimator: Any, penalty: float, data: Any, seed: int
) -> None:
    """Against the normal equations in NumPy, and against statistics that learn one by one."""
    rng = np.random.default_rng(seed)
    bandit, single = (made(kind, penalty, estimator, data) for _ in range(2))
    x, y, w = np.zeros((0, 0)), np.zeros(0), np.zeros(0)
    for _ in range(3):
        count = int(rng.integers(0, 30))
        contexts, arms, features_of = rows(bandit, rng, count)
        rewards = (rng.random(count) < 0.5).astype(float)
        weights = (
            rng.random(count) + 0.5
            if bandit._agent.model.all.is_least_squares and rng.random() < 0.5
            else None
        )
        if kind == "changing" and not count:
            continue
        bandit.learn(contexts, arms, rewards, weights)
        counted = np.ones(count) if weights is None else weights
        x = np.vstack([x, features_of]) if x.size else features_of
        y, w = np.concatenate([y, rewards]), np.concatenate([w, counted])
        tell(single, contexts, arms, features_of, rewards, counted)
    assert (bandit.t, bandit.explored, bandit.pending) == (0, 0, ())
    if estimator is None and x.size:
        inside = penalty / 4 if kind in ("products", "joined") else penalty  # their rows are divided by 2
        expected = np.linalg.solve(inside * np.eye(x.shape[1]) + (x.T * w) @ x, (x.T * w) @ y)
        scale = 1e-10 if penalty > 1e-6 else 1e-5
        assert bandit._agent.model.all.posterior().theta == pytest.approx(expected, rel=scale, abs=scale)
    offer = {"arms": ARMS} if kind == "changing" else {"context": [0.3, 0.4]} if kind in MAPS else {}
    mine, theirs = bandit.estimates(**offer), single.estimates(**offer)
    rounding = 1e-10 if penalty > 1e-6 else 1e-6
    for name in ("estimate", "low", "high"):
        assert mine[name] == pytest.approx(theirs[name], rel=rounding, abs=rounding)
    if kind not in ("products", "joined"):  # whose pulls a bandit counts itself, where rewards are told
        assert mine.pulls.tolist() == theirs.pulls.tolist()
    if kind != "changing":
        assert int(mine.pulls.sum()) == y.size
    assert bandit._agent.model.all.n_observations == y.size == single._agent.model.all.n_observations
    if bandit._agent.model.explored is not None:
        assert bandit._agent.model.explored.n_observations == 0


def tell(bandit: Bandit, contexts: Any, arms: Any, x: Any, rewards: Any, weights: Any) -> None:
    """The same one by one, as a decision's reward is learnt."""
    for n in range(len(rewards)):
        on: Any = np.array(x[n])
        if isinstance(bandit.features, features.Disjoint):
            arm = bandit.labels.index(arms[n])  # type: ignore[union-attr]
            on = ArmRow(arm, bandit.features.within(contexts[n]))
        elif bandit.features is None and len(bandit.arms):
            on = int(np.flatnonzero((x[n] == ARMS).all(axis=1))[0])
        bandit._agent.learn(n, on, float(rewards[n]), False, float(weights[n]))


@pytest.mark.parametrize(
    ("kind", "given", "error", "words"),
    [
        ("fixed", {"arms": [0, 3], "rewards": [1.0, 1.0]}, UnknownArm, "no arm .* 3"),
        (
            "fixed",
            {"arms": np.array([0, -1]), "rewards": [1.0, 1.0]},
            UnknownArm,
            "the index -1; there are 3",
        ),
        ("fixed", {"arms": [0, 1], "rewards": [1.0]}, InvalidReward, "as many as the decisions, 2"),
        ("fixed", {"arms": [0, 1], "rewards": [1.0, np.inf]}, InvalidReward, "must be finite"),
        ("fixed", {"arms": [0], "rewards": [1.0], "weights": [-1.0]}, InvalidReward, "above 0"),
        (
            "fixed",
            {"contexts": [[0.1, 0.2]], "arms": [0], "rewards": [1.0]},
            InvalidContext,
            "no feature map",
        ),
        ("fixed", {"arms": 0, "rewards": [1.0]}, InvalidArms, "a list with one for each reward"),
        ("labelled", {"arms": ["a", "z"], "rewards": [1.0, 1.0]}, UnknownArm, "no arm is called 'z'"),
        ("labelled", {"arms": [0], "rewards": [1.0]}, UnknownArm, "by their labels"),
        ("labelled", {"arms": "abc", "rewards": [1.0] * 3}, InvalidArms, "a list with one for each"),
        (
            "changing",
            {"arms": [[0.1, 0.2], [2.0, 0.0]], "rewards": [1.0, 1.0]},
            InvalidArms,
            "no longer than 1",
        ),
        ("changing", {"arms": [[0.1]], "rewards": [1.0]}, InvalidArms, "2 features each"),
        ("disjoint", {"arms": ["a"], "rewards": [1.0]}, InvalidContext, "give one for each reward"),
        (
            "disjoint",
            {"contexts": [[0.1, 0.2]], "arms": ["a", "b"], "rewards": [1.0] * 2},
            InvalidContext,
            "as many as the arms, 2, got 1",
        ),
        (
            "products",
            {"contexts": [[0.1, 0.2], [9.0, 0.0]], "arms": ["a", "b"], "rewards": [1.0] * 2},
            InvalidContext,
            "context 1 must be no longer",
        ),
        (
            "joined",
            {"contexts": [[0.1, 0.2], [9.0, 9.0]], "arms": [0, 1], "rewards": [1.0] * 2},
            InvalidContext,
            "no longer than longest",
        ),
    ],
)
def test_a_log_with_one_bad_row_teaches_nothing(kind: str, given: Any, error: Any, words: str) -> None:
    bandit = made(kind, 1.0, None, "shared")
    before = bandit.digest()
    with pytest.raises(error, match=words):
        bandit.learn(**given)
    assert bandit.digest() == before


def test_an_estimator_refuses_a_whole_log() -> None:
    bandit = Bandit(ARMS, Greedy(), estimator=models.Logistic())
    before = bandit.digest()
    with pytest.raises(InvalidReward, match="must be 0 or 1"):
        bandit.learn(arms=[0, 1], rewards=[1.0, 0.5])
    assert bandit.digest() == before


def test_posteriors_from_before_stays_as_it_is() -> None:
    bandit = Bandit(ARMS, Greedy())
    bandit.learn(arms=[0, 1], rewards=[1.0, 0.5])
    posterior = bandit.posterior()
    before = posterior.estimates.tolist(), posterior.pulls.tolist()
    bandit.learn(arms=[0, 1, 2], rewards=[-1.0, -0.5, 1.0])
    bandit.tell_many(bandit.ask_many(3), [1.0, 1.0, 1.0])
    assert (posterior.estimates.tolist(), posterior.pulls.tolist()) == before


def test_a_million_rewards_lose_nothing() -> None:
    """Sums keep what rounding takes: the reward sum of 10^5 rows of 0.1 and one of 1e8."""
    bandit = Bandit(ARMS, Greedy())
    rewards = np.full(100_001, 0.1)
    rewards[0] = 1e8
    with warnings.catch_warnings(action="ignore"):  # large rewards are warned of
        bandit.learn(arms=np.ones(rewards.size, dtype=int), rewards=rewards)
    truth = bandit._agent.model.all.sufficient_statistics().sums
    exact = 1e8 + 100_000 * 0.1
    assert (truth[0, -1, 0] + truth[1, -1, 0]) == pytest.approx(exact, rel=1e-15)
