"""Lift where rewards are missing: an interval only where silence is final, and as likely in both groups."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex.study.study import Study
from tests.study.studies import Clock, shop

HOUR, DAY = 3600.0, 86_400.0
BUYS = {"A": 0.1, "B": 0.3}  # A sells to one in ten at 50, B to three in ten at 40: 5 and 12 a visitor
PRICE = {"A": 50.0, "B": 40.0}
SHOP: dict[str, Any] = {
    "arms": np.eye(2),
    "labels": ["A", "B"],
    "policy": infex.Infex(infex.LinUCB(noise=20.0, bound=50.0), infex.every(20)),
    "rewards": (0, 100),
    "holdout": 0.2,
}


def sell(study: Study, count: int, seed: int = 1, start: int = 0) -> dict[bool, list[float]]:
    """Tells of sales alone; what each visitor was worth in the mean, for those held out and all others."""
    rng, worth = np.random.default_rng(seed), {False: list[float](), True: list[float]()}
    for n in range(start, start + count):
        decision = study.ask(f"k{n}", unit=f"u{n}", durable=False)
        label = str(decision.label)
        worth[decision.reason == "held out"].append(BUYS[label] * PRICE[label])
        if rng.random() < BUYS[label]:
            study.tell(f"k{n}", PRICE[label], durable=False)
    return worth


def true_lift(worth: dict[bool, list[float]]) -> float:
    return float(np.mean(worth[False]) - np.mean(worth[True]))


def visit(study: Study, told: Callable[[int, bool], bool], seed: int = 0) -> None:
    """600 visits of 60 customers to a shop whose arms are alike; `told` says whose rewards come."""
    rng = np.random.default_rng(seed)
    level = rng.normal(50.0, 12.0, size=60)
    keys = [f"k{n}" for n in range(600)]
    decisions = study.ask_many(keys, units=[f"u{n % 60}" for n in range(600)], durable=False)
    rewards = np.clip(level[np.arange(600) % 60] + rng.normal(0.0, 5.0, size=600), 0.0, 100.0)
    here = [n for n in range(600) if told(n, decisions[n].reason == "held out")]
    study.tell_many([keys[n] for n in here], rewards[here].tolist(), durable=False)


def test_where_only_sales_are_told_there_is_no_lift_but_what_to_do(tmp_path: Path) -> None:
    with shop(tmp_path, **SHOP) as study:
        sell(study, 1500)
        found = study.lift()
    assert (found.difference, found.low, found.high) == (None, None, None)
    assert found.share is not None
    assert found.held_share is not None
    assert found.share < 0.35
    assert found.held_share < 0.35
    assert found.problem is not None
    assert "wait" in found.problem
    assert "default" in found.problem


def test_where_silence_is_a_default_the_interval_holds_the_truth(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="1 day", default=0.0, **SHOP) as study:
        worth = sell(study, 1500)
        clock.now += DAY + 1
        found = study.lift()
        assert (found.share, found.held_share, found.problem) == (1.0, 1.0, None)
        assert (found.decisions, found.held_decisions) == (len(worth[False]), len(worth[True]))
        assert found.low is not None
        assert found.high is not None
        assert found.low <= true_lift(worth) <= found.high
        study.ask("later")  # the defaults are entered: nothing changes
        assert study.lift().difference == pytest.approx(found.difference, abs=1e-12)


def test_decisions_inside_wait_are_left_out_whether_they_were_told_or_not(tmp_path: Path) -> None:
    """Sales are told at once: of the last hours, only what was sold would count."""
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="1 day", default=0.0, **SHOP) as study:
        sell(study, 400)
        clock.now += HOUR
        early = study.lift()
        assert (early.decisions, early.held_decisions, early.low) == (0, 0, None)
        assert early.left_out == 400
        assert early.problem is not None
        assert "younger than the study's wait of 1 day." in early.problem
        clock.now += DAY
        whole = study.lift()
        sell(study, 300, seed=2, start=400)
        assert study.lift()._replace(left_out=0) == whole
        assert study.lift().left_out == 300


def test_decisions_inside_wait_count_where_all_of_them_were_told(tmp_path: Path) -> None:
    with shop(tmp_path, wait="1 day", **SHOP) as study:
        visit(study, lambda n, held: True)
        found = study.lift()
        assert (found.left_out, found.share, found.held_share) == (0, 1.0, 1.0)
        assert found.low is not None


def test_groups_with_different_shares_of_rewards_are_not_compared(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="1 day", **SHOP) as study:
        visit(study, lambda n, held: n // 60 < (9 if held else 5))  # of ten visits each
        clock.now += DAY + 1
        found = study.lift()
    assert (found.difference, found.low, found.high) == (None, None, None)
    assert (found.share, found.held_share) == (pytest.approx(0.5, abs=0.05), pytest.approx(0.9, abs=0.05))
    assert found.problem is not None
    assert f"{found.share:.1%}" in found.problem
    assert f"{found.held_share:.1%}" in found.problem


@pytest.mark.parametrize(
    "told",
    [
        lambda n, held: n % 7 != 0,
        lambda n, held: n % 60 >= 12,  # of one customer in five, nothing is ever heard
        lambda n, held: n != 3,
    ],
)
def test_where_rewards_are_missing_alike_there_is_an_interval(
    tmp_path: Path, told: Callable[[int, bool], bool]
) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="1 day", **SHOP) as study:
        visit(study, told)
        clock.now += DAY + 1
        found = study.lift()
    assert found.problem is None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0.0 <= found.high


def test_a_small_group_that_was_told_of_in_full_is_within_chance(tmp_path: Path) -> None:
    """Nine in ten are told: that all of a few held out are is nothing strange."""
    clock = Clock()
    with shop(tmp_path, clock=clock, wait="1 day", **SHOP | {"holdout": 0.03}) as study:
        for n in range(300):
            decision = study.ask(f"k{n}", unit=f"u{n}", durable=False)
            if n % 10 or decision.reason == "held out":
                study.tell(f"k{n}", 50.0 + n % 3, durable=False)
        clock.now += DAY + 1
        found = study.lift()
    assert 2 <= found.held_units <= 15
    assert (found.held_share, found.problem) == (1.0, None)
    assert found.low is not None


def test_of_groups_that_are_alike_the_interval_mostly_holds_zero(tmp_path: Path) -> None:
    held = []
    for seed in range(20):
        with shop(
            tmp_path, f"shop-{seed}", seed=seed, **SHOP | {"policy": infex.policies.Uniform()}
        ) as study:
            visit(study, lambda n, held: True, seed)
            found = study.lift()
        assert found.problem is None
        assert found.low is not None
        assert found.high is not None
        held.append(found.low <= 0.0 <= found.high)
    assert sum(held) >= 17


def test_a_study_that_has_held_nobody_out_yet_says_how_many_have_come(tmp_path: Path) -> None:
    with shop(tmp_path, holdout=1e-9) as study:
        assert (
            study.lift().problem == "Nobody has been held out yet: holdout is 1e-09, and 0 units have come."
        )
        study.ask("k", unit="u")
        study.ask("l", unit="u")
        assert study.lift().problem == "Nobody has been held out yet: holdout is 1e-09, and 1 unit has come."


def test_a_study_without_anybody_held_out_says_so(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        study.ask("k")
        study.tell("k", 0.5)
        found = study.lift()
        assert (found.share, found.held_share, found.low) == (1.0, None, None)
        assert found.problem is not None
        assert "holdout" in found.problem


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (None, "this study has no `wait`"),
        (3600.0, "the study's wait of 3600 seconds."),
        ("1 hour", "the study's wait of 1 hour."),
    ],
)
def test_one_unit_alone_shows_no_lift(tmp_path: Path, wait: float | str | None, words: str) -> None:
    with shop(tmp_path, wait=wait, **SHOP | {"holdout": 1.0}) as study:
        for n in range(2):
            study.ask(f"k{n}", unit="ann")
        study.tell("k0", 1.0)
        assert words in str(study.lift().problem)
        study.tell("k1", 1.0)
        assert study.lift().problem == "There must be rewards of at least two units in each group."
