"""The page of a plan, and the files that a folder gets."""

from __future__ import annotations

import math
import re
from html import escape
from pathlib import Path

from infex.files import replace
from infex.planning.answer import Plan
from infex.planning.costs import Cost
from infex.planning.front import front_figure
from infex.planning.question import Question
from infex.planning.words import REFERENCE_NAMES, said
from infex.reports.figure_files import picture
from infex.reports.shell import shell, table
from infex.statistics import Interval

ARMS_LISTED = 10
PLAN_STYLE = (
    "svg { max-width: 100%; height: auto; }\npre { overflow-x: auto; } p { overflow-wrap: anywhere; }\n"
)


def write_plan(plan: Plan, folder: Path) -> list[Path]:
    """Writes `plan.png`, `plan.svg` and `plan.html`; the files."""
    drawn = front_figure(plan)
    svg = picture(drawn, "svg")
    files = {
        folder / "plan.png": picture(drawn, "png"),
        folder / "plan.svg": svg,
        folder / "plan.html": plan_page(plan, _inner(svg.decode())).encode(),
    }
    for path, data in files.items():
        replace(path, data)
    return list(files)


def _inner(svg: str) -> str:
    """A picture as a part of a page: without the head of its file, and without addresses."""
    return re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)


def plan_page(plan: Plan, svg: str) -> str:
    """One self-contained page."""
    state = "settled" if plan.settled else "NOT settled"
    share = (
        f"{plan.explorations:,} of {plan.horizon:,} rounds explore ({plan.explorations / plan.horizon:.2%})"
    )
    parts = [
        "<h1>How rarely to explore</h1>",
        f"<p><b>{escape(plan.recommended)}</b> ({state}). {escape(share)}, {escape(plan.when)}.</p>",
        f"<pre><code>{escape(plan.code)}</code></pre>",
        f"<p><b>{escape(plan.divided)}.</b></p>" if plan.divided else "",
        f"<p>{escape(plan.why)}</p>",
        f"<p>{escape(plan.assumed)}; {escape(_asked(plan.question))}.</p>",
        f'<div class="wide">{svg}</div>',
        "<h2>What it costs</h2>",
        f"<p>Regret of {plan.rounds:,} rounds over simulated problems, with intervals of 95 % by bootstrap, "
        "which need 12 problems or more; differences are on the same problems.</p>",
        _costs(plan),
        *(["<h2>Arms that were most often the best</h2>", _arms(plan)] if plan.arms else []),
        "<h2>All candidates</h2>",
        "<p>Where rounds are fewer than the horizon, a candidate had lost clearly more by then than the best "
        "in all rounds, or there was no time to go on: its regret is at least that.</p>",
        _candidates(plan),
    ]
    return shell("How rarely to explore", parts, style=PLAN_STYLE)


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
    return [name, str(cost.problems), *(_figure(figure, sign) for figure in figures)]


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


def _candidates(plan: Plan) -> str:
    heads = ("policy", "explorations", "problems", "rounds", "mean regret", "95 %", "of it exploring")
    return table(
        heads,
        (
            [
                escape(tried.expression),
                f"{tried.explorations:,}",
                str(tried.problems),
                f"{tried.rounds:,}",
                said(tried.mean),
                f"{said(tried.low)} to {said(tried.high)}" if math.isfinite(tried.low) else "",
                said(tried.cost),
            ]
            for tried in plan.candidates
        ),
    )
