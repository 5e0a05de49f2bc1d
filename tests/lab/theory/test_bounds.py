"""Regret bounds: their constants from their definitions, by brute force."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from infex.errors import InfexError
from infex.lab import theory
from infex.lab.theory import Setting
from infex.lab.theory.bounds import constants, first_below
from infex.schedules import (
    Schedule,
    always,
    every,
    from_count,
    jittered,
    listed,
    logarithmic,
    never,
    power,
    stretched,
)

EASY = Setting(dim=1, gap=2.0, noise=0.05, delta=1e-3)
TWO = Setting(dim=2, gap=1.8, noise=0.05, delta=1e-3)


def plain_beta(setting: Setting, alpha: float) -> float:
    assert setting.delta is not None
    spread = setting.noise * math.sqrt(alpha + 2 * math.log(1 / setting.delta))
    return spread + math.sqrt(setting.penalty) * setting.bound


def plain_alpha(setting: Setting, t: int) -> float:
    return setting.dim * math.log(1 + t / (setting.dim * setting.penalty))


def plain_base(setting: Setting, n: int) -> float:
    """LinUCB's bound, with alpha lowered by hand until nothing moves."""
    alpha = plain_alpha(setting, n)
    for _ in range(500):
        regret = 8 * alpha * plain_beta(setting, alpha) ** 2 / setting.gap
        worse = min(regret / setting.gap, n)
        rest = setting.dim - 1
        other = math.log(1 + n / setting.penalty)
        other += rest * math.log(1 + worse / (rest * setting.penalty)) if rest else 0.0
        alpha = min(alpha, other)
    return 8 * alpha * plain_beta(setting, alpha) ** 2 / setting.gap


def brute(setting: Setting, schedule: Schedule, last: int) -> tuple[int, int, int, int]:
    """tau_Alg, tau_0, tau_1 and tau_12, round by round up to `last`."""
    gap = setting.gap
    bad = [n for n in range(1, 400) if plain_base(setting, n) > 0.75 * gap * n]
    tau_base = max(bad, default=0) + 1
    tau_0 = next(t for t in itertools.count(1) if schedule.count(t) >= tau_base)
    total, tau_1, tau_12 = 0.0, 1, 1
    for t in range(tau_0 + 1, last + 1):
        alpha = plain_alpha(setting, t)
        beta = plain_beta(setting, alpha)
        if not schedule.explores(t):
            total += beta**2 / schedule.count(t)
        if 4 * alpha * beta**2 / gap + 8 / gap * total > 7 / 16 * gap * (t - tau_0):
            tau_1 = t - tau_0 + 1
        if 8 / gap * total > gap / 4 * (t - tau_0):
            tau_12 = t - tau_0 + 1
    return tau_base, tau_0, tau_1, tau_12


@pytest.mark.parametrize("setting", [EASY, TWO], ids=["d = 1", "d = 2"])
@pytest.mark.parametrize(
    "schedule",
    [every(3), every(20), stretched(1), power(0.5), logarithmic(3), logarithmic(2), jittered(7), always()],
    ids=repr,
)
def test_constants_are_those_of_their_definitions(setting: Setting, schedule: Schedule) -> None:
    found = constants(setting, schedule, "LinUCB", 1e-3)
    wanted = brute(setting, schedule, 4000)
    assert max(wanted) < 3000, "else brute force has not seen the end"
    assert found == wanted


def test_tau_1_is_at_most_the_greater_of_its_two_parts() -> None:
    for setting, schedule in itertools.product((EASY, TWO), (every(5), power(0.5), logarithmic(2))):
        found = constants(setting, schedule, "LinUCB", 1e-3)
        start = int(found.tau_0)
        late = [
            t
            for t in range(1, 20_000)
            if 4 * plain_alpha(setting, t) * plain_beta(setting, plain_alpha(setting, t)) ** 2 / setting.gap
            > setting.gap * t / 16
        ]
        tau_11 = max(start, max(late, default=0) + 1 - start)
        assert found.tau_1 <= max(tau_11, found.tau_12)


