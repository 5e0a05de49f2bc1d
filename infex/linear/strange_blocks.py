"""What a file says K regressions have derived, against what follows from their sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from infex.arrays import Floats, fitting
from infex.errors import DamagedFile
from infex.kernels.layout import ARM, CLOSED, RUNS, VOLUME
from infex.linear.estimating import Arrays
from infex.linear.numba_ridge import NEAR


def refuse_strange_blocks(arrays: Arrays, solved: Floats, runs: Floats) -> tuple[Floats, Floats]:
    """Factors and totals of a file, if they are near those that were computed anew."""
    kept: Floats = fitting("factors", arrays["factors"], solved.shape)
    totals: Floats = fitting("runs", arrays["runs"], runs.shape)
    with np.errstate(all="ignore"):  # numbers of a file may be anything
        _refuse_far("factor", kept[:, :-1], solved[:, :-1])
        _refuse_far("theta", *(_in_widths(each[:, -1], solved[:, :-1]) for each in (kept, solved)))
        _refuse_far("volume", totals[:, VOLUME], runs[:, VOLUME])
    _refuse_totals(totals, solved.shape[2])
    return kept, totals


def _in_widths(theta: Floats, factor: Floats) -> Floats:
    """M'^-1 theta: far less than a width is nothing, whatever the penalty."""
    found: Any = np.linalg.solve(np.swapaxes(factor, 1, 2), theta[:, :, None])
    return found[:, :, 0]  # type: ignore[no-any-return]


def _refuse_far(name: str, kept: Floats, anew: Floats) -> None:
    """Refuses numbers of a block that are not as good as those computed anew; never of no number."""
    flat = anew.reshape(len(anew), -1)
    limits = NEAR * (1.0 + np.abs(flat).max(axis=1, initial=0.0))
    if not (np.abs(kept.reshape(flat.shape) - flat) <= limits[:, None]).all():
        raise DamagedFile(f"its {name} does not follow from what was learnt")


def _refuse_totals(runs: Floats, dim: int) -> None:
    """Refuses scalars of a run under way, of which there is none, and counts that cannot be."""
    scalars = np.delete(runs, [ARM, VOLUME, RUNS], axis=1)
    counts = runs[:, RUNS]
    fits = (runs[:, ARM] == -1.0).all() and not scalars.any() and (runs[:, VOLUME] >= 0.0).all()
    if not fits or not ((counts >= 0.0) & (counts <= CLOSED * dim)).all():
        raise DamagedFile("the counts of runs in it cannot be")
