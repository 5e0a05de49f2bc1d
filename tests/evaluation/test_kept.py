"""Logs of which rows were left out (`kept`) tell the same as whole ones, on average over what may be."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

import infex
from infex import evaluation
from infex.arrays import Bools, Floats, Integers
from infex.errors import InvalidTarget, NoSupport
from infex.logs import Log, LogFacts
from tests.evaluation.played_logs import play, problem

MODELLED = ("dr", "clipped", "switch", "shrinkage", "subgaussian", "slope")
ESTIMATORS = ("ips", "snips", "mips", *MODELLED, "dm")


@dataclasses.dataclass(frozen=True)
class Case:
    """A whole log with linear rewards of 0 and 1, a target (n, 2), and the true values of both."""

    log: Log
    target: Floats
    truth: float
    played: float

    def thinned(self, rows: Bools | Integers) -> tuple[Log, Floats]:
        return self.log.take(rows), self.target[rows]


def case(seed: int, n: int, by: str = "reward") -> Case:
    """`kept` is in the log, and no row has been left out yet."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    means = np.c_[0.2 + 0.6 * x, 0.8 - 0.5 * x]
    law = np.c_[0.3 + 0.4 * x, 0.7 - 0.4 * x]
    arm = (rng.random(n) > law[:, 0]).astype(int)
    each = np.arange(n)
    reward = (rng.random(n) < means[each, arm]).astype(float)
    offers = np.zeros((n, 2, 4))
    offers[:, 0, 0] = offers[:, 1, 2] = 0.7
    offers[:, 0, 1] = offers[:, 1, 3] = 0.7 * x
    kept = {
        "reward": np.where(reward == 1.0, 1.0, 0.15),
        "context": 0.15 + 0.8 * x,
        "fractions": 1.0 / rng.integers(1, 5, size=n),
    }[by]
    log = Log(
        arm=arm, reward=reward, propensity=law[each, arm], base_propensities=law, offers=offers, kept=kept,
        facts=LogFacts(bound=3.0),
    )  # fmt: skip
    target = np.c_[0.9 - 0.8 * x, 0.1 + 0.8 * x]
    return Case(
        log, target, float((target * means).sum(axis=1).mean()), float((law * means).sum(axis=1).mean())
    )


def repeated(log: Log, target: Floats, penalty: float = 1.0) -> tuple[Log, Floats]:
    """The log with each row as often as it counts: what `kept` of 1/2, 1/3, ... stands for."""
    assert log.kept is not None
    rows = np.repeat(np.arange(len(log)), np.rint(1.0 / log.kept).astype(int))
    facts = dataclasses.replace(log.facts, penalty=penalty * rows.size / len(log))
    names = ("arm", "reward", "propensity", "base_propensities", "offers")
    return Log(**{name: getattr(log, name)[rows] for name in names}, facts=facts), target[rows]


# By enumeration: sums are right on average over all that may be left out


def test_sums_are_on_average_those_of_the_whole_log() -> None:
    asked = case(3, 7)
    kept = np.random.default_rng(4).uniform(0.2, 1.0, size=7)
    log = dataclasses.replace(asked.log, kept=kept)
    targets = {"always": 1, "now": evaluation.logged}

    def linear(part: Log) -> Floats:
        """All sums that are not of squares."""
        sums = evaluation.part_sums(part, targets)
        found = [sums.model.gram, sums.model.moment, sums.model.square, sums.model.weight, sums.rounds]
        for each in sums.targets.values():
            found += [each.features, each.weights[[0, 2, 4]], each.missing, each.known]
        return np.concatenate([np.ravel(each) for each in found])

    average = 0.0 * linear(log)
    for choice in itertools.product([False, True], repeat=7):
        rows = np.array(choice)
        if rows.any():
            average += np.where(rows, kept, 1.0 - kept).prod() * linear(log.take(rows))
    whole = linear(dataclasses.replace(log, kept=None))
    np.testing.assert_allclose(average, whole, rtol=1e-10, atol=1e-12)


# By a slow obvious version: a row that counts three times is there three times


@pytest.mark.parametrize("estimator", ["ips", "snips", "mips", "dm"])
def test_a_row_counts_as_often_as_the_rounds_that_it_stands_for(estimator: str) -> None:
    asked = case(5, 300, "fractions")
    more = {}
    log, target = asked.log, asked.target
    again, target_again = repeated(log, target)
    values = []
    for each, probabilities in ((log, target), (again, target_again)):
        if estimator == "mips":
            more = {"embedding_probabilities": np.eye(2)[each.arm] * 0.5 + 0.25}
        found = evaluation.evaluate(each, {"x": probabilities}, estimator=estimator, **more)
        values.append(found["x"].value)
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_what_was_played_is_the_mean_reward_of_all_rounds() -> None:
    log = case(6, 300, "fractions").log
    again, _ = repeated(log, np.zeros((300, 2)))
    found = evaluation.evaluate(log, {"now": evaluation.logged})["now"]
    assert found.value == pytest.approx(float(again.reward.mean()), abs=1e-12)