def test_the_tau_of_linucb_in_our_reading_of_the_paper() -> None:
    setting = Setting(dim=10, gap=0.075)
    tau = theory.base_tau(setting)
    assert tau == pytest.approx(6.6e7, rel=0.01)
    n = int(tau)

    def above(n: int) -> bool:
        alpha = 10 * math.log(1 + n / 10)
        beta = math.sqrt(alpha + 2 * math.log(n)) + 1
        return 8 * alpha * beta**2 / 0.075 > 0.75 * 0.075 * n

    assert above(n - 1)
    assert not above(n)
    assert theory.base_tau(setting, "LinTS") > n


def test_a_bound_is_never_worse_than_with_the_simple_alpha_and_solves_its_equation() -> None:
    better = 0
    for dim, gap, horizon in itertools.product((1, 2, 10, 40), (0.05, 0.5, 2.0), (10, 10**4, 10**9, 10**14)):
        setting = Setting(dim=dim, gap=gap, noise=0.1)
        found = theory.linucb(setting, horizon)
        simple = theory.volume_bound(horizon, dim)
        beta = theory.radius(simple, delta=1 / horizon, noise=0.1)
        assert found.log_det_ratio <= simple
        assert found.regret <= theory.linucb_regret(simple, beta, gap) * (1 + 1e-12)
        by_regret = theory.volume_bound_by_regret(horizon, found.regret, gap, dim)
        assert found.log_det_ratio == pytest.approx(min(simple, by_regret), rel=1e-9)
        better += found.log_det_ratio < 0.99 * simple
    assert better > 10


def test_the_terms_of_infex_are_what_they_say() -> None:
    found = theory.infex(TWO, every(20), 10**6)
    assert found.explorations == 50_000
    assert found.base == pytest.approx(plain_base(TWO, 50_000), rel=1e-9)
    assert found.constant == pytest.approx(2 * found.tau_0 + 7 / 16 * 1.8 * found.tau_1)
    beta = plain_beta(TWO, found.log_det_ratio)
    assert found.radius == pytest.approx(beta)
    assert found.growing == pytest.approx((4 * found.log_det_ratio + 16 * math.log(10**6)) * beta**2 / 1.8)
    assert found.regret == found.base + found.constant + found.growing
    assert found.failure == 2e-3
    by_regret = theory.volume_bound_by_regret(10**6, found.regret, 1.8, 2)
    assert found.log_det_ratio == pytest.approx(min(by_regret, plain_alpha(TWO, 10**6)), rel=1e-9)
    assert not found.vacuous


def test_a_vacuous_bound_says_so_and_promises_nothing() -> None:
    setting = Setting(dim=10, gap=0.075)
    for found in (
        theory.linucb(setting, 10**4),
        theory.lints(setting, 10**4),
        theory.infex(setting, every(20), 10**4),
        theory.infex(setting, never(), 10**4),
    ):
        assert found.vacuous
        assert found.trivial == 2e4
        for words in (str(found), repr(found)):
            assert "vacuous" in words
            assert "probability" not in words
    useful = theory.linucb(Setting(dim=2, gap=1.0, noise=0.1), 10**4)
    assert not useful.vacuous
    assert "vacuous" not in str(useful)
    assert "with probability at least 1 - 0.0001" in repr(useful)


def test_telling_the_arms_helps_lints_where_they_are_few() -> None:
    without, few, many = (
        theory.lints(Setting(dim=20, gap=0.1, arms=arms), 10**9).regret for arms in (None, 50, 10**1000)
    )
    assert few < without == many
    sphere = theory.lints(Setting(dim=20, gap=0.1, sampling="spherical"), 10**9).regret
    assert sphere < without


def test_rounds_past_10_to_the_300_are_infinite_and_the_bound_says_nothing() -> None:
    setting = Setting(dim=10, gap=0.1)
    for schedule in (logarithmic(2), logarithmic(1.02), power(0.02), never(), listed(range(1, 100))):
        found = theory.infex(setting, schedule, 10**6)
        assert found.tau_base < 10**9
        assert found.tau_0 == found.tau_1 == found.tau_12 == found.regret == math.inf
        assert found.vacuous
    large = theory.infex(setting, logarithmic(3), 10**6)
    assert large.tau_0 == logarithmic(3).when(int(large.tau_base))
    assert 1e130 < large.tau_0 < 1e150
    assert 10**9 < large.tau_1 < math.inf, "greedy rounds must first pay for alpha"


