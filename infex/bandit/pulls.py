"""How many rewards each arm of a feature map was told; of fixed arms the statistics know."""

from __future__ import annotations

import numpy as np

from infex.arrays import Integers, fitting, shown
from infex.bandit.arms import Arms, Changing, Labels, Mapped
from infex.bandit.decision import Decision
from infex.bandit.decisions import Decisions
from infex.errors import CannotLoad
from infex.linear import InBlock, Memory, On
from infex.linear.grounds import Grounds
from infex.linear.offers import GONE


def count_pull(arms: Arms, decision: Decision, on: On) -> None:
    """One more reward of an arm: of the one whose regression learns it, or of the one with its label."""
    if not isinstance(arms, Mapped):
        return
    place: int | None = decision.arm
    if isinstance(on, InBlock):
        place = None if on.arm == GONE else on.arm
    elif arms.labels is not None:
        place = _place(arms.labels, decision)
    if place is not None and place < len(arms.pulls):
        arms.pulls[place] += 1


def count_pulls(arms: Arms, decisions: Decisions, grounds: Grounds) -> None:
    """The same for many decisions at once."""
    if not isinstance(arms, Mapped):
        return
    if grounds.apart:
        learn_pulls(arms, grounds.place[grounds.place != GONE])
        return
    for place, decision in enumerate(decisions):
        count_pull(arms, decision, grounds.on(place))


def learn_pulls(arms: Arms, places: Integers) -> None:
    """One more reward for each of these arms."""
    if isinstance(arms, Mapped):
        arms.pulls += np.bincount(places, minlength=len(arms.pulls))


def pulls_of(arms: Arms, memory: Memory) -> Integers | None:
    """How many rewards each arm was told, (K,); None of arms that change every round."""
    if isinstance(arms, Mapped):
        return shown(arms.pulls.copy())
    return None if isinstance(arms, Changing) else memory.evidence().pulls


def add_pulls(arms: Arms, other: Arms) -> None:
    """Takes in the pulls of a bandit with the same map."""
    if isinstance(arms, Mapped) and isinstance(other, Mapped):
        arms.pulls += other.pulls


def restore_pulls(arms: Arms, kept: object, labels: Labels) -> None:
    """Takes the pulls of a file, by label where arms have labels; files from before have none."""
    if kept is None or not isinstance(arms, Mapped):
        return
    count = len(arms.pulls) if labels is None else len(labels)
    found: Integers = fitting("pulls", kept, (-1 if labels is None else count,), whole=True)
    if labels is None or arms.labels is None:
        if len(found) != len(arms.pulls) or arms.labels != labels:
            raise CannotLoad("the file has pulls by place, and the map given has other arms")
        arms.pulls[:] = found
        return
    known = dict(zip(labels, found.tolist(), strict=True))
    arms.pulls[:] = [known.get(label, 0) for label in arms.labels]


def _place(labels: Labels, decision: Decision) -> int | None:
    """The present place of an arm by its label; None of one that is gone."""
    assert labels is not None
    if decision.arm < len(labels) and labels[decision.arm] == decision.label:
        return decision.arm
    return labels.index(decision.label) if decision.label in labels else None
