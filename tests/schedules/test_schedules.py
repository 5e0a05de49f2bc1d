import math
import pickle
from typing import Any

import numpy as np
import pytest

from infex import (
    InfexError,
    Schedule,
    always,
    budget,
    every,
    jittered,
    listed,
    logarithmic,
    never,
    power,
    stretched,
)
from infex.errors import InvalidRound, InvalidSetting, OutOfReach
from infex.schedules import from_count, union
from infex.schedules.base import explore_probability, is_random


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: every(0), "period must be at least 1, got 0"),
        (lambda: every(2.5), "period must be a whole number, got 2.5"),
        (lambda: every(True), "period must be a whole number, got True"),
        (lambda: every(5, offset=5), "offset must be from 0 to 4 for period 5, got 5"),
        (lambda: every(5, offset=-1), "got -1"),
        (lambda: stretched(-0.1), "r must be at least 0, got -0.1"),
        (lambda: stretched(math.nan), "r must be finite, got nan"),
        (lambda: power(0), "r must be above 0, got 0"),
        (lambda: power(1.1), "r must be at most 1, got 1.1"),
        (lambda: logarithmic(0), "r must be above 0, got 0"),
        (lambda: logarithmic("2"), "r must be a number, got '2'"),
        (lambda: listed([3, 0]), "round must be at least 1, got 0"),
        (lambda: listed([1.5]), "round must be a whole number, got 1.5"),
        (lambda: listed(7), "rounds must be a collection of whole numbers, got 7"),
        (lambda: jittered(0), "period must be at least 1, got 0"),
        (lambda: jittered(5, seed=0.5), "seed must be a whole number, got 0.5"),
        (lambda: budget(every(5), -1), "limit must be at least 0, got -1"),
        (lambda: budget("every(5)", 3), "a schedule needs explores, .*'every"),
        (lambda: from_count(3), "g must be a function of the round, got 3"),
        (lambda: from_count(math.sqrt, grows="yes"), "grows must be True, False or None, got 'yes'"),
        (lambda: from_count(lambda t: "x"), "must give a number, but in round 1: could not convert"),
        (lambda: from_count(lambda t: math.nan), "gives NaN in round 1"),
        (lambda: every(5) | 7, "a schedule needs explores, .* which 7 does not have"),
    ],
)
def test_bad_settings_are_refused_with_their_value(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()


@pytest.mark.parametrize("schedule", [every(5), stretched(1), listed([3]), jittered(5), every(5) | every(3)])
def test_bad_rounds_are_refused(schedule: Schedule) -> None:
    for verb, value in (("explores", 0), ("count", -1), ("when", 0)):
        with pytest.raises(InvalidRound, match="must be at least"):
            getattr(schedule, verb)(value)
    with pytest.raises(InvalidRound, match=r"whole number, got 2\.0"):
        schedule.explores(2.0)


def test_numpy_rounds_are_welcome() -> None:
    assert every(np.int64(5)).explores(np.int64(10))
    assert repr(every(np.int64(5))) == "every(5)"


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (every(20), "every(20)"),
        (every(20, offset=3), "every(20, offset=3)"),
        (always(), "always()"),
        (never(), "never()"),
        (stretched(2), "stretched(2)"),
        (power(0.5), "power(0.5)"),
        (logarithmic(1.5), "logarithmic(1.5)"),
        (listed([3, 1, 3]), "listed([1, 3])"),
        (listed(range(1, 100)), "listed([1, 2, 3, ..., 99]: 99 rounds)"),
        (from_count(math.sqrt), "from_count(sqrt)"),
        (jittered(20, seed=3), "jittered(20, seed=3)"),
        (budget(every(20), 100), "budget(every(20), 100)"),
        (every(20) | listed([1]) | every(20), "every(20) | listed([1])"),
    ],
)
def test_schedules_read_like_what_made_them(schedule: Schedule, text: str) -> None:
    assert repr(schedule) == text


@pytest.mark.parametrize(
    ("schedule", "grows"),
    [
        (every(20), True),
        (never(), False),
        (listed([1]), False),
        (logarithmic(1.01), True),
        (logarithmic(1), False),
        (budget(every(2), 1000), False),
        (from_count(math.sqrt), None),
        (from_count(math.sqrt, grows=True), True),
        (jittered(5), True),
        (never() | logarithmic(1), False),
        (never() | from_count(math.sqrt), None),
        (from_count(math.sqrt) | every(5), True),
    ],
    ids=repr,
)
def test_growth_is_known_for_built_in_families(schedule: Schedule, grows: bool | None) -> None:
    assert schedule.grows is grows


def test_equal_schedules_are_equal_and_join_to_one() -> None:
    assert every(5) == every(5)
    assert stretched(1) == stretched(1.0)
    assert (every(5) | every(5)) == every(5)
    assert (every(5) | stretched(1)) == (every(5) | stretched(1))
    assert hash(stretched(2)) == hash(stretched(2))


@pytest.mark.parametrize(
    "schedule", [stretched(1), jittered(5, 2), every(5) | listed([3]), budget(power(0.5), 9)]
)
def test_schedules_go_to_other_processes(schedule: Schedule) -> None:
    schedule.count(100)
    copy = pickle.loads(pickle.dumps(schedule))
    assert copy == schedule
    assert copy.count(1000) == schedule.count(1000)


def test_a_jittered_schedule_explores_once_a_block_at_even_places() -> None:
    schedule = jittered(5, seed=2)
    places = [schedule.when(n) - 5 * (n - 1) for n in range(1, 5001)]
    assert set(places) == {1, 2, 3, 4, 5}
    assert all(abs(places.count(place) - 1000) < 150 for place in (1, 2, 3, 4, 5))
    assert [jittered(5, seed=3).when(n) for n in range(1, 50)] != [schedule.when(n) for n in range(1, 50)]