def test_a_schedule_of_ones_own_has_the_bound_of_the_same_rounds() -> None:
    class Own:
        grows = True

        def explores(self, t: int) -> bool:
            return t % 20 == 0

        def count(self, t: int) -> int:
            return t // 20

        def when(self, n: int) -> int:
            return 20 * n

    found = dataclasses.replace(theory.infex(TWO, Own(), 10**5), policy="mine")
    assert found == dataclasses.replace(theory.infex(TWO, every(20), 10**5), policy="mine")
    with pytest.raises(InfexError, match="needs when"):
        theory.infex(TWO, type("Half", (), {"explores": 1, "count": 1, "grows": 1})(), 10**5)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"gap": 0.0}, "gap must be above 0, got 0"),
        ({"gap": 2.5}, "gap must be at most 2 bound = 2, got 2.5"),
        ({"penalty": 0.5}, "penalty must be at least 1, got 0.5"),
        ({"delta": 1.5}, "delta must be at most 1, got 1.5"),
        ({"arms": 0}, "arms must be at least 1, got 0"),
        ({"sampling": "uniform"}, "sampling must be"),
    ],
)
def test_a_setting_refuses_what_the_theorem_does_not_speak_of(words: dict[str, Any], match: str) -> None:
    with pytest.raises(InfexError, match=match):
        Setting(**({"dim": 3, "gap": 0.5} | words))
    with pytest.raises(InfexError, match="horizon must be at most 10"):
        theory.linucb(TWO, 10**301)
    with pytest.raises(InfexError, match="base must be"):
        theory.infex(TWO, every(5), 100, base="Greedy")


def test_a_cost_that_comes_back_is_followed_to_its_last_visit() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        steps = np.cumsum(rng.integers(0, 9, 300)).astype(float)
        slope = float(rng.uniform(2.0, 6.0))
        points = sorted({1, 300, *rng.integers(1, 301, 6).tolist()})

        def cost(t: int, steps: Any = steps) -> float:
            return float(steps[t - 1])

        def line(t: int, slope: float = slope) -> float:
            return slope * t

        values = np.array([cost(t) for t in points]), np.array([line(t) for t in points])
        bad = [t for t in range(1, 301) if cost(t) > line(t)]
        wanted = math.inf if bad and bad[-1] == 300 else max(bad, default=0) + 1
        assert first_below(points, *values, cost, line) == wanted


def test_a_bound_that_may_fail_for_sure_is_vacuous() -> None:
    for delta, base in ((1.0, "LinUCB"), (0.6, "LinUCB"), (0.2, "LinTS")):
        found = theory.infex(Setting(dim=1, gap=2.0, noise=0.1, delta=delta), every(2), 10**9, base)
        assert found.regret < found.trivial
        assert found.vacuous
        assert str(found).startswith("vacuous: at T = 1e+09 nothing is guaranteed")
        assert "at most" not in str(found)
    alone = theory.lints(Setting(dim=1, gap=2.0, noise=0.1, delta=0.2), 10**9)
    assert alone.failure == 1.0
    assert alone.vacuous


def test_a_setting_may_tell_the_delta_of_tau_and_a_schedule_must_agree_with_itself() -> None:
    assert theory.base_tau(Setting(dim=10, gap=0.1, delta=1e-30)) == theory.base_tau(
        Setting(dim=10, gap=0.1), delta=1e-30
    )
    with pytest.raises(InfexError, match="delta must be at most 1, got 5"):
        theory.base_tau(Setting(dim=10, gap=0.1), delta=5.0)

    class Torn:
        grows = True

        def explores(self, t: int) -> bool:
            return t % 20 == 0

        def count(self, t: int) -> int:
            return t // 20

        def when(self, n: int) -> int:
            return n

    with pytest.raises(InfexError, match=r"count and when of .* disagree"):
        theory.infex(Setting(dim=2, gap=1.0, noise=0.1), Torn(), 10**6)
    assert theory.infex(Setting(dim=2, gap=1.0, noise=0.1), from_count(np.sqrt), 10**6).tau_0 < math.inf
