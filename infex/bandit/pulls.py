"""How many rewards each arm was told: statistics know it of their own arms, and a map's are counted here."""

from __future__ import annotations

import numpy as np

from infex.arrays import Integers, fitting, shown
from infex.bandit.arms import Arms, Changing, Labels, Mapped
from infex.bandit.decision import Decision
from infex.bandit.decisions import Decisions
from infex.errors import CannotLoad
from infex.linear import InContext, Memory, Separate


def pulls_of(arms: Arms, memory: Memory) -> Integers | None:
    """How many rewards each arm was told, (K,); None of arms that change every round."""
    if isinstance(arms, Changing):
        return None
    if isinstance(arms.layout, Separate):
        return memory.offer(InContext(np.zeros(arms.layout.dim))).pulls
    return shown(arms.pulls.copy()) if isinstance(arms, Mapped) else memory.evidence().pulls


def is_counted(arms: Arms) -> bool:
    """Are pulls counted beside the statistics, which have one regression for the arms of a map?"""
    return isinstance(arms, Mapped) and not isinstance(arms.layout, Separate)


def count_pull(arms: Arms, decision: Decision) -> None:
    """One more reward of an arm, by its label where arms have labels."""
    if not isinstance(arms, Mapped) or isinstance(arms.layout, Separate):
        return
    place = decision.arm if arms.labels is None else _place(arms.labels, decision)
    if place is not None and place < len(arms.pulls):
        arms.pulls[place] += 1


def count_pulls(arms: Arms, decisions: Decisions) -> None:
    """The same for many decisions at once."""
    if is_counted(arms):
        for decision in decisions:
            count_pull(arms, decision)


def learn_pulls(arms: Arms, places: Integers) -> None:
    """One more reward for each of these arms."""
    if isinstance(arms, Mapped) and is_counted(arms):
        arms.pulls += np.bincount(places, minlength=len(arms.pulls))


def add_pulls(arms: Arms, other: Arms) -> None:
    """Takes in the pulls of a bandit with the same map."""
    if isinstance(arms, Mapped) and isinstance(other, Mapped):
        arms.pulls += other.pulls


def pulls_record(arms: Arms) -> list[int] | None:
    """Pulls as plain data; None where the statistics have them."""
    return arms.pulls.tolist() if isinstance(arms, Mapped) and is_counted(arms) else None


def restore_pulls(arms: Arms, kept: object, labels: Labels) -> None:
    """Takes the pulls of a file, by label where arms have labels; files from before have none."""
    if kept is None or not isinstance(arms, Mapped):
        return
    found: Integers = fitting("pulls", kept, (-1 if labels is None else len(labels),), whole=True)
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
