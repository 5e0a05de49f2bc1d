"""What rewards can be learnt on: anything else is refused before compiled code sees it."""

from __future__ import annotations

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidArms, UnknownArm
from infex.linear.grounds import Grounds
from infex.linear.offers import InBlock, Layout, Separate


def refuse_places(grounds: Grounds, shape: tuple[int, ...]) -> None:
    """Refuses places of arms and rows that are not there: compiled code would read beyond its arrays."""
    dim, arms = shape
    place, row, rows, apart = grounds
    if (place >= 0).any():
        refuse_place(int(place.max()), arms)
    on_rows = row[place < 0]
    if apart:
        raise UnknownArm("rewards of arms with a regression each cannot be learnt by one for all")
    if on_rows.size and not (on_rows.min() >= 0 and on_rows.max() < len(rows) and rows.shape[1] == dim):
        raise UnknownArm(f"rewards cannot be learnt on features {rows.shape} where arms have {dim}")


def readable_rows(grounds: Grounds, dim: int) -> Floats:
    """The rows as compiled code reads them, also where there are none."""
    return np.ascontiguousarray(grounds.rows) if len(grounds.rows) else np.zeros((0, dim))


def refuse_place(on: int, arms: int) -> None:
    """Refuses the index of an arm that is not there."""
    if not 0 <= on < arms:
        raise UnknownArm(f"a reward cannot be learnt on arm {on} of {arms}")


def refuse_block(on: Floats | InBlock) -> Floats:
    """Features; refuses an arm in a context, which only a regression of its own can learn on."""
    if isinstance(on, InBlock):
        raise UnknownArm(f"a reward of arm {on.arm} in a context needs a regression for each arm")
    return on


def refuse_separate(layout: Layout) -> Floats:
    """Fixed arms, (d, K); refuses a layout with a regression for each."""
    if isinstance(layout, Separate):
        raise InvalidArms(f"one regression cannot go on as one for each of {layout.arms} arms")
    return layout
