"""A log in a few lines: how much there is, and by what other policies can be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from infex.logs.log import Log


def log_words(log: Log) -> str:
    """Rounds, arms, explorations, rewards that are missing, and the estimators that the columns allow."""
    missing = int((~log.rewarded).sum())
    parts = [f"{len(log):,} rounds of {log.count} arms"]
    if log.explored is not None:
        parts.append(f"{int(log.explored.sum()):,} explored")
    if log.held_out is not None and log.held_out.any():
        parts.append(f"{int(log.held_out.sum()):,} held out")
    if missing:
        parts.append(f"{missing:,} rewards missing")
    return f"{', '.join(parts)}\n{_drawn(log)}; {_looks(log)}"


def _drawn(log: Log) -> str:
    """What is known of propensities."""
    if log.propensity is not None and (log.propensity == 1.0).all():
        return "every arm was certain: weights can judge nothing else"
    if (
        log.explore_probability is not None
        and log.base_propensity is not None
        and not np.isnan(log.base_propensity[log.explored]).all()
    ):
        return "explorations with known propensities can judge other policies (dr)"
    if log.propensity is not None:
        return "logged propensities can judge other policies (dr), if they are right"
    return "no propensities are known: weights can judge nothing"


def _looks(log: Log) -> str:
    if log.dim is None:
        return "arms have no features: the model knows them by their places"
    return f"a linear model of {log.dim} features can judge any policy"
