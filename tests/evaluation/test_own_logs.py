"""Logs that a bandit itself has written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import infex
from infex import evaluation
from infex.bandit import Decision
from infex.errors import NoSupport

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
