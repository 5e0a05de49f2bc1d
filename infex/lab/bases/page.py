"""The atlas on one self-contained page."""

from __future__ import annotations

import math
from collections import Counter
from html import escape
from typing import Any

from infex._stats import Interval
from infex.lab.bases.atlas import Atlas, CellKey, Setting
from infex.lab.bases.catalogue import ALONE, Base, Problem
from infex.lab.results import last_line
from infex.pages import breakable, chart, rounded, shell, table

LEAST_SHOWN, MOST_SHOWN = 0.25, 4.0  # of a ratio in colours: what is beyond has the last colour


def atlas_page(atlas: Atlas) -> str:
    """What schedules gain on each base, at published and tuned settings, each figure with its interval."""
    tuned = bool(atlas.tuned_schedules)
    parts = [
        "<h1>The atlas of bases</h1>",
        _introduction(atlas),
        "<h2>At a glance</h2>",
        _failures(atlas),
        _statements(atlas),
        _verdicts(atlas),
        "<h2>What each schedule gains on each base</h2>",
        "<p>Regret under the schedule over that of the base alone, both at the published setting: geometric "
        "means over the problems that the base plays. Below 1 the schedule gains.</p>",
        _ratios_by_schedule(atlas),
        *(_ratios_by_problem(atlas, atlas.shown_schedule) if atlas.schedules else ()),
        *(_tuning(atlas) if tuned else ()),
        "<h2>The bases</h2>",
        _bases(atlas),
        "<h2>Explorations and regret</h2>",
        "<p>Each dot is a base at its published setting. Explorations are rounds in which the base decided; "
        "the table of a problem also has deviations, rounds in which it played another arm than the greedy "
        "one. "
        f"Regrets are {_reference(atlas)}.</p>",
        _front(atlas),
        *(part for problem in atlas.problems for part in _problem(atlas, problem)),
    ]
    return shell("The atlas of bases", parts)


def _introduction(atlas: Atlas) -> str:
    tuned = (
        " Tuned, a base has the one of its settings whose mean regret was least on other seeds, chosen for "
        "each problem, and apart for the base alone and under the schedule."
        if atlas.tuned_schedules
        else ""
    )
    own = ", and of a base of your own the first that you gave" if any(b.option for b in atlas.bases) else ""
    return (
        f"<p>Bases: {len(atlas.bases)}. Schedules, beside each base alone: {len(atlas.schedules)}. Problems: "
        f"{len(atlas.problems)}. Instances of each: {len(atlas.seeds)}. Rounds: {atlas.horizon:,}. All is "
        "paired by instance and noise. Published settings are those of the base's paper, or of its theory"
        f"{own}.</p><p>Intervals are of 95 %, by the bootstrap over instances: they speak of these problems, "
        f"and of no others.{tuned} A base without runs on a problem has refused it, and the section of the "
        "problem says why.</p>"
    )


def _failures(atlas: Atlas) -> str:
    if not atlas.failures:
        return ""
    first = atlas.failures[0]
    words = f"Runs that failed: {len(atlas.failures)}. The first was {first['run']}: {last_line(first)}"
    return f"<p><b>{escape(words)}</b></p>"


def _statements(atlas: Atlas) -> str:
    if not atlas.common:
        return "<p>On no problem all bases have runs with some regret, so nothing is said of all of them.</p>"
    items = "".join(
        f"<li>{escape(each.words)} <b>{_text(each.figure)}</b></li>" for each in atlas.statements()
    )
    names = escape("; ".join(atlas.problems[index].name for index in atlas.common))
    note = "<p>The best of many looks better than it is; the table of bases has all.</p>" if items else ""
    return (
        f"<p>On all problems that all bases play ({names}), as geometric means over them:</p>"
        f"<ul>{items}</ul>{note}"
    )


