"""Which of its arms a user means."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from infex.arrays import Bools, Label
from infex.checks import whole
from infex.errors import InvalidArms, UnknownArm


def mask_of(allowed: Any, count: int) -> Bools:
    """One True or False for each of so many arms."""
    try:
        mask = np.array(allowed)
        if mask.dtype != np.bool_ or mask.shape != (count,):
            raise ValueError
    except ValueError:
        raise InvalidArms(
            f"allowed must be True or False for each of {count} arms, got {allowed!r}"
        ) from None
    return mask


def places_of(which: Any, labels: tuple[Label, ...] | None, count: int) -> set[int]:
    """The indices of the arms that are named: by label where arms have labels, else by index."""
    one = isinstance(which, str) or not isinstance(which, Iterable)
    known = {label: place for place, label in enumerate(labels or range(count))}
    places = set()
    for name in [which] if one else which:
        key = str(name) if isinstance(name, str) else whole("an index or label", name, error=UnknownArm)
        if key not in known:
            by = "labels" if labels else "indices"
            raise UnknownArm(f"no arm is called {key!r}; arms of this bandit go by their {by}")
        places.add(known[key])
    return places
