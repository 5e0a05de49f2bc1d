"""A schedule that explores fewer times than there are parameters is said when the bandit is made."""

import warnings
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Greedy, Infex, LinUCB, budget, every, features, guarded, listed, never
from infex.errors import FewExplorations, InvalidSetting, SparseExploration
from infex.schedules import logarithmic

SHOP = features.disjoint(50, context_dim=12)


def said(policy: Any, **more: Any) -> list[str]:
    """What is warned of at construction, but for schedules that stop by themselves."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Bandit(policy=policy, **more)
    assert all(warning.filename == __file__ for warning in caught if warning.category is FewExplorations)
    return [str(each.message) for each in caught if each.category is FewExplorations]


def explores(schedule: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseExploration)
        return Infex(LinUCB(), schedule)


def test_two_percent_of_20000_rounds_are_too_few_for_600_parameters() -> None:
    (text,) = said(explores(every(50)), features=SHOP, horizon=20_000)
    assert "explores 400 times in 20000 rounds, and 600 parameters are to be learnt" in text
    assert not said(explores(every(50)), features=SHOP, horizon=30_000)
    assert not said(explores(every(50)), features=SHOP)


@pytest.mark.parametrize("limit", [1, 7, 8, 9])
@pytest.mark.parametrize("around", [lambda each: each, lambda each: guarded(each, 5.0)])
def test_a_budget_is_compared_with_the_parameters(limit: int, around: Any) -> None:
    schedules = [
        around(budget(every(2), limit)),
        budget(around(every(2)), limit),
        listed(range(3, 3 + limit)),
    ]
    for schedule in schedules:
        found = said(explores(schedule), dim=8)
        assert len(found) == (limit < 8)
        if found:
            assert f"explores {limit} times, and 8 parameters" in found[0]


def test_fixed_arms_that_are_few_span_no_more_than_themselves() -> None:
    arms = np.eye(3, 10)
    assert not said(explores(budget(every(2), 3)), arms=arms)
    assert "2 times, and 3 parameters" in said(explores(budget(every(2), 2)), arms=arms)[0]


@pytest.mark.parametrize(
    "policy",
    [
        Greedy(),
        LinUCB(),
        explores(never()),
        explores(budget(every(2), 2, window=100)),
        explores(logarithmic(1.0)),
    ],
    ids=repr,
)
def test_what_does_not_stop_or_never_explores_is_not_warned_of(policy: Any) -> None:
    assert not said(policy, dim=8)


def test_a_schedule_of_ones_own_is_not_asked() -> None:
    class Own:
        def explores(self, t: int) -> bool:
            return t < 3

    assert not said(explores(Own()), dim=8, horizon=10)


@pytest.mark.parametrize("horizon", [0, 1.5, True, "10"])
def test_a_horizon_is_a_whole_number(horizon: Any) -> None:
    with pytest.raises(InvalidSetting, match="horizon"):
        Bandit(dim=2, policy=explores(every(2)), horizon=horizon)
