"""One self-contained page: verdicts, charts to touch, tables, settings. It loads nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infex.reports.citation import bibtex
from infex.reports.shell import script, shell
from infex.reports.shown import Judgement, P, Shown
from infex.reports.strips import LOOKS, strip
from infex.reports.styles import Style, styles

REGRET_EXPLAINED = (
    "Regret is the pseudo-regret: what was lost, in means, against always playing the best arm."
)
LINES_EXPLAINED = (
    "Lines are means over instances. Bands are one standard deviation to each side, the 95 % interval of the "
    "mean, or quartiles about the median, as you choose; where more than nine "
    "lines are shown, bars behind the last round tell it in their place. Differences are paired: "
    "both policies met the same instances and the same noise; brackets hold a 95 % bootstrap interval of "
    "a mean, which needs 12 instances and is not corrected for the number of comparisons (results.tests is). "
    "Greedy's regret is a mixture of near-zero and linear runs, so look at medians too."
)
MARKS_EXPLAINED = "A short mark is one run, a dot the median."
CLAIMS_HEADING = "The paper's claims on these runs"


def page(
    results: Shown[P],
    title: str,
    verdicts: Sequence[Judgement],
    caveat: str = "",
    heading: str = CLAIMS_HEADING,
) -> str:
    """The report of a sweep as one HTML page; the caveat stands above the verdicts."""
    looks = styles(results.policies, results.bases, results.rules)
    content = json.dumps(_data(results, looks), separators=(",", ":"), allow_nan=False).replace(
        "<", "\\u003c"
    )
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(_summary(results))}</p>',
        _failures(results),
        _claims(verdicts, caveat, heading),
        "<h2>Regret and computation time</h2>",
        f"<p>{escape(REGRET_EXPLAINED)} {escape(LINES_EXPLAINED)}</p>",
        f"<p>{escape(_time(results.about))} {MARKS_EXPLAINED}</p>",
        '<div id="charts">',  # the legend stays in sight up to its end
        _legend(results.policies, looks),
        *[_chart(place, cell, results.title(cell)) for place, cell in enumerate(results.cells)],
        "</div>",
        "<h2>Final regret</h2>",
        _table(results),
        "<h2>How it was run</h2>",
        _about(results.about),
        "<h2>How to cite it</h2>",
        f'<pre id="bibtex">{escape(bibtex(results.about))}</pre>',
    ]
    data = f'<script type="application/json" id="data">{content}</script>'
    return shell(title, parts, scripts=[data, script("chart.js")])


def _data(results: Shown[P], looks: dict[str, Style]) -> dict[str, Any]:
    """What the charts draw."""
    cells = []
    for cell in results.cells:
        lines = []
        for policy in results.policies:
            if not results.has(cell, policy):
                continue
            rounds, mean, std = results.band(cell, policy)
            inner, quartiles = (
                strip(results, cell, policy, "interval"),
                strip(results, cell, policy, "median"),
            )
            seconds = results.seconds(cell, policy)
            lines.append(
                {
                    "policy": policy,
                    "colour": _on_page(looks[policy].colour),
                    "dash": list(looks[policy].dash),
                    "rounds": rounds.tolist(),
                    "mean": _short(mean),
                    "std": _short(std),
                    "interval": [_short(inner.low), _short(inner.high)],
                    "quartiles": [_short(quartiles.low), _short(quartiles.line), _short(quartiles.high)],
                    "times": _short(np.maximum(seconds, 1e-9)),
                    "time": _short(np.array([max(float(np.median(seconds)), 1e-9)]))[0],
                }
            )
        last = max((line["rounds"][-1] for line in lines), default=1)
        cells.append({"label": cell.environment, "lines": lines, "horizon": last})
    return {"cells": cells}


def _short(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.5g}") for value in values.tolist()]


def _summary(results: Shown[P]) -> str:
    runs = len(results.finals)
    cells, policies = len(results.cells), len(results.policies)
    problems = "1 problem" if cells == 1 else f"{cells} problems"
    return f"{runs:,} runs of {_rounds(results.about)} rounds: {problems}, {policies} policies."


def _rounds(about: dict[str, Any]) -> str:
    """The horizon, or all of them."""
    given = about.get("horizon", 0)
    return " and ".join(f"{horizon:,}" for horizon in (given if isinstance(given, list | tuple) else [given]))


def _time(about: dict[str, Any]) -> str:
    """How computation time was measured, as far as the sweep has recorded it."""
    engine, workers, cores = (about.get(name) for name in ("engine", "workers", "cores"))
    words = "Computation time is that of each run by itself, from its first round to its last."
    if engine == "local" and workers is not None and cores is not None:
        one = "in one process" if workers == 1 else f"in {workers} processes, each one run at a time,"
        words += f" Runs were played {one} on a machine with {cores} {'core' if cores == 1 else 'cores'}"
        words += "; they shared cores, so times are too long." if workers > cores else "."
        words += " Other work on the machine still shows."
    elif engine is not None:
        words += f" Runs were played on {engine}, whose workers may be unlike and may play several at once."
    earlier = about.get("earlier", 0)
    return (
        f"{words} {earlier:,} of the runs are of an earlier command, perhaps played otherwise."
        if earlier
        else words
    )


def _failures(results: Shown[P]) -> str:
    if not results.failures:
        return ""
    lines = "".join(
        f"<li>{escape(each['run'])}: <code>{escape(each['traceback'].strip().splitlines()[-1])}</code></li>"
        for each in results.failures
    )
    return f"<h2>{len(results.failures)} runs failed</h2><ul>{lines}</ul>"


def _claims(verdicts: Sequence[Judgement], caveat: str, heading: str) -> str:
    if not verdicts:
        return ""
    items = []
    for each in verdicts:
        kind = "soft" if each.cells == 0 else "holds" if each.holds == each.cells else "fails"
        if kind == "fails" and each.holds + each.undecided == each.cells:
            kind = "soft"
        words = (
            "cannot be told here" if each.cells == 0 else f"holds in {each.holds} of {each.cells} {each.unit}"
        )
        if each.undecided:
            words += f", {each.undecided} within noise"
        more = f' <span class="soft">{escape(each.note)}</span>' if each.note else ""
        items.append(f'<li class="{kind}"><b>{words}</b> {escape(each.claim)}{more}</li>')
    known = f"<p>{escape(caveat)}</p>\n" if caveat else ""
    return f"<h2>{escape(heading, quote=False)}</h2>\n{known}" + f'<ul class="claims">{"".join(items)}</ul>'


def _on_page(colour: str) -> str:
    """A colour as the page has it: black is that of the text, which is light on a dark page."""
    return "currentColor" if colour == "#000000" else colour


def _legend(policies: list[str], looks: dict[str, Style]) -> str:
    buttons = []
    for policy in policies:
        colour, dash = _on_page(looks[policy].colour), looks[policy].dash
        line = (
            '<svg width="26" height="8" aria-hidden="true"><line x1="0" x2="26" y1="4" y2="4" '
            f'stroke="{colour}" stroke-width="2.5" stroke-dasharray="{" ".join(map(str, dash))}"/></svg>'
        )
        name = escape(policy)
        buttons.append(
            f'<button type="button" aria-pressed="true" data-policy="{name}">{line}{name}</button>'
        )
    scales = "".join(
        f'<button type="button" id="{name}" aria-pressed="false">{words} on a log scale</button>'
        for name, words in (("scale", "rounds"), ("regrets", "regret"))
    )
    views = "".join(
        f'<button type="button" class="view" data-view="{name}" aria-pressed="{str(name == "std").lower()}">'
        f"{words}</button>"
        for name, words in LOOKS.items()
    )
    words = f'<p class="tip">Choose a name to hide or show it.</p><div id="views">{views}{scales}</div>'
    return f'<div id="tools"><div id="legend">{"".join(buttons)}</div>{words}</div>'


def _chart(place: int, cell: P, title: str) -> str:
    label = "" if cell.environment in title else f' <span class="soft">{escape(cell.environment)}</span>'
    return (
        f"<section><h3>{escape(title)}{label}</h3>"
        f'<div class="pair"><div><div class="regret" data-cell="{place}"></div></div>'
        f'<div><div class="time" data-cell="{place}"></div></div></div></section>'
    )


def _table(results: Shown[P]) -> str:
    head = (
        "<tr><th>policy</th><th>instances</th><th>mean</th><th>95 % interval</th><th>std</th><th>median</th>"
        "<th>against its base</th><th>against Greedy</th><th>median time</th></tr>"
    )
    rows = []
    for cell in results.cells:
        rows.append(f'<tr class="cell"><td colspan="9">{escape(_cell_head(results, cell))}</td></tr>')
        for policy in results.policies:
            if results.has(cell, policy):
                rows.append(_row(results, cell, policy))
    body = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="wide"><table id="finals">{body}</table></div>'


def _cell_head(results: Shown[P], cell: P) -> str:
    """A problem, and its lowest mean as what it is: the best of so many, on the seeds that chose it."""
    means = {
        policy: results.spread(cell, policy).mean for policy in results.policies if results.has(cell, policy)
    }
    if len(means) < 2:
        return results.title(cell)
    lowest = min(means, key=means.__getitem__)
    return f"{results.title(cell)}; lowest of {len(means)} on these very seeds: {lowest}"


def _row(results: Shown[P], cell: P, policy: str) -> str:
    regret, mean = results.spread(cell, policy), results.interval(cell, policy)
    against = [_against(results, cell, policy, other) for other in (results.bases.get(policy), "Greedy")]
    figures = [str(regret.runs), _number(regret.mean), _ends(mean.low, mean.high)]
    figures += [_number(regret.std), _number(regret.median), *against]
    time = _seconds(float(np.median(results.seconds(cell, policy))))
    return (
        f"<tr><td>{escape(policy)}</td>" + "".join(f"<td>{each}</td>" for each in [*figures, time]) + "</tr>"
    )


def _against(results: Shown[P], cell: P, policy: str, other: str | None) -> str:
    if other is None or other == policy or not results.has(cell, other):
        return ""
    gap = results.compare(cell, policy, other)
    if not gap.pairs:
        return ""
    return f"{_number(gap.mean, sign=True)} {_ends(gap.low, gap.high, sign=True)}"


def _ends(low: float, high: float, sign: bool = False) -> str:
    """An interval, or why there is none."""
    if math.isnan(low) or math.isnan(high):
        return "(too few)"
    return f"[{_number(low, sign)}, {_number(high, sign)}]"


def _number(value: float, sign: bool = False) -> str:
    if not math.isfinite(value):
        return "\N{EN DASH}"
    digits = 0 if abs(value) >= 100 else 1
    return f"{value:{'+' if sign else ''},.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.2f} ms"


def _about(about: dict[str, Any]) -> str:
    seeds = about.get("seeds", [])
    versions = ", ".join(f"{name} {number}" for name, number in about.get("versions", {}).items())
    facts = {
        "Environments": "; ".join(about.get("environments", [])),
        "Policies": "; ".join(about.get("policies", [])),
        "Horizon": f"{_rounds(about)} rounds",
        "Seeds": _seeds(seeds),
        "Ridge penalty": about.get("penalty", ""),
        "delta of policies that say none": about.get("delta", ""),
        "Estimator": "; ".join(about.get("estimator", [])),
        "Versions": versions,
        "Commit of the folder it was run in": about.get("commit", ""),
        "Machine": about.get("machine", ""),
        "Command": about.get("command", ""),
    }
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(fact))}</dd>" for name, fact in facts.items() if fact
    )
    return f"<dl>{items}</dl>"


def _seeds(seeds: list[int]) -> str:
    """How many, and which: the first and the last if none between them is missing."""
    listed = sorted(seeds)
    if len(listed) > 2 and listed == list(range(listed[0], listed[-1] + 1)):
        return f"{len(listed)}: {listed[0]} to {listed[-1]}"
    return f"{len(listed)}: {', '.join(map(str, listed))}" if listed else ""
