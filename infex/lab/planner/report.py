"""The page of a plan, its picture and its menu."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from infex._stats import Interval
from infex.files import replace
from infex.lab.planner.judging import Cost, Judged
from infex.lab.planner.planner import REFERENCE_NAMES, Plan, Question, said, times
from infex.lab.reports.figures import picture
from infex.lab.reports.series import BASE_COLOURS
from infex.pages import breakable, chart, rounded, shell, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


SOFT_COLOUR = "#7F7F7F"


def front_figure(plan: Plan) -> Figure:
    """A matplotlib figure: the first of each number of explorations, the menu, and LinUCB and greedy.

    Every mark is a mean over fresh problems and has its interval; what only the race has met is not drawn.
    """
    from infex.lab.reports.figures import PaperFigure

    drawn = PaperFigure(figsize=(7.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    _marks(axes, plan.levels, "o-", SOFT_COLOUR, 3, "the best of each number of explorations")
    menu = list({entry.judged.expression: entry.judged for entry in plan.menu}.values())
    _marks(axes, menu, "o", BASE_COLOURS["LinUCB"], 7, "the menu")
    _marks(axes, [plan.chosen()], "*", "#000000", 13, "recommended")
    for name, dash in (("LinUCB", (4, 2)), ("greedy", (1, 2))):
        if name in plan.regret:
            level = plan.regret[name].mean.value
            axes.axhline(level, color=SOFT_COLOUR, lw=1, dashes=dash, label=REFERENCE_NAMES[name])
    _scale(axes)
    _name_axes(axes, plan)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return drawn


def _scale(axes: Axes) -> None:
    """Makes both scales logarithmic."""
    axes.set(xscale="log", yscale="log")
    _number_plainly(axes.xaxis, axes.get_xlim())
    _number_plainly(axes.yaxis, axes.get_ylim())


def _name_axes(axes: Axes, plan: Plan) -> None:
    axes.set_xlabel(f"exploring rounds in {plan.horizon:,}")
    axes.set_ylabel(f"regret of {plan.rounds:,} rounds, mean over fresh problems")


def _marks(axes: Axes, judged: Sequence[Judged], mark: str, colour: str, size: int, label: str) -> None:
    """Marks with the intervals of their means; those without an interval are left out."""
    known = [each for each in judged if math.isfinite(each.regret.low) and math.isfinite(each.regret.high)]
    if not known:
        return
    means = [each.regret.value for each in known]
    reach = [
        [each.regret.value - each.regret.low for each in known],
        [each.regret.high - each.regret.value for each in known],
    ]
    counts = [each.explorations for each in known]
    axes.errorbar(counts, means, yerr=reach, fmt=mark, color=colour, ms=size, lw=1, elinewidth=1, label=label)


def _number_plainly(axis: Axis, ends: tuple[float, float]) -> None:
    """Numbers on a log scale as people write them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ends
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: said(value)))
    axis.set_minor_formatter(NullFormatter())


MENU_NOTE = (
    "All rows are of the same fresh problems. Other problems chose the candidates; these say only which of "
    'them has the least regret. "Within?" says whether the interval lies within the factor (yes), beyond it '
    "(no), or holds it (open)."
)


class MenuRow(NamedTuple):
    """One candidate of the menu with all its names, and whether it is as near as each of them says."""

    names: str
    holds: str
    judged: Judged
    recommended: bool


def menu_rows(plan: Plan) -> list[MenuRow]:
    """A row for each candidate on the menu, from the least regret to the fewest explorations."""
    by_policy = {entry.judged.expression: entry.judged for entry in plan.menu}
    rows = []
    for expression, judged in by_policy.items():
        same = [entry for entry in plan.menu if entry.judged.expression == expression]
        names = [entry.name for entry in same]
        if plan.recommended == expression:
            names.append("recommended")
        holds = ", ".join(dict.fromkeys(entry.holds for entry in same if entry.holds))
        rows.append(MenuRow(", ".join(names), holds, judged, plan.recommended == expression))
    return sorted(rows, key=lambda row: -row.judged.explorations)


ARMS_LISTED = 10


def write_plan(plan: Plan, folder: Path) -> list[Path]:
    """Writes `plan.png`, `plan.svg` and `plan.html`; the files."""
    drawn = front_figure(plan)
    files = {
        folder / "plan.png": picture(drawn, "png"),
        folder / "plan.svg": picture(drawn, "svg"),
        folder / "plan.html": plan_page(plan).encode(),
    }
    for path, data in files.items():
        replace(path, data)
    return list(files)


def front_data(plan: Plan) -> dict[str, Any]:
    """What the picture shows, by the number of explorations: the same marks as those of `front_figure`."""
    limits = [
        {"y": plan.regret[name].mean.value, "name": REFERENCE_NAMES[name], "colour": 7}
        for name in ("LinUCB", "greedy")
        if name in plan.regret
    ]
    menu = [entry.judged for entry in plan.menu]
    label = f"regret of {plan.rounds:,} rounds, mean over fresh problems"
    return {
        "title": "Regret by how often it explores",
        "height": 360,
        "x": {"label": f"exploring rounds in {plan.horizon:,}", "name": "explorations", "log": True},
        "y": {"label": label, "name": "regret", "log": True},
        "limits": limits,
        "series": [
            _front("the best of each number of explorations", plan.levels, shape="joined", colour=7),
            _front("on the menu", menu, shape="dots", colour=0),
            _front("recommended", [plan.chosen()], shape="dots", colour=1, strong=True),
        ],
        "hint": "Each mark is a candidate, with the interval of its regret. Point at one, or use arrow keys.",
    }


