"""An evaluation as text, as a picture of intervals, and as a self-contained page."""

from __future__ import annotations

import math
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from infex.evaluation.compare import REFUTED, Comparison
from infex.evaluation.diagnostics import LogFinding
from infex.files import replace
from infex.pages import chart, rounded, shell, table

if TYPE_CHECKING:
    from infex.evaluation.evaluate import Evaluation, TargetValue

GROUNDS = {
    "guaranteed": "holds at least as often as it says, for the noise and bound that are stated",
    "asymptotic": "holds about as often as it says, with many explorations",
    "assumed": "holds if the assumptions are true",
}
ESTIMATOR_WORDS = {
    "on_policy": "what was earned",
    "dm": "linear model of all rounds",
    "dr": "linear model, corrected by explorations",
    "ips": "weighted explorations",
    "snips": "weighted explorations over their weights",
    "manski": "weighted explorations, gaps bounded",
    "blocks": "all rounds up to each exploration",
}
PAIR_WORDS = {
    "dm": "the linear model of all rounds",
    "paired draws": "explorations that both share",
    "manski": "explorations, with gaps bounded",
}
PICTURE_WIDTH, PICTURE_ROW, PICTURE_LEFT = 720, 34, 150


# Text


def figure(value: float) -> str:
    """A number with four digits.

    >>> figure(0.123456), figure(float("nan"))
    ('0.1235', '-')
    """
    return f"{value:.4g}" if math.isfinite(value) else "-"


def interval(low: float, high: float) -> str:
    """Both ends of an interval, or "none"."""
    return f"[{figure(low)}, {figure(high)}]" if math.isfinite(low) and math.isfinite(high) else "none"