def test_a_learnt_policy_and_its_gain_are_those_of_all_rounds() -> None:
    log = case(7, 300, "fractions").log
    again, _ = repeated(log, np.zeros((300, 2)))
    one, other = (evaluation.learn(each, 0.0, noise=0.5) for each in (log, again))
    assert (one.value, one.gain) == pytest.approx((other.value, other.gain), abs=1e-12)


def test_a_bandit_learns_all_rounds() -> None:
    log = dataclasses.replace(case(8, 200, "fractions").log, facts=LogFacts(penalty=2.0))
    again, _ = repeated(log, np.zeros((200, 2)))
    one, other = (evaluation.bandit(each, infex.Greedy(), penalty=2.0, fresh=True) for each in (log, again))
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-10)


def test_support_is_the_share_of_all_rounds() -> None:
    n = 400
    rng = np.random.default_rng(9)
    sure = rng.random(n) < 0.3  # here the log could not play the second arm
    law = np.where(sure[:, None], [1.0, 0.0], [0.5, 0.5])
    arm = (rng.random(n) < law[:, 1]).astype(int)
    kept = np.where(sure, 0.5, 1.0)
    offers = np.tile(np.eye(2), (n, 1, 1))
    log = Log(arm=arm, reward=rng.random(n), base_propensities=law, offers=offers, kept=kept,
              propensity=law[np.arange(n), arm])  # fmt: skip
    found = evaluation.evaluate(log, {"second": 1}, estimator="dm")["second"].support
    parts = evaluation.evaluate_parts([log.take(sure), log.take(~sure)], {"second": 1})["second"].support
    share = 2 * sure.sum() / (2 * sure.sum() + (~sure).sum())
    assert (found, parts) == pytest.approx((1 - share, 1 - share), abs=1e-12)


# On average over many logs


@pytest.mark.parametrize("by", ["reward", "context"])
def test_every_estimator_is_right_on_average_and_its_interval_holds(by: str) -> None:
    runs = 60
    off: dict[str, list[float]] = {name: [] for name in (*ESTIMATORS, "on_policy", "parts ips", "parts dm")}
    held = dict.fromkeys(off, 0)
    for seed in range(runs):
        asked = case(seed, 600, by)
        assert asked.log.kept is not None
        log, target = asked.thinned(np.random.default_rng(1000 + seed).random(600) < asked.log.kept)
        answers = {}
        for name in ESTIMATORS:
            more: dict[str, Any] = {"setting": 3.0} if name in ("clipped", "switch") else {}
            more |= {"embedding_probabilities": np.eye(2)[log.arm]} if name == "mips" else {}
            found = evaluation.evaluate(
                log, {"x": target, "now": evaluation.logged}, estimator=name, rewards=(0, 1), **more
            )
            answers[name] = (found["x"].value, found["x"].bounds, asked.truth)
            answers["on_policy"] = (found["now"].value, found["now"].bounds, asked.played)
        assert asked.log.offers is not None
        always = 0.2 + 0.6 * float(asked.log.offers[:, 0, 1].mean()) / 0.7
        summed = evaluation.evaluate_parts([log.take(slice(0, 99)), log.take(slice(99, None))], {"x": 0})["x"]
        assert summed.ips is not None
        assert summed.ips_bounds is not None
        answers["parts ips"] = (summed.ips, summed.ips_bounds, always)
        answers["parts dm"] = (summed.dm, summed.dm_bounds, always)
        for name, (value, bounds, truth) in answers.items():
            off[name].append(value - truth)
            held[name] += bounds.low <= truth <= bounds.high
    for name, values in off.items():
        spread = float(np.std(values)) / math.sqrt(runs)
        shrunk = 0.04 if name == "slope" else 0.015  # settings and the penalty have a bias, kept or not
        assert abs(float(np.mean(values))) < 3.5 * spread + shrunk * (name not in ("ips", "mips", "dr")), name
        assert held[name] >= 0.85 * runs, name


def test_rows_left_out_whatever_they_say_change_no_value() -> None:
    asked = case(10, 500)
    log = dataclasses.replace(asked.log, kept=np.full(500, 0.3))
    whole = dataclasses.replace(asked.log, kept=None)
    for name in ESTIMATORS:
        more = {"embedding_probabilities": np.eye(2)[log.arm]} if name == "mips" else {}
        targets = {"x": asked.target, "now": evaluation.logged}
        one, other = (evaluation.evaluate(each, targets, estimator=name, **more) for each in (log, whole))
        for target in targets:
            assert one[target].value == pytest.approx(other[target].value, abs=1e-12), name


# Intervals


def test_the_interval_of_the_model_is_that_of_weighted_rows() -> None:
    log = case(11, 200, "fractions").log
    assert log.kept is not None
    assert log.offers is not None
    found = evaluation.evaluate(log, {"x": 0}, estimator="dm", noise=0.5, bound=2.0)["x"]
    x = log.offers[np.arange(200), log.arm]
    h = (1 / log.kept) / np.mean(1 / log.kept)
    v, u = np.eye(4) + (x.T * h) @ x, np.eye(4) + (x.T * h**2) @ x
    theta = np.linalg.solve(v, x.T @ (h * log.reward))
    row = np.linalg.solve(v, h @ log.offers[:, 0] / 200)
    half = (0.5 * math.sqrt(2 * math.log(20) + np.linalg.slogdet(u)[1]) + 2.0) * math.sqrt(row @ u @ row)
    assert found.value == pytest.approx(float(h @ log.offers[:, 0] / 200 @ theta), abs=1e-12)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=1e-10)
    assert found.ground == "assumed"


