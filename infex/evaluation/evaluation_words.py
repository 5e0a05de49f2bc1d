"""An evaluation in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from infex.evaluation.comparing import REFUTED, Comparison
from infex.evaluation.groundwork import Groundwork
from infex.evaluation.target_value import TargetValue

if TYPE_CHECKING:
    from infex.evaluation.evaluation import Evaluation

DESIGNS = {
    "jittered": "one drawn round of each block explores",
    "fixed": "exploring rounds are fixed",
    "every round": "every round has a known propensity",
    "none": "no propensities are known",
}


def sentences(found: Evaluation) -> list[str]:
    """Lines: the log, a table of targets, verdicts, and what was noticed."""
    lines = [of_log(found.work), "", *table_lines(found.judged, found.work.confidence)]
    if found.comparisons:
        lines += ["", *(str(each) for each in found.comparisons)]
    notes = [f"- {each.words}" for each in found.findings]
    notes += [f"- {one.name}: {each.words}" for one in found.judged for each in one.findings if each.warns]
    return lines + (["", *notes] if notes else [])


def of_log(work: Groundwork) -> str:
    """The log in one line."""
    log, design = work.log, work.design
    missing = int((~log.rewarded).sum())
    parts = [f"{len(log):,} rounds", f"{log.count} arms", DESIGNS[design.kind]]
    if design.drawn_blocks:
        parts.append(f"{design.rows.size:,} explorations")
    if missing:
        parts.append(f"{missing:,} rewards missing")
    return ", ".join(parts)


def table_lines(judged: tuple[TargetValue, ...], confidence: float) -> list[str]:
    """A table of characters."""
    heads = ["target", "value", f"{confidence:.0%} interval", "by", "rests on", "explorations", "support"]
    rows = [heads] + [
        [
            one.name,
            figure(one.value),
            interval(one.low, one.high),
            one.estimator,
            one.ground,
            f"{one.effective:,.0f} of {one.explorations:,}" if one.explorations else "-",
            "assumed" if one.support is None else f"{one.support:.1%}",
        ]
        for one in judged
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(heads))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def figure(value: float) -> str:
    """A number of four digits.

    >>> figure(0.123456), figure(float("nan"))
    ('0.1235', '-')
    """
    return f"{value:.4g}" if math.isfinite(value) else "-"


def interval(low: float, high: float) -> str:
    """Both ends, or that there are none."""
    return f"[{figure(low)}, {figure(high)}]" if math.isfinite(low) and math.isfinite(high) else "none"


def verdict_words(found: Comparison) -> str:
    """The verdict as a sentence for somebody who decides."""
    if found.estimator == REFUTED:
        return (
            f"This log cannot tell {found.first} from {found.second}: it could only by the linear model, "
            "which explorations speak against."
        )
    ends = interval(found.low, found.high)
    much = f"{found.difference:+.4g} a round, {ends}."
    if found.verdict == "cannot tell":
        return f"This log cannot tell {found.first} from {found.second}: {much}"
    more = "more" if found.verdict == "better" else "less"
    return f"{found.first} would have earned {more} than {found.second}: {much}"
