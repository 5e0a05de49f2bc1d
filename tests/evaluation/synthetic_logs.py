"""Logs by seed, on which other libraries were run too: their answers stand in golden/evaluation.json.

soft_*   a fixed softmax policy with known propensities, contexts, clicks of 0 and 1
heavy_*  tiny propensities (down to about 1e-3), rewards of any sign
jit_*    a learning bandit: jittered(20), a randomised base in its exploring rounds, greedy else
det_*    a learning bandit: every(20) with LinUCB, all choices deterministic
mab_*    epsilon-greedy with a decaying epsilon, known propensities of all arms
"""

from __future__ import annotations

import functools

import numpy as np

from infex.arrays import Floats, Integers
from infex.evaluation.estimators import WeightedRounds
from infex.logs import Log, LogFacts

Arrays = dict[str, np.ndarray]
PERIOD, NOISE = 20, 0.3


def softmax(z: Floats) -> Floats:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    found: Floats = e / e.sum(axis=-1, keepdims=True)
    return found


def draw(rng: np.random.Generator, p: Floats) -> Integers:
    found: Integers = (p.cumsum(axis=1) > rng.random(len(p))[:, None]).argmax(axis=1)
    return found


def ridge_for_each_arm(x: Floats, action: Integers, reward: Floats, arms: int) -> Floats:
    z = np.c_[np.ones(len(x)), x]
    out = np.empty((len(x), arms))
    for k in range(arms):
        mine = z[action == k]
        gram = np.eye(z.shape[1]) + mine.T @ mine
        out[:, k] = z @ np.linalg.solve(gram, mine.T @ reward[action == k])
    return out


def weighted_rounds(
    arm: Integers, reward: Floats, propensity: Floats, probabilities: Floats, fitted: Floats | None = None
) -> WeightedRounds:
    """Weights and model values of rounds; (n, K): the target's `probabilities`, the model's `fitted`."""
    each = np.arange(arm.size)
    weight = probabilities[each, arm] / propensity
    if fitted is None:
        return without_model(WeightedRounds(weight, reward, reward, reward))
    return WeightedRounds(weight, reward, np.einsum("nk,nk->n", probabilities, fitted), fitted[each, arm])


def without_model(rounds: WeightedRounds) -> WeightedRounds:
    zero = np.zeros(rounds.weight.size)
    return rounds._replace(direct=zero, at=zero)


def soft_log(rng: np.random.Generator, n: int = 1500, arms: int = 6, dim: int = 4) -> Arrays:
    x = rng.normal(size=(n, dim))
    theta = rng.normal(size=(dim, arms))
    q = 1 / (1 + np.exp(-(0.6 * x @ theta + 0.3 * np.sin(3 * x[:, :1]) - 1.0)))
    behaviour = softmax(0.7 * x @ rng.normal(size=(dim, arms)))
    action = draw(rng, behaviour)
    reward = (rng.random(n) < q[np.arange(n), action]).astype(float)
    targets = {"soft": softmax(1.5 * x @ theta), "best": np.eye(arms)[q.argmax(axis=1)]}
    return {
        "soft_context": x,
        "soft_action": action,
        "soft_reward": reward,
        "soft_pscore": behaviour[np.arange(n), action],
        "soft_behaviour": behaviour,
        "soft_fitted": ridge_for_each_arm(x, action, reward, arms),
        "soft_values": np.array([(value * q).sum(axis=1).mean() for value in targets.values()]),
        **{f"soft_target_{name}": value for name, value in targets.items()},
    }


def heavy_log(rng: np.random.Generator, n: int = 500, arms: int = 12) -> Arrays:
    behaviour = rng.dirichlet(np.full(arms, 0.2), size=n) * 0.998 + 0.002 / arms
    action = draw(rng, behaviour)
    mean = rng.normal(size=arms) * 5 - 2
    reward = mean[action] + 3 * rng.normal(size=n)
    target = rng.dirichlet(np.full(arms, 0.5), size=n)
    fitted = np.tile(mean + rng.normal(size=arms), (n, 1)) + 0.1 * rng.normal(size=(n, arms))
    return {
        "heavy_action": action,
        "heavy_reward": reward,
        "heavy_pscore": behaviour[np.arange(n), action],
        "heavy_target": target,
        "heavy_fitted": fitted,
    }