def test_units_are_clusters_of_rows_that_count_differently_too() -> None:
    asked = case(12, 400, "fractions")
    log = dataclasses.replace(asked.log, unit=np.arange(400) // 4)
    found = evaluation.evaluate(log, {"x": asked.target}, estimator="ips")["x"]
    assert log.kept is not None
    assert log.propensity is not None
    terms, h = asked.target[np.arange(400), log.arm] / log.propensity * log.reward, 1 / log.kept
    apart = (h * (terms - h @ terms / h.sum())).reshape(100, 4).sum(axis=1)
    assert found.error == pytest.approx(math.sqrt(apart @ apart) / h.sum(), abs=1e-12)


def test_more_rounds_are_needed_than_are_kept() -> None:
    asked = case(13, 400, "fractions")
    found = evaluation.evaluate(asked.log, {"x": asked.target, "y": 0}, estimator="ips")
    more = found.needed("x", "y", half=0.01)
    assert asked.log.kept is not None
    assert more.explorations > 0
    assert more.rounds == math.ceil(more.explorations * float(np.mean(1 / asked.log.kept)))


# What is refused


def test_a_bandit_that_was_told_these_rewards_is_not_weighted_by_them() -> None:
    log = dataclasses.replace(case(14, 300).log, base_propensities=None)
    assert log.offers is not None
    own = infex.Bandit(dim=4, policy=infex.Greedy())
    own.learn(arms=log.offers[np.arange(300), log.arm], rewards=log.reward)
    with pytest.raises(InvalidTarget, match="learnt from this very log"):
        evaluation.evaluate(log, {"own": own}, estimator="ips")


def test_blocks_of_which_rows_were_left_out_are_left_to_the_model() -> None:
    asked = problem(0, 400, 4)
    log = dataclasses.replace(play(asked, 1, 0).log(0), kept=np.full(400, 0.9))
    log, target = log.take(np.arange(400) % 7 > 0), asked.target[np.arange(400) % 7 > 0]
    with pytest.raises(NoSupport, match=r"rows of its blocks were left out.*dm"):
        evaluation.evaluate(log, {"x": target}, estimator="dr")
    found = evaluation.evaluate(log, {"x": target, "now": evaluation.logged})
    assert found["x"].estimator == "dm"
    assert found["now"].value == pytest.approx(float(log.reward.mean()), abs=1e-12)
    assert any("need whole blocks" in each.words for each in found.findings)
    assert evaluation.evaluate_parts([log], {"x": 0})["x"].ips is None


def test_anytime_intervals_of_rows_that_are_left_are_refused() -> None:
    asked = case(15, 300)
    with pytest.raises(NoSupport, match="leave out anytime"):
        evaluation.evaluate(asked.log, {"x": asked.target}, rewards=(0, 1), estimator="ips", anytime=True)


# Replay and simulation


def test_a_replay_is_right_on_average_and_reaches_as_far_as_it_says() -> None:
    means, accepted, reached = [], [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        arm = rng.integers(2, size=400)
        reward = (rng.random(400) < np.where(arm == 0, 0.7, 0.3)).astype(float)
        kept = np.where(reward == 1.0, 1.0, 0.25)
        rows = rng.random(400) < kept
        log = Log(arm=arm, reward=reward, propensity=np.full(400, 0.5), arms=np.eye(2), kept=kept).take(rows)
        told = evaluation.reach(log)
        found = evaluation.replay(log, infex.policies.Uniform(), rounds=20, seed=seed)
        means.append(found.mean)
        reached.append(told.events * told.acceptance_rate)
        accepted.append(found.accepted)
    assert min(accepted) == 20
    assert np.mean(means) == pytest.approx(0.5, abs=3.5 * float(np.std(means)) / math.sqrt(150))
    assert np.mean(reached) == pytest.approx(400 * 0.5 * 0.25, rel=0.03)  # one of 8 rounds


def test_problems_have_the_offers_of_all_rounds() -> None:
    """Good offers were seldom kept: nine of ten rounds had them."""
    n = 200
    good = np.arange(n) < 100
    offers = np.where(good[:, None, None], [[1.0, 0.0], [0.9, 0.0]], [[0.0, 1.0], [0.0, 0.9]])
    log = Log(
        arm=np.zeros(n, dtype=int), reward=np.where(good, 1.0, 0.0), offers=offers,
        kept=np.where(good, 1 / 9, 1.0), facts=LogFacts(penalty=1e-3),
    )  # fmt: skip
    found = evaluation.simulate(log, {"g": "Greedy"}, 20, worlds=4, noise=1e-3)
    assert float(found.best.mean()) == pytest.approx(0.9, abs=0.03)
