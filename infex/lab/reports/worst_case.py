"""The page of worst cases, and their table."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

import numpy as np

from infex.arrays import as_json
from infex.files import replace
from infex.lab.worst_case import FAMILIES, Growth, WorstCase, WorstCases, late_from
from infex.pages import breakable, chart, rounded, shell, table

TITLE = "How rarely may one explore in the worst case?"
HEADINGS = (
    "schedule", "f(T)", "worst regret", "95 %", "times the floor", "exploring", "late slope", "95 %, seeds",
    "scatter", "predicted",
)  # fmt: skip

QUESTION = """
<p>INFEX explores in f(T) of T rounds and is greedy in all others. Lee and Oh show that more than order
log T explorations keep the regret of each single instance of the order that it has if every round
explores. They conjecture that this is too few for O(&radic;T) over <em>all</em> instances, whose gaps may
shrink as T grows.</p>
<p>This map has, for every base, schedule and horizon, the worst regret that a search has found, and how
it grows with T. {tried} instances were played beside the first searches, with gaps from 1 to
T<sup>-0.6</sup>. They have at most five arms, arms and theta no longer than 1, and noise N(0, 1).</p>
"""
DERIVATION = """
<p><b>Rule of thumb.</b> Take two arms: one has the mean &Delta; or -&Delta;, the other pays 0 and teaches
nothing. Once the greedy rounds have dropped the first, only explorations teach, and f(T) of them tell
gaps above f(T)<sup>-1/2</sup>. With a gap of just that size, the better arm stays dropped for a constant
share of the rounds with a constant probability, which costs of order &Delta; T = T/&radic;f(T). Greedy
rounds teach, too, while they play the first arm. But where its mean is -&Delta; they do so only some
1/(2&Delta;<sup>2</sup>) times, which for this gap is of the order of f(T) itself.</p>
<p><b>As a bound.</b> This is the proof of the paper's Theorem 3, with the gap chosen for the horizon. On
the two instances together, regret is at least (&Delta; T/4) exp(-KL), where KL = 2&Delta;<sup>2</sup>
E<sub>1</sub>[N<sub>1</sub>] and E<sub>1</sub>[N<sub>1</sub>] is at most 1 + 1/(2&Delta;<sup>2</sup>) +
f(T). For &Delta; = 1/(2&radic;(1 + f(T))), KL is at most 3/2. So one of the two has a regret of at least
e<sup>-3/2</sup> T/(16&radic;(1 + f(T))) = 0.0139 T/&radic;(1 + f(T)), whatever the base is and whenever
it explores. This is the floor below.</p>
<p><b>So</b> f(T) = T<sup>r</sup> has a worst case of order T<sup>1 - r/2</sup> or more, (log
T)<sup>r</sup> one of order T/(log T)<sup>r/2</sup> or more, and a worst case of C&radic;T needs f(T) of
at least (0.0139/C)<sup>2</sup> T - 1: a share of all rounds, though perhaps a small one. This confirms
the conjecture for fixed arms and the noise N(0, 1), as in Theorem 3, by an argument that is the paper's
own but for the choice of the gap. It does not say whether T/&radic;f(T) is also enough. Exploring has its
price: uniform exploration loses half of a gap of 1 in each of f(T) rounds, so that its worst case is of
order T<sup>max(1 - r/2, r)</sup> or more, at best T<sup>2/3</sup>. And a base whose radius is narrower
than the theory's may drop the best arm by itself.</p>
"""
ABOUT_FIGURES = """
<p>Worst regret: the mean of {seeds} fresh seeds, which had no part in the search. Times the floor: in
units of the bound derived above. Exploring: the share of that regret which exploring rounds have lost. Late
slope: from T = {first} on, with an interval over fresh seeds, and one by how far the horizons scatter
about a line. Predicted: the slope of T/&radic;(1 + f(T)) through the same horizons.</p>
"""
SEARCH_WORDS = """
<p>Every schedule of a base was first searched at length at two short horizons. What was worst there is
where the searches of all horizons start, beside random instances. The worst are varied at random, and
what is worst for one schedule is tried with all schedules of the base.</p>
"""
CAVEATS = """
<p><b>These are lower bounds on the worst case.</b> The search may have missed worse instances, and it
tries none with more than five arms or four dimensions. Intervals over fresh seeds know nothing of what
was missed. Those by scatter do, as far as one horizon was searched better than another: judge slopes by
both.</p>
<p><b>Rare losses.</b> A search plays each instance with few seeds. Where a policy loses much in one run
of a hundred, it finds such instances by luck if at all. Wide intervals at long horizons show this; a base
with a narrow radius is most prone to it.</p>
<p><b>Selection.</b> The worst of many instances is also one of bad luck in the search. So what is
reported was played again with fresh seeds; the regret by which instances were chosen is {inflation} times
as much, in the median.</p>
<p><b>Finite horizons.</b> A slope over a few decades is no exponent. The price of exploring and
logarithms bend it: where exploring costs most at short horizons, slopes are smaller than they will be at
long ones.</p>
"""


def text_rows(found: WorstCases) -> list[list[str]]:
    """The map as a table: a row of headings, then one for each base and schedule at the longest horizon."""
    ends = {each[:2]: each for each in found.ends}
    rows = [
        [f"{each.base}, {each.schedule}", *_figures(ends[each[:2]]), *_growth_figures(each.late)]
        for each in found.slopes
    ]
    return [["base, " + HEADINGS[0], *HEADINGS[1:]], *rows]


def _figures(end: WorstCase) -> list[str]:
    return [
        f"{end.explorations:,}",
        f"{end.regret:,.0f}",
        _interval(end.low, end.high, ",.0f"),
        f"{end.regret / end.floor:,.0f} x",
        f"{end.exploring:.0%}",
    ]


def _growth_figures(each: Growth) -> list[str]:
    scatter = "\N{EN DASH}" if math.isnan(each.scatter) else f"\N{PLUS-MINUS SIGN} {each.scatter:.2f}"
    return [f"{each.slope:.2f}", _interval(each.low, each.high, ".2f"), scatter, f"{each.predicted:.2f}"]


def _interval(low: float, high: float, form: str) -> str:
    return "too few seeds" if math.isnan(low) or math.isnan(high) else f"{low:{form}} to {high:{form}}"


def write_worst_cases(found: WorstCases, folder: Path) -> list[Path]:
    """Writes `worst-case.html` and `worst-case.json`; the files."""
    data = as_json(found.as_data())
    files = {folder / "worst-case.html": worst_case_page(found), folder / "worst-case.json": data}
    for path, content in files.items():
        replace(path, content.encode())
    return list(files)


def worst_case_page(found: WorstCases) -> str:
    """One self-contained page: the question, what is known, the map, and what it does not show."""
    longest, tried = found.horizons[-1], sum(each.tried for each in found.cells)
    ratios = [each.search_regret / each.regret for each in found.cells if each.regret > 0.0]
    parts = [
        f"<h1>{TITLE}</h1>",
        QUESTION.format(tried=f"{tried:,}"),
        "<h2>What can be derived</h2>",
        DERIVATION,
        "<h2>The map</h2>",
        _regret_chart(found),
        *_slope_charts(found),
        *_verdicts(found),
        f"<h2>Figures at T = {longest:,}</h2>",
        ABOUT_FIGURES.format(seeds=f"{found.seeds:,}", first=f"{_late(found)[0]:,}"),
        _end_table(found),
        "<h2>All horizons</h2>",
        *(part for base in found.bases for part in _base_part(found, base)),
        "<h2>How it was searched</h2>",
        table(
            ("family", "instances"),
            [[escape(each.name), escape(each.words)] for each in FAMILIES],
            texts=(1,),
        ),
        SEARCH_WORDS,
        "<h2>What this does not show</h2>",
        CAVEATS.format(inflation=f"{np.median(ratios) if ratios else 1.0:.2f}"),
    ]
    return shell(TITLE, parts)


def _regret_chart(found: WorstCases) -> str:
    """Worst regret at the longest horizon against f(T)."""
    longest, series = found.horizons[-1], []
    for place, base in enumerate(found.bases):
        mine = sorted((each for each in found.ends if each.base == base), key=lambda each: each.explorations)
        series.append(
            {
                "name": base,
                "shape": "joined",
                "colour": place,
                "x": [1 + each.explorations for each in mine],
                "y": rounded(each.regret for each in mine),
                "low": rounded(each.low for each in mine),
                "high": rounded(each.high for each in mine),
                "names": [each.schedule for each in mine],
            }
        )
    floors = sorted({(each.explorations, each.floor) for each in found.ends})
    series.append(
        {
            "name": "floor: 0.0139 T/\u221a(1 + f(T))",
            "colour": len(found.bases),
            "dash": "5 4",
            "x": [1 + count for count, _ in floors],
            "y": rounded(floor for _, floor in floors),
        }
    )
    return chart(
        {
            "title": f"Worst regret found at T = {longest:,}, by the number of explorations",
            "hint": "Dots are schedules, with intervals of 95 %. No base can stay below the floor.",
            "x": {"label": "1 + f(T), explorations and 1", "log": True, "format": "count"},
            "y": {
                "label": "worst regret found",
                "log": True,
                "from": 0.8 * min(each.floor for each in found.ends),
            },
            "limits": [{"y": math.sqrt(longest), "name": "\u221aT"}],
            "series": series,
        },
        "regret",
    )


def _slope_charts(found: WorstCases) -> list[str]:
    """The slope through the longer half of the horizons against r, for T^r and for (log T)^r."""
    charts = []
    first, last = _late(found)
    intervals = _interval_words(found)
    for kind, words in (("power", "T^r"), ("logarithmic", "(log T)^r")):
        series = []
        some = sorted((each for each in found.slopes if each.kind == kind), key=lambda each: each.r)
        for place, base in enumerate(found.bases):
            mine = [each for each in some if each.base == base]
            series.append(
                {
                    "name": base,
                    "shape": "joined",
                    "colour": place,
                    "x": [each.r for each in mine],
                    "y": rounded(each.late.slope for each in mine),
                    "low": rounded(_hull(each.late)[0] for each in mine),
                    "high": rounded(_hull(each.late)[1] for each in mine),
                }
            )
        line = [each for each in some if each.base == found.bases[0]]
        series.append(
            {
                "name": "T/\u221a(1 + f(T))",
                "colour": len(found.bases),
                "dash": "5 4",
                "x": [each.r for each in line],
                "y": rounded(each.late.predicted for each in line),
            }
        )
        if len(line) > 1:
            data = {
                "title": f"How worst regret grows with T, by r in f(T) = {words}",
                "hint": f"Slope of log regret against log T, {first:,} to {last:,}; {intervals}.",
                "x": {"label": f"r in f(T) = {words}"},
                "y": {"label": "slope", "from": 0.3, "to": 1.1},
                "limits": [{"y": 0.5, "name": "\u221aT"}],
                "series": series,
            }
            charts.append(chart(data, kind))
    return charts


def _hull(late: Growth) -> tuple[float, float]:
    """The hull of both intervals, or the one over fresh seeds where two horizons have no scatter."""
    return (late.low, late.high) if math.isnan(late.scatter) else (late.least, late.most)


def _interval_words(found: WorstCases) -> str:
    """Which intervals late slopes have."""
    if all(math.isnan(each.late.low) for each in found.slopes):
        return "without intervals, for too few seeds"
    if all(math.isnan(each.late.scatter) for each in found.slopes):
        return "intervals over fresh seeds alone, as two horizons have no scatter"
    return "hull of both intervals"


def _late(found: WorstCases) -> tuple[int, int]:
    """The first and the last of the horizons through which late slopes are drawn."""
    return found.horizons[late_from(len(found.horizons))], found.horizons[-1]


def _verdicts(found: WorstCases) -> list[str]:
    """What the intervals carry, for these runs."""
    known = [each for each in found.cells if not math.isnan(each.low + each.high)]
    agree = sum(each.high >= each.floor for each in known)
    lines = []
    if known:
        words = f"{agree:,} of {len(known):,} cells agree with the floor: their intervals are not below it."
        lines.append(f"<p>{words}</p>")
    if unknown := len(found.cells) - len(known):
        lines.append(f"<p>{unknown:,} of {len(found.cells):,} cells have no interval: too few seeds.</p>")
    for base in found.bases:
        sorts: dict[str, list[str]] = {}
        for each in found.slopes:
            if each.base == base:
                sorts.setdefault(_place(each.late), []).append(each.schedule)
        words = "; ".join(f"{name}: {', '.join(some)}" for name, some in sorts.items())
        lines.append(f"<p>Late slopes of <code>{breakable(base)}</code>: {escape(words)}.</p>")
    return lines


def _place(late: Growth) -> str:
    """Where a slope lies, by the hull of both intervals."""
    if math.isnan(late.low + late.high):
        return "too few seeds"
    if math.isnan(late.scatter):
        return "too few horizons"
    if late.least > 0.5:
        return "above 1/2"
    return "below 1/2" if late.most < 0.5 else "not told apart from 1/2"


def _end_table(found: WorstCases) -> str:
    ends = {each[:2]: each for each in found.ends}
    rows: list[list[str]] = []
    for base in found.bases:
        rows.append([f"<code>{breakable(base)}</code>"])
        for each in found.slopes:
            if each.base == base:
                end = ends[each[:2]]
                instance = f"{escape(end.family)}, gap {end.gap:.2g}"
                rows.append(
                    [
                        f"<code>{breakable(each.schedule)}</code>",
                        *_figures(end),
                        *_growth_figures(each.late),
                        instance,
                    ]
                )
    return table((*HEADINGS, "worst instance"), rows)


def _base_part(found: WorstCases, base: str) -> list[str]:
    """Regret against the horizon for all schedules of a base, as a chart and a table with slopes."""
    slopes = [each for each in found.slopes if each.base == base]
    series, rows = [], []
    for place, each in enumerate(slopes):
        cells = found.of(base, each.schedule)
        series.append(
            {
                "name": each.schedule,
                "shape": "joined",
                "colour": place,
                "dash": "none" if place < 8 else "3 3",
                "y": rounded(cell.regret for cell in cells),
                "low": rounded(cell.low for cell in cells),
                "high": rounded(cell.high for cell in cells),
            }
        )
        regrets = [f"{cell.regret:,.0f}" for cell in cells]
        rows.append([f"<code>{breakable(each.schedule)}</code>", *regrets, *_growth_figures(each.all)])
    drawn = {
        "title": f"Worst regret found for {base}, by horizon",
        "x": {"label": "horizon T", "log": True, "format": "count"},
        "y": {"label": "worst regret found", "log": True},
        "at": found.horizons,
        "series": series,
    }
    heads = ("schedule", *(f"T = {horizon:,}" for horizon in found.horizons), "slope", *HEADINGS[-3:])
    return [f"<h3><code>{breakable(base)}</code></h3>", chart(drawn), table(heads, rows)]