def _front(name: str, judged: Sequence[Judged], **look: Any) -> dict[str, Any]:
    """Marks of one kind, each candidate once; those without an interval are left out."""
    every = {each.expression: each for each in judged}.values()
    marks = sorted(every, key=lambda each: each.explorations)
    marks = [each for each in marks if math.isfinite(each.regret.low + each.regret.high)]
    regret = zip(*((each.regret.value, each.regret.low, each.regret.high) for each in marks), strict=True)
    y, low, high = map(rounded, regret) if marks else ([], [], [])
    names = [each.expression for each in marks]
    x = [each.explorations for each in marks]
    return {"name": name, "x": x, "y": y, "low": low, "high": high, "names": names, **look}


def plan_page(plan: Plan) -> str:
    """One self-contained page."""
    state = "settled" if plan.settled else "NOT settled"
    share = (
        f"{plan.explorations:,} of {plan.horizon:,} rounds explore ({plan.explorations / plan.horizon:.2%})"
    )
    parts = [
        "<h1>How rarely to explore</h1>",
        f"<p><b>{escape(plan.recommended)}</b> ({state}). {escape(share)}, {escape(plan.when)}.</p>",
        f'<pre tabindex="0"><code>{escape(plan.code)}</code></pre>',
        f"<p><b>{escape(plan.divided)}.</b></p>" if plan.divided else "",
        f"<p>{escape(plan.why)}</p>",
        "<h2>The menu</h2>",
        _menu(plan),
        f"<p>{escape(MENU_NOTE)}</p>",
        f"<h3>Regret of {plan.rounds:,} rounds, by how often it explores</h3>",
        chart(front_data(plan), "front"),
        "<h2>What it costs</h2>",
        f"<p>Regret of {plan.rounds:,} rounds over fresh problems, as many as the table says, with intervals "
        "of 95 % by bootstrap, which need 12 problems. Differences are on the problems that both met.</p>",
        _costs(plan),
        *(["<h2>Arms that were most often the best</h2>", _arms(plan)] if plan.arms else []),
        f'<p class="soft">{escape(plan.assumed)}; {escape(_asked(plan.question))}. {_tried(plan)}</p>',
    ]
    return shell("How rarely to explore", parts)


def _tried(plan: Plan) -> str:
    """What became of all candidates."""
    left = sum(tried.alive for tried in plan.candidates)
    return f"Of {len(plan.candidates):,} candidates {left:,} were not given up; plan.json has all of them."


def _menu(plan: Plan) -> str:
    """The menu, a row for each candidate on it; the recommended one is bold."""
    rows = [
        [
            _named(row),
            f"{row.judged.explorations:,}",
            _figure(row.judged.regret, ""),
            times(row.judged.ratio),
            row.holds,
            f"{row.judged.problems:,}",
        ]
        for row in menu_rows(plan)
    ]
    return table(("", "explorations", "regret", "times the best", "within?", "problems"), rows)


def _named(row: MenuRow) -> str:
    names = f"<b>{escape(row.names)}</b>" if row.recommended else escape(row.names)
    return f"{names}<br><small>{breakable(row.judged.expression)}</small>"


def _asked(question: Question) -> str:
    """Limits, time and seed, in words."""
    asked = {
        "max share": question.max_share,
        "max count": question.max_count,
        "max cost": question.max_cost,
        "keep within": question.keep_within,
        "seconds": question.seconds,
        "seed": question.seed,
    }
    return ", ".join(f"{name} {value:g}" for name, value in asked.items() if value is not None)


def _costs(plan: Plan) -> str:
    """Regret of the choice and of others, and their differences, with intervals."""
    rows = [_cost_row(REFERENCE_NAMES[name], cost, "") for name, cost in plan.regret.items()]
    rows += [
        _cost_row(f"recommended less {REFERENCE_NAMES[name]}", cost, "+")
        for name, cost in plan.against.items()
    ]
    return table(("", "problems", "mean", "median", "worst decile"), rows)


def _cost_row(name: str, cost: Cost, sign: str) -> list[str]:
    figures = (cost.mean, cost.median, cost.worst_decile)
    return [name, f"{cost.problems:,}", *(_figure(figure, sign) for figure in figures)]


def _figure(figure: Interval, sign: str) -> str:
    """A figure, and its interval where there is one."""
    if not math.isfinite(figure.low):
        return said(figure.value, sign)
    return f"{said(figure.value, sign)} <small>[{said(figure.low, sign)}, {said(figure.high, sign)}]</small>"


def _arms(plan: Plan) -> str:
    """How often each of the arms was the best."""
    return table(
        ("arm", "best in"), ([escape(arm.label), f"{arm.best:.1%}"] for arm in plan.arms[:ARMS_LISTED])
    )
