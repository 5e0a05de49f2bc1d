"""How many rewards each arm was told: statistics know it of their own arms, and a map's are counted here."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from infex.arrays import Integers, Label, fitting, shown
from infex.bandit.arms import Arms, Changing, Labels, Mapped
from infex.bandit.decisions import Decisions
from infex.checks import whole
from infex.errors import CannotLoad, DamagedFile
from infex.linear import InContext, Layout, Memory, Separate
from infex.linear.offers import GONE

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def pulls_of(arms: Arms, memory: Memory) -> Integers | None:
    """How many rewards each arm was told, (K,); None of arms that change every round."""
    if isinstance(arms, Changing):
        return None
    if isinstance(arms.layout, Separate):
        return memory.offer(InContext(np.zeros(arms.layout.dim))).pulls
    return memory.evidence().pulls if memory.pulls is None else shown(memory.pulls.copy())


def no_pulls(arms: Arms) -> Integers | None:
    """Zeros for the arms of a map with one regression, which does not tell them apart; else None."""
    if not isinstance(arms, Mapped) or isinstance(arms.layout, Separate):
        return None
    return np.zeros(arms.features.count, dtype=np.int64)


class Pulled(Protocol):
    """What is to be known of a decision to count its arm."""

    @property
    def t(self) -> int:
        """Its round."""

    @property
    def arm(self) -> int:
        """The place of its arm then."""

    @property
    def label(self) -> Label | None:
        """The label of its arm."""


def count_pull(bandit: Bandit, decision: Pulled) -> None:
    """One more reward of an arm, if it is still there: not of another at its place, or of its label."""
    pulls = bandit._player._memory.pulls
    if pulls is not None and (place := _place(bandit._arms, pulls.size, decision)) is not None:
        pulls[place] += 1


def count_pulls(bandit: Bandit, decisions: Decisions) -> None:
    """The same for many decisions at once."""
    if bandit._player.memory.pulls is not None:
        for decision in decisions:
            count_pull(bandit, decision)


def learn_pulls(memory: Memory, places: Integers) -> None:
    """One more reward for each of these arms."""
    if memory.pulls is not None:
        memory.pulls += np.bincount(places, minlength=memory.pulls.size)


def pulls_over(memory: Memory, places: Integers) -> Integers:
    """Pulls of other arms, `places` being their old ones, -1 for a new one."""
    assert memory.pulls is not None
    return np.where(places >= 0, memory.pulls[places], 0)


def pulls_record(memory: Memory) -> list[int] | None:
    """Pulls as plain data; None where the statistics have them."""
    return None if memory.pulls is None else memory.pulls.tolist()


def pulls_kept(arms: Arms, kept: object, labels: Labels) -> Integers | None:
    """The pulls of a file, of the arms that it names; files from before have none."""
    pulls = no_pulls(arms)
    if pulls is None:
        return None
    count = None if labels is None else len(labels)
    if kept is None:
        return pulls if count is None else np.zeros(count, dtype=np.int64)
    found: Integers = fitting("pulls", kept, (-1 if count is None else count,), whole=True)
    return found


def pulls_places(pulls: Integers, before: Labels, now: Labels, count: int) -> Integers | None:
    """Where each of so many arms of a map was in a file, by label, -1 if it is new; None if all are there."""
    if before == now and pulls.size == count:
        return None
    if before is not None and now is not None:
        return old_places(before, now)
    if pulls.any():
        raise CannotLoad("the file has pulls by place, and the map given has other arms")
    return np.full(count, GONE)


def old_places(before: tuple[Label, ...], now: tuple[Label, ...]) -> Integers:
    """Where each label was before, -1 if it is new."""
    known = {label: place for place, label in enumerate(before)}
    return np.array([known.get(label, GONE) for label in now])


def arms_counted(layout: Layout, memory: Memory) -> int:
    """How many arms sums tell the pulls of."""
    if memory.pulls is not None:
        return memory.pulls.size
    return layout.arms if isinstance(layout, Separate) else layout.shape[1]


def note_removal(bandit: Bandit, after: Arms, kept: Integers) -> None:
    """Arms go after the last round, `kept` being the old places of the rest; noted if anything waits."""
    pulls, oldest = bandit._player.memory.pulls, bandit._waiting.oldest
    if pulls is None or not isinstance(after, Mapped):
        return
    needed = () if oldest is None else tuple(each for each in after.removals if each[0] >= oldest)
    gone = tuple(np.setdiff1d(np.arange(pulls.size), kept).tolist())
    after.removals = needed if oldest is None else (*needed, (bandit.t, gone))


def removals_record(arms: Arms) -> list[Any]:
    """Removals as plain data."""
    return [[t, list(gone)] for t, gone in arms.removals] if isinstance(arms, Mapped) else []


def restore_removals(arms: Arms, kept: Any) -> None:
    """Takes those of a file; files from before have none."""
    if not isinstance(arms, Mapped):
        return
    arms.removals = tuple((_whole(t), tuple(map(_whole, gone))) for t, gone in kept or ())
    if any(list(gone) != sorted(set(gone)) for _, gone in arms.removals):
        raise DamagedFile("the places of arms that were removed are in no order")


def _whole(number: object) -> int:
    return whole("a round or place of arms that were removed", number, least=0, error=DamagedFile)


def _place(arms: Arms, count: int, decision: Pulled) -> int | None:
    """The present place of the arm of a decision, among so many; None of one that is gone."""
    assert isinstance(arms, Mapped)
    place, labels = decision.arm, arms.labels
    for t, gone in arms.removals:
        if decision.t <= t:
            before = bisect_left(gone, place)
            if gone[before : before + 1] == (place,):
                return None
            place -= before
    if place < count and (labels is None or labels[place] == decision.label):
        return place
    return labels.index(decision.label) if labels is not None and decision.label in labels else None
