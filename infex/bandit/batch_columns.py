"""Greedy decisions of a batch as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from infex.arrays import Floats, Integers, Label
from infex.bandit.decisions import FIGURES, NOTHING_SAID, WHOLES, Coder, Decisions, Tables
from infex.bandit.questions import Greedily, Questions
from infex.linear.offers import Radius
from infex.policies.choice import Reason

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit


def greedy_decisions(
    bandit: Bandit,
    first: int,
    greedily: Greedily,
    radius: Radius,
    questions: Questions,
    keys: list[str] | None,
) -> Decisions:
    """The greedy decisions as columns."""
    arms, means, widths, _ = greedily
    whole, figures = np.empty((WHOLES, arms.size), dtype=np.int64), np.empty((FIGURES, arms.size))
    codes, labels = _label_codes(questions, arms)
    own = 0 if keys is None else -1 - np.arange(arms.size)
    columns: tuple[Integers | int, ...] = np.arange(first, first + arms.size), arms, arms, 0, codes, own
    for row, values in enumerate(columns):
        whole[row] = values
    margins = (radius[arms] if isinstance(radius, np.ndarray) and radius.ndim else radius) * widths
    all_figures: tuple[Floats | float, ...] = means, means - margins, means + margins, 1.0, 0.0, np.nan
    for row, numbers in enumerate(all_figures):
        figures[row] = numbers
    life = bandit._lives.next_id(first).rpartition("-")[0]
    tables = Tables((Reason.GREEDY,), labels, (life,), keys or ())
    return Decisions(whole, figures, np.zeros(arms.size, dtype=bool), tables)


def _label_codes(questions: Questions, arms: Integers) -> tuple[Integers | int, tuple[Label, ...]]:
    """The label of each arm played, as numbers in a table."""
    same = questions.one_labels()
    if same is not None or questions.labels(0) is None:
        return (NOTHING_SAID, ()) if same is None else (arms, same)
    coder = Coder()
    named = [questions.labels(place) for place in range(arms.size)]
    codes = [coder.code(names and names[arm]) for names, arm in zip(named, arms.tolist(), strict=True)]
    return np.array(codes), coder.words
