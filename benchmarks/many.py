"""Batches, logs and pending decisions at size, and arms that come with the question, against NumPy."""

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import infex

BATCH, REPEATS = 10_000, 7
SHOPS = (
    ((5, 10), 4.0),
    ((20, 10), 3.0),
    ((20, 50), 2.0),
)  # features, arms; and how many times NumPy is wanted
BOARDS = ((10, 20), (10, 100), (10, 1000), (40, 20), (40, 100), (40, 1000))
LOGGED = 100_000
PENDING = 1_000_000


class Ratio(NamedTuple):
    """Microseconds for each decision, of the process, the least over repeats; and what was asked for."""

    what: str
    infex: float
    numpy: float
    wanted: float | None

    @property
    def ratio(self) -> float:
        """How many times NumPy's."""
        return self.infex / self.numpy


def least(call: Callable[[], Any], count: int, repeats: int = REPEATS) -> float:
    """Microseconds of processor time for each of so many, the least over repeats."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times) / count * 1e6


def contexts_of(rng: np.random.Generator, count: int, dim: int) -> Any:
    """Contexts of length 1 at most."""
    found = rng.normal(size=(count, dim))
    return found / (1.001 * np.linalg.norm(found, axis=1, keepdims=True))


def shop_of(dim: int, arms: int, policy: infex.Policy) -> tuple[infex.Bandit, Any]:
    """A shop that has learnt from 2,000 rewards, and contexts to ask with."""
    rng = np.random.default_rng(dim + arms)
    shop = infex.Bandit(features=infex.features.disjoint(arms, context_dim=dim), policy=policy)
    shop.learn(contexts_of(rng, 2000, dim), rng.integers(arms, size=2000), rng.normal(size=2000))
    return shop, contexts_of(rng, BATCH, dim)


def numpy_bounds(contexts: Any, thetas: Any, inverses: Any) -> Any:
    """The optimistic arm in every context: as libraries with a batch call have it."""
    squares = np.stack([np.einsum("nc,nc->n", contexts @ inverse, contexts) for inverse in inverses], axis=1)
    return np.argmax(contexts @ thetas.T + np.sqrt(squares), axis=1)


POLICIES: dict[str, infex.Policy] = {
    "Greedy": infex.Greedy(),
    "Infex(LinUCB, every(1000))": infex.Infex(infex.LinUCB(), infex.every(1000)),
    "Infex(LinUCB, every(20))": infex.Infex(infex.LinUCB(), infex.every(20)),
    "Infex(LinUCB, always())": infex.Infex(infex.LinUCB(), infex.always()),
    "LinUCB": infex.LinUCB(),
}
LINUCB_BATCH = "NumPy's LinUCB batch"  # what the figures that are wanted are held against
BARE_ARGMAX = "NumPy's bare argmax"  # which keeps no width, no decision and nothing that is pending


def batches() -> list[Ratio]:
    """`ask_many` of each policy against NumPy's optimistic batch, and that of `Greedy` against an argmax."""
    rows, bare = [], []
    for (dim, arms), wanted in SHOPS:
        for name, policy in POLICIES.items():
            ours, optimistic, argmax = side_by_side(*shop_of(dim, arms, policy), arms)
            what = f"c = {dim}, K = {arms}, {name}"
            rows.append(Ratio(f"{what}, to {LINUCB_BATCH}", ours, optimistic, wanted))
            if isinstance(policy, infex.Greedy):
                bare.append(Ratio(f"{what}, to {BARE_ARGMAX}", ours, argmax, None))
    return rows + bare


def side_by_side(shop: infex.Bandit, contexts: Any, arms: int) -> tuple[float, float, float]:
    """`ask_many`, NumPy's optimistic batch and its argmax, in turns, microseconds for each decision."""
    posterior = shop.posterior(context=contexts[0])
    thetas, inverses = posterior.theta.reshape(arms, -1), inverses_of(posterior.factor, arms)
    shop.ask_many(contexts)
    turns = [
        (
            least(lambda: shop.ask_many(contexts), BATCH, 1),
            least(lambda: numpy_bounds(contexts, thetas, inverses), BATCH, 1),
            least(lambda: np.argmax(contexts @ thetas.T, axis=1), BATCH, 3),
        )
        for _ in range(REPEATS)
    ]
    ours, optimistic, argmax = (min(each) for each in zip(*turns, strict=True))
    return ours, optimistic, argmax


