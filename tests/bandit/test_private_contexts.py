"""No error prints a context, which is somebody's data: it says which feature is wrong, and how."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from infex import Bandit, Infex, LinUCB, every, features
from infex.errors import InfexError

SECRET, NUMBER, SHOWN = "HIV positive", 0.7319538, "7319"
POLICY = Infex(LinUCB(), every(2))
VISITOR = features.table({"age": (0, 100), "income": (0, 10)}, {"country": ["FR", "DE"]})
MAKERS: dict[str, Callable[[], Bandit]] = {
    "fixed": lambda: Bandit(np.eye(3), POLICY),
    "labelled": lambda: Bandit(np.eye(3), POLICY, labels=["a", "b", "c"]),
    "changing": lambda: Bandit(dim=3, policy=POLICY),
    "disjoint": lambda: Bandit(features=features.disjoint(["a", "b"], 3), policy=POLICY),
    "interactions": lambda: Bandit(features=features.interactions(np.eye(3), 3), policy=POLICY),
    "joined": lambda: Bandit(
        features=features.joined(lambda x, arm: [x] * 3, [0.5, 1.0], dim=3), policy=POLICY
    ),
    "table": lambda: Bandit(features=features.disjoint(["a", "b"], context=VISITOR), policy=POLICY),
}
CONTEXTS: list[Any] = [
    [NUMBER, np.nan, 0.1], [NUMBER, 9.0, 0.1], [NUMBER, 0.1], [NUMBER, SECRET, 0.1], SECRET, SECRET.encode(),
    NUMBER, [NUMBER, None, 0.1], [[NUMBER, 0.1, 0.2], [0.1, 0.2]], [[NUMBER, 0.1, 0.2]], [[[NUMBER]]],
    np.array([[NUMBER, 5.0, 0.2]]), np.array([NUMBER, np.inf, 1.0]), np.array([NUMBER + 0j, 1, 1]),
    np.array(["a", SECRET, "c"]), (NUMBER,) * 4, [True, NUMBER, "x"], [10**400, NUMBER, 1.0],
    {"age": NUMBER, "income": 99, "country": "FR"}, {"age": SECRET, "income": 1, "country": "FR"},
    {"age": NUMBER, "income": 1, "country": SECRET}, {"age": NUMBER}, {"age": NUMBER, "foo": 1},
]  # fmt: skip


def calls(bandit: Bandit, x: Any) -> Iterator[Callable[[], object]]:
    """Every way in which a context comes in, right places and wrong ones."""
    yield lambda: bandit.ask(x)
    yield lambda: bandit.ask(context=x)
    yield lambda: bandit.ask(x, context=x)
    yield lambda: bandit.ask(context=x, offered=["a"])
    yield lambda: bandit.ask(x, offered=[0], explore=False)
    yield lambda: bandit.decide(x, offered=[0])
    yield lambda: bandit.posterior(x)
    yield lambda: bandit.posterior(context=x)
    yield lambda: bandit.estimates(x)
    yield lambda: bandit.estimates(context=x)
    yield lambda: bandit.ask_many(x)
    yield lambda: bandit.ask_many([x])
    yield lambda: bandit.ask_many([[0.1, 0.2, 0.3], x])
    yield lambda: bandit.ask_many([x], offered=[["a"]], explore=[False])
    for arms in (["a"], [0], None, "a"):
        yield lambda arms=arms: bandit.learn([x], arms, [1.0])  # type: ignore[misc]
        yield lambda arms=arms: bandit.learn(x, arms, [1.0])  # type: ignore[misc]
    if not isinstance(x, str | np.ndarray):  # a text is the name of an arm there
        yield lambda: bandit.learn(arms=x, rewards=[1.0])
        yield lambda: bandit.learn(arms=[x], rewards=[1.0])
        yield lambda: bandit.ask(offered=[x])


@pytest.mark.parametrize("source", MAKERS)
def test_no_error_prints_a_context(source: str) -> None:
    """Those of a batch that is given to fixed arms, and of a log in the wrong place, were printed."""
    words = []
    for x in CONTEXTS:
        bandit = MAKERS[source]()
        for call in calls(bandit, x):
            try:
                call()
            except InfexError as error:
                words.append(str(error))
    assert len(words) > 300
    assert [text for text in words if SHOWN in text] == []
    assert [text for text in words if SECRET in text and "no arm is called" not in text] == []


def test_one_context_in_the_place_of_a_table_is_refused_by_name() -> None:
    shop = MAKERS["table"]()
    with pytest.raises(InfexError, match="'age' has one value: give a list of contexts"):
        shop.learn({"age": 40.0, "income": 1.0, "country": "FR"}, ["a"], [1.0])


def test_more_decisions_than_anybody_takes_are_refused() -> None:
    with pytest.raises(InfexError, match="the number of decisions must be at most 2147483648"):
        MAKERS["fixed"]().ask_many(10**400)
