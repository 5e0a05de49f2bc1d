"""Tables, the lower bound, and whether a schedule is above it."""

import math
import warnings

import mpmath as mp
import numpy as np
import pytest

from infex import LinUCB, Schedule, guarded, paused, until_certain
from infex.errors import InfexError, SparseExploration
from infex.lab import play, theory
from infex.lab.environments import lower_bound as two_arms
from infex.policies import budget
from infex.schedules import (
    every,
    from_count,
    jittered,
    listed,
    logarithmic,
    never,
    power,
    stretched,
)


def test_table_1_is_what_the_paper_has_but_for_its_slip() -> None:
    d, gap, m, tau = mp.mpf(10), mp.mpf("0.1"), 20, mp.mpf(10) ** 6
    log = mp.log(d / gap)

    def values(r: float) -> dict[str, theory.Order]:
        return {row.schedule: row for row in theory.table_1(10, 0.1, m=m, r=r, tau=1e6)}

    half = values(0.5)
    assert half["t/m"].value == pytest.approx(float(m * tau + m * d / gap * mp.log(m * d / gap) ** 2))
    stretch = tau * mp.log(tau) ** 0.5 + d / gap * log ** mp.mpf(2.5)
    assert half["t/(log t)^r"].value == pytest.approx(float(stretch))
    assert half["t^r"].value == pytest.approx(float(tau**2 + d**2 / gap**3 * log**2))
    assert "prints 2/r" in half["t^r"].note
    whole = values(1)
    assert whole["t^r"].value == pytest.approx(float(tau + d / gap * log**2))
    assert whole["t^r"].note == ""
    assert values(2)["(log t)^r"].value == math.inf, "past 10^308"
    four = values(4)["(log t)^r"]
    wanted = mp.exp(tau ** mp.mpf("0.25")) + gap * mp.exp((d / gap**2) ** (mp.mpf(1) / 3))
    assert four.value == pytest.approx(float(wanted), rel=1e-9)


def test_table_2_follows_table_1_in_the_row_that_lost_a_factor() -> None:
    d, gap, late = 10, 0.1, math.log(10**6)
    rows = {row.schedule: row for row in theory.table_2(d, gap, m=20, r=1, horizon=10**6)}
    assert rows["t"].value == pytest.approx((late + d * math.log(late)) ** 2 / gap)
    tau = (d / gap * math.log(d / gap)) ** 2
    assert rows["t/m"].value == pytest.approx(20 * tau + 20 * d / gap * math.log(20 * d / gap) ** 2)
    assert "loses the factor m" in rows["t/m"].note
    sampled = theory.table_2(d, gap, m=20, r=1, horizon=10**6, base="LinTS")
    assert sampled[0].value == pytest.approx(d * late * rows["t"].value)
    assert theory.tau_order(d, gap, "LinTS") == pytest.approx(d**3 / gap**2 * math.log(d / gap) ** 3)
    with pytest.raises(InfexError, match="dim/gap must be above e"):
        theory.table_1(1, 1.0, m=2, r=1)


def test_the_lower_bound_has_the_right_divergence_and_mentions_the_printed() -> None:
    gap, horizon = mp.mpf("0.3"), 10**5
    found = theory.lower_bound(0.3, horizon, 11)
    pulls = 1 + 1 / (2 * gap**2) + 11
    assert found.pulls == pytest.approx(float(pulls))
    normal = mp.quad(
        lambda x: mp.npdf(x, -gap) * (mp.log(mp.npdf(x, -gap)) - mp.log(mp.npdf(x, gap))), [-12, 0, 12]
    )
    assert theory.divergence(0.3, 1) == pytest.approx(float(normal))
    assert found.together == pytest.approx(float(gap * horizon / 4 * mp.exp(-normal * pulls)))
    assert found.printed == pytest.approx(float(gap / (4 * mp.e**2) * horizon * mp.exp(-4 * gap**2 * 11)))
    assert found.printed < found.together


@pytest.mark.parametrize(("horizon", "explorations"), [(1, 0), (50, 3.5), (10**4, 100), (10**9, 10**9)])
def test_the_worst_case_bound_is_the_lower_bound_of_the_worst_gap(horizon: int, explorations: float) -> None:
    found = theory.worst_case_bound(horizon, explorations)
    gaps = np.geomspace(1e-6, 1.0, 20_001)
    halves = [theory.lower_bound(gap, horizon, explorations).together / 2 for gap in gaps.tolist()]
    assert found == pytest.approx(max(halves), rel=1e-5)
    exact = mp.exp(mp.mpf(-3) / 2) * horizon / (16 * mp.sqrt(1 + mp.mpf(explorations)))
    assert found == pytest.approx(float(exact))


def test_a_worst_case_bound_needs_a_number_of_explorations() -> None:
    with pytest.raises(InfexError, match="explorations must be at least 0, got -1"):
        theory.worst_case_bound(100, -1)
    with pytest.raises(InfexError, match="horizon must be at least 1, got 0"):
        theory.worst_case_bound(0, 3)


