"""A learner on a log does what a loop over ask and tell does, and its mean is what playing gives."""

from typing import Any

import numpy as np
import pytest

import infex
from infex import (
    Bandit,
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Softened,
    evaluation,
    every,
    features,
    jittered,
)
from infex.errors import InvalidLog, InvalidSetting, NoSupport, OutOfReach
from infex.logs import Log, LogFacts
from infex.models import Discounted
from infex.policies import Uniform
from infex.streams import stream

THETA = np.array([0.7, -0.5, 0.3])


def given(rng: np.random.Generator, n: int, arms: int) -> np.ndarray:
    rows = rng.normal(size=(n, arms, 3))
    return np.asarray(rows / np.maximum(1.0, 1.001 * np.linalg.norm(rows, axis=2, keepdims=True)))


def uniform_log(seed: int, n: int = 2000, arms: int = 4) -> Log:
    rng = np.random.default_rng(seed)
    offers, arm = given(rng, n, arms), rng.integers(arms, size=n)
    reward = offers[np.arange(n), arm] @ THETA + 0.3 * rng.normal(size=n)
    return Log(arm=arm, reward=reward, offers=offers, propensity=np.full(n, 1 / arms))


def by_hand(
    log: Log, policy: Any, rounds: int, usable: np.ndarray | None = None, **settings: Any
) -> tuple[Bandit, list[int]]:
    """The loop: a round is played only where the learner agrees."""
    bandit, rows = Bandit(policy=policy, **settings), list[int]()
    for row in range(len(log)):
        if len(rows) == rounds:
            break
        if log.offers is not None:
            asked = {"arms": log.offers[row] if log.offered is None else log.offers[row][log.offered[row]]}
        elif log.arms is not None:
            asked = {}
        else:
            assert log.context is not None
            asked = {"context": log.context[row]}
        decided = bandit.decide(**asked)
        if decided.decision.arm == log.arm[row] and (usable is None or usable[row]):
            bandit.tell(bandit.enter(decided), log.reward[row])
            rows.append(row)
    return bandit, rows


POLICIES = [
    Greedy(), LinUCB(), LinTS(), LinTS(sampling="spherical"), Uniform(), EpsilonGreedy(),
    Softened(LinUCB(), 0.3),
    Infex(LinUCB(), every(7)), Infex(Uniform(), jittered(5)), Infex(Softened(LinUCB()), jittered(6, seed=2)),
    Infex(LinTS(), every(3)), Infex(LinUCB(), every(5), data="own"), Infex(Greedy(), every(4)),
    Infex(LinUCB(), infex.guarded(every(4), cost_limit=2.0)), Infex(LinTS(draws=20), every(9)),
    Infex(LinUCB(ties="random"), every(5), ties="random"), Infex(Softened(LinTS(), draws=10), jittered(8)),
]  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_replay_is_the_loop_to_the_last_bit(policy: Any) -> None:
    log = uniform_log(3, n=600)
    found = evaluation.replay(log, policy, rounds=110, seed=5, penalty=0.5)
    bandit, rows = by_hand(log, policy, 110, dim=3, seed=5, penalty=0.5)
    assert found.rows.tolist() == rows
    assert found.bandit.digest() == bandit.digest()
    assert found.bandit.exploration() == bandit.exploration()
    assert found.rewards.tolist() == log.reward[rows].tolist()
    assert found.arms.tolist() == log.arm[rows].tolist()
    assert found.explored.sum() == bandit.explored


def test_rounds_of_the_log_that_explored_are_those_that_were_drawn() -> None:
    log = uniform_log(4, n=900)
    rng = np.random.default_rng(0)
    explored = rng.random(900) < 0.5
    chance = np.where(explored, 0.5, 0.0)
    own = Log(arm=log.arm, reward=log.reward, offers=log.offers, explored=explored,
              explore_probability=chance,
              base_propensity=np.where(explored, 0.25, np.nan))  # fmt: skip
    found = evaluation.replay(own, LinUCB(), rounds=80)
    bandit, rows = by_hand(log.take(explored), LinUCB(), 80, dim=3)
    assert found.rows.tolist() == np.flatnonzero(explored)[rows].tolist()
    assert found.bandit.digest() == bandit.digest()
    assert found.reach.events == explored.sum()