def learning_log(rng: np.random.Generator, kind: str, n: int = 1200, arms: int = 5, dim: int = 4) -> Arrays:
    """`jit`: one drawn round of each block explores. `det`: rounds 20, 40, ... play LinUCB."""
    offers = rng.normal(size=(n, arms, dim))
    offers /= np.maximum(1.0, np.linalg.norm(offers, axis=2, keepdims=True))
    theta = rng.normal(size=dim)
    theta /= np.linalg.norm(theta)
    gram, moment = np.eye(dim), np.zeros(dim)
    when = np.arange(0, n, PERIOD) + rng.integers(PERIOD, size=n // PERIOD)
    action, explored, greedy = np.zeros(n, int), np.zeros(n, bool), np.zeros(n, int)
    chance, base, reward = np.zeros(n), np.zeros((n, arms)), np.zeros(n)
    for t in range(n):
        rows = offers[t]
        scores = rows @ np.linalg.solve(gram, moment)
        greedy[t] = scores.argmax()
        block, place = divmod(t, PERIOD)
        if kind == "jit":
            explored[t] = t == when[block]
            chance[t] = 1 / (PERIOD - place) if t <= when[block] else 0.0
            base[t] = 0.9 * softmax(scores / 0.3) + 0.1 / arms
        else:
            explored[t] = (t + 1) % PERIOD == 0
            chance[t] = float(explored[t])
            width = np.sqrt(np.einsum("kd,kd->k", rows, np.linalg.solve(gram, rows.T).T))
            radius = NOISE * np.sqrt(np.linalg.slogdet(gram)[1] + 2 * np.log(100.0)) + 1.0
            base[t] = np.eye(arms)[(scores + radius * width).argmax()]
        action[t] = draw(rng, base[t][None])[0] if explored[t] else greedy[t]
        reward[t] = rows[action[t]] @ theta + NOISE * rng.normal()
        gram += np.outer(rows[action[t]], rows[action[t]])
        moment += reward[t] * rows[action[t]]
    direction = theta + 0.8 * rng.normal(size=dim) / np.sqrt(dim)
    target = np.eye(arms)[(offers @ direction).argmax(axis=1)]
    found = {
        "offers": offers,
        "action": action,
        "explored": explored,
        "greedy": greedy,
        "explore_probability": chance,
    }
    found |= {"base": base, "reward": reward, "target": target, "theta": theta}
    return {f"{kind}_{name}": value for name, value in found.items()}


def mab_log(rng: np.random.Generator, n: int = 800, means: tuple[float, ...] = (0.2, 0.5, 0.6)) -> Arrays:
    arms = len(means)
    pulls, sums = np.zeros(arms), np.zeros(arms)
    probs, action, reward = np.zeros((n, arms)), np.zeros(n, int), np.zeros(n)
    for t in range(n):
        eps = max(0.05, (t + 1) ** -0.5)
        probs[t] = eps / arms
        probs[t, (sums / np.maximum(pulls, 1)).argmax()] += 1 - eps
        action[t] = draw(rng, probs[t][None])[0]
        reward[t] = float(rng.random() < means[action[t]])
        pulls[action[t]] += 1
        sums[action[t]] += reward[t]
    return {"mab_probs": probs, "mab_action": action, "mab_reward": reward}


@functools.cache
def logs() -> Arrays:
    rng = np.random.default_rng(20261116)
    made = soft_log(rng) | heavy_log(rng) | learning_log(rng, "jit") | learning_log(rng, "det") | mab_log(rng)
    for values in made.values():
        values.flags.writeable = False
    return made


def as_log(kind: str) -> Log:
    """The jittered or the deterministic log with all its columns."""
    found = logs()
    action, chance, base = (
        found[f"{kind}_action"],
        found[f"{kind}_explore_probability"],
        found[f"{kind}_base"],
    )
    greedy = found[f"{kind}_greedy"]
    drawn = base[np.arange(len(action)), action]
    propensity = chance * drawn + (1 - chance) * (action == greedy)
    return Log(
        arm=action,
        reward=found[f"{kind}_reward"],
        explored=found[f"{kind}_explored"],
        greedy=greedy,
        explore_probability=chance,
        base_propensity=np.where(drawn > 0, drawn, np.nan),
        base_propensities=base,
        propensity=propensity,
        offers=found[f"{kind}_offers"],
        facts=LogFacts(
            schedule="jittered(20, seed=0)" if kind == "jit" else "every(20)",
            period=PERIOD,
            penalty=1.0,
            noise=NOISE,
            bound=1.0,
        ),
    )
