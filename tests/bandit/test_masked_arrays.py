"""What NumPy's masked arrays mark as missing is never read."""

from collections.abc import Callable

import numpy as np
import pytest

from infex import Bandit, Greedy, Infex, LinUCB, every, features
from infex.errors import InfexError, InvalidContext

ROWS = np.ma.array([[0.6, 0.1], [0.2, 0.2]], mask=[[True, False], [False, False]])
NUMBERS = np.ma.array([0.5, 0.25], mask=[True, False])
TRUTHS = np.ma.array([True, True], mask=[True, False])


def mapped() -> Bandit:
    return Bandit(features=features.disjoint(2, 2), policy=Greedy())


REFUSED: dict[str, Callable[[], object]] = {
    "a context": lambda: mapped().ask(context=ROWS[0]),
    "contexts of a batch": lambda: mapped().ask_many(ROWS),
    "contexts of a log": lambda: mapped().learn(ROWS, [0, 1], [1.0, 1.0]),
    "rewards": lambda: mapped().learn([[0.1, 0.2]] * 2, [0, 1], NUMBERS),
    "which rows explored": lambda: mapped().learn([[0.1, 0.2]] * 2, [0, 1], [1.0, 1.0], explored=TRUTHS),
    "weights": lambda: mapped().learn([[0.1, 0.2]] * 2, [0, 1], [1.0, 1.0], NUMBERS),
    "fixed arms": lambda: Bandit(ROWS, Greedy()),
    "arms of a round": lambda: Bandit(dim=2, policy=Greedy()).ask(ROWS),
    "an offer": lambda: mapped().ask(context=[0.1, 0.1], offered=TRUTHS),
    "offers": lambda: mapped().ask_many(
        [[0.1, 0.1]], offered=np.ma.array([[True, True]], mask=[[True, False]])
    ),
    "what is allowed": lambda: mapped().ask(context=[0.1, 0.1], allowed=TRUTHS),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_masked_is_refused(case: str) -> None:
    with pytest.raises(InfexError):
        REFUSED[case]()


def test_arrays_with_nothing_masked_are_plain_ones() -> None:
    plain, masked = mapped(), mapped()
    rows = np.array([[0.6, 0.1], [0.2, 0.2]])
    plain.learn(rows, [0, 1], [1.0, 0.5])
    masked.learn(np.ma.array(rows), [0, 1], np.ma.array([1.0, 0.5]))
    assert plain.digest() == masked.digest()


def test_what_is_masked_follows_the_rule_of_a_table() -> None:
    visitor = features.table({"age": (0, 1), "income": (0, 1)}, missing="flag", intercept=False)
    assert visitor.rows(ROWS)[0].tolist() == visitor.rows([{"income": 0.1}])[0].tolist()


def test_a_batch_that_fails_notices_nothing() -> None:
    visitor = features.table({"age": (0, 10)}, beyond="clip")
    bandit = Bandit(features=features.disjoint(2, context=visitor), policy=Infex(LinUCB(), every(2)), seed=1)
    bandit.ask(context={"age": 11})
    before = bandit.digest()
    with pytest.raises(InvalidContext):
        bandit.ask_many([{"age": 20}, {"age": 30}, {"years": 3}])
    assert bandit.noticed == {"age clipped": 1}
    assert bandit.digest() == before
