"""The picture and the page of a plan: regret against exploration."""

from __future__ import annotations

import math
import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from infex.files import replace
from infex.reports.styles import BASE_COLOURS

ARMS_LISTED = 10  # arms that are listed
REFERENCE_NAMES = {
    "recommended": "recommended",
    "best": "the best",
    "LinUCB": "plain LinUCB",
    "greedy": "greedy",
}


def said(value: float, sign: str = "") -> str:
    """A regret as people write it: whole, or with three digits where it is small.

    >>> said(12345.6), said(0.01234), said(-3.21, "+")
    ('12,346', '0.0123', '-3.21')
    """
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.3g}"


def front_figure(plan: Any) -> Any:
    """A matplotlib figure: every candidate, the front, the choice, and LinUCB and greedy beside them."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7.0, 5.4), layout="constrained")
    axes = drawn.subplots()
    played = [each for each in plan.candidates if each.rounds == plan.rounds]
    for name in ("LinUCB", "LinTS"):
        some = [each for each in played if name in each.expression]
        axes.plot(
            [each.explorations for each in some], [each.mean for each in some], "o", color=BASE_COLOURS[name],
            ms=4, alpha=0.45, label=f"candidates with {name}",
        )  # fmt: skip
    early = [each for each in plan.candidates if each.rounds < plan.rounds]
    if early:
        axes.plot(
            [each.explorations for each in early], [each.mean for each in early], "^", color="#7F7F7F",
            mfc="none", ms=4, alpha=0.5, label="not played to the end: at least",
        )  # fmt: skip
    front = plan.front
    axes.plot(
        [e.explorations for e in front], [e.mean for e in front], "-", color="#444444", lw=1, label="front"
    )
    chosen = plan.chosen()
    low, high = chosen.mean - chosen.low, chosen.high - chosen.mean
    axes.errorbar(
        [chosen.explorations], [chosen.mean], yerr=[[low], [high]], fmt="*", color="#000000", ms=13,
        label="recommended",
    )  # fmt: skip
    for name, dash in (("LinUCB", (4, 2)), ("greedy", (1, 2))):
        if name not in plan.regret:
            continue
        axes.axhline(
            plan.regret[name].mean.value, color="#7F7F7F", lw=1, dashes=dash, label=REFERENCE_NAMES[name]
        )
    for name in ("x", "y"):
        _plain_log(axes, name)
    axes.set_xlabel(f"exploring rounds in {plan.horizon:,}")
    axes.set_ylabel(f"regret of {plan.rounds:,} rounds, mean over problems")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return drawn


def _plain_log(axes: Any, name: str) -> None:
    """A log scale with numbers as people write them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axes, f"set_{name}scale")("log")
    axis = getattr(axes, f"{name}axis")
    low, high = getattr(axes, f"get_{name}lim")()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: said(value)))
    axis.set_minor_formatter(NullFormatter())


def write_plan(plan: Any, folder: Path) -> list[Path]:
    """Writes `plan.png`, `plan.svg` and `plan.html`; the files."""
    import io

    drawn = front_figure(plan)
    written, svg = [], ""
    for kind in ("png", "svg"):
        buffer = io.BytesIO()
        drawn.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {})
        replace(folder / f"plan.{kind}", buffer.getvalue())
        written.append(folder / f"plan.{kind}")
        if kind == "svg":
            svg = re.sub(r"<metadata>.*?</metadata>", "", buffer.getvalue().decode(), flags=re.DOTALL)
    target = folder / "plan.html"
    replace(target, plan_page(plan, svg[svg.index("<svg") :]).encode())
    return [*written, target]


def plan_page(plan: Any, picture: str) -> str:
    """One self-contained page."""
    style = files("infex.reports").joinpath("page.css").read_text(encoding="utf-8")
    state = "settled" if plan.settled else "NOT settled"
    share = (
        f"{plan.explorations:,} of {plan.horizon:,} rounds explore ({plan.explorations / plan.horizon:.2%})"
    )
    parts = [
        "<h1>How rarely to explore</h1>",
        f"<p><b>{escape(plan.recommended)}</b> ({state}). {escape(share)}, {escape(plan.when)}.</p>",
        f"<pre><code>{escape(plan.code)}</code></pre>",
        *([f"<p><b>{escape(plan.divided)}.</b></p>"] if plan.divided else []),
        f"<p>{escape(plan.why)}</p>",
        f"<p>{escape(plan.assumed)}; {escape(_asked(plan))}.</p>",
        f'<div class="wide">{picture}</div>',
        "<h2>What it costs</h2>",
        f"<p>Regret of {plan.rounds:,} rounds over simulated problems, with intervals of 95 %; "
        "differences are on the same problems.</p>",
        _costs(plan),
        *(["<h2>Arms that were most often the best</h2>", _arms(plan)] if plan.arms else []),
        "<h2>All candidates</h2>",
        "<p>Where rounds are fewer than the horizon, a candidate had lost clearly more by then than the best "
        "in all rounds, or there was no time to go on: its regret is at least that.</p>",
        _table(plan),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>How rarely to explore</title>\n<style>\n{style}svg {{ max-width: 100%; height: auto; }}\n"
        "pre { overflow-x: auto; } p { overflow-wrap: anywhere; }\n</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _asked(plan: Any) -> str:
    """The rest of the question."""
    names = ("max_share", "max_count", "max_cost", "keep_within", "seconds", "seed")
    return ", ".join(
        f"{name.replace('_', ' ')} {plan.question[name]:g}"
        for name in names
        if plan.question[name] is not None
    )


def _costs(plan: Any) -> str:
    """Regret, and what it differs by, with intervals."""
    rows = [(REFERENCE_NAMES[name], each, "") for name, each in plan.regret.items()]
    rows += [(f"recommended less {REFERENCE_NAMES[name]}", each, "+") for name, each in plan.against.items()]
    cells = "".join(
        f"<tr><td>{name}</td><td>{found.problems}</td>"
        + "".join(f"<td>{_figure(each, sign)}</td>" for each in found[1:4])
        + "</tr>"
        for name, found, sign in rows
    )
    heads = ("", "problems", "mean", "median", "worst decile")
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table></div>'


def _figure(found: Any, sign: str) -> str:
    """A figure, and its interval where there is one."""
    if not math.isfinite(found.low):
        return said(found.value, sign)
    return f"{said(found.value, sign)} <small>[{said(found.low, sign)}, {said(found.high, sign)}]</small>"


def _arms(plan: Any) -> str:
    """How often each of the arms was the best."""
    rows = "".join(
        f"<tr><td>{escape(arm.label)}</td><td>{arm.best:.1%}</td></tr>" for arm in plan.arms[:ARMS_LISTED]
    )
    head = "<tr><th>arm</th><th>best in</th></tr>"
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'


def _table(plan: Any) -> str:
    head = "".join(
        f"<th>{name}</th>"
        for name in ("policy", "explorations", "problems", "rounds", "mean regret", "95 %", "of it exploring")
    )
    rows = "".join(
        f"<tr><td>{escape(each.expression)}</td><td>{each.explorations:,}</td><td>{each.problems}</td>"
        f"<td>{each.rounds:,}</td><td>{said(each.mean)}</td><td>{said(each.low)} to {said(each.high)}</td>"
        f"<td>{said(each.cost)}</td></tr>"
        for each in plan.candidates
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