def test_the_two_arms_are_those_of_the_lower_bound() -> None:
    for which, theta, best in ((1, -0.25, 1), (2, 0.25, 0)):
        instance = two_arms(0.25, which=which)
        assert instance.arms.tolist() == [[1.0], [0.0]]
        assert instance.theta.tolist() == [theta]
        assert instance.rewards == "gaussian"
        assert (instance.best, instance.gap) == (best, 0.25)
    run = play(two_arms(0.25, which=1), LinUCB(delta=0.01), horizon=200)
    assert run.counts.sum() == 200
    with pytest.raises(InfexError, match="which must be 1 or 2, got 3"):
        two_arms(0.25, which=3)


@pytest.mark.parametrize(
    ("schedule", "verdict"),
    [
        (every(20), "consistent"),
        (jittered(20), "consistent"),
        (stretched(2), "consistent"),
        (power(0.1), "consistent"),
        (logarithmic(1.5), "consistent"),
        (logarithmic(1), "inconsistent"),
        (never(), "inconsistent"),
        (listed([3]), "inconsistent"),
        (budget(every(2), 10**6), "inconsistent"),
    ],
    ids=repr,
)
def test_built_in_families_carry_their_answer(schedule: object, verdict: str) -> None:
    found = theory.grows(schedule)
    assert (found.verdict, found.known) == (verdict, True)


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (lambda t: t / 7, "consistent"),
        (lambda t: t**0.3, "consistent"),
        (lambda t: math.log(t) ** 1.5, "consistent"),
        (lambda t: math.log(t) * math.log(1 + math.log(t)), "consistent"),
        (lambda t: math.log(t), "inconsistent"),
        (lambda t: 30 * math.log(t), "inconsistent"),
        (lambda t: math.sqrt(math.log(t)), "inconsistent"),
        (lambda t: min(t, 300), "inconsistent"),
        (lambda t: 5 * math.log(t) + (t > 1e40) * math.log(t), "inconclusive"),
    ],
    ids=["t/7", "t^.3", "log^1.5", "log loglog", "log", "30 log", "root log", "finite", "a late jump"],
)
def test_a_schedule_of_ones_own_is_judged_by_its_rounds(target: object, verdict: str) -> None:
    found = theory.grows(from_count(target))
    assert not found.known
    assert found.verdict == verdict, found.ratios


def test_ratios_are_logarithms_of_rounds_over_their_number() -> None:
    found = theory.grows(from_count(lambda t: t / 7))
    assert [n for n, _ in found.ratios] == [2**k for k in range(17)]
    np.testing.assert_allclose([r for _, r in found.ratios], [math.log(7 * n) / n for n, _ in found.ratios])


def test_a_schedule_with_explores_alone_is_judged_too() -> None:
    class Squares:
        def explores(self, t: int) -> bool:
            return math.isqrt(t) ** 2 == t

    class Few(Squares):
        def explores(self, t: int) -> bool:
            return t in (5, 9)

    class Counts(Squares):
        def count(self, t: int) -> int:
            return math.isqrt(t)

    assert theory.grows(Squares()).verdict == "consistent"
    assert theory.grows(Counts()).verdict == "consistent"
    assert theory.grows(Few()).verdict == "inconclusive"
    with pytest.warns(SparseExploration, match="explores 2 times"):
        theory.grows(Few(), horizon=1000)
    with pytest.raises(InfexError, match="has a method explores"):
        theory.grows(3)


def test_a_sparse_schedule_is_warned_of_and_never_refused() -> None:
    with pytest.warns(SparseExploration, match=r"less than 5 log T = 46"):
        assert theory.grows(logarithmic(1.5), horizon=10_000).verdict == "consistent"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theory.grows(every(20), horizon=10_000)


class Rare:
    """Every ten thousandth round, and no more is told."""

    def explores(self, t: int) -> bool:
        return t % 10_000 == 0


def test_what_may_stop_is_inconclusive_and_an_heir_needs_explores_alone() -> None:
    for control in (
        guarded(every(20), cost_limit=5.0),
        until_certain(every(20)),
        paused(every(20), when=bool),
    ):
        assert theory.grows(control).verdict == "inconclusive"

    class Mine(Schedule):
        def explores(self, t: int) -> bool:
            return t % 20 == 0

    mine = Mine()  # type: ignore[abstract]
    assert theory.grows(mine).verdict == "consistent"
    with pytest.warns(SparseExploration, match="explores 13 times in 131,072 rounds"):
        theory.grows(Rare(), horizon=10**9)
    assert theory.grows(from_count(lambda t: 2000 * math.log(t))).verdict != "consistent"
    assert theory.grows(from_count(np.log)).verdict == "inconsistent"
    with pytest.raises(InfexError, match="a schedule needs count, when, which"):
        theory.infex(theory.Setting(dim=2, gap=0.5), mine, 1000)
