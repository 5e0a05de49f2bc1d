"""A log in memory: one row for each decision, one column for each thing that is known about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Bools, Floats, Integers, Label, Words, labels_of, own_copy
from infex.checks import real, settings_by_name, whole
from infex.core.evaluation import LawFault, law_faults
from infex.errors import InvalidLog
from infex.features import FeatureMap

NOT_OF_POLICY = {"held_out": "held out", "sticky": "sticky", "apprentice": "as an apprentice"}
"""Columns that say that a decision was none of the policy's, and in words."""
KINDS: dict[str, type] = {
    **dict.fromkeys(("round", "arm", "greedy"), np.int64),
    **dict.fromkeys(("reward", "propensity", "explore_probability", "base_propensity", "kept"), np.float64),
    **dict.fromkeys(("base_propensities", "offers", "arms", "context"), np.float64),
    **dict.fromkeys(("explored", "offered", *NOT_OF_POLICY), bool),
}
DTYPES_ACCEPTED: dict[type, str] = {np.int64: "iu", np.float64: "iuf", bool: "b"}
SINGLE = (
    "arm", "reward", "propensity", "explore_probability", "base_propensity", "explored", "greedy", "kept",
    *NOT_OF_POLICY,
)  # fmt: skip
UNTYPED = ("unit", "stream", "time", "reward_time")
OF_THE_WHOLE_LOG = ("arms", "labels", "features", "facts", "count", "others")
ROUNDS_NAMED = 3
LARGEST_NUMBER = 1e100  # whose square is a number too
LEAST_PROPENSITY = 1e-100  # whose weight has a square
RELATIVE_TOLERANCE = 1e-3  # between two columns that state the same propensity: some logs print few digits
SUM_TOLERANCE = 1e-9  # by which propensities may miss 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """What holds for all rows of a log; None means unknown.

    `policy` and `schedule` are expressions, unknown if they changed (a column `policy` then tells which one
    was in force). `period` is the block length m of a schedule that explores in one
    round of each block: jittered(m), every(m). `penalty`, `noise` and `bound` are the bandit's; `rewards` is
    the smallest and the largest possible reward. `seed` is the bandit's, and `estimator` the expression of
    what it used in place of ridge. `encoded` says that contexts are stored as the map's encoder made them.

    >>> LogFacts(schedule="jittered(20, seed=0)", period=20, rewards=(0, 1)).rewards
    (0.0, 1.0)
    """

    policy: str | None = None
    schedule: str | None = None
    period: int | None = None
    penalty: float | None = None
    noise: float | None = None
    bound: float | None = None
    rewards: tuple[float, float] | None = None
    seed: int | None = None
    estimator: str | None = None
    encoded: bool = False

    def __post_init__(self) -> None:
        if self.period is not None:
            object.__setattr__(self, "period", whole("period", self.period, least=1, error=InvalidLog))
        if self.seed is not None:
            object.__setattr__(self, "seed", whole("seed", self.seed, error=InvalidLog))
        for name, value in (("penalty", self.penalty), ("noise", self.noise), ("bound", self.bound)):
            if value is not None:
                object.__setattr__(self, name, real(name, value, above=0, error=InvalidLog))
        if self.rewards is not None:
            object.__setattr__(self, "rewards", reward_range(self.rewards))


def former_label(label: Label, n: int) -> str:
    """What an arm is called that was removed, if its label is in use again; n counts such arms, from 1."""
    return f"{label} (before, {n})"


def reward_range(rewards: object) -> tuple[float, float]:
    """The smallest and the largest reward, checked.

    >>> reward_range([0, 1])
    (0.0, 1.0)
    """
    if not isinstance(rewards, tuple | list) or len(rewards) != 2:
        raise InvalidLog(f"rewards must be the smallest and the largest, as in (0, 1), got {rewards!r}")
    low, high = (real("an end of rewards", end, error=InvalidLog) for end in rewards)
    if not low < high:
        raise InvalidLog(f"rewards must go from the smallest to the largest, got {low:g} to {high:g}")
    return low, high


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Log:
    """n decisions in the order they were made. A column that is None is unknown; columns are copies.

    In a column of numbers NaN means "unknown in this round" (a null in a file): a `reward` that never came, a
    `base_propensity` of a round that could not explore. A reader rejects NaN that a file holds as such.

    - `round` from 1, `arm` an index among the K arms, `reward`; without `round`, rows are rounds 1 to n.
    - `explored`; `greedy`: the arm with the largest estimate; `explore_probability`: of exploring, given
      the past; `base_propensity`: of this arm, given that the round explores; `base_propensities`: that
      of every arm, (n, K).
    - `propensity`: of this arm in this round, given the past. Other people's logs have only this one.
    - Features of arms: `offers` (n, K, d); or `arms` (K, d), the same in every round; or `context` (n, c) and
      the map `features`. `context` may also stand alone: a target may read it.
    - `offered` (n, K): which arms were on offer, where not all were.
    - `held_out`, `sticky`, `apprentice`: was this no decision of the policy, but that of a fixed rule for a
      unit of the holdout, the arm that a unit keeps, or an arm that somebody else played? Such rows are
      streams of their own.
    - `labels` of the K arms; `kept`: the probability with which a row was kept in the
      log, by a draw of its own; it may depend on the arm and the reward. Others were left out.
    - `unit`, `stream`, `time`, `reward_time`: for whom it was decided, by which bandit, when, and when the
      reward came (numbers, or NumPy's dates). Rounds increase within a stream.
    - `facts`: what holds for the whole log; `others`: further columns, by name.

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
    sticky: Bools | None = None
    apprentice: Bools | None = None
    unit: NDArray[Any] | None = None
    stream: NDArray[Any] | None = None
    time: NDArray[Any] | None = None
    reward_time: NDArray[Any] | None = None
    count: int = None  # type: ignore[assignment] # K, by the other columns if it is not given
    facts: LogFacts = field(default_factory=LogFacts)
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = settings_by_name(self)
        if columns["round"] is None:
            columns["round"] = np.arange(1, np.asarray(self.arm).size + 1)
        for name, kind in KINDS.items():
            if columns[name] is not None:
                columns[name] = _column(name, columns[name], kind)
        for name in UNTYPED:
            columns[name] = None if columns[name] is None else own_copy(columns[name])
        columns["others"] = {name: own_copy(values) for name, values in self.others.items()}
        columns["count"] = _arm_count(columns)
        columns["labels"] = labels_of(self.labels, columns["count"])
        _check(columns)
        for name, value in columns.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return int(self.arm.size)

    @property
    def rewarded(self) -> Bools:
        """Whether each round has a reward, (n,)."""
        return ~np.isnan(self.reward)

    @property
    def own_unit(self) -> NDArray[Any] | None:
        """The unit of each row, (n,), where a row without a unit is one of its own; None if none is known.

        >>> log = Log(arm=[0, 1, 1], reward=[1.0, 0.0, 0.0], unit=["ann", None, None])
        >>> len(set(log.own_unit.tolist()))
        3
        """
        if self.unit is None:
            return None
        nameless = np.not_equal(self.unit, self.unit)  # NaN
        nameless |= np.array([each is None for each in self.unit], dtype=bool)
        if not nameless.any():
            return self.unit
        found = self.unit.astype(str).astype(object)
        for row in np.flatnonzero(nameless):
            stream = "" if self.stream is None else self.stream[row]
            found[row] = f"\0{stream}\0{self.round[row]}"
        return found.astype(str)

    @property
    def inverse_kept(self) -> Floats | None:
        """The number of rounds that each row stands for, 1/kept, (n,); None if no row was left out.

        >>> Log(arm=[0, 1], reward=[1.0, 0.0], kept=[1.0, 0.25]).inverse_kept.tolist()
        [1.0, 4.0]
        """
        if self.kept is None or (self.kept == 1.0).all():
            return None
        found: Floats = 1.0 / self.kept
        return found

    @property
    def dim(self) -> int | None:
        """The number of features of an arm; None if the log has no features."""
        if self.offers is not None:
            return int(self.offers.shape[2])
        if self.arms is not None:
            return int(self.arms.shape[1])
        return None if self.features is None or self.context is None else self.features.dim

    def take(self, rows: Integers | Bools | slice) -> Log:
        """The log of some rows, in the order that `rows` has them."""
        names = [each.name for each in fields(self) if each.name not in OF_THE_WHOLE_LOG]
        columns = {name: value for name, value in settings_by_name(self).items() if name in names}
        some: dict[str, Any] = {
            name: None if value is None else value[rows] for name, value in columns.items()
        }
        return replace(self, **some, others={name: values[rows] for name, values in self.others.items()})

    def without_held_out(self) -> Log:
        """The log without the decisions of the holdout; unchanged if it has none, or has nothing else.

        >>> log = Log(arm=[0, 1, 1], reward=[1.0, 0.0, 0.0], held_out=[False, True, False])
        >>> len(log.without_held_out()), len(log.take(log.held_out).without_held_out())
        (2, 1)
        """
        held = self.held_out
        return self if held is None or held.all() or not held.any() else self.take(~held)

    def of_policy(self) -> Log:
        """The log of decisions that the policy took; unchanged if it has no others, or nothing else.

        >>> log = Log(arm=[0, 1, 1], reward=[1.0, 0.0, 0.0], sticky=[False, True, False])
        >>> len(log.of_policy()), len(log.take(log.sticky).of_policy())
        (2, 1)
        """
        columns = [column for name in NOT_OF_POLICY if (column := getattr(self, name)) is not None]
        others = np.logical_or.reduce(columns) if columns else np.zeros(len(self), dtype=bool)
        return self if others.all() or not others.any() else self.take(~others)

    def label(self, arm: int) -> Label:
        """The label of an arm, or its index where arms have no labels."""
        return arm if self.labels is None else self.labels[arm]

    def place(self, label: Label) -> int:
        """The index of the arm with this label."""
        known = range(self.count) if self.labels is None else self.labels
        if isinstance(label, bool) or label not in known:
            raise InvalidLog(f"no arm of this log is called {label!r}")
        return known.index(label)  # type: ignore[arg-type]

    def places(self, label: Label) -> Integers:
        """The index of the arm with this label, then those of arms that had it before and were removed.

        >>> log = Log(arm=[2, 0], reward=[1.0, 0.0], labels=("tea", "milk", "tea (before, 1)"))
        >>> log.places("tea").tolist(), log.places("milk").tolist()
        ([0, 2], [1])
        """
        found, known = [self.place(label)], self.labels or ()
        while (former := former_label(label, len(found))) in known:
            found.append(known.index(former))
        return np.array(found, dtype=np.int64)

    def __str__(self) -> str:
        missing = int((~self.rewarded).sum())
        parts = [f"{len(self):,} rounds of {self.count} arms"]
        if self.explored is not None:
            parts.append(f"{int(self.explored.sum()):,} explored")
        for name, words in NOT_OF_POLICY.items():
            column = getattr(self, name)
            if column is not None and column.any():
                parts.append(f"{int(column.sum()):,} {words}")
        if missing:
            parts.append(f"{missing:,} rewards missing")
        model = (
            "no features: the model estimates each arm by itself"
            if self.dim is None
            else f"a linear model of {self.dim} features can evaluate any policy"
        )
        return f"{', '.join(parts)}\n{self._weights_summary()}; {model}"

    def _weights_summary(self) -> str:
        """What importance weights can do with the propensities of this log."""
        if self.propensity is not None and (self.propensity == 1.0).all():
            return "every arm had propensity 1: weights cannot evaluate any other policy"
        if (
            self.explore_probability is not None
            and self.base_propensity is not None
            and not np.isnan(self.base_propensity[self.explored]).all()
        ):
            return "explorations with known propensities can evaluate other policies (dr)"
        if self.propensity is not None:
            return "logged propensities can evaluate other policies (dr), if they are right"
        return "propensities are unknown: weights cannot evaluate any policy"

    def __repr__(self) -> str:
        known = [name for name, value in settings_by_name(self).items() if isinstance(value, np.ndarray)]
        return f"Log({len(self):,} rounds, {self.count} arms: {', '.join(known)})"


# Checks of columns

Columns = dict[str, Any]


@final
class ItemRounds:
    """The round of each item of a column of lists, flattened; the items of row i end before `ends[i]`.

    >>> ItemRounds(np.array([7, 8]), np.array([1, 3]))[np.array([False, True, True])]
    array([8, 8])
    """

    __slots__ = ("ends", "rounds")

    def __init__(self, rounds: Integers, ends: Integers) -> None:
        self.rounds, self.ends = rounds, ends

    def __getitem__(self, chosen: Bools | np.bool_) -> Integers:
        found: Integers = self.rounds[np.searchsorted(self.ends, np.flatnonzero(chosen), side="right")]
        return found


def refuse(name: str, bad: Bools | np.bool_, rounds: Integers | ItemRounds, must: str) -> None:
    """Raises InvalidLog if a column has bad rows, with their number and the first three rounds."""
    count = int(np.count_nonzero(bad))
    if count:
        first = ", ".join(str(t) for t in rounds[bad][:ROUNDS_NAMED])
        rows = "1 row is not: round" if count == 1 else f"{count:,} rows are not: rounds"
        raise InvalidLog(f"{name} {must}; {rows} {first}{', ...' if count > ROUNDS_NAMED else ''}")


def _column(name: str, values: object, kind: type) -> NDArray[Any]:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(kind)
    if array.dtype.kind not in DTYPES_ACCEPTED[kind]:
        raise InvalidLog(f"{name} must be a column of {kind.__name__}, got {array.dtype}")
    return own_copy(array.astype(kind, copy=False))


def _arm_count(columns: Columns) -> int:
    """K, by whichever columns say it; otherwise by the largest arm played."""
    for name, axes in (("offers", 3), ("base_propensities", 2), ("offered", 2)):
        if columns[name] is not None and columns[name].ndim != axes:
            raise InvalidLog(f"{name} must have {axes} axes, got the shape {columns[name].shape}")
    sizes = {"count": columns["count"]}
    sizes |= {name: len(columns[name]) for name in ("arms", "labels") if columns[name] is not None}
    sizes |= {
        name: columns[name].shape[1]
        for name in ("offers", "base_propensities", "offered")
        if columns[name] is not None
    }
    if columns["features"] is not None:
        sizes["features"] = columns["features"].count
    known = {name: whole(name, size, error=InvalidLog) for name, size in sizes.items() if size is not None}
    if len(set(known.values())) > 1:
        raise InvalidLog(f"columns differ in how many arms there are: {known}")
    if known:
        return next(iter(known.values()))
    return int(columns["arm"].max()) + 1 if columns["arm"].size else 0


def _check(columns: Columns) -> None:
    """Refuses columns that contradict each other, or that no bandit can have written."""
    rounds = columns["round"]
    if rounds.ndim != 1 or not rounds.size:
        raise InvalidLog(f"a log must have at least one row, got columns of the shape {rounds.shape}")
    _check_shapes(columns, rounds.size)
    _check_order(rounds, columns["stream"])
    refuse("reward", np.abs(columns["reward"]) > LARGEST_NUMBER, rounds, "must be finite, at most 1e100")
    _check_arms(columns, rounds)
    _check_probabilities(columns, rounds)
    for name in ("offers", "context", "arms"):
        if columns[name] is not None and not (np.abs(columns[name]) <= LARGEST_NUMBER).all():
            raise InvalidLog(f"{name} must be finite, at most {LARGEST_NUMBER:g}, and are not")


def _check_shapes(columns: Columns, size: int) -> None:
    count = columns["count"]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(SINGLE + UNTYPED, (size,))
    shapes |= {"base_propensities": (size, count), "offered": (size, count)}
    for name, shape in shapes.items():
        values = columns[name]
        if values is not None and values.shape != shape:
            raise InvalidLog(f"{name} must have the shape {shape}, got {values.shape}")
    for name, axes in (("offers", 3), ("context", 2)):
        values = columns[name]
        if values is not None and (values.ndim != axes or len(values) != size):
            raise InvalidLog(f"{name} must have {size} rows and {axes} axes, got {values.shape}")
    if columns["arms"] is not None and columns["arms"].ndim != 2:
        raise InvalidLog(f"arms must have the shape (K, d), got {columns['arms'].shape}")
    for name, values in columns["others"].items():
        if len(values) != size:
            raise InvalidLog(f"{name} must have {size} rows, got {len(values)}")


def _check_order(rounds: Integers, stream: NDArray[Any] | None) -> None:
    refuse("round", rounds < 1, rounds, "must be 1 or more")
    if stream is None:
        back = np.r_[False, rounds[1:] <= rounds[:-1]]
    else:
        order = np.argsort(np.unique(stream, return_inverse=True)[1], kind="stable")
        same = np.r_[False, stream[order][1:] == stream[order][:-1]]
        back = np.zeros(rounds.size, dtype=bool)
        back[order] = same & np.r_[False, rounds[order][1:] <= rounds[order][:-1]]
    refuse("round", back, rounds, "must increase from row to row")


def _check_arms(columns: Columns, rounds: Integers) -> None:
    count, offered = columns["count"], columns["offered"]
    for name, least in (("arm", 0), ("greedy", -1)):
        if columns[name] is not None:
            beyond = (columns[name] < least) | (columns[name] >= count)
            refuse(name, beyond, rounds, f"must be one of the {count} arms on offer, counted from 0")
    if offered is not None:
        played = offered[np.arange(rounds.size), columns["arm"]]
        refuse("arm", ~played, rounds, "must be one of the arms on offer")


def _check_probabilities(columns: Columns, rounds: Integers) -> None:
    """Probabilities lie in [0, 1]; that of the arm played is above 0, unless a round did not explore."""
    explored, probability = columns["explored"], columns["explore_probability"]
    for name in ("propensity", "base_propensity", "kept"):
        if columns[name] is not None:
            exempt = ~explored if name == "base_propensity" and explored is not None else False
            bad = (columns[name] < LEAST_PROPENSITY) | (columns[name] > 1.0)
            bad &= ~((columns[name] == 0.0) & exempt)
            refuse(name, bad, rounds, "must lie above 0 and be at most 1")
    if columns["kept"] is not None:
        refuse("kept", np.isnan(columns["kept"]), rounds, "must be a number")
    if probability is not None:
        refuse("explore_probability", (probability < 0.0) | (probability > 1.0), rounds, "must lie in [0, 1]")
        if explored is not None:
            never = (probability == 0.0) & explored
            refuse("explored", never, rounds, "cannot be true where explore_probability is 0")
    if columns["base_propensities"] is not None:
        _check_base_propensities(columns, rounds)


def _check_base_propensities(columns: Columns, rounds: Integers) -> None:
    propensities, offered = columns["base_propensities"], columns["offered"]
    faults = law_faults(propensities, SUM_TOLERANCE)
    refuse("base_propensities", faults == LawFault.OUTSIDE, rounds, "must lie in [0, 1]")
    refuse("base_propensities", faults == LawFault.NOT_ONE, rounds, "must add up to 1")
    if offered is not None:
        hidden = (faults == LawFault.SOUND) & ((propensities > 0.0) & ~offered).any(axis=1)
        refuse("base_propensities", hidden, rounds, "must be 0 for arms that are not on offer")
    own = propensities[np.arange(rounds.size), columns["arm"]]
    agreeing = ["base_propensity"]
    if columns["explore_probability"] is None:  # otherwise `propensity` is not given that the round explores
        agreeing.append("propensity")
    for name in agreeing:
        if columns[name] is not None:
            apart = np.abs(columns[name] - own) > RELATIVE_TOLERANCE * own  # False for NaN
            refuse(name, apart, rounds, "must agree with base_propensities for the arm")


# Fingerprints

WINDOW_ROUNDS = 64
HASHES_KEPT = 256
MOST_BY_CHANCE, SHARE_BY_CHANCE = 2, 0.05  # hashes that may agree with a log that was not learnt from


def window_hashes(log: Log) -> Words:
    """A hash of each window of 64 rounds, sorted, over all its (round, arm, reward) in any order.

    So the parts of a log have the hashes of the whole. A window whose rewards are all equal has none.
    """
    rows = np.flatnonzero(log.rewarded)
    window = (log.round[rows] - 1) // WINDOW_ROUNDS
    if not (np.diff(window) >= 0).all():  # of several streams
        order = np.argsort(window, kind="stable")
        rows, window = rows[order], window[order]
    if not rows.size:
        return np.zeros(0, dtype=np.uint64)
    starts = np.flatnonzero(np.r_[True, window[1:] != window[:-1]])
    reward = log.reward[rows] + 0.0  # -0 becomes 0
    hashes = _splitmix64(log.round[rows].astype(np.uint64))
    hashes = _splitmix64(hashes + log.arm[rows].astype(np.uint64))
    hashes = _splitmix64(hashes ^ reward.view(np.uint64))
    found = _splitmix64(np.add.reduceat(hashes, starts))
    varies = np.maximum.reduceat(reward, starts) > np.minimum.reduceat(reward, starts)
    return np.unique(found[varies])


def _splitmix64(values: Words) -> Words:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@final
class Fingerprint:
    """Tells whether somebody has learnt from a log: the 256 smallest hashes of all windows learnt from.

    They are a fair sample of the windows, and fingerprints of parts, or of several logs, add up.

    >>> log = Log(arm=[0, 1] * 100, reward=[1.0, 0.5, 0.0, 2.0] * 50)
    >>> mine = Fingerprint.of(log)
    >>> mine.matches(log), Fingerprint().matches(log), mine.matches(log.take(slice(0, 64)))
    (True, False, True)
    """

    __slots__ = ("hashes",)

    def __init__(self, hashes: Iterable[int] = ()) -> None:
        self.hashes = tuple(sorted(set(hashes))[:HASHES_KEPT])

    @staticmethod
    def of(log: Log) -> Fingerprint:
        """The fingerprint of a log."""
        return Fingerprint(window_hashes(log)[:HASHES_KEPT].tolist())

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint((*self.hashes, *other.hashes))

    def matches(self, log: Log) -> bool:
        """Do more hashes agree with those of this log than would by chance?"""
        return is_match(self.shared(log), len(self.hashes))

    def shared(self, log: Log) -> int:
        """How many hashes are those of this log; the counts of its parts add up."""
        if not self.hashes:
            return 0
        return int(np.isin(np.array(self.hashes, dtype=np.uint64), window_hashes(log)).sum())


def is_match(shared: int, hashes: int) -> bool:
    """Whether so many shared hashes, of all there are, say that the same rounds were learnt from."""
    return shared > MOST_BY_CHANCE or shared > SHARE_BY_CHANCE * hashes
