"""Names that users give to arms."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from infex.bandit.decision import Label
from infex.checks import whole
from infex.errors import InvalidArms, UnknownArm
from infex.linear.evidence import Bools


def labels_of(labels: Iterable[Any] | None, count: int) -> tuple[Label, ...] | None:
    """The labels of `count` arms: texts or whole numbers, no two the same; or None."""
    if labels is None:
        return None
    if isinstance(labels, str):
        raise InvalidArms(f"labels must be a list with one label for each arm, got the text {labels!r}")
    found = tuple(_label(label) for label in labels)
    if len(found) != count:
        raise InvalidArms(f"labels must be as many as the arms, {count}, got {len(found)}")
    label, times = Counter(found).most_common(1)[0] if found else ("", 0)
    if times > 1:
        raise InvalidArms(f"labels must differ, got {label!r} {times} times")
    return found


def _label(label: Any) -> Label:
    if isinstance(label, str):
        return str(label)  # not NumPy's own kind of text
    return whole("a label that is no text (say str() to make it one)", label, error=InvalidArms)


def mask_of(allowed: Any, count: int) -> Bools:
    """One True or False for each of so many arms."""
    try:
        found = np.array(allowed)
        if found.dtype != np.bool_ or found.shape != (count,):
            raise ValueError
    except ValueError:
        raise InvalidArms(
            f"allowed must be True or False for each of {count} arms, got {allowed!r}"
        ) from None
    return found


def places_of(which: Any, labels: tuple[Label, ...] | None, count: int) -> set[int]:
    """The indices of the arms that are named: by label where arms have labels, else by index."""
    one = isinstance(which, str) or not isinstance(which, Iterable)
    known = {label: place for place, label in enumerate(labels or range(count))}
    gone = set()
    for name in [which] if one else which:
        key = str(name) if isinstance(name, str) else whole("an index or label", name, error=UnknownArm)
        if key not in known:
            by = "labels" if labels else "indices"
            raise UnknownArm(f"no arm is called {key!r}; arms of this bandit go by their {by}")
        gone.add(known[key])
    return gone
