"""The menu: what it names on lanes whose answer is known."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex.lab.planner.evaluation import KNEE, LEAST_REGRET, front, knee, menu, nearest, relative
from infex.lab.planner.race import PROBLEMS_TO_SHOW, Candidate, least, rarest
from tests.lab.planner.pace import played


def exact(factor: float, explorations: int, problems: int = 64) -> Candidate:
    """A lane that loses the same share more than the best on every problem."""
    return played(factor * np.linspace(50, 150, problems), explorations=explorations)


def test_the_menu_names_the_rarest_within_each_factor_and_the_knee() -> None:
    always, half, tenth, some, few = (
        exact(factor, count)
        for factor, count in ((1.0, 10_000), (1.05, 5000), (1.12, 800), (1.45, 500), (4.0, 100))
    )
    lanes = [few, half, some, always, tenth]
    found = menu(lanes, lanes, 1.3)
    assert found == {
        LEAST_REGRET: always,
        "within 10 %": half,
        "within 25 %": tenth,
        "within 30 %": tenth,
        "within 50 %": some,
        KNEE: tenth,
    }
    assert menu(lanes, lanes, 1.25).keys() == found.keys() - {"within 30 %"}


def test_what_was_refused_is_not_offered_as_near_again() -> None:
    always, tenth, some = exact(1.0, 10_000), exact(1.12, 800), exact(1.2, 500)
    found = menu([always, tenth, some], [], 1.25, refused=[some])
    assert found["within 25 %"] is tenth
    assert found["within 50 %"] is some, "it may still be within more than it was asked for"
    assert menu([always, tenth, some], [], 1.25, refused=[some, tenth])["within 25 %"] is always


def test_a_lane_played_on_few_problems_is_not_chosen() -> None:
    """It explores least and loses nothing against the best on all problems it met, but they are too few."""
    best = exact(1.0, 50)
    for problems in (2, 4, 8, PROBLEMS_TO_SHOW - 1):
        few = exact(0.9, 5, 64)
        few.record(few.regret[:problems], few.cost[:problems])
        assert rarest([best, few], best, 1.1) is best
        assert front([best, few], best) == [best]
        assert nearest([best, few], best) is None
    enough = exact(1.0, 5, PROBLEMS_TO_SHOW)
    assert rarest([best, enough], best, 1.1) is enough


@given(seed=st.integers(0, 10**6), factor=st.floats(1.0, 2.0))
@settings(max_examples=50, deadline=None)
def test_the_rarest_is_within_a_standard_error_of_the_factor_and_none_rarer_is(
    seed: int, factor: float
) -> None:
    """Against the definition, written out."""
    rng = np.random.default_rng(seed)
    lanes = [
        played(rng.exponential(rng.uniform(50, 120), size=40), explorations=int(count))
        for count in rng.integers(1, 1000, size=12)
    ]
    best = min(lanes, key=lambda each: float(np.mean(each.regret)))
    assert least(lanes) is best

    def is_near(one: Candidate) -> bool:
        gaps = one.regret - factor * best.regret
        return bool(gaps.mean() <= gaps.std(ddof=1) / math.sqrt(40))

    chosen = rarest(lanes, best, factor)
    assert chosen is best or is_near(chosen)
    assert not any(is_near(one) for one in lanes if one.explorations < chosen.explorations)


@given(seed=st.integers(0, 10**6), count=st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_the_front_and_its_knee_are_those_of_the_definition(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    lanes = [
        exact(1.0, 5000),
        *(
            exact(f, int(n))
            for f, n in zip(rng.uniform(1.001, 5, count), rng.integers(1, 6000, count), strict=True)
        ),
    ]
    best = lanes[0]
    slow = [
        one
        for one in lanes
        if one is best
        or (
            one.explorations < 5000
            and not any(
                other.explorations <= one.explorations and relative(other, best) < relative(one, best)
                for other in lanes
            )
        )
    ]
    found = front(lanes, best)
    assert {id(one) for one in found} == {id(one) for one in slow}
    assert found[-1] is best
    bend = knee(lanes, best)
    x = np.log([one.explorations for one in found])
    y = np.log([relative(one, best) for one in found])
    if len(found) < 3:
        assert bend is None
        return
    below = np.interp(x, [x[0], x[-1]], [y[0], y[-1]]) - y
    if below.max() < 1e-9:
        assert bend is None or below[found.index(bend)] < 1e-9
    else:
        assert bend is found[int(np.argmax(below))]


@pytest.mark.parametrize("others", [[], [5.0], [5.0, 7.0, 9.0]])
def test_where_the_best_loses_nothing_there_is_no_knee_and_no_error(others: Any) -> None:
    best = played(np.zeros(20), explorations=100)
    lanes = [best, *(played(np.full(20, loss), explorations=k + 1) for k, loss in enumerate(others))]
    assert relative(best, best) == 1.0
    assert all(relative(each, best) == math.inf for each in lanes[1:])
    found = menu(lanes, lanes, 1.1)
    assert KNEE not in found
    assert found["within 50 %"] is best


def test_the_nearest_explores_less_than_the_best_and_loses_least_of_these() -> None:
    best, near, far, often = exact(1.0, 100), exact(1.3, 50), exact(1.6, 10), exact(1.01, 1000)
    assert nearest([often, far, near, best], best) is near
    assert nearest([often, best], best) is None
    short = exact(1.1, 20)
    short.rounds = 25
    assert nearest([short, near, best], best) is near, "it was not played as far"
