"""What a journal needs of a bandit: the quick ways come to the same as the long ones."""

from typing import Any

import numpy as np
import pytest

import infex
from infex import features
from infex.bandit.journaling import bandit_from, decide_own, enter_again, enter_own, state_bytes
from infex.study.contents import decided_from, decision_content

ARMS = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
VISITOR = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]}, beyond="clip")
PROBLEMS: dict[str, dict[str, Any]] = {
    "fixed": {"arms": ARMS, "labels": ["a", "b", "c"], "policy": infex.Infex(infex.LinUCB(), infex.every(3))},
    "every round": {"arms": ARMS, "policy": infex.LinUCB()},
    "greedy": {"arms": ARMS, "policy": infex.Greedy()},
    "sampled": {"arms": ARMS, "policy": infex.Infex(infex.LinTS(), infex.every(3))},
    "masked": {
        "arms": ARMS,
        "policy": infex.Infex(infex.LinUCB(), infex.every(3)),
        "allowed": [True, False, True],
    },
    "hybrid": {
        "features": features.hybrid(features.interactions(np.eye(2), context=VISITOR)),
        "policy": infex.Infex(infex.LinUCB(), infex.every(3)),
    },
    "disjoint": {
        "features": features.disjoint(["x", "y"], context=VISITOR),
        "policy": infex.Infex(infex.LinUCB(), infex.every(3)),
    },
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("pending", ["narrow", "ignore"])
def test_the_quick_way_decides_and_enters_as_the_long_one(name: str, pending: str) -> None:
    settings = PROBLEMS[name] | {"pending": pending}
    rng = np.random.default_rng(0)
    one, other, third = (infex.Bandit(**settings) for _ in range(3))
    for n in range(60):
        context = {"age": float(rng.integers(10, 90)), "country": "FR"} if "features" in settings else None
        options = {} if context is None else {"context": context}
        quickly, slowly = decide_own(one, options, f"k{n}x"), other.decide(**options, id=f"k{n}x")
        content = decision_content(quickly, b"{}")
        assert content == decision_content(slowly, b"{}")
        enter_own(one, quickly)
        other.enter(slowly)
        enter_again(third, decided_from(f"k{n}x", content))
        if rng.random() < 0.6:
            for bandit in (one, other, third):
                bandit.tell(f"k{n}x", float(n % 3))
        if n == 30:
            one = bandit_from(state_bytes(one), None, None, None)
        assert one.digest() == other.digest() == third.digest()


def test_what_does_not_fit_is_not_entered() -> None:
    bandit, other = (infex.Bandit(**PROBLEMS["disjoint"]) for _ in range(2))
    decided = decide_own(bandit, {"context": {"age": 30, "country": "FR"}}, "a")
    on = decided.taken.on
    assert not isinstance(on, int | np.ndarray)
    wrong = [
        decided._replace(taken=decided.taken._replace(t=2)),
        decided._replace(changes=1),
        decided._replace(taken=decided.taken._replace(on=on._replace(arm=2))),
        decided._replace(taken=decided.taken._replace(on=on._replace(context=on.context[:1]))),
        decided._replace(taken=decided.taken._replace(on=0)),
        decided._replace(own_id=False),
    ]
    before = other.digest()
    for each in wrong:
        with pytest.raises(infex.InfexError):
            enter_again(other, each)
    assert other.digest() == before
