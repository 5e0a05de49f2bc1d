"""The time of one round: choose an arm, learn its reward."""

from collections.abc import Callable

import numpy as np
from coba import LinUCBLearner
from numpy.typing import NDArray
from vowpalwabbit import Workspace

import infex
from benchmarks.peers.disjoint_learners import LEARNERS, Learner
from benchmarks.peers.timing import in_turns

Floats = NDArray[np.float64]
SIZES = ((5, 10), (20, 50), (20, 200))
ROUNDS = 200


def contexts_table() -> dict[str, dict[str, float]]:
    """For each (features, arms): microseconds of a round, by library."""
    return {f"{dim} features, {arms} arms": _contexts(dim, arms) for dim, arms in SIZES}


def _contexts(dim: int, arms: int) -> dict[str, float]:
    contexts = np.random.default_rng(1).random((ROUNDS, dim)) / np.sqrt(dim)
    rewards = np.random.default_rng(2).random(ROUNDS)
    learners = {name: kind(arms, dim) for name, kind in LEARNERS.items()}
    return in_turns({name: _served(learner, contexts, rewards) for name, learner in learners.items()})


def _served(learner: Learner, contexts: Floats, rewards: Floats) -> Callable[[], int]:
    def work() -> int:
        for context, reward in zip(contexts, rewards.tolist(), strict=True):
            learner.learn(context, learner.choose(context), reward)
        return len(contexts)

    return work


def fixed_table(dim: int = 10, arms: int = 100) -> dict[str, float]:
    """Microseconds of a round among fixed arms that share one parameter."""
    rows = np.random.default_rng(3).normal(size=(arms, dim))
    rows /= np.linalg.norm(rows, axis=1).max()
    rewards = np.random.default_rng(4).random(ROUNDS).tolist()
    return in_turns(
        {
            "NumPy loop": _numpy_fixed(rows, rewards),
            "infex": _infex_fixed(rows, rewards, infex.policies.FixedBonusUCB(bonus=1.0)),
            "infex, Infex(..., every(20))": _infex_fixed(
                rows, rewards, infex.Infex(infex.policies.FixedBonusUCB(bonus=1.0), infex.every(20))
            ),
            "coba": _coba_fixed(rows, rewards),
            "Vowpal Wabbit (SGD)": _vowpal_fixed(rows, rewards),
        }
    )


def _numpy_fixed(rows: Floats, rewards: list[float]) -> Callable[[], int]:
    def work() -> int:
        inverse, moment = np.eye(rows.shape[1]), np.zeros(rows.shape[1])
        for reward in rewards:
            theta = inverse @ moment
            scores = rows @ theta + np.sqrt(np.einsum("kd,kd->k", rows @ inverse, rows))
            x = rows[int(np.argmax(scores))]
            u = inverse @ x
            inverse -= np.outer(u, u) / (1.0 + x @ u)
            moment += reward * x
        return len(rewards)

    return work


def _infex_fixed(rows: Floats, rewards: list[float], policy: infex.Policy) -> Callable[[], int]:
    def work() -> int:
        bandit = infex.Bandit(rows, policy)
        for reward in rewards:
            bandit.tell(bandit.ask(), reward)
        return len(rewards)

    return work


def _coba_fixed(rows: Floats, rewards: list[float]) -> Callable[[], int]:
    actions = [tuple(row) for row in rows.tolist()]

    def work() -> int:
        learner = LinUCBLearner(alpha=1.0, features=["a"])
        for reward in rewards:
            action, chance = learner.predict(None, actions)[:2]
            learner.learn(None, action, reward, chance)
        return len(rewards)

    return work


def _vowpal_fixed(rows: Floats, rewards: list[float]) -> Callable[[], int]:
    lines = ["| " + " ".join(f"{place}:{x:.6g}" for place, x in enumerate(row)) for row in rows]

    def work() -> int:
        model, rng = Workspace("--cb_explore_adf --epsilon 0.05 --quiet"), np.random.default_rng(1)
        for reward in rewards:
            chances = np.array(model.predict(lines))
            k = int(rng.choice(len(lines), p=chances / chances.sum()))
            label = f"0:{-reward}:{chances[k]} {lines[k]}"
            model.learn([*lines[:k], label, *lines[k + 1 :]])
        return len(rewards)

    return work
