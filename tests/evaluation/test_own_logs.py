"""Logs that a bandit itself has written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import infex
from infex import evaluation
from infex.bandit import Decision
from infex.errors import NoSupport
from infex.policies import EXP2, EnsembleSampling, LinIDS, LinMED, RandLinUCB, SpannerIGW

CHANCES = {"tea": 0.5, "juice": 0.6, "water": 0.2}


def played(path: Path, base: infex.Policy, rounds: int = 300) -> tuple[list[Decision], list[float]]:
    rng = np.random.default_rng(7)
    policy = infex.Infex(base, infex.jittered(5, seed=2))
    shop = infex.Bandit(np.eye(3), policy, labels=list(CHANCES), log=path)
    decisions, rewards = [], []
    for _ in range(rounds):
        decisions.append(shop.ask())
        rewards.append(float(rng.random() < CHANCES[str(decisions[-1].label)]))
        shop.tell(decisions[-1], rewards[-1])
    return decisions, rewards


def test_explorations_are_weighed_by_the_law_of_the_base(tmp_path: Path) -> None:
    decisions, rewards = played(tmp_path / "year.log", infex.Softened(infex.LinUCB(), share=0.6))
    log = evaluation.read(tmp_path / "year.log")
    found = evaluation.evaluate(
        log, {"tea": "tea", "now": evaluation.logged}, estimator="ips", rewards=(0, 1)
    )
    terms = [
        (each.label == "tea") / each.base_propensity * reward
        for each, reward in zip(decisions, rewards, strict=True)
        if each.explored and each.base_propensity is not None
    ]
    assert len(terms) == 60
    assert found["tea"].value == pytest.approx(np.mean(terms), abs=1e-12)
    assert found["tea"].support == 1.0
    assert found["now"].value == pytest.approx(np.mean(rewards), abs=1e-12)


def test_the_frozen_model_is_what_the_bandit_knew_at_the_start_of_a_block(tmp_path: Path) -> None:
    decisions, rewards = played(tmp_path / "year.log", infex.Softened(infex.LinUCB(), share=0.6))
    log = evaluation.read(tmp_path / "year.log")
    found = evaluation.evaluate(log, {"tea": "tea"}, estimator="dr")["tea"]
    places = {label: place for place, label in enumerate(CHANCES)}
    value, corrected = [], []
    for first in range(0, 300, 5):
        past = [places[str(each.label)] for each in decisions[:first]]
        pulls = np.bincount(past, minlength=3)
        theta = np.bincount(past, weights=rewards[:first], minlength=3) / (1.0 + pulls)
        value.append(theta[0])
        for t in range(first, first + 5):
            law = decisions[t].base_propensity
            if decisions[t].explored and law is not None:
                arm = places[str(decisions[t].label)]
                corrected.append((arm == 0) / law * (rewards[t] - theta[arm]))
    assert found.model == pytest.approx(np.mean(value), abs=1e-12)
    assert found.correction == pytest.approx(np.mean(corrected), abs=1e-12)


def test_an_optimistic_base_supports_too_little_and_that_is_said(tmp_path: Path) -> None:
    played(tmp_path / "year.log", infex.LinUCB())
    log = evaluation.read(tmp_path / "year.log")
    with pytest.raises(NoSupport, match="could not play"):
        evaluation.evaluate(log, {"water": "water"}, estimator="dr")
    assert evaluation.evaluate(log, {"water": "water"})["water"].estimator == "dm"


@pytest.mark.parametrize(
    ("base", "rounds"),
    [
        (LinMED(greedy_share=0.4, scale=0.5), 200),
        (LinMED(greedy_share=0.4, scale=0.5, design=False), 200),
        (SpannerIGW(rate=20), 200),
        (EXP2(rate=0.1), 200),
        (infex.Infex(LinMED(greedy_share=0.2), infex.jittered(2)), 300),
    ],
    ids=lambda given: str(given),
)
def test_intervals_hold_on_logs_of_bases_whose_law_is_known_without_softening_them(
    base: infex.Policy, rounds: int, tmp_path: Path
) -> None:
    """Over 80 logs of bandits that learn, 95 % intervals of a fixed arm hold its true value."""
    arms = np.array([[0.9, 0.1], [0.3, 0.8], [-0.4, 0.6]])
    theta, held, values = np.array([0.5, 0.3]), 0, []
    for seed in range(80):
        path = tmp_path / f"{seed}.log"
        rng, shop = np.random.default_rng(seed), infex.Bandit(arms, base, seed=seed, log=path)
        for _ in range(rounds):
            decision = shop.ask()
            mean = (1 + arms[decision.arm] @ theta) / 2
            shop.tell(decision, 2.0 * float(rng.random() < mean) - 1.0)
        shop.log_to(None)
        found = evaluation.evaluate(evaluation.read(path), {"second": 1}, estimator="dr", rewards=(-1, 1))[
            "second"
        ]
        values.append(found.value)
        held += found.low <= arms[1] @ theta <= found.high
    assert held >= 70  # of 80: 76 are expected, and fewer than 70 have a chance of 1 in 500
    error = float(np.std(values)) / np.sqrt(80)
    assert abs(float(np.mean(values)) - arms[1] @ theta) <= 4 * error


def test_the_law_of_randomised_optimism_is_in_its_log(tmp_path: Path) -> None:
    """RandLinUCB, LinIDS and ensembles give some arms no chance: what a log cannot tell, it says."""
    for base in (RandLinUCB(spread=1.0), LinIDS(), EnsembleSampling(members=5)):
        decisions, _ = played(tmp_path / f"{type(base).__name__}.log", base)
        known = [each for each in decisions if each.explored and each.t > 5]
        assert all(each.base_propensity is not None and each.base_propensity > 0 for each in known)
        log = evaluation.read(tmp_path / f"{type(base).__name__}.log")
        assert evaluation.evaluate(log, {"now": evaluation.logged}, rewards=(0, 1))["now"].value > 0
