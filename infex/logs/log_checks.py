"""Columns of a log, refused where they cannot be what a bandit did."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Bools, Floats, Integers, own_copy
from infex.checks import whole
from infex.core.evaluation import LawFault, law_faults
from infex.errors import InvalidLog

ROUNDS_NAMED = 3
LARGEST_NUMBER = 1e100  # whose square is a number too
LEAST_CHANCE = 1e-100  # whose weight has a square
AGREE_WITHIN = 1e-3  # of itself, by which two accounts of a propensity may differ: some are printed short
SUM_ROUNDING = 1e-9  # by which propensities may miss 1
KINDS_TAKEN: dict[type, str] = {np.int64: "iu", np.float64: "iuf", bool: "b"}
SINGLE = (
    "arm",
    "reward",
    "propensity",
    "explore_probability",
    "base_propensity",
    "explored",
    "greedy",
    "kept",
    "held_out",
)
LOOSE = ("unit", "stream", "time", "reward_time")  # of any kind
Columns = dict[str, Any]


def column_of(name: str, values: object, kind: type) -> NDArray[Any]:
    """A column as an array of this kind, copied; whole numbers stay whole, and text is refused."""
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(kind)
    if array.dtype.kind not in KINDS_TAKEN[kind]:
        raise InvalidLog(f"{name} must be a column of {kind.__name__}, got {array.dtype}")
    return own_copy(array.astype(kind, copy=False))


def count_of(log: Columns) -> int:
    """K: how many arms there are at most, by whichever column says so; else by the arms that were played."""
    said = {
        "count": log["count"],
        "arms": None if log["arms"] is None else len(log["arms"]),
        "offers": None if log["offers"] is None else _width("offers", log["offers"], 3),
        "base_propensities": None
        if log["base_propensities"] is None
        else _width("base_propensities", log["base_propensities"], 2),
        "offered": None if log["offered"] is None else _width("offered", log["offered"], 2),
        "labels": None if log["labels"] is None else len(log["labels"]),
        "features": None if log["features"] is None else log["features"].count,
    }
    known = {name: whole(name, value, error=InvalidLog) for name, value in said.items() if value is not None}
    if len(set(known.values())) > 1:
        raise InvalidLog(f"columns differ in how many arms there are: {known}")
    if known:
        return next(iter(known.values()))
    return int(log["arm"].max()) + 1 if log["arm"].size else 0


def _width(name: str, values: NDArray[Any], axes: int) -> int:
    if values.ndim != axes:
        raise InvalidLog(f"{name} must have {axes} axes, got the shape {values.shape}")
    return int(values.shape[1])


def check_log(log: Columns) -> None:
    """Refuses the first thing that cannot be."""
    rounds = log["round"]
    if rounds.ndim != 1 or not rounds.size:
        raise InvalidLog(f"a log must have at least one row, got columns of the shape {rounds.shape}")
    _check_lengths(log, rounds.size)
    _check_order(rounds, log["stream"])
    refuse("reward", np.abs(log["reward"]) > LARGEST_NUMBER, rounds, "must be finite, at most 1e100")
    _check_arms(log, rounds)
    _check_shares(log, rounds)
    for name in ("offers", "context", "arms"):
        if log[name] is not None and not (np.abs(log[name]) <= LARGEST_NUMBER).all():
            raise InvalidLog(f"{name} must be finite, at most {LARGEST_NUMBER:g}, and are not")


def _check_lengths(log: Columns, size: int) -> None:
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(SINGLE + LOOSE, (size,))
    shapes |= {"base_propensities": (size, log["count"]), "offered": (size, log["count"])}
    for name, shape in shapes.items():
        _check_shape(name, log[name], shape)
    for name, axes in (("offers", 3), ("context", 2)):
        _check_axes(name, log[name], size, axes)
    if log["arms"] is not None and log["arms"].ndim != 2:
        raise InvalidLog(f"arms must have the shape (K, d), got {log['arms'].shape}")
    for name, values in log["others"].items():
        _check_size(name, values, size)


def _check_shape(name: str, values: NDArray[Any] | None, shape: tuple[int, ...]) -> None:
    if values is not None and values.shape != shape:
        raise InvalidLog(f"{name} must have the shape {shape}, got {values.shape}")


def _check_axes(name: str, values: NDArray[Any] | None, size: int, axes: int) -> None:
    if values is not None and (values.ndim != axes or len(values) != size):
        raise InvalidLog(f"{name} must have {size} rows and {axes} axes, got {values.shape}")


def _check_size(name: str, values: NDArray[Any], size: int) -> None:
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
    refuse("round", back, rounds, "must rise, each of them once")


def _check_arms(log: Columns, rounds: Integers) -> None:
    count, offered = log["count"], log["offered"]
    for name, least in (("arm", 0), ("greedy", -1)):
        if log[name] is not None:
            beyond = (log[name] < least) | (log[name] >= count)
            refuse(name, beyond, rounds, f"must be one of the {count} arms on offer, counted from 0")
    if offered is not None:
        played = offered[np.arange(rounds.size), log["arm"]]
        refuse("arm", ~played, rounds, "must be one of the arms on offer")


def _check_shares(log: Columns, rounds: Integers) -> None:
    """Probabilities lie in [0, 1]; what was played had one above 0."""
    for name in ("propensity", "base_propensity", "kept"):
        if log[name] is not None:
            _check_share(log, name, rounds)
    if log["kept"] is not None:
        refuse("kept", np.isnan(log["kept"]), rounds, "must be a number")
    if log["explore_probability"] is not None:
        _check_exploring(log["explore_probability"], log["explored"], rounds)
    if log["base_propensities"] is not None:
        _check_propensities(log["base_propensities"], log["offered"], rounds)
        _check_agreement(log, rounds)


def _check_share(log: Columns, name: str, rounds: Integers) -> None:
    possible = (log[name] == 0.0) & _greedily(log, name)  # an arm that exploring would not have played
    bad = ((log[name] < LEAST_CHANCE) | (log[name] > 1.0)) & ~possible
    refuse(name, bad, rounds, "must lie above 0 and be at most 1")


def _check_exploring(probability: Floats, explored: Bools | None, rounds: Integers) -> None:
    refuse("explore_probability", (probability < 0.0) | (probability > 1.0), rounds, "must lie in [0, 1]")
    if explored is not None:
        refuse(
            "explored", (probability == 0.0) & explored, rounds, "cannot be where explore_probability is 0"
        )


def _greedily(log: Columns, name: str) -> Bools | bool:
    """Rounds whose `base_propensity` may be 0: those that did not explore."""
    return ~log["explored"] if name == "base_propensity" and log["explored"] is not None else False


def _check_propensities(propensities: Floats, offered: Bools | None, rounds: Integers) -> None:
    faults = law_faults(propensities, SUM_ROUNDING)
    refuse("base_propensities", faults == LawFault.OUTSIDE, rounds, "must lie in [0, 1]")
    refuse("base_propensities", faults == LawFault.NOT_ONE, rounds, "must add up to 1")
    if offered is not None:
        hidden = (faults == LawFault.SOUND) & ((propensities > 0.0) & ~offered).any(axis=1)
        refuse("base_propensities", hidden, rounds, "must be 0 of arms not on offer")


def _check_agreement(log: Columns, rounds: Integers) -> None:
    """The propensity of the arm that was played is that in `base_propensities`, where both are known."""
    own = log["base_propensities"][np.arange(rounds.size), log["arm"]]
    whole = log["explore_probability"] is None  # else these are of exploring rounds alone
    for name in ("base_propensity", "propensity") if whole else ("base_propensity",):
        if log[name] is not None:
            apart = np.abs(log[name] - own) > AGREE_WITHIN * own  # NaN is not
            refuse(name, apart, rounds, "must be that of the arm in base_propensities")


@final
class RoundsOfItems:
    """The round of each thing that stands in lists; those of row i end before `ends[i]`.

    >>> RoundsOfItems(np.array([7, 8]), np.array([1, 3]))[np.array([False, True, True])]
    array([8, 8])
    """

    __slots__ = ("ends", "rounds")

    def __init__(self, rounds: Integers, ends: Integers) -> None:
        self.rounds, self.ends = rounds, ends

    def __getitem__(self, chosen: Bools | np.bool_) -> Integers:
        found: Integers = self.rounds[np.searchsorted(self.ends, np.flatnonzero(chosen), side="right")]
        return found


def refuse(name: str, bad: Bools | np.bool_, rounds: Integers | RoundsOfItems, must: str) -> None:
    """Refuses a column with bad rows: how many there are, and the first three rounds."""
    count = int(np.count_nonzero(bad))
    if count:
        first = ", ".join(str(t) for t in rounds[bad][:ROUNDS_NAMED])
        rows = "1 row is not: round" if count == 1 else f"{count:,} rows are not: rounds"
        raise InvalidLog(f"{name} {must}; {rows} {first}{', ...' if count > ROUNDS_NAMED else ''}")
