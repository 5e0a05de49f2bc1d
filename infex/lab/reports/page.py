"""The report of a sweep as one page: verdicts, charts, tables, settings. It loads nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from infex._stats import mean_intervals
from infex.arrays import Floats
from infex.lab.reports.series import LOOKS, Style, played, strip, styles
from infex.pages import breakable, chart, rounded, shell, table, tools

if TYPE_CHECKING:
    from infex.lab.paper import Verdict
    from infex.lab.results import Cell, Results

CLAIMS_HEADING = "The paper's claims on these runs"
INFEX_EXPLAINED = (
    "INFEX explores infrequently: in most rounds it plays the arm that looks best so far, and only in the "
    "rounds that a schedule names does another policy, its base, choose the arm. Infex(LinUCB, every(20)) "
    "leaves every 20th round to LinUCB and plays greedily in all others; the paper calls this period m, here "
    "m = 20. "
)
CELLS_EXPLAINED = (
    "A cell is one kind of problem: in it, each of K arms is described by d numbers, and its mean reward is "
    "a linear function of them. All policies of a cell met the same problems and the same noise, one for "
    "each seed. Regret is the pseudo-regret: what was lost, in means, against always playing the best arm; "
    "less is better."
)
LINES_EXPLAINED = (
    "Lines are means over seeds. Bands are one standard deviation to each side, the 95 % interval of the "
    "mean, or quartiles about the median, as you choose; where more than nine lines are shown, bars behind "
    "the last round tell it in their place. Greedy's regret is a mixture of near-zero and linear runs, so "
    "look at medians too."
)
DIFFERENCES_EXPLAINED = (
    "Differences are paired: both policies met the same problems. Brackets hold a 95 % bootstrap-t interval "
    "of a mean, which needs 12 seeds and is not corrected for the number of comparisons (results.tests is)."
)
GRID_EXPLAINED = (
    "Of a grid of settings, the charts by round show the policies that are the lowest in some cell; choose "
    "a name to see others."
)
STEEPEST = 20.0  # the largest value over the least, from which a logarithmic axis is used


def page(
    results: Results, title: str, verdicts: Sequence[Verdict], caveat: str = "", heading: str = CLAIMS_HEADING
) -> str:
    """The report of a sweep as one HTML page; the caveat stands above the verdicts."""
    looks = styles(results.policies, results.bases, results.rules)
    varied = {setting: list(policies) for setting, policies in results.grids().items()}
    chosen = _shown(results, varied)
    horizons = _words(results.about.get("horizon", 0))
    problems = "1 problem" if len(results.cells) == 1 else f"{len(results.cells)} problems"
    explained = f"{INFEX_EXPLAINED if results.rules else ''}{CELLS_EXPLAINED}"
    counted = f"{len(results.finals):,} runs of {horizons} rounds: {problems}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(explained)}</p>",
        f'<p class="soft">{escape(counted)}, {len(results.policies)} policies.</p>',
        _failures(results.failures),
        _claims(verdicts, caveat, heading),
        "<h2>Regret and computation time</h2>",
        f"<p>{escape(LINES_EXPLAINED)}{' ' + GRID_EXPLAINED if varied else ''}</p>",
        f"<p>{escape(_time(results.about))} A short mark is one run, a dot the median.</p>",
        "<div>",  # the tools stay in sight up to its end
        _tools(results.policies, looks, chosen),
        *(part for cell in results.cells for part in _charts(results, cell, looks, varied)),
        "</div>",
        "<h2>Final regret</h2>",
        f"<p>{escape(DIFFERENCES_EXPLAINED)}</p>",
        _table(results),
        "<h2>How it was run</h2>",
        _facts(results.about),
        "<h2>How to cite it</h2>",
        f'<pre id="bibtex" tabindex="0">{escape(bibtex(results.about))}</pre>',
    ]
    return shell(title, parts)


def _shown(results: Results, varied: dict[str, list[str]]) -> set[str]:
    """The policies whose lines are drawn at first: of a grid, those that are the lowest in some cell."""
    grid = {policy for policies in varied.values() for policy in policies}
    chosen = {policy for policy in results.policies if policy not in grid}
    for cell in results.cells:
        for policies in varied.values():
            means = {name: results.regret(cell, name).mean() for name in policies if results.has(cell, name)}
            chosen |= {min(means, key=means.__getitem__)} if means else set()
    return chosen


def _tools(policies: list[str], looks: dict[str, Style], chosen: set[str]) -> str:
    names = [{"name": policy, "shown": policy in chosen, **_look(looks[policy])} for policy in policies]
    hint = "Choose a name to hide or show it."
    return tools({"names": names, "views": list(LOOKS.values()), "x": "rounds", "y": "regret", "hint": hint})


def _look(look: Style) -> dict[str, Any]:
    """A style as the page has it: black is the colour of the text, which is light on a dark page."""
    colour = "currentColor" if look.colour == "#000000" else look.colour
    return {"colour": colour, "dash": " ".join(map(str, look.dash))}


def _charts(
    results: Results, cell: Cell, looks: dict[str, Style], varied: dict[str, list[str]]
) -> Iterator[str]:
    """The charts of a problem: regret against settings, regret by round, and computation time."""
    title = results.title(cell)
    label = "" if cell.environment in title else f' <span class="soft">{escape(cell.environment)}</span>'
    yield f"<section><h3>{escape(title)}{label}</h3>"
    for setting, policies in varied.items():
        if any(results.has(cell, policy) for policy in policies):
            yield chart(_by_setting(results, cell, setting))
    curves, times = _curves(results, cell, looks), _times(results, cell, looks)
    yield f'<div class="pair">{chart(curves)}{chart(times)}</div></section>'


def _by_setting(results: Results, cell: Cell, setting: str) -> dict[str, Any]:
    """Final regret against the values of a setting, all else being equal."""
    only: dict[str, Any] = {"environment": cell.environment, "dim": cell.dim, "arms": cell.arms}
    only |= {} if cell.horizon is None else {"horizon": cell.horizon}
    lines = [line for line in results.against(setting, **only).lines if len(line.values) > 1]
    values = sorted({value for line in lines for value in line.values})
    told = {part.partition("=")[0] for line in lines for part in line.name.split(", ") if "=" in part}
    bare = f"no {', no '.join(sorted(told))}" if told else setting
    series = [
        {
            "name": bare if line.name == "all runs" else line.name,
            "shape": "joined",
            "colour": place,
            "x": list(line.values),
            "views": _setting_views(line.regrets),
        }
        for place, line in enumerate(lines)
    ]
    return {
        "title": f"Final regret against {setting}, {results.title(cell)}",
        "tools": ["views", "y"],
        "x": {"label": setting, "log": 0 < STEEPEST * values[0] <= values[-1], "ticks": values},
        "y": {"label": "final regret", "name": "regret"},
        "series": series,
    }


def _setting_views(regrets: Sequence[Floats]) -> list[dict[str, Any]]:
    """Final regrets of each value as the three views show them, in the order of `LOOKS`."""
    means = [float(each.mean()) for each in regrets]
    std = [float(each.std(ddof=1)) if each.size > 1 else 0.0 for each in regrets]
    inner = mean_intervals(regrets)
    quartiles = np.array([np.quantile(each, (0.25, 0.5, 0.75)) for each in regrets]).T
    return [
        _view(means, np.maximum(np.subtract(means, std), 0.0), np.add(means, std)),
        _view(means, [each.low for each in inner], [each.high for each in inner]),
        _view(quartiles[1], quartiles[0], quartiles[2]),
    ]


def _view(line: Iterable[float], low: Iterable[float], high: Iterable[float]) -> dict[str, Any]:
    return {"y": rounded(line), "low": rounded(low), "high": rounded(high)}


def _curves(results: Results, cell: Cell, looks: dict[str, Style]) -> dict[str, Any]:
    """Regret by round, with a line for each policy that has runs of the problem."""
    series = []
    for policy in played(results, cell):
        strips = [strip(results, cell, policy, look) for look in LOOKS]
        views = [_view(each.line, each.low, each.high) for each in strips]
        series.append(
            {"name": policy, "x": strips[0].rounds.tolist(), "views": views, **_look(looks[policy])}
        )
    at = series[0]["x"] if series else []
    return {
        "title": f"Regret by round, {results.title(cell)}",
        "tools": ["names", "views", "x", "y"],
        "x": {"label": "round", "format": "count", "from": 0},
        "y": {"label": "regret", "name": "regret"},
        "at": at,
        "series": [
            {key: value for key, value in each.items() if key != "x" or value != at} for each in series
        ],
    }


def _times(results: Results, cell: Cell, looks: dict[str, Style]) -> dict[str, Any]:
    """Computation time of every run, and the median of each policy."""
    rows = []
    for policy in played(results, cell):
        seconds = np.maximum(results.seconds(cell, policy), 1e-9)
        middle = rounded([float(np.median(seconds))])[0]
        rows.append({"name": policy, "value": middle, "runs": rounded(seconds), **_look(looks[policy])})
    return {
        "kind": "rows",
        "title": f"Computation time, {results.title(cell)}",
        "tools": ["names"],
        "x": {"label": "computation time of a run", "log": True, "format": "seconds"},
        "rows": rows,
    }


def _failures(failures: Sequence[dict[str, str]]) -> str:
    if not failures:
        return ""
    lasts = [(each["run"], each["traceback"].strip().splitlines()[-1]) for each in failures]
    items = "".join(f"<li>{escape(run)}: <code>{escape(last)}</code></li>" for run, last in lasts)
    return f"<h2>{len(failures)} runs failed</h2><ul>{items}</ul>"


def _claims(verdicts: Sequence[Verdict], caveat: str, heading: str) -> str:
    if not verdicts:
        return ""
    known = f"<p>{escape(caveat)}</p>\n" if caveat else ""
    items = "".join(map(_claim, verdicts))
    return f'<h2>{escape(heading, quote=False)}</h2>\n{known}<ul class="claims">{items}</ul>'


def _claim(verdict: Verdict) -> str:
    """A claim, and in how many cells it holds; soft where no cell speaks against it, and not all for it."""
    kind, words = "soft", "cannot be told here"
    if verdict.cells:
        words = f"holds in {verdict.holds} of {verdict.cells} {verdict.unit}"
        against = verdict.cells - verdict.holds - verdict.undecided
        kind = "fails" if against else "holds" if verdict.cells == verdict.holds else "soft"
    noise = f", {verdict.undecided} within noise" if verdict.undecided else ""
    more = f' <span class="soft">{escape(verdict.note)}</span>' if verdict.note else ""
    return f'<li class="{kind}"><b>{words}{noise}</b> {escape(verdict.claim)}{more}</li>'


def _time(about: dict[str, Any]) -> str:
    """How computation time was measured, as far as the sweep has recorded it."""
    words = "Computation time is that of each run by itself, from its first round to its last."
    engine, workers, cores = (about.get(name) for name in ("engine", "workers", "cores"))
    if engine == "local" and workers is not None and cores is not None:
        how = "in one process" if workers == 1 else f"in {workers} processes, each one run at a time,"
        shared = "; they shared cores, so times are too long." if workers > cores else "."
        machine = f"on a machine with {cores} {'core' if cores == 1 else 'cores'}{shared}"
        words += f" Runs were played {how} {machine} Other work on the machine still shows."
    elif engine is not None:
        words += f" Runs were played on {engine}, whose workers may be unlike and may play several at once."
    if about.get("earlier"):
        words += f" {about['earlier']:,} of the runs are of an earlier command, perhaps played otherwise."
    return words


def _table(results: Results) -> str:
    """Final regret: a heading for each problem, and below it a row for each policy that has runs of it.

    Differences from a policy's base and from Greedy have columns where there are any.
    """
    heads = ["policy", "seeds", "mean", "95 % interval", "std", "median", "less its base", "less Greedy"]
    heads.append("median time")
    rows = [row for cell in results.cells for row in _rows(results, cell)]
    whole = [row for row in rows if len(row) > 1]
    kept = [place for place in range(len(heads)) if place not in (6, 7) or any(row[place] for row in whole)]
    shown = [row if len(row) == 1 else [row[place] for place in kept] for row in rows]
    return table([heads[place] for place in kept], shown)


def _rows(results: Results, cell: Cell) -> list[list[str]]:
    """A problem with the policy of the lowest mean, as what it is, the best of so many; and the policies."""
    names = played(results, cell)
    means = {policy: results.spread(cell, policy).mean for policy in names}
    lowest = f"; lowest of {len(names)} on these very seeds: {min(means, key=means.__getitem__)}"
    rows = [[escape(results.title(cell) + (lowest if len(names) > 1 else ""))]]
    for policy in names:
        regret, mean = results.spread(cell, policy), results.interval(cell, policy)
        rows.append(
            [
                breakable(policy),
                str(regret.runs),
                _number(regret.mean),
                _interval(mean.low, mean.high),
                _number(regret.std),
                _number(regret.median),
                _difference(results, cell, policy, results.bases.get(policy)),
                _difference(results, cell, policy, "Greedy"),
                _seconds(float(np.median(results.seconds(cell, policy)))),
            ]
        )
    return rows


def _difference(results: Results, cell: Cell, policy: str, other: str | None) -> str:
    if other is None or other == policy or not results.has(cell, other):
        return ""
    gap = results.compare(cell, policy, other)
    if not gap.pairs:
        return ""
    words = f"{_number(gap.mean, sign='+')} {_interval(gap.low, gap.high, sign='+')}"
    return words.replace(" ", ' <span class="interval">', 1) + "</span>"


def _interval(low: float, high: float, sign: str = "") -> str:
    """An interval, or why there is none."""
    if math.isnan(low) or math.isnan(high):
        return "(too few)"
    return f"[{_number(low, sign)}, {_number(high, sign)}]"


def _number(value: float, sign: str = "") -> str:
    if not math.isfinite(value):
        return "\N{EN DASH}"
    return f"{value:{sign},.{0 if abs(value) >= 100 else 1}f}".replace("-", "\N{MINUS SIGN}")


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.2f} ms"


def _facts(about: dict[str, Any]) -> str:
    """How a sweep was run, as far as it is known."""
    versions = ", ".join(f"{name} {number}" for name, number in about.get("versions", {}).items())
    facts = {
        "Environments": "; ".join(about.get("environments", [])),
        "Policies": "; ".join(about.get("policies", [])),
        "Horizon": f"{_words(about.get('horizon', 0))} rounds",
        "Seeds": _seeds(about.get("seeds", [])),
        "Ridge penalty": about.get("penalty", ""),
        "delta of policies that say none": about.get("delta", ""),
        "Estimator": "; ".join(about.get("estimator", [])),
        "Versions": versions,
        "Commit of the folder it was run in": about.get("commit", ""),
        "Machine": about.get("machine", ""),
        "Command": about.get("command", ""),
    }
    known = {name: str(fact) for name, fact in facts.items() if fact}
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in known.items())
    return f'<dl class="facts">{items}</dl>'


def _words(horizons: int | Sequence[int]) -> str:
    """The horizon, or all of them."""
    given = horizons if isinstance(horizons, list | tuple) else [horizons]
    return " and ".join(f"{horizon:,}" for horizon in given)


def _seeds(seeds: list[int]) -> str:
    """How many, and which: the first and the last if none between them is missing."""
    listed = sorted(seeds)
    if len(listed) > 2 and listed == list(range(listed[0], listed[-1] + 1)):
        return f"{len(listed)}: {listed[0]} to {listed[-1]}"
    return f"{len(listed)}: {', '.join(map(str, listed))}" if listed else ""


PAPER_ENTRY = """\
@inproceedings{lee2025infrequent,
  title = {Infrequent Exploration in Linear Bandits},
  author = {Lee, Harin and Oh, Min-hwan},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2025},
  eprint = {2510.26000},
  archiveprefix = {arXiv}
}"""


def bibtex(about: dict[str, Any]) -> str:
    """Two entries: the paper, and infex in the version, and at the commit, that results tell of themselves.

    >>> print(bibtex({"versions": {"infex": "0.1.0"}}).splitlines()[-3])
      version = {0.1.0},
    """
    version = str(about.get("versions", {}).get("infex", ""))
    commit = re.match(r"[0-9a-f]{7,64}", str(about.get("commit", "")))
    fields = [
        "title = {infex: linear bandits that explore only when they are told to}",
        "author = {{The infex team}}",
    ]
    fields += [f"version = {{{version}}}"] if re.fullmatch(r"[\w.+-]+", version) else []
    told = f", played at commit {commit[0][:12]}" if commit else ""
    fields += [f"note = {{Python package{told}}}"]
    inner = ",\n".join(f"  {field}" for field in fields)
    return f"{PAPER_ENTRY}\n\n@software{{infex,\n{inner}\n}}\n"
