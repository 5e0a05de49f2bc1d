"""Decisions and their rewards in memory: a row for each decision, a column for each thing known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Bools, Floats, Integers, Label, labels_of, own_copy
from infex.checks import settings_by_name
from infex.errors import InvalidLog
from infex.features import FeatureMap
from infex.logs.log_checks import LOOSE, check_log, column_of, count_of
from infex.logs.log_facts import LogFacts
from infex.logs.log_words import log_words

INTEGER_COLUMNS = ("round", "arm", "greedy")
FLOAT_COLUMNS = (
    "reward",
    "propensity",
    "explore_probability",
    "base_propensity",
    "base_propensities",
    "offers",
    "arms",
    "context",
    "kept",
)
TRUTH_COLUMNS = ("explored", "offered", "held_out")
OF_THE_WHOLE_LOG = ("arms", "labels", "features", "facts", "count", "others")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Log:
    """n decisions, in the order they were taken; a column that is None is not known. Columns are copies.

    In a column of numbers NaN stands for "not known in this round" (a null in a file): a `reward` that
    never came, a `base_propensity` of a round that could not explore. A reader refuses NaN that a file
    holds as such.

    - `round` from 1, `arm` a place among the arms on offer, `reward`; without `round` rows are rounds 1 to n.
    - `explored`; `greedy`: the arm of the largest estimate; `explore_probability`: of exploring, given
      the past; `base_propensity`: of this arm, given that the round explores; `base_propensities`: that
      of every arm, (n, K).
    - `propensity`: of this arm in this round, given the past; of other people's logs all there is.
    - what arms looked like: `offers` (n, K, d); or `arms` (K, d), the same in every round; or `context`
      (n, c) and the map `features`. `context` may stand by itself: a target may look at it.
    - `offered` (n, K): which of the K places were on offer, where not all were.
    - `held_out`: was this decided by a fixed rule, for a unit that is held out to compare with? Such rows are
      a stream of their own.
    - `labels` of the K arms; `kept`: the chance with which a row was kept in the log.
    - `unit`, `stream`, `time`, `reward_time`: who was decided for, which bandit decided, when, and when the
      reward came (numbers, or NumPy's dates). Rounds rise within a stream.
    - `facts`: what is said once of the whole log; `others`: more columns, carried along by name.

    >>> log = Log(arm=[0, 1, 1], reward=[1.0, 0.0, float("nan")], propensity=[0.5, 0.5, 0.5])
    >>> len(log), log.count, log.rewarded.tolist()
    (3, 2, [True, True, False])
    """

    arm: Integers
    reward: Floats
    round: Integers = None  # type: ignore[assignment] # 1 to n
    propensity: Floats | None = None
    explore_probability: Floats | None = None
    base_propensity: Floats | None = None
    explored: Bools | None = None
    greedy: Integers | None = None
    base_propensities: Floats | None = None
    offers: Floats | None = None
    arms: Floats | None = None
    context: Floats | None = None
    features: FeatureMap | None = None
    offered: Bools | None = None
    labels: tuple[Label, ...] | None = None
    kept: Floats | None = None
    held_out: Bools | None = None
    unit: NDArray[Any] | None = None
    stream: NDArray[Any] | None = None
    time: NDArray[Any] | None = None
    reward_time: NDArray[Any] | None = None
    count: int = None  # type: ignore[assignment] # K, found where it is not said
    facts: LogFacts = field(default_factory=LogFacts)
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = settings_by_name(self)
        if given["round"] is None:
            given["round"] = np.arange(1, np.asarray(self.arm).size + 1)
        for names, kind in ((INTEGER_COLUMNS, np.int64), (FLOAT_COLUMNS, np.float64), (TRUTH_COLUMNS, bool)):
            given |= {name: column_of(name, given[name], kind) for name in names if given[name] is not None}
        for name in LOOSE:
            given[name] = None if given[name] is None else own_copy(given[name])
        given["others"] = {name: own_copy(values) for name, values in self.others.items()}
        given["count"] = count_of(given)
        given["labels"] = labels_of(self.labels, given["count"])
        check_log(given)
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return int(self.arm.size)

    @property
    def rewarded(self) -> Bools:
        """Did a reward come, in each round?"""
        return ~np.isnan(self.reward)

    @property
    def dim(self) -> int | None:
        """How many features an arm has; None where the log does not say what arms looked like."""
        if self.offers is not None:
            return int(self.offers.shape[2])
        if self.arms is not None:
            return int(self.arms.shape[1])
        return None if self.features is None or self.context is None else self.features.dim

    def take(self, rows: Integers | Bools | slice) -> Log:
        """The same log with some of its rows, in the order they have there."""
        named = [each.name for each in fields(self) if each.name not in OF_THE_WHOLE_LOG]
        columns = {name: value for name, value in settings_by_name(self).items() if name in named}
        some: dict[str, Any] = {
            name: None if value is None else value[rows] for name, value in columns.items()
        }
        others = {name: values[rows] for name, values in self.others.items()}
        return replace(self, **some, others=others)

    def without_held_out(self) -> Log:
        """The log without the decisions for those held out; as it is where it has none, or no others.

        >>> log = Log(arm=[0, 1, 1], reward=[1.0, 0.0, 0.0], held_out=[False, True, False])
        >>> len(log.without_held_out()), len(log.take(log.held_out).without_held_out())
        (2, 1)
        """
        held = self.held_out
        return self if held is None or held.all() or not held.any() else self.take(~held)

    def label(self, arm: int) -> Label:
        """What an arm is called: its label, or its place."""
        return arm if self.labels is None else self.labels[arm]

    def place(self, label: Label) -> int:
        """The place of the arm that is called so."""
        known = range(self.count) if self.labels is None else self.labels
        if isinstance(label, bool) or label not in known:
            raise InvalidLog(f"no arm of this log is called {label!r}")
        return known.index(label)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return log_words(self)

    def __repr__(self) -> str:
        known = [name for name, value in settings_by_name(self).items() if isinstance(value, np.ndarray)]
        return f"Log({len(self):,} rounds, {self.count} arms: {', '.join(known)})"
