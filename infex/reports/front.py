"""The picture and the page of a plan: regret against exploration."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from infex.files import replace
from infex.reports.styles import FAMILIES


def front_figure(plan: Any) -> Any:
    """A matplotlib figure: every candidate, the front, the choice, and LinUCB and greedy beside them."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    for name in ("LinUCB", "LinTS"):
        colour = FAMILIES[name]
        some = [each for each in plan.candidates if name in each.expression]
        axes.plot(
            [each.explorations for each in some], [each.mean for each in some], "o", color=colour, ms=4,
            alpha=0.45, label=f"candidates with {name}",
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
    for each, dash in zip(plan.references, ((4, 2), (1, 2)), strict=True):
        axes.axhline(each.mean, color="#7F7F7F", lw=1, dashes=dash, label=each.expression)
    for name in ("x", "y"):
        _plain_log(axes, name)
    axes.set_xlabel(f"exploring rounds in {plan.horizon:,}")
    axes.set_ylabel("regret, mean over problems")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    axes.legend(frameon=False, fontsize=8)
    return drawn


def _plain_log(axes: Any, name: str) -> None:
    """A log scale with numbers as people write them."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    getattr(axes, f"set_{name}scale")("log")
    axis = getattr(axes, f"{name}axis")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
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
        f"<p>{escape(plan.why)}</p>",
        f'<div class="wide">{picture}</div>',
        "<h2>What it costs</h2>",
        _costs(plan),
        "<h2>All candidates</h2>",
        _table(plan),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>How rarely to explore</title>\n<style>\n{style}svg {{ max-width: 100%; height: auto; }}\n"
        "pre { overflow-x: auto; }\n</style>\n</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _costs(plan: Any) -> str:
    rows = [
        ("against the best candidate", plan.against_best),
        ("against LinUCB in every round", plan.against_linucb),
    ]
    cells = "".join(
        f"<tr><td>{name}</td><td>{found.mean:+,.1f}</td><td>{found.low:+,.1f} to {found.high:+,.1f}</td>"
        f"<td>{found.below} of {found.pairs}</td></tr>"
        for name, found in rows
    )
    head = "<tr><th>regret</th><th>mean difference</th><th>95 % interval</th><th>lower in</th></tr>"
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{cells}</tbody></table></div>'


def _table(plan: Any) -> str:
    head = "".join(
        f"<th>{name}</th>"
        for name in ("policy", "explorations", "problems", "mean regret", "95 %", "median", "worst decile")
    )
    rows = "".join(
        f"<tr><td>{escape(each.expression)}</td><td>{each.explorations:,}</td><td>{each.problems}</td>"
        f"<td>{each.mean:,.0f}</td><td>{each.low:,.0f} to {each.high:,.0f}</td><td>{each.median:,.0f}</td>"
        f"<td>{each.worst_decile:,.0f}</td></tr>"
        for each in (*plan.references, *plan.candidates)
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
