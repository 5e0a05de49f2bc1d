"""The problems of a sweep, and the runs of one policy on one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import pyarrow as pa

from infex.arrays import Floats, Integers


@final
@dataclass(frozen=True, slots=True)
class Cell:
    """One problem of a sweep: its label, dimension, number of arms, and the horizon if there are several."""

    environment: str
    dim: int
    arms: int
    horizon: int | None = None


class Runs(NamedTuple):
    """The runs of one policy on one problem, by seed: final regret, seconds, and the share that explored."""

    seeds: Integers
    regret: Floats
    seconds: Floats
    explored: Floats


def by_cell(table: pa.Table) -> dict[tuple[Cell, str], Integers]:
    """The rows of each cell and policy, sorted by seed and round."""
    names = [table[name].combine_chunks().dictionary_encode() for name in ("environment", "policy")]
    groups = [name.indices.to_numpy() for name in names]
    groups += [table[name].to_numpy() for name in ("dim", "arms", "horizon")]
    several = np.unique(groups[-1]).size > 1
    order = np.lexsort((table["t"].to_numpy(), table["seed"].to_numpy(), *groups))
    ends = np.flatnonzero(np.any([np.diff(group[order]) != 0 for group in groups], axis=0)) + 1
    rows_of_group = {}
    for rows in np.split(order, ends) if order.size else ():
        environment, policy, dim, arms, horizon = (int(group[rows[0]]) for group in groups)
        label = names[0].dictionary[environment].as_py()
        cell = Cell(label, dim, arms, horizon if several else None)
        rows_of_group[cell, names[1].dictionary[policy].as_py()] = rows
    return rows_of_group
