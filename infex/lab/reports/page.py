"""One self-contained page: verdicts, charts to touch, tables, settings. It loads nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from infex.lab.reports.series import LOOKS, Floats, Judgement, P, Shown, Style, played, strip, styles

BREAKS = re.compile(r"([(\[]|[.:](?=[A-Za-z_]))")


def shell(title: str, parts: Iterable[str], *, style: str = "", scripts: Iterable[str] = ()) -> str:
    """A page of these parts; `style` adds to the common style sheet, scripts come last."""
    body = "\n".join(part for part in (*parts, *scripts) if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{asset('page.css')}{style}</style>\n</head>\n<body>\n"
        f"{body}\n</body>\n</html>\n"
    )


def asset(name: str) -> str:
    """The text of a file of this room."""
    return files("infex.lab.reports").joinpath(name).read_text(encoding="utf-8")


def script(name: str) -> str:
    """A script of this room with the charts that all pages share, to be written into a page."""
    shared = asset("drawing.js").replace("export function", "function")
    return f'<script type="module">\n{shared}{asset(name)}</script>'


def breakable(name: str) -> str:
    """A name in HTML that may go on in a new line at blanks, but not inside a word.

    Parts that are long by themselves may also be broken after a bracket, a colon or a dot.

    >>> breakable("Infex(my.module:Mine(scale=0.5), every(5))")
    'Infex(<wbr>my.<wbr>module:<wbr>Mine(<wbr>scale=0.5), every(5))'
    """
    parts = name.split(" ")
    return " ".join(
        BREAKS.sub(r"\1<wbr>", escape(part)) if len(part) > 16 else escape(part) for part in parts
    )


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose cells are HTML already."""
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


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


def chart_data(results: Shown[P], looks: dict[str, Style]) -> dict[str, Any]:
    """A chart for each problem, with a line for each policy that has runs of it."""
    return {"cells": [_chart_data(results, cell, looks) for cell in results.cells]}


def on_page(colour: str) -> str:
    """A colour as the page has it: black is that of the text, which is light on a dark page."""
    return "currentColor" if colour == "#000000" else colour


def _chart_data(results: Shown[P], cell: P, looks: dict[str, Style]) -> dict[str, Any]:
    lines = [_line(results, cell, policy, looks[policy]) for policy in played(results, cell)]
    last = max((line["rounds"][-1] for line in lines), default=1)
    return {"label": cell.environment, "lines": lines, "horizon": last}


def _line(results: Shown[P], cell: P, policy: str, look: Style) -> dict[str, Any]:
    drawn = {"policy": policy, "colour": on_page(look.colour), "dash": list(look.dash)}
    regret = _means(results, cell, policy) | _ranges(results, cell, policy)
    return drawn | regret | _times(results, cell, policy)


def _means(results: Shown[P], cell: P, policy: str) -> dict[str, Any]:
    rounds, mean, std = results.band(cell, policy)
    return {"rounds": rounds.tolist(), "mean": _short(mean), "std": _short(std)}


def _ranges(results: Shown[P], cell: P, policy: str) -> dict[str, Any]:
    inner, middle = strip(results, cell, policy, "interval"), strip(results, cell, policy, "median")
    quartiles = [_short(middle.low), _short(middle.line), _short(middle.high)]
    return {"interval": [_short(inner.low), _short(inner.high)], "quartiles": quartiles}