@pytest.mark.parametrize(("period", "other"), [(5, 6), (5, 10), (7, 20), (50, 100)])
def test_jittered_schedules_of_two_periods_share_no_draws(period: int, other: int) -> None:
    """Else two of them would explore early in the same blocks, and late in the same blocks."""
    blocks = range(1, 2001)
    places = [[jittered(m, seed=4).when(n) - m * (n - 1) for n in blocks] for m in (period, other)]
    correlation = np.asarray(np.corrcoef(places))[0, 1]
    assert abs(correlation) < 4 / math.sqrt(len(blocks))


def test_a_budget_is_never_exceeded() -> None:
    schedule = budget(stretched(0.5), 7)
    assert sum(schedule.explores(t) for t in range(1, 1000)) == 7
    assert schedule.count(10**12) == 7


def test_chances_of_exploring() -> None:
    jitter = jittered(4, seed=1)
    assert explore_probability(every(4), 4) == 1.0
    assert explore_probability(every(4), 5) == 0.0
    assert explore_probability(jitter, 401) == 0.25
    assert explore_probability(jitter | every(10), 410) == 1.0
    assert explore_probability(jitter | every(10), 401) == 0.25
    assert explore_probability(jitter | jittered(2, seed=1), 401) == pytest.approx(1 - 0.75 * 0.5)
    assert explore_probability(budget(jitter, 2), 5) == 0.25
    assert explore_probability(budget(jitter, 2), 9) == 0.0
    assert explore_probability(budget(every(4), 1), 4) == 1.0
    assert explore_probability(budget(every(4), 1), 8) == 0.0
    assert explore_probability(jitter | budget(jitter, 10), 3) is None
    unknown = budget(jitter | budget(jittered(3, 2), 5), 10)
    assert explore_probability(every(5) | unknown, 3) is None
    assert explore_probability(every(5) | unknown, 5) == 1.0
    for t in range(1, 40):
        told = explore_probability(jitter, t)
        left = 4 - (t - 1) % 4
        assert told == (0.0 if jitter.when((t + 3) // 4) < t else 1 / left)
    assert [is_random(s) for s in (jitter, every(3) | jitter, budget(jitter, 1), every(3))] == [True] * 3 + [
        False
    ]


def test_targets_too_large_or_small_for_a_float_are_followed_all_the_same() -> None:
    assert [stretched(300).count(t) for t in (40_000, 50_000, 10**12)] == [2, 2, 2]
    assert logarithmic(400).count(10**12) == 10**12 - 2
    assert from_count(lambda t: -math.inf).count(9) == 0
    assert from_count(lambda t: math.inf).count(9) == 9


def test_a_target_that_leaps_past_its_start_is_refused() -> None:
    leaps = from_count(lambda t: 100 * (t // 5000))
    with pytest.raises(InvalidSetting, match="grows by 100 in round 5000"):
        leaps.explores(5000)


def test_unions_too_large_to_count_are_refused_by_name() -> None:
    for schedule in (every(7) | jittered(20, 1), every(100) | stretched(1)):
        assert schedule.count(1000) == sum(schedule.explores(t) for t in range(1, 1001))
        with pytest.raises(OutOfReach, match="too many to join"):
            schedule.count(10**12)
        schedule.explores(10**12)
    dense = power(1) | listed([3])
    dense.count(150_000)
    with pytest.raises(OutOfReach):
        dense.count(300_000)


def test_finite_unions_end() -> None:
    schedule = listed([1, 5]) | budget(every(4), 3) | listed([4, 30])
    assert [schedule.when(n) for n in range(1, 8)] == [1, 4, 5, 8, 12, 30, math.inf]
    assert (listed([1]) | listed([2])).when(3) == math.inf


def test_a_union_of_many_periods_is_counted_at_once() -> None:
    schedule: Schedule = every(2)
    for period in range(3, 25):
        schedule = every(period, offset=1) | schedule
    assert schedule.count(1000) == sum(schedule.explores(t) for t in range(1, 1001))


def test_a_users_schedule_needs_no_more_than_four_verbs() -> None:
    class Primes:
        grows = True

        def explores(self, t: int) -> bool:
            return t > 1 and all(t % k for k in range(2, math.isqrt(t) + 1))

        def count(self, t: int) -> int:
            return sum(self.explores(s) for s in range(1, t + 1))

        def when(self, n: int) -> int:
            t = 0
            while n:
                t += 1
                n -= self.explores(t)
            return t

    primes = Primes()
    joined = primes | every(4)
    assert [t for t in range(1, 14) if (every(4) | primes).explores(t)] == [2, 3, 4, 5, 7, 8, 11, 12, 13]
    assert [t for t in range(1, 14) if joined.explores(t)] == [2, 3, 4, 5, 7, 8, 11, 12, 13]
    assert [joined.when(n) for n in range(1, 6)] == [2, 3, 4, 5, 7]
    assert budget(primes, 2).when(3) == math.inf
    assert explore_probability(joined, 5) == 1.0
    assert union(primes, Primes()).explores(7)
    assert explore_probability(primes, 4) == 0.0


@pytest.mark.parametrize("built_in", [every(3), listed([2]), power(0.5), jittered(3), budget(every(3), 4)])
def test_a_built_in_schedule_cannot_be_refined(built_in: Schedule) -> None:
    """Loops number its rounds, and would not ask a method that somebody overrides."""
    with pytest.raises(TypeError, match="Mine cannot refine a built-in schedule"):
        type("Mine", (type(built_in),), {"explores": lambda self, t: t == 7})