def _verdicts(atlas: Atlas) -> str:
    """On how many pairs of base and problem each schedule gains or loses."""
    rows = [
        [escape(schedule), setting, *(str(count) for count in atlas.verdicts(schedule, setting).values())]
        for schedule, setting in atlas.columns
        if schedule != ALONE
    ]
    words = (
        "<p>Each pair of a base and a problem by its own interval, which must be 1 % away from 1. Where "
        "nothing is gained, at most one pair in 40 is said to gain by chance, and one to lose.</p>"
    )
    return words + table(("schedule", "setting", "gains", "loses", "cannot be told"), rows)


def _heat(title: str, columns: list[str], rows: list[str], ratios: list[list[Interval | None]]) -> str:
    """Ratios as a heat map: two colours that meet at 1."""
    shown: dict[str, Any] = {
        "kind": "heat",
        "title": title,
        "label": "regret over that of the base alone",
        "log": True,
        "from": LEAST_SHOWN,
        "to": MOST_SHOWN,
        "middle": 1,
        "columns": columns,
        "rows": rows,
        "values": [rounded(math.nan if each is None else each.value for each in row) for row in ratios],
        "texts": [["" if each is None else f"{each.value:.2f}" for each in row] for row in ratios],
        "says": [
            ["no runs" if each is None else _plain(each) or "no regret" for each in row] for row in ratios
        ],
    }
    return chart(shown)


def _ratios_by_schedule(atlas: Atlas) -> str:
    if not atlas.schedules:
        return "<p>No schedule was asked for.</p>"
    names = [base.name for base in atlas.bases]
    ratios = [[atlas.overall_ratio(name, schedule) for schedule in atlas.schedules] for name in names]
    cells = [
        [breakable(name), *(_text(ratio) for ratio in row)] for name, row in zip(names, ratios, strict=True)
    ]
    heat = _heat(
        "Regret under schedules over that alone, by base",
        list(atlas.schedules),
        names,
        [[None if math.isnan(ratio.value) else ratio for ratio in row] for row in ratios],
    )
    return heat + table(("base", *map(escape, atlas.schedules)), cells)


def _ratios_by_problem(atlas: Atlas, schedule: str, setting: Setting = "published") -> list[str]:
    """What one schedule gains, by base and problem."""
    names = [base.name for base in atlas.bases if base.is_tunable or setting == "published"]
    problems = [problem.name for problem in atlas.problems]
    ratios: list[list[Interval | None]] = []
    for base in names:
        keys = [CellKey(problem, base, schedule, setting) for problem in problems]
        ratios.append([atlas.regret_ratio(key) if key in atlas.cells else None for key in keys])
    return [
        f"<h3>{escape(schedule)} by problem, at {setting} settings</h3>",
        _heat(f"Regret under {schedule} over that alone, {setting}", problems, names, ratios),
    ]


def _tuning(atlas: Atlas) -> list[str]:
    """What is left of gains once bases are tuned, and which settings were chosen."""
    schedules = [name for name in atlas.tuned_schedules if name != ALONE]
    heats = [part for schedule in schedules for part in _ratios_by_problem(atlas, schedule, "tuned")]
    heading = "<h2>What is left once bases are tuned</h2>"
    if not schedules or not any(base.is_tunable for base in atlas.bases):
        return [heading, _chosen(atlas)]
    schedule = schedules[0]
    dots = [
        (base.name, atlas.excess(base.name), atlas.overall_ratio(base.name, schedule))
        for base in atlas.bases
        if base.is_tunable
    ]
    drawn = chart(
        {
            "title": f"What tuning and {schedule} take from the regret of each base",
            "hint": "To the right: bases that explore far beyond need. Further down: those that gain more.",
            "x": {"label": "regret alone: published over tuned", "log": True},
            "y": {"label": f"regret under {schedule} over that alone", "log": True},
            "series": [
                {
                    "name": "bases",
                    "shape": "dots",
                    "names": [name for name, *_ in dots],
                    "x": rounded(excess.value for _, excess, _ in dots),
                    "y": rounded(ratio.value for *_, ratio in dots),
                    "low": rounded(ratio.low for *_, ratio in dots),
                    "high": rounded(ratio.high for *_, ratio in dots),
                }
            ],
        }
    )
    rows = [[breakable(name), _text(excess), _text(ratio)] for name, excess, ratio in dots]
    heads = ("base", "alone: published over tuned", f"published: {escape(schedule)} over alone")
    return [heading, drawn, table(heads, rows), _by_problem(atlas, schedule), *heats, _chosen(atlas)]


