"""Saved bandits go on with the decisions that stand beside them."""

from pathlib import Path
from typing import Any

import pytest

from infex import Bandit
from tests.alike import all_unnamed
from tests.bandit.golden_bandits import CONTEXTS, NAMES, expected, go_on, loaded, row


def rounded(values: list[Any]) -> list[Any]:
    """Floats as they are but for rounding: a formula that is computed in another order is still the same."""
    return [pytest.approx(each, abs=1e-9) if isinstance(each, float) else each for each in values]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_bandit_goes_on_with_the_decisions_beside_it(name: str) -> None:
    then, exploration = expected(name)["then"], expected(name)["exploration"]
    bandit = loaded(name)
    for decision, known in zip(go_on(name, bandit, len(then)), then, strict=True):
        assert row(decision, len(known)) == rounded(known)
    found = bandit.exploration()
    short = [found.planned, found.done, found.skipped, found.made_up, found.next_due, found.cost]
    assert (short if len(exploration) == len(short) else list(found)) == rounded(exploration)


@pytest.mark.parametrize("name", NAMES)
def test_saved_anew_it_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    bandit = loaded(name)
    go_on(name, bandit, 17)
    bandit.save(tmp_path / "x.infex")
    again = Bandit.load(tmp_path / "x.infex")
    assert again.digest() == bandit.digest()
    assert all_unnamed(go_on(name, again, 60)) == all_unnamed(go_on(name, bandit, 60))
    assert again.digest() == bandit.digest()
    context = CONTEXTS[3] if bandit.features else None
    assert again.estimates(context=context).tolist() == bandit.estimates(context=context).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_what_was_pending_can_be_told_or_dropped(name: str) -> None:
    bandit = loaded(name)
    first, *others = bandit.pending
    before = bandit.t
    for decision in others:
        bandit.drop(decision.id)
    bandit.tell(first.id, 1.0)
    assert (bandit.pending, bandit.t) == ((), before)