@pytest.mark.parametrize(
    "policy", [Infex(LinUCB(), every(7)), LinTS(), Uniform(), Infex(Uniform(), jittered(4))], ids=str
)
def test_fixed_arms_and_contexts_too(policy: Any) -> None:
    rng = np.random.default_rng(8)
    looks = given(rng, 1, 5)[0]
    arm = rng.integers(5, size=800)
    reward = looks[arm] @ THETA + 0.2 * rng.normal(size=800)
    fixed = Log(arm=arm, reward=reward, arms=looks, propensity=np.full(800, 0.2), labels=tuple("abcde"))
    found = evaluation.replay(fixed, policy, rounds=100)
    bandit, rows = by_hand(fixed, policy, 100, arms=looks, labels=tuple("abcde"))
    assert (found.rows.tolist(), found.bandit.digest()) == (rows, bandit.digest())
    contexts = rng.random((800, 2)) - 0.5
    for rule in (features.disjoint(5, 2, longest=2.0), features.interactions(looks, 2, longest=2.0)):
        log = Log(arm=arm, reward=reward, context=contexts, propensity=np.full(800, 0.2))
        found = evaluation.replay(log, policy, rounds=100, features=rule)
        bandit, rows = by_hand(log, policy, 100, features=rule)
        assert (found.rows.tolist(), found.bandit.digest()) == (rows, bandit.digest())


def test_sets_of_several_sizes_are_accepted_alike() -> None:
    rng = np.random.default_rng(2)
    offers = given(rng, 900, 4)
    sizes = rng.integers(2, 5, size=900)
    offered = np.arange(4) < sizes[:, None]
    arm = (rng.random(900) * sizes).astype(int)
    log = Log(arm=arm, reward=rng.normal(size=900), offered=offered,
              offers=np.where(offered[:, :, None], offers, 0.0),
              propensity=1.0 / sizes)  # fmt: skip
    for kept in (log, log.take(slice(0, 300))):
        found = evaluation.replay(kept, LinUCB(), rounds=60, seed=3)
        usable = stream(3, "replayed").random(len(kept)) / sizes[: len(kept)] < 0.25
        bandit, rows = by_hand(kept, LinUCB(), 60, usable, dim=3, seed=3)
        assert (found.rows.tolist(), found.bandit.digest()) == (rows, bandit.digest())
    assert found.reach.acceptance_rate == 0.25
    middle = offered.copy()
    middle[:, 0] = arm == 0
    holes = Log(arm=arm, reward=log.reward, offers=log.offers, offered=middle, propensity=np.full(900, 0.3))
    assert evaluation.replay(holes, Infex(LinUCB(), every(5)), rounds=50).accepted == 50


def test_the_mean_is_what_playing_gives() -> None:
    """Replayed on logs, and played on fresh rounds, by the same learner: uniform logs and others."""
    policy, rounds, arms = Infex(LinUCB(scale=0.3), every(5)), 60, 4
    replayed, weighted, played = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        log = uniform_log(seed, n=480)
        replayed.append(evaluation.replay(log, policy, rounds=rounds, seed=seed).mean)
        laws = np.tile([0.4, 0.1, 0.3, 0.2], (1200, 1))
        arm = (laws.cumsum(axis=1) > rng.random(1200)[:, None]).argmax(axis=1)
        offers = given(rng, 1200, arms)
        reward = offers[np.arange(1200), arm] @ THETA + 0.3 * rng.normal(size=1200)
        skewed = Log(arm=arm, reward=reward, offers=offers, propensity=laws[0, arm], base_propensities=laws)
        weighted.append(evaluation.replay(skewed, policy, rounds=rounds, seed=seed).mean)
        bandit, total = Bandit(dim=3, policy=policy, seed=seed), 0.0
        for rows in given(rng, rounds, arms):
            decision = bandit.ask(rows)
            gained = float(rows[decision.arm] @ THETA + 0.3 * rng.normal())
            bandit.tell(decision, gained)
            total += gained
        played.append(total / rounds)
    for found in (replayed, weighted):
        spread = np.hypot(np.std(found), np.std(played)) / np.sqrt(60)
        assert abs(np.mean(found) - np.mean(played)) < 3.0 * spread
    assert np.mean(played) > 0.3 > uniform_log(0).reward.mean() + 0.1