def _by_problem(atlas: Atlas, schedule: str) -> str:
    """Where exploring rarely helps, and where it costs."""
    rows = [
        [
            escape(problem.name),
            _text(atlas.problem_ratio(problem.name, schedule)),
            _text(atlas.problem_ratio(problem.name, schedule, "tuned")),
        ]
        for problem in atlas.problems
    ]
    heads = ("problem", f"published: {escape(schedule)} over alone", f"tuned: {escape(schedule)} over alone")
    return "<p>By problem, as geometric means over the bases that can be tuned and play it:</p>" + table(
        heads, rows
    )


def _chosen(atlas: Atlas) -> str:
    """How often each setting was chosen."""
    rows = []
    for base in (base for base in atlas.bases if base.is_tunable):
        row = [breakable(base.name), str(len(base.settings))]
        for schedule in atlas.tuned_schedules:
            keys = [CellKey(problem.name, base.name, schedule, "tuned") for problem in atlas.problems]
            counts = Counter(atlas.cells[key].expression for key in keys if key in atlas.cells)
            words = (f"{setting} on {counts[setting]}" for setting in base.settings if counts[setting])
            row.append("<br>".join(map(escape, words)))
        rows.append(row)
    heads = (
        "base",
        "tried",
        *(f"chosen {escape(name)}, on so many problems" for name in atlas.tuned_schedules),
    )
    return (
        "<h3>Settings that were chosen</h3>"
        "<p>Of as many as were tried of each base, all with the same seeds.</p>"
        + table(heads, rows, texts=range(2, len(heads)))
    )


def _reference(atlas: Atlas) -> str:
    return (
        f"multiples of that of {escape(atlas.bases[0].name)} alone at its published setting, as geometric "
        f"means over the {len(atlas.common)} problems that all bases play"
    )


def _bases(atlas: Atlas) -> str:
    """A row for each base: what is known of it, and how it does."""
    columns = [column for column in atlas.columns if column[0] == ALONE or column[0] == atlas.shown_schedule]
    known = ("base", "played as", "Theorem 1", "propensities", "µs a round, alone")
    heads = (*known, *(f"{escape(schedule)}, {setting}" for schedule, setting in columns))
    rows = []
    for base in atlas.bases:
        time = atlas.microseconds(base.name)
        row = [
            breakable(base.name),
            f"<code>{breakable(base.published)}</code>",
            _coverage(base),
            base.propensities,
            "" if math.isnan(time) else f"{time:,.3g}",
        ]
        rows.append([*row, *(_text(atlas.relative(base.name, *column)) for column in columns)])
    return (
        "<p>Theorem 1 of Lee and Oh (2025) bounds the regret of INFEX where the base alone has "
        "polylogarithmic regret on every instance. Propensities are what estimates from logs need. "
        f"Times are medians over problems, on the machine that played them. Regrets are {_reference(atlas)}."
        "</p>" + table(heads, rows, texts=(1, 2))
    )


def _coverage(base: Base) -> str:
    return base.coverage + (f"<br><small>{escape(base.why)}</small>" if base.why else "")


