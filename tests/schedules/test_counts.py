"""Counts and rounds against the definition, one round after the other, and against known figures."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Schedule, every, listed, logarithmic, power, stretched
from infex.schedules import from_count

T = 10_000


def follow(target: Callable[[int], float], horizon: int) -> list[int]:
    """f(t) = min(f(t-1) + 1, G(t)) with G(t) = max over s <= t of floor(g(s) (1 + 1e-12))."""
    counts, reached, count = [0], 0, 0
    for t in range(1, horizon + 1):
        reached = max(reached, math.floor(target(t) * (1 + 1e-12)))
        count = min(count + 1, reached)
        counts.append(count)
    return counts


@pytest.mark.parametrize(
    ("schedule", "count"),
    [
        (every(5), 2000),
        (every(20), 500),
        (every(100), 100),
        (stretched(1), 1085),
        (stretched(2), 117),
        (stretched(3), 12),
        (power(0.9), 3981),
        (power(0.75), 1000),
        (power(0.5), 100),
        (power(1 / 3), 21),
        (logarithmic(3), 781),
        (logarithmic(2), 84),
        (logarithmic(1.5), 27),
        (logarithmic(1), 9),
    ],
    ids=repr,
)
def test_counts_at_ten_thousand_are_those_of_the_reading_guide(schedule: Schedule, count: int) -> None:
    assert schedule.count(T) == count


@pytest.mark.parametrize(
    ("schedule", "rounds"),
    [
        (every(20), [20, 40, 60]),
        (every(20, offset=1), [1, 21, 41]),
        (stretched(1), [1, 2, 5]),
        (stretched(2), [1, 2, 42]),
        (stretched(3), [1, 2, 981]),
        (power(1 / 3), [1, 8, 27]),
        (power(0.5), [1, 4, 9]),
        (logarithmic(3), [3, 4, 5]),
        (logarithmic(1), [3, 8, 21]),
    ],
    ids=repr,
)
def test_first_explorations(schedule: Schedule, rounds: list[int]) -> None:
    assert [schedule.when(n) for n in (1, 2, 3)] == rounds


def test_the_cube_root_of_64_is_4_in_spite_of_rounding() -> None:
    assert 64 ** (1 / 3) < 4
    assert power(1 / 3).explores(64)


@given(r=st.floats(0, 12))
@settings(max_examples=20, deadline=None)
def test_stretched_follows_its_target(r: float) -> None:
    counts = follow(lambda t: float(t / max(math.log(t), 1) ** r), 3000)
    schedule = stretched(r)
    assert [schedule.count(t) for t in range(3001)] == counts


@given(r=st.floats(0, 1, exclude_min=True))
@settings(max_examples=20, deadline=None)
def test_power_follows_its_target(r: float) -> None:
    schedule = power(r)
    assert [schedule.count(t) for t in range(3001)] == follow(lambda t: float(t**r), 3000)


@given(r=st.floats(0, 12, exclude_min=True))
@settings(max_examples=20, deadline=None)
def test_logarithmic_follows_its_target(r: float) -> None:
    schedule = logarithmic(r)
    assert [schedule.count(t) for t in range(3001)] == follow(lambda t: float(math.log(t) ** r), 3000)


@given(r=st.floats(1, 6), lift=st.floats(0, 50))
@settings(max_examples=20, deadline=None)
def test_a_users_target_is_followed_past_the_first_rounds(r: float, lift: float) -> None:
    def target(t: int) -> float:
        return float(math.log(t) ** r + lift)

    schedule = from_count(target)
    assert [schedule.count(t) for t in range(6001)] == follow(target, 6000)


def test_a_users_target_may_do_anything_at_first() -> None:
    def target(t: int) -> float:
        return t / 10 if t > 1000 else 300 * math.sin(t / 50)

    schedule = from_count(target)
    assert [schedule.count(t) for t in range(5001)] == follow(target, 5000)


periods = st.integers(1, 30).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, m - 1)))


@given(members=st.lists(periods, min_size=1, max_size=4), rounds=st.lists(st.integers(1, 400), max_size=10))
@settings(deadline=None)
def test_a_union_explores_when_any_member_does(members: list[tuple[int, int]], rounds: list[int]) -> None:
    schedule: Schedule = listed(rounds)
    for m, offset in members:
        schedule = schedule | every(m, offset)
    explored = [t for t in range(1, 501) if t in rounds or any(t % m == offset for m, offset in members)]
    assert [t for t in range(1, 501) if schedule.explores(t)] == explored
    assert [schedule.count(t) for t in (1, 77, 500)] == [sum(s <= t for s in explored) for t in (1, 77, 500)]
    assert [schedule.when(n) for n in range(1, len(explored) + 1)] == explored
