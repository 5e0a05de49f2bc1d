"""Batches whose rows differ in more than contexts: all or nothing, as `ask_many` and `tell_many` are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from infex.bandit import Decision
from infex.study.cases import RewardState
from infex.study.given_rows import question_of, reward_content
from infex.study.moves import KeyedReward, ask_all, row_by_row, tell_all
from infex.study.study import Study


class AskedRow(NamedTuple):
    """What is asked under a key, of a unit or of nobody; `options` are those of `Study.ask`."""

    key: str
    unit: str | None
    options: dict[str, Any]


class ToldRow(NamedTuple):
    """What is told of a key; the rest is as in `Study.tell`."""

    key: str
    reward: float
    weight: float = 1.0
    part: str | None = None


def ask_rows(study: Study, rows: Sequence[AskedRow], durable: bool = True) -> list[Decision]:
    """The decisions of all rows, in one commit; if one is refused (`error.row`), none is taken."""
    questions = row_by_row(rows, lambda _, row: question_of(row.key, row.unit, row.options))
    return study._desk.run(lambda: ask_all(study._desk, questions), durable)


def tell_rows(study: Study, rows: Sequence[ToldRow], durable: bool = True) -> list[RewardState]:
    """The states after all rewards, in one commit; if one is refused (`error.row`), none is told."""
    every = row_by_row(
        rows, lambda _, row: KeyedReward(row.key, reward_content(row.reward, row.weight, row.part))
    )
    return study._desk.run(lambda: tell_all(study._desk, every), durable)
