"""The intervals of all targets on one scale, as an SVG picture."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from infex.evaluation.evaluation_words import figure
from infex.evaluation.target_value import TargetValue

if TYPE_CHECKING:
    from infex.evaluation.evaluation import Evaluation

PICTURE_WIDTH, PICTURE_ROW, PICTURE_LEFT = 720, 34, 150


class Scale(NamedTuple):
    """Where values stand between the left and the right end of a picture."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """From 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def scale_of(judged: tuple[TargetValue, ...]) -> Scale:
    """A scale on which all intervals have room."""
    ends = [end for one in judged for end in (one.low, one.value, one.high) if math.isfinite(end)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    pad = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
    return Scale(low - pad, high + pad)


def interval_picture(found: Evaluation) -> str:
    """An SVG picture that loads nothing."""
    scale, height = scale_of(found.judged), PICTURE_ROW * (len(found.judged) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PICTURE_WIDTH} {height}" '
        'font-family="sans-serif" '
        f'font-size="13" role="img"><title>Values with intervals of {found.work.confidence:.0%}</title>'
    ]
    parts += [_svg_row(one, place, scale) for place, one in enumerate(found.judged)]
    base = height - 10
    parts.append(f'<text x="{PICTURE_LEFT}" y="{base}">{figure(scale.low)}</text>')
    parts.append(
        f'<text x="{PICTURE_WIDTH - 10}" y="{base}" text-anchor="end">{figure(scale.high)}</text></svg>'
    )
    return "\n".join(parts)


def _svg_row(one: TargetValue, place: int, scale: Scale) -> str:
    middle = PICTURE_ROW * place + PICTURE_ROW / 2
    drawn = [f'<text x="0" y="{middle + 4:g}">{escape(one.name[:20])}</text>']
    if math.isfinite(one.low) and math.isfinite(one.high):
        first, last = _x(scale, one.low), _x(scale, one.high)
        drawn.append(
            f'<line x1="{first:.1f}" x2="{last:.1f}" y1="{middle:g}" y2="{middle:g}" stroke="#0072b2" '
            'stroke-width="6" stroke-opacity="0.45"/>'
        )
    drawn.append(f'<circle cx="{_x(scale, one.value):.1f}" cy="{middle:g}" r="4" fill="#1b1f24"/>')
    return "".join(drawn)


def _x(scale: Scale, value: float) -> float:
    return PICTURE_LEFT + scale.share(value) * (PICTURE_WIDTH - PICTURE_LEFT - 10)