def test_it_says_first_how_far_the_log_reaches() -> None:
    log = uniform_log(1)
    told = evaluation.reach(log)
    assert (told.events, told.acceptance_rate, told.rounds) == (2000, 0.25, 500)
    assert "2,000 rounds of this log were drawn" in told.text
    assert "about 500 rounds" in told.text
    with pytest.raises(OutOfReach, match=r"about 500 rounds; rounds=501 are beyond that"):
        evaluation.replay(log, LinUCB(), rounds=501)
    found = evaluation.replay(log, LinUCB())
    assert found.complete
    assert 430 < found.rounds < 500
    assert (found.first, found.last) == (int(log.round[found.rows[0]]), int(log.round[found.rows[-1]]))
    assert found.curve[-1] == pytest.approx(found.mean)
    assert "mean reward" in repr(found)
    short = evaluation.replay(log.take(slice(0, 12)), LinUCB(), rounds=3)
    assert short.accepted <= 3
    assert short.complete == (short.accepted == 3)


def test_several_parts_give_an_interval() -> None:
    log = uniform_log(6, n=8000)
    found = evaluation.replay(log, Infex(LinUCB(), every(5)), rounds=150, parts=10)
    low, high = found.interval()
    assert low < found.mean < high
    assert high - low < 0.2
    assert found.parts.size >= 9
    with pytest.raises(InvalidSetting, match="parts=10"):
        evaluation.replay(log, LinUCB(), rounds=50).interval()
    with pytest.raises(OutOfReach, match="each of 10 parts 800"):
        evaluation.replay(log, LinUCB(), rounds=1000, parts=10)


def test_what_was_not_drawn_cannot_be_replayed() -> None:
    log = uniform_log(1, n=40)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"propensity": None}, "no round of this log was drawn"),
        ({"propensity": np.ones(40)}, "40 of 40 drawn rounds the log could play one arm only"),
        (
            {
                "base_propensities": np.tile([0.5, 0.5, 0.0, 0.0], (40, 1)),
                "arm": log.arm % 2,
                "propensity": np.full(40, 0.5),
            },
            "40 of 40 drawn rounds the log could not play every arm",
        ),
    ]
    for columns, words in cases:
        parts: dict[str, Any] = {
            "arm": log.arm,
            "reward": log.reward,
            "offers": log.offers,
            "propensity": log.propensity,
        }
        with pytest.raises(NoSupport, match=words):
            evaluation.replay(Log(**(parts | columns)), LinUCB())
    with pytest.raises(InvalidLog, match="does not say what arms looked like"):
        evaluation.replay(Log(arm=[0, 1] * 20, reward=[0.0] * 40, propensity=[0.5] * 40), LinUCB())
    facts = LogFacts(policy="LinUCB")
    never = Log(arm=[1] * 40, reward=[0.0] * 40, propensity=[0.5] * 40, arms=np.eye(2), facts=facts)
    with pytest.raises(NoSupport, match="never agreed"):
        evaluation.replay(never, Greedy())


def test_other_estimators_learn_too() -> None:
    log = uniform_log(9, n=400)
    found = evaluation.replay(log, LinUCB(), rounds=60, estimator=Discounted(rate=0.9))
    bandit, rows = by_hand(log, LinUCB(), 60, dim=3, estimator=Discounted(rate=0.9))
    assert (found.rows.tolist(), found.bandit.digest()) == (rows, bandit.digest())