def _times(results: Shown[P], cell: P, policy: str) -> dict[str, Any]:
    seconds = results.seconds(cell, policy)
    middle = np.array([max(float(np.median(seconds)), 1e-9)])
    return {"times": _short(np.maximum(seconds, 1e-9)), "time": _short(middle)[0]}


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in values.tolist()]


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
TIP = "Choose a name to hide or show it."
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
    content = json.dumps(chart_data(results, looks), separators=(",", ":"), allow_nan=False).replace(
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


def _summary(results: Shown[P]) -> str:
    problems = "1 problem" if len(results.cells) == 1 else f"{len(results.cells)} problems"
    runs = f"{len(results.finals):,} runs of {_rounds(results.about)} rounds"
    return f"{runs}: {problems}, {len(results.policies)} policies."


def _rounds(about: dict[str, Any]) -> str:
    """The horizon, or all of them."""
    given = about.get("horizon", 0)
    return " and ".join(f"{horizon:,}" for horizon in (given if isinstance(given, list | tuple) else [given]))


def _time(about: dict[str, Any]) -> str:
    """How computation time was measured, as far as the sweep has recorded it."""
    measured = "Computation time is that of each run by itself, from its first round to its last."
    return f"{measured}{_where_played(about)}{_played_earlier(about)}"


def _where_played(about: dict[str, Any]) -> str:
    engine, workers, cores = (about.get(name) for name in ("engine", "workers", "cores"))
    if engine == "local" and workers is not None and cores is not None:
        return f" Runs were played {_on_cores(workers, cores)} Other work on the machine still shows."
    if engine is not None:
        return f" Runs were played on {engine}, whose workers may be unlike and may play several at once."
    return ""


def _on_cores(workers: int, cores: int) -> str:
    one = "in one process" if workers == 1 else f"in {workers} processes, each one run at a time,"
    end = "; they shared cores, so times are too long." if workers > cores else "."
    return f"{one} on a machine with {cores} {'core' if cores == 1 else 'cores'}{end}"


def _played_earlier(about: dict[str, Any]) -> str:
    earlier = about.get("earlier", 0)
    words = f" {earlier:,} of the runs are of an earlier command, perhaps played otherwise."
    return words if earlier else ""


def _failures(results: Shown[P]) -> str:
    if not results.failures:
        return ""
    return f"<h2>{len(results.failures)} runs failed</h2><ul>{''.join(map(_failure, results.failures))}</ul>"


def _failure(failure: dict[str, str]) -> str:
    last = failure["traceback"].strip().splitlines()[-1]
    return f"<li>{escape(failure['run'])}: <code>{escape(last)}</code></li>"


def _claims(verdicts: Sequence[Judgement], caveat: str, heading: str) -> str:
    if not verdicts:
        return ""
    known = f"<p>{escape(caveat)}</p>\n" if caveat else ""
    items = "".join(map(_claim, verdicts))
    return f'<h2>{escape(heading, quote=False)}</h2>\n{known}<ul class="claims">{items}</ul>'


def _claim(verdict: Judgement) -> str:
    more = f' <span class="soft">{escape(verdict.note)}</span>' if verdict.note else ""
    words = f"<b>{_standing(verdict)}</b> {escape(verdict.claim)}{more}"
    return f'<li class="{_mark(verdict)}">{words}</li>'


def _standing(verdict: Judgement) -> str:
    """In how many cells the claim holds."""
    where = f"holds in {verdict.holds} of {verdict.cells} {verdict.unit}"
    noise = f", {verdict.undecided} within noise" if verdict.undecided else ""
    return f"{where if verdict.cells else 'cannot be told here'}{noise}"


def _mark(verdict: Judgement) -> str:
    """The class that colours it: soft where no cell speaks against the claim, and not all speak for it."""
    if 0 < verdict.cells == verdict.holds:
        return "holds"
    return "fails" if 0 < verdict.cells != verdict.holds + verdict.undecided else "soft"


def _legend(policies: list[str], looks: dict[str, Style]) -> str:
    names = "".join(_name_button(policy, looks[policy]) for policy in policies)
    buttons = f'<p class="tip">{TIP}</p><div id="views">{_view_buttons()}{_scale_buttons()}</div>'
    return f'<div id="tools"><div id="legend">{names}</div>{buttons}</div>'


def _name_button(policy: str, look: Style) -> str:
    name = escape(policy)
    words = f"{_sample(look)}{name}"
    return f'<button type="button" aria-pressed="true" data-policy="{name}">{words}</button>'


def _sample(look: Style) -> str:
    """A short piece of a policy's line."""
    stroke = f'stroke="{on_page(look.colour)}" stroke-width="2.5"'
    line = f'<line x1="0" x2="26" y1="4" y2="4" {stroke} stroke-dasharray="{" ".join(map(str, look.dash))}"/>'
    return f'<svg width="26" height="8" aria-hidden="true">{line}</svg>'


def _scale_buttons() -> str:
    scaled = {"scale": "rounds", "regrets": "regret"}
    return "".join(_button(f'id="{name}"', f"{words} on a log scale") for name, words in scaled.items())


def _view_buttons() -> str:
    kinds = {name: f'class="view" data-view="{name}"' for name in LOOKS}
    return "".join(_button(kinds[name], words, pressed=name == "std") for name, words in LOOKS.items())


def _button(attributes: str, words: str, *, pressed: bool = False) -> str:
    state = "true" if pressed else "false"
    return f'<button type="button" {attributes} aria-pressed="{state}">{words}</button>'


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
    rows = "".join(_rows(results, cell) for cell in results.cells)
    body = f"<thead>{head}</thead><tbody>{rows}</tbody>"
    return f'<div class="wide"><table id="finals">{body}</table></div>'


def _rows(results: Shown[P], cell: P) -> str:
    """A problem, and below it a row for each policy that has runs of it."""
    head = f'<tr class="cell"><td colspan="9">{escape(_cell_head(results, cell))}</td></tr>'
    return head + "".join(_row(results, cell, policy) for policy in played(results, cell))


def _cell_head(results: Shown[P], cell: P) -> str:
    """A problem, and its lowest mean as what it is: the best of so many, on the seeds that chose it."""
    means = {policy: results.spread(cell, policy).mean for policy in played(results, cell)}
    if len(means) < 2:
        return results.title(cell)
    lowest = min(means, key=means.__getitem__)
    return f"{results.title(cell)}; lowest of {len(means)} on these very seeds: {lowest}"


def _row(results: Shown[P], cell: P, policy: str) -> str:
    regret, mean = results.spread(cell, policy), results.interval(cell, policy)
    against = [_against(results, cell, policy, other) for other in (results.bases.get(policy), "Greedy")]
    figures = [str(regret.runs), _number(regret.mean), _ends(mean.low, mean.high)]
    figures += [_number(regret.std), _number(regret.median)]
    time = _seconds(float(np.median(results.seconds(cell, policy))))
    cells = [f"<td>{breakable(policy)}</td>", *(f"<td>{each}</td>" for each in figures)]
    cells += [f'<td class="difference">{each}</td>' for each in against]
    return f"<tr>{''.join(cells)}<td>{time}</td></tr>"


def _against(results: Shown[P], cell: P, policy: str, other: str | None) -> str:
    if other is None or other == policy or not results.has(cell, other):
        return ""
    gap = results.compare(cell, policy, other)
    if not gap.pairs:
        return ""
    return f"{_number(gap.mean, sign=True)} <span>{_ends(gap.low, gap.high, sign=True)}</span>"


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
    facts = {name: escape(str(fact)) for name, fact in _facts(about).items() if fact}
    items = "".join(f"<dt>{escape(name)}</dt><dd>{fact}</dd>" for name, fact in facts.items())
    return f"<dl>{items}</dl>"


def _facts(about: dict[str, Any]) -> dict[str, Any]:
    """How a sweep was run, by the names that readers see; empty where it is not known."""
    versions = ", ".join(f"{name} {number}" for name, number in about.get("versions", {}).items())
    return {
        "Environments": "; ".join(about.get("environments", [])),
        "Policies": "; ".join(about.get("policies", [])),
        "Horizon": f"{_rounds(about)} rounds",
        "Seeds": _seeds(about.get("seeds", [])),
        "Ridge penalty": about.get("penalty", ""),
        "delta of policies that say none": about.get("delta", ""),
        "Estimator": "; ".join(about.get("estimator", [])),
        "Versions": versions,
        "Commit of the folder it was run in": about.get("commit", ""),
        "Machine": about.get("machine", ""),
        "Command": about.get("command", ""),
    }


def _seeds(seeds: list[int]) -> str:
    """How many, and which: the first and the last if none between them is missing."""
    listed = sorted(seeds)
    if len(listed) > 2 and listed == list(range(listed[0], listed[-1] + 1)):
        return f"{len(listed)}: {listed[0]} to {listed[-1]}"
    return f"{len(listed)}: {', '.join(map(str, listed))}" if listed else ""