def text(found: Evaluation) -> str:
    """The log, a table of targets, verdicts, and what was noticed."""
    level = f"{found.analysis.confidence:.0%} interval"
    rows = [["target", "value", level, "by", "rests on", "explorations", "support"]]
    for one in found.values:
        rows.append(
            [
                one.name,
                figure(one.value),
                interval(one.low, one.high),
                one.estimator,
                one.ground,
                f"{one.effective:,.0f} of {one.explorations:,}" if one.explorations else "-",
                "assumed" if one.support is None else f"{one.support:.1%}",
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [str(found.analysis), ""]
    for row in rows:
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if found.comparisons:
        lines += ["", *(str(each) for each in found.comparisons)]
    notes = [f"- {each.words}" for each in found.findings]
    notes += [f"- {one.name}: {each.words}" for one in found.values for each in one.findings if each.warns]
    return "\n".join(lines + (["", *notes] if notes else []))


def verdict_sentence(found: Comparison) -> str:
    """The verdict as a sentence for somebody who decides."""
    if found.estimator == REFUTED:
        return (
            f"This log cannot tell {found.first} from {found.second}: only the linear model could, "
            "which explorations contradict."
        )
    much = f"{found.difference:+.4g} a round, {interval(found.low, found.high)}."
    if found.verdict == "cannot tell":
        return f"This log cannot tell {found.first} from {found.second}: {much}"
    more = "more" if found.verdict == "better" else "less"
    return f"{found.first} would have earned {more} than {found.second}: {much}"


# Pictures


class Scale(NamedTuple):
    """The values at the left and the right end of a picture."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Where a value is between both ends, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def x(self, value: float) -> float:
        """Where it is in the SVG picture."""
        return PICTURE_LEFT + self.share(value) * (PICTURE_WIDTH - PICTURE_LEFT - 10)


def _scale(values: tuple[TargetValue, ...]) -> Scale:
    """A scale with room for all intervals."""
    ends = [end for one in values for end in (one.low, one.value, one.high) if math.isfinite(end)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    pad = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
    return Scale(low - pad, high + pad)


def interval_picture(found: Evaluation) -> str:
    """The intervals of all targets as an SVG picture that loads nothing."""
    scale, height = _scale(found.values), PICTURE_ROW * (len(found.values) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PICTURE_WIDTH} {height}" '
        'font-family="sans-serif" '
        f'font-size="13" role="img"><title>Values with intervals of {found.analysis.confidence:.0%}</title>'
    ]
    for place, one in enumerate(found.values):
        middle = PICTURE_ROW * place + PICTURE_ROW / 2
        row = f'<text x="0" y="{middle + 4:g}">{escape(one.name[:20])}</text>'
        if math.isfinite(one.low) and math.isfinite(one.high):
            row += (
                f'<line x1="{scale.x(one.low):.1f}" x2="{scale.x(one.high):.1f}" y1="{middle:g}" '
                f'y2="{middle:g}" stroke="#0072b2" stroke-width="6" stroke-opacity="0.45"/>'
            )
        parts.append(f'{row}<circle cx="{scale.x(one.value):.1f}" cy="{middle:g}" r="4" fill="#1b1f24"/>')
    base = height - 10
    parts.append(f'<text x="{PICTURE_LEFT}" y="{base}">{figure(scale.low)}</text>')
    parts.append(
        f'<text x="{PICTURE_WIDTH - 10}" y="{base}" text-anchor="end">{figure(scale.high)}</text></svg>'
    )
    return "\n".join(parts)


def _intervals(found: Evaluation) -> dict[str, Any]:
    """The chart of all targets on one scale; the line is the target that others are compared with."""
    rows = [
        dict(zip(("value", "low", "high"), rounded((one.value, one.low, one.high)), strict=True))
        | {"name": one.name, "text": figure(one.value)}
        for one in found.values
    ]
    line = None if found.against is None else rounded([found[found.against].value])[0]
    title = f"Values with intervals of {found.analysis.confidence:.0%}"
    return {"kind": "rows", "title": title, "x": {"label": "reward a round"}, "rows": rows, "reference": line}


# The page


def write_page(found: Evaluation, path: str | os.PathLike[str]) -> None:
    """Writes the page to a file that is replaced as a whole."""
    title = "Which policy would have been better?"
    used = sorted({one.ground for one in found.values})
    grounds = " ".join(f"An interval that is {name} {GROUNDS[name]}." for name in used)
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="soft">From a log of {escape(str(found.analysis))}.</p>',
        *_verdicts(found),
        f"<h2>Reward a round, with intervals of {found.analysis.confidence:.0%}</h2>",
        chart(_intervals(found)),
        *_tables(found),
        "<h2>What was noticed</h2>",
        _notes(found),
        f'<p class="soft">Values are of the rounds in this log, not of others to come. {grounds}</p>',
    ]
    replace(Path(path), shell(title, parts).encode())


def _verdicts(found: Evaluation) -> list[str]:
    if not found.comparisons:
        return ["<p>No target was named to compare the others with.</p>"]
    kinds = {"better": "holds", "worse": "fails"}
    rows, remedies = [], []
    for each in found.comparisons:
        by = PAIR_WORDS.get(each.estimator)
        basis = "" if by is None else f"By {by}; the interval {GROUNDS[each.ground]}."
        rows.append(
            f'<li class="{kinds.get(each.verdict, "")}"><b>{each.verdict}</b> '
            f'{escape(verdict_sentence(each))} <span class="soft">{escape(basis)}</span></li>'
        )
        remedies += _remedy(found, each)
    return [f'<ul class="claims">{"".join(rows)}</ul>', *remedies]


def _remedy(found: Evaluation, pair: Comparison) -> list[str]:
    """What would settle a verdict that is open."""
    first, second = escape(pair.first), escape(pair.second)
    if pair.estimator == REFUTED:
        return [
            f"<p>{first} and {second} were compared by the linear model, which explorations contradict: "
            "other features are needed, not more rounds.</p>"
        ]
    if pair.verdict == "cannot tell" and pair.low < pair.high and pair.difference:
        more = found.needed(pair.first, pair.second)
        what = "rounds" if pair.estimator == "dm" else "explorations"
        rounds = "" if what == "rounds" else f" ({more.rounds:,} rounds at the pace of this log)"
        return [
            f"<p>If {first} really differs from {second} by what it seems, "
            f"about {more.explorations:,} more {what}{rounds} would show it.</p>"
        ]
    return []


def _tables(found: Evaluation) -> list[str]:
    values, support, details = [], [], []
    for one in found.values:
        by = f"{ESTIMATOR_WORDS.get(one.estimator, one.estimator)}<br><small>{escape(one.why)}</small>"
        method = f"{one.method}<br><small>{one.ground}</small>"
        ends = interval(one.low, one.high)
        values.append([f"<b>{escape(one.name)}</b>", figure(one.value), ends, by, method])
        share = "assumed" if one.support is None else f"{one.support:.1%}"
        counts = [f"{one.explorations:,}", f"{one.effective:,.0f}"]
        support.append([escape(one.name), share, *counts, figure(one.model), figure(one.correction)])
        if one.carriers:
            rows = [
                [f"{each.round:,}", escape(str(each.arm)), figure(each.weight), figure(each.reward),
                 f"{each.share:.1%}"]
                for each in one.carriers
            ]  # fmt: skip
            body = table(("round", "arm", "weight", "reward", "of all weights"), rows)
            head = f"The {len(one.carriers)} rounds that carry {escape(one.name)} most"
            details.append(f"<details><summary>{head}</summary>{body}</details>")
    heads = ("", "could be played", "explorations", "worth", "model says", "corrected by")
    return [
        table(("", "value", "interval", "by", "interval by"), values, texts=(3, 4)),
        "<h2>What this log supports, and what not</h2>",
        table(heads, support),
        *details,
    ]


def _notes(found: Evaluation) -> str:
    """All findings, each once, with the names of the targets that it concerns."""
    names: dict[LogFinding, list[str]] = {}
    for one in found.values:
        for each in one.findings:
            names.setdefault(each, []).append(one.name)
    notes = [(each.warns, each.words) for each in found.findings]
    notes += [(each.warns, f"{', '.join(who)}: {each.words}") for each, who in names.items()]
    if not notes:
        return "<p>Nothing that would contradict these values.</p>"
    items = []
    for warns, words in notes:
        mark, kind = ("fails", "warning") if warns else ("", "note")
        items.append(f'<li class="{mark}"><b>{kind}</b> {escape(words)}</li>')
    return f'<ul class="claims">{"".join(items)}</ul>'
