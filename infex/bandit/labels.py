"""Which of its arms a user means."""

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from infex.arrays import Bools, Label, brief, is_masked, shown
from infex.errors import InvalidArms, UnknownArm


def mask_of(allowed: npt.ArrayLike, count: int) -> Bools:
    """One True or False for each of so many arms."""
    must = f"allowed must be True or False for each of {count} arms"
    try:
        mask = np.array(allowed)
    except ValueError:
        raise InvalidArms(f"{must}, got {brief(allowed)}") from None
    if mask.dtype != np.bool_ or mask.shape != (count,) or is_masked(allowed):
        raise InvalidArms(f"{must}, got {mask.dtype} of the shape {mask.shape}: {brief(mask.tolist())}")
    return shown(mask)


def places_of(which: object, labels: tuple[Label, ...] | None, count: int) -> set[int]:
    """The indices of the arms that are named: by label where arms have labels, else by index."""
    names = [which] if isinstance(which, str) or not isinstance(which, Iterable) else which
    known = places_by_name(labels, count)
    return {place_of(name, known, labels is not None) for name in names}


def places_by_name(labels: tuple[Label, ...] | None, count: int) -> Mapping[Label, int]:
    """Where each arm is: by its label where arms have labels, else by its index."""
    return {label: place for place, label in enumerate(labels or range(count))}


def place_of(name: object, known: Mapping[Label, int], labelled: bool) -> int:
    """The index of the arm that is named, among those that are known."""
    by = "labels" if labelled else "indices"
    if isinstance(name, str):
        key: Label = str(name)
    elif isinstance(name, bool | np.bool_) or not isinstance(name, int | np.integer):  # or somebody's context
        raise UnknownArm(f"arms of this bandit go by their {by}, got a {type(name).__name__}")
    else:
        key = int(name)
    if key not in known:
        raise UnknownArm(f"no arm is called {key!r}; arms of this bandit go by their {by}")
    return known[key]