def inverses_of(factor: Any, arms: int) -> Any:
    """The inverse of each arm's V, (K, c, c), of the factors of all as blocks of one matrix."""
    dim = len(factor) // arms
    return (factor.T @ factor).reshape(arms, dim, arms, dim)[np.arange(arms), :, np.arange(arms)]


def numpy_ucb(sets: list[Any], rewards: list[float], dim: int) -> None:
    """LinUCB with a constant bonus over arms that change, as a careful user of NumPy has it."""
    inverse, moment, theta = np.eye(dim), np.zeros(dim), np.zeros(dim)
    for rows, reward in zip(sets, rewards, strict=True):
        widths = np.sqrt(np.einsum("ij,ij->i", rows @ inverse, rows))
        x = rows[int(np.argmax(rows @ theta + widths))]
        along = inverse @ x
        inverse -= np.outer(along, along) / (1.0 + x @ along)
        moment += reward * x
        theta = inverse @ moment


def infex_ucb(sets: list[Any], rewards: list[float], dim: int) -> None:
    """The same by a bandit."""
    bandit = infex.Bandit(dim=dim, policy=infex.policies.FixedBonusUCB())
    for rows, reward in zip(sets, rewards, strict=True):
        bandit.tell(bandit.ask(rows), reward)


def given_arms() -> list[Ratio]:
    """`ask(arms)` and `tell` against the NumPy loop."""
    rows = []
    for dim, arms in BOARDS:
        count = 400 if arms == 1000 else 2000
        rng = np.random.default_rng(arms)
        sets = [contexts_of(rng, arms, dim) for _ in range(count)]
        rewards = rng.normal(size=count).tolist()
        infex_ucb(sets[:9], rewards[:9], dim)
        ours, theirs = [], []
        for _ in range(REPEATS):
            ours.append(least(lambda: infex_ucb(sets, rewards, dim), count, 1))  # noqa: B023 - called at once
            theirs.append(least(lambda: numpy_ucb(sets, rewards, dim), count, 1))  # noqa: B023
        rows.append(Ratio(f"d = {dim}, K = {arms}", min(ours), min(theirs), 1.3))
    return rows


def numpy_fit(contexts: Any, arms: Any, rewards: Any, count: int) -> None:
    """A ridge regression for each arm."""
    for arm in range(count):
        mine = arms == arm
        x = contexts[mine]
        np.linalg.solve(np.eye(x.shape[1]) + x.T @ x, x.T @ rewards[mine])


def logs() -> tuple[float, float]:
    """Seconds of `learn` for 100,000 rows of 40 arms and 12 features, and of NumPy's sums."""
    rng = np.random.default_rng(0)
    contexts, arms = contexts_of(rng, LOGGED, 12), rng.integers(40, size=LOGGED)
    rewards = rng.normal(size=LOGGED)

    def learn() -> None:
        infex.Bandit(features=infex.features.disjoint(40, 12), policy=infex.LinUCB()).learn(
            contexts, arms, rewards
        )

    learn()
    theirs = least(lambda: numpy_fit(contexts, arms, rewards, 40), 1)
    return least(learn, 1) / 1e6, theirs / 1e6


SHOP = "shop.infex"


def fill(folder: Path) -> dict[str, float]:
    """Saves a shop of 40 arms and 12 features with a million pending decisions."""
    rng = np.random.default_rng(0)
    shop = infex.Bandit(
        features=infex.features.disjoint(40, 12), policy=infex.Infex(infex.LinUCB(), infex.every(50))
    )
    for _ in range(PENDING // 50_000):
        shop.ask_many(contexts_of(rng, 50_000, 12))
    seconds = least(lambda: shop.save(folder / SHOP), 1, 3) / 1e6
    return {"save s": seconds, "saving peak MB": peak(), "file MB": (folder / SHOP).stat().st_size / 2**20}


def empty(folder: Path) -> dict[str, float]:
    """Loads it."""
    found = {"load s": least(lambda: infex.Bandit.load(folder / SHOP), 1, 3) / 1e6, "loading peak MB": peak()}
    assert len(infex.Bandit.load(folder / SHOP).pending) == PENDING
    return found


def peak() -> float:
    """Megabytes of memory that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def pending() -> dict[str, float]:
    """Seconds of the processor to save and to load such a shop, each in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for part in (fill, empty):
            with spawn.Pool(1) as pool:
                found |= pool.apply(part, (Path(folder),))
    return found