def _front(atlas: Atlas) -> str:
    """Explorations against regret, a series for each schedule."""
    if not atlas.common:
        return ""
    kept = [atlas.problems[index].name for index in atlas.common]
    series = []
    for colour, schedule in enumerate((ALONE, *atlas.schedules)):
        calls, regrets, names = [], [], []
        for base in atlas.bases:
            shares = [atlas.cells[CellKey(problem, base.name, schedule)].calls for problem in kept]
            calls.append(sum(shares) / len(shares))
            regrets.append(atlas.relative(base.name, schedule))
            names.append(base.name)
        series.append(
            {
                "name": schedule,
                "colour": colour,
                "shape": "dots",
                "names": names,
                "x": rounded(calls),
                "y": rounded(each.value for each in regrets),
                "low": rounded(each.low for each in regrets),
                "high": rounded(each.high for each in regrets),
            }
        )
    first = atlas.bases[0].name
    data = {
        "title": "Share of rounds in which the base decided, and regret",
        "x": {"label": "share of rounds in which the base decided", "log": True, "format": "percent"},
        "y": {"label": f"regret, in multiples of that of {first} alone", "log": True},
        "series": series,
        "height": 420,
    }
    return chart(data, "front")


def _problem(atlas: Atlas, problem: Problem) -> list[str]:
    """All cells of a problem: regret with its interval, calls and deviations; each leads to its command."""
    rows: list[list[str]] = []
    commands: list[str] = []
    for base in atlas.bases:
        row = [breakable(base.name)]
        for column in atlas.columns:
            key = CellKey(problem.name, base.name, *column)
            if key not in atlas.cells:
                row.append("")
                continue
            name = f"cell-{len(commands)}-{atlas.problems.index(problem)}"
            commands.append(f'<li id="{name}"><code>{escape(atlas.command(key))}</code></li>')
            cell, words = atlas.cells[key], [f'<a href="#{name}">{_whole(atlas.regret(key))}</a>']
            if key.schedule != ALONE and key._replace(schedule=ALONE) in atlas.cells:
                compared = _text(atlas.regret_ratio(key))
                words += [f"<small>{compared} of that alone</small>"] if compared else []
            if not math.isnan(cell.deviations):
                words.append(f"<small>{cell.calls:.2%} calls, {cell.deviations:.2%} deviations</small>")
            row.append("<br>".join(words))
        rows.append(row)
    heads = ("base", *(f"{escape(schedule)}, {setting}" for schedule, setting in atlas.columns))
    learnt = f", learnt by <code>{escape(problem.estimator)}</code>" if problem.estimator else ""
    reasons: dict[str, list[str]] = {}
    for key, reason in atlas.refused.items():
        if key.problem == problem.name and key.base not in reasons.setdefault(reason, []):
            reasons[reason].append(key.base)
    refusals = "".join(
        f"<p>Refused by {escape(', '.join(names))}: {escape(reason)}.</p>"
        for reason, names in reasons.items()
    )
    return [
        f"<h2>{escape(problem.name)}</h2>",
        f"<p><code>{escape(problem.environment)}</code>{learnt}. Mean regret with its interval, which "
        "leads to the command that plays its runs again, and its ratio to that of the base alone at the same "
        "setting.</p>",
        table(heads, rows),
        refusals,
        f"<details><summary>Commands</summary><ol>{''.join(commands)}</ol></details>",
    ]


def _plain(figure: Interval) -> str:
    """A ratio with its interval, as plain text; none where there is no ratio."""
    if math.isnan(figure.value):
        return ""
    ends = "" if math.isnan(figure.low) else f" [{figure.low:.2f}, {figure.high:.2f}]"
    return f"{figure.value:.2f}{ends}"


def _text(figure: Interval) -> str:
    """A ratio with its interval, as HTML."""
    value, bracket, ends = _plain(figure).partition(" [")
    return f'{value} <span class="interval">[{ends}</span>' if bracket else value


def _whole(regret: Interval) -> str:
    """A mean regret with its interval."""
    digits = ",.0f" if regret.value >= 10 else ",.3g"
    if math.isnan(regret.low):
        return f"{regret.value:{digits}}"
    ends = f"[{regret.low:{digits}}, {regret.high:{digits}}]"
    return f'{regret.value:{digits}} <span class="interval">{ends}</span>'
