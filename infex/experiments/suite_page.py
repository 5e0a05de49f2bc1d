"""The scored page of a suite."""

from __future__ import annotations

import csv
import io
import math
from html import escape
from pathlib import Path

from infex.experiments.challenges import CHALLENGES, SUITE_HORIZON, Score, failure_note, score_table, scores
from infex.experiments.results import Results
from infex.files import replace
from infex.reports.shell import breakable, shell, table

SUITE_STYLE = """
td.score { text-align: right; white-space: nowrap; }
.bar { display: inline-block; width: 6rem; height: .7rem; background: #8883; position: relative; }
.bar i { position: absolute; inset: 0 auto 0 0; background: #2a78d6; display: block; }
.bar b { position: absolute; top: 45%; height: 10%; background: currentColor; display: block; }
p { overflow-wrap: anywhere; }
th { white-space: normal; vertical-align: bottom; }
"""


def write_suite(results: Results, folder: Path) -> list[Path]:
    """Writes `suite.html` and `scores.csv`; the files."""
    found = scores(results)
    page = suite_page(results, found)
    files = {folder / "suite.html": page, folder / "scores.csv": _comma_separated(found)}
    for path, text in files.items():
        replace(path, text.encode())
    return list(files)


def suite_page(results: Results, found: list[Score]) -> str:
    """One self-contained page."""
    seeds = len(results.about.get("seeds", ()))
    names = dict.fromkeys(each.challenge for each in found)
    parts = [
        "<h1>Challenges</h1>",
        f"<p>Each challenge has {seeds} seeds of {SUITE_HORIZON:,} rounds. A score of 1 is the mean regret "
        "of the challenge's best entrant, 0 that of uniform play; below 0 is worse than that. Intervals of "
        "95 % come from drawing seeds again; the best entrant is chosen anew each time. A best of many looks "
        "better than it is.</p>",
        "<h2>All in all</h2>",
        f"<p><b>{escape(failure_note(found))}</b></p>" if failure_note(found) else "",
        _all_in_all(found),
        *(part for name in names for part in _challenge(name, found)),
    ]
    return shell("Challenges", parts, style=SUITE_STYLE)


def _all_in_all(found: list[Score]) -> str:
    """A row for each policy: its mean score, and that of every challenge."""
    heading, *rows = score_table(found)
    marked = [[f"<code>{breakable(policy)}</code>", f"<b>{mean}</b>", *rest] for policy, mean, *rest in rows]
    return table(("policy", "mean score", *map(escape, heading[2:])), marked)


def _challenge(name: str, found: list[Score]) -> list[str]:
    """What a challenge shows, and how all did, the best first."""
    mine = [each for each in found if each.challenge == name]
    mine.sort(key=lambda each: (each.failed, -each.score))
    scored = table(("policy", "score", "95 %", "regret", "ms a run"), map(_row, mine))
    return [f"<h2>{escape(name[:1].upper() + name[1:])}</h2>", _shows(name), scored]


def _shows(name: str) -> str:
    known = (each for each in CHALLENGES if each.name == name)
    words = (f"<p>{escape(each.shows)} <code>{escape(each.environment)}</code></p>" for each in known)
    return next(words, "")


def _row(score: Score) -> list[str]:
    if score.failed:
        return [f"<code>{breakable(score.policy)}</code>", f"{score.failed} runs failed", "", "", ""]
    points = f"{_bar(score)} {'' if math.isnan(score.score) else format(score.score, '.2f')}"
    measured = [f"{score.regret:,.1f}", f"{score.milliseconds:,.2f}"]
    return [f"<code>{breakable(score.policy)}</code>", points, _between(score), *measured]


def _between(each: Score) -> str:
    return "too few seeds" if math.isnan(each.low) else f"{each.low:.2f} to {each.high:.2f}"


def _bar(each: Score) -> str:
    """The score as a bar from 0 to 1, and its interval as a line."""
    line = "" if math.isnan(each.low) else _line(each)
    return f'<span class="bar"><i style="width:{100.0 * _within(each.score):.1f}%"></i>{line}</span>'


def _line(each: Score) -> str:
    left, right = 100.0 * _within(each.low), 100.0 * _within(each.high)
    return f'<b style="left:{left:.1f}%;width:{right - left:.1f}%"></b>'


def _within(score: float) -> float:
    return 0.0 if math.isnan(score) else min(max(score, 0.0), 1.0)


def _comma_separated(found: list[Score]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Score._fields, *found])
    return text.getvalue()
