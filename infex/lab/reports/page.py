"""The report of a sweep as one page that loads nothing: verdicts, charts, tables, settings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from infex.files import replace
from infex.lab import paper
from infex.lab.environments import PROBLEMS
from infex.lab.paper import Verdict
from infex.lab.reports.series import LOOKS, STEEPEST, Look, line_and_band, strip, styles
from infex.lab.results import Cell, Results, last_line
from infex.lab.simulation.simulator import cores
from infex.lab.specs import Facts
from infex.pages import breakable, chart, rounded, shell, table, tools
from infex.registry import setting_text

DEFAULT_TITLE = "Regret of bandit policies"
INFEX_TITLE = "Infrequent exploration in linear bandits"  # where a policy explores by a schedule
CLAIMS_HEADING = "The paper's claims on these runs"
INFEX_EXPLAINED = (
    "INFEX explores infrequently: in most rounds it plays the arm that looks best so far, and only in the "
    "rounds that a schedule names does another policy, its base, choose the arm. Infex(LinUCB, every(20)) "
    "leaves every 20th round to LinUCB and plays greedily in all others; the paper calls this period m, here "
    "m = 20. "
)
CELLS_EXPLAINED = (
    "A cell is one kind of problem: in it, each of K arms is described by d numbers{linear}. All policies of "
    "a cell met the same problems and the same noise, one for each seed. Regret is the pseudo-regret: what "
    "was lost, in means, against always playing the best arm; less is better."
)
LINES_EXPLAINED = (
    "Lines are means over seeds. Bands are one standard deviation to each side, the 95 % interval of the "
    "mean, or quartiles about the median, as you choose; where more than nine lines are shown, bars behind "
    "the last round tell it in their place."
)
GREEDY_EXPLAINED = "Greedy's regret is a mixture of near-zero and linear runs, so look at medians too."
DIFFERENCES_EXPLAINED = (
    "Differences are paired: both policies met the same problems. Brackets hold a 95 % bootstrap-t interval "
    "of a mean, which needs 12 seeds and is not corrected for the number of comparisons (results.tests is)."
)
LINEAR_KINDS = {*PROBLEMS, "LinearInstance", "ChangingInstance", "ContextualInstance"} - {"misspecified"}
EXPLORED_EXPLAINED = (
    " Explored is the mean number of rounds in which the schedule let the base decide; deviations are those "
    "of them in which the base played another arm than the greedy one."
)
GRID_EXPLAINED = (
    "Of a grid of settings, the charts by round show the policies that are the lowest in some cell; choose "
    "a name to see others."
)


def write_report(results: Results, folder: Path, show: Look = "std", log: bool = False) -> list[Path]:
    """Writes the figures, as `results.plot` would, and `report.html` in place of earlier ones; the files."""
    from infex.lab.reports.figures import rendered, write_figures

    dims = sorted({cell.dim for cell in results.cells})
    drawing = [partial(rendered, results, dim, show=show, log=log) for dim in dims]
    jobs = [partial(report_page, results), *drawing]
    text, *figures = joblib.Parallel(n_jobs=min(cores(), len(jobs)))(joblib.delayed(job)() for job in jobs)
    written = write_figures(dict(zip(dims, figures, strict=True)), folder, paper.figures(results))
    replace(folder / "report.html", text.encode())
    return [*written, folder / "report.html"]


def report_page(results: Results) -> str:
    """The report as one HTML page, with the claims of the paper that these runs can tell of."""
    title = results.about.get("title") or (INFEX_TITLE if results.rules else DEFAULT_TITLE)
    if claims := paper.verdicts(results):
        return page(results, title, claims, paper.caveat(results))
    return page(results, title, paper.changing_verdicts(results), heading=paper.CHANGING_HEADING)


def page(
    results: Results, title: str, verdicts: Sequence[Verdict], caveat: str = "", heading: str = CLAIMS_HEADING
) -> str:
    """The report of a sweep as one HTML page; the caveat stands above the verdicts."""
    looks = {
        policy: {
            "colour": "currentColor" if colour == "#000000" else colour,  # black text is light on a dark page
            "dash": " ".join(map(str, dash)),
        }
        for policy, (colour, dash) in styles(results.policies, results.bases, results.rules).items()
    }
    varied = {setting: list(policies) for setting, policies in results.grids().items()}
    chosen = _shown(results, varied)
    names = [{"name": policy, "shown": policy in chosen} | look for policy, look in looks.items()]
    problems = "1 problem" if len(results.cells) == 1 else f"{len(results.cells)} problems"
    counted = f"{len(results.finals):,} runs of {_horizons(results.about)} rounds: {problems}"
    lines = [LINES_EXPLAINED]
    lines += [GREEDY_EXPLAINED] if _has_greedy(results) else []
    lines += [GRID_EXPLAINED] if varied else []
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(_introduction(results))}</p>",
        f'<p class="soft">{escape(counted)}, {len(results.policies)} policies.</p>',
        _failures(results.failures),
        _claims(verdicts, caveat, heading),
        "<h2>Regret and computation time</h2>",
        f"<p>{escape(' '.join(lines))}</p>",
        f"<p>{escape(_time(results.about))} A short mark is one run, a dot the median.</p>",
        "<div>",  # the tools stay in sight up to its end
        tools(
            {
                "names": names,
                "views": list(LOOKS.values()),
                "x": "rounds",
                "y": "regret",
                "hint": "Choose a name to hide or show it.",
            }
        ),
        *(part for cell in results.cells for part in _charts(results, cell, looks, varied)),
        "</div>",
        "<h2>Final regret</h2>",
        f"<p>{escape(DIFFERENCES_EXPLAINED + (EXPLORED_EXPLAINED if results.rules else ''))}</p>",
        _table(results),
        "<h2>How it was run</h2>",
        _facts(results),
        "<h2>How to cite it</h2>",
        f'<pre id="bibtex" tabindex="0">{escape(bibtex(results.about))}</pre>',
    ]
    return shell(title, parts)


def _introduction(results: Results) -> str:
    """What a cell and regret are; what INFEX is, where it was played; and how many problems are linear."""
    linear = sum(_is_linear(results.problem(cell)) for cell in results.cells)
    words = ""
    if linear == len(results.cells):
        words = ", and its mean reward is a linear function of them"
    elif linear:
        words = f"; in {linear} of {len(results.cells)} cells its mean reward is a linear function of them"
    return (INFEX_EXPLAINED if results.rules else "") + CELLS_EXPLAINED.format(linear=words)


def _is_linear(problem: Facts) -> bool:
    """Is it known that means are linear in the features, as in a built-in problem without its own mean?"""
    kind, link, mean = (problem.get(f"environment_{name}") for name in ("kind", "link", "mean"))
    return kind in LINEAR_KINDS and link == "linear" and mean is None


def _has_greedy(results: Results) -> bool:
    kinds = {each["policy"]: each.get("kind", "") for each in results.settings["policies"]}
    return any(kinds.get(policy, policy) == "Greedy" for policy in results.policies)


# Charts


def _shown(results: Results, varied: dict[str, list[str]]) -> set[str]:
    """The policies whose lines are drawn at first: of a grid, those that are the lowest in some cell."""
    grid = {policy for policies in varied.values() for policy in policies}
    chosen = {policy for policy in results.policies if policy not in grid}
    for cell in results.cells:
        for policies in varied.values():
            means = {name: results.regret(cell, name).mean() for name in policies if results.has(cell, name)}
            chosen |= {min(means, key=means.__getitem__)} if means else set()
    return chosen


def _charts(
    results: Results, cell: Cell, looks: dict[str, dict[str, str]], varied: dict[str, list[str]]
) -> Iterator[str]:
    """The charts of a problem: regret against settings, regret by round, and computation time."""
    title = results.title(cell)
    label = "" if cell.environment in title else f' <span class="soft">{escape(cell.environment)}</span>'
    yield f"<section><h3>{escape(title)}{label}</h3>"
    for setting, policies in varied.items():
        if any(results.has(cell, policy) for policy in policies):
            yield chart(_by_setting(results, cell, setting))
    lines: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for policy in results.played(cell):
        bands = [strip(results, cell, policy, look) for look in LOOKS]
        views = [_view(each.value, each.low, each.high) for each in bands]
        lines.append({"name": policy, "x": bands[0].rounds.tolist(), "views": views, **looks[policy]})
        seconds = np.maximum(results.seconds(cell, policy), 1e-9)
        median = rounded([float(np.median(seconds))])[0]
        rows.append({"name": policy, "value": median, "runs": rounded(seconds), **looks[policy]})
    at = lines[0]["x"]
    by_round = {
        "title": f"Regret by round, {title}",
        "tools": ["names", "views", "x", "y"],
        "x": {"label": "round", "format": "count", "from": 0},
        "y": {"label": "regret", "name": "regret"},
        "at": at,
        "series": [
            {key: value for key, value in each.items() if key != "x" or value != at} for each in lines
        ],
    }
    times = {
        "kind": "rows",
        "title": f"Computation time, {title}",
        "tools": ["names"],
        "x": {"label": "computation time of a run", "log": True, "format": "seconds"},
        "rows": rows,
    }
    yield f'<div class="pair">{chart(by_round)}{chart(times)}</div></section>'


def _by_setting(results: Results, cell: Cell, setting: str) -> dict[str, Any]:
    """Final regret against the values of a setting, all else being equal."""
    only: dict[str, Any] = {"environment": cell.environment, "dim": cell.dim, "arms": cell.arms}
    only |= {} if cell.horizon is None else {"horizon": cell.horizon}
    lines = [line for line in results.against(setting, **only).lines if len(line.values) > 1]
    values = sorted({value for line in lines for value in line.values})
    series = [
        {
            "name": line.name,
            "shape": "joined",
            "colour": place,
            "x": list(line.values),
            "views": [_view(*line_and_band(line.regrets, look)) for look in LOOKS],
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


def _view(line: Iterable[float], low: Iterable[float], high: Iterable[float]) -> dict[str, Any]:
    return {"y": rounded(line), "low": rounded(low), "high": rounded(high)}


# Failures and claims


def _failures(failures: Sequence[dict[str, str]]) -> str:
    if not failures:
        return ""
    items = "".join(
        f"<li>{escape(each['run'])}: <code>{escape(last_line(each))}</code></li>" for each in failures
    )
    return f"<h2>{len(failures)} runs failed</h2><ul>{items}</ul>"


def _claims(verdicts: Sequence[Verdict], caveat: str, heading: str) -> str:
    """Each claim with the number of cells in which it holds; soft where no cell speaks against it."""
    if not verdicts:
        return ""
    items = []
    for claim, holds, cells, note, unit, undecided in verdicts:
        kind = "fails" if cells - holds - undecided else "holds" if cells and cells == holds else "soft"
        words = f"holds in {holds} of {cells} {unit}" if cells else "cannot be told here"
        words += f", {undecided} within noise" if undecided else ""
        more = f' <span class="soft">{escape(note)}</span>' if note else ""
        items.append(f'<li class="{kind}"><b>{words}</b> {escape(claim)}{more}</li>')
    known = f"<p>{escape(caveat)}</p>\n" if caveat else ""
    return f'<h2>{escape(heading, quote=False)}</h2>\n{known}<ul class="claims">{"".join(items)}</ul>'


# The table


def _table(results: Results) -> str:
    """Final regret: a heading for each problem, and below it a row for each policy that has runs of it.

    The heading tells the policy of the lowest mean as what it is, the best of so many. Differences from a
    policy's base and from Greedy, and how often a schedule explored, have columns where there are any.
    """
    heads = ["policy", "seeds", "mean", "95 % interval", "std", "median", "less its base", "less Greedy"]
    heads += ["explored", "deviations", "median time"]
    rows = []
    for cell in results.cells:
        spreads = {policy: results.spread(cell, policy) for policy in results.played(cell)}
        lowest = min(spreads, key=lambda policy: spreads[policy].mean)
        chosen = f"; lowest of {len(spreads)} on these very seeds: {lowest}" if len(spreads) > 1 else ""
        rows.append([escape(results.title(cell) + chosen)])
        for policy, (runs, mean, std, median) in spreads.items():
            seconds = float(np.median(results.seconds(cell, policy)))
            rows.append(
                [
                    breakable(policy),
                    str(runs),
                    _number(mean),
                    _interval(*results.interval(cell, policy)[1:]),
                    _number(std),
                    _number(median),
                    _difference(results, cell, policy, results.bases.get(policy)),
                    _difference(results, cell, policy, "Greedy"),
                    *_explorations(results, cell, policy),
                    f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms",
                ]
            )
    empty = {place for place in (6, 7, 8, 9) if not any(row[place] for row in rows if len(row) > 1)}
    shown = [[cell for place, cell in enumerate(row) if place not in empty] for row in [heads, *rows]]
    return table(shown[0], shown[1:])


def _explorations(results: Results, cell: Cell, policy: str) -> tuple[str, str]:
    """The mean numbers of exploring rounds and of deviations; nothing for a policy without a schedule."""
    deviations = float(results.deviations(cell, policy).mean())
    if math.isnan(deviations):
        return "", ""
    return _number(float(results.explored(cell, policy).mean())), _number(deviations)


def _difference(results: Results, cell: Cell, policy: str, other: str | None) -> str:
    """The paired difference from another policy, if there is one of that name and both played some seed."""
    if other is None or results.names_several(other) or not results.has(cell, other):
        return ""
    if results.known(other) == policy:
        return ""
    gap = results.compare(cell, policy, other)
    if not gap.pairs:
        return ""
    return f'{_number(gap.mean, "+")} <span class="interval">{_interval(gap.low, gap.high, "+")}</span>'


def _interval(low: float, high: float, sign: str = "") -> str:
    """An interval, or why there is none."""
    if math.isnan(low) or math.isnan(high):
        return "(too few)"
    return f"[{_number(low, sign)}, {_number(high, sign)}]"


def _number(value: float, sign: str = "") -> str:
    if not math.isfinite(value):
        return "\N{EN DASH}"
    return f"{value:{sign},.{0 if abs(value) >= 100 else 1}f}".replace("-", "\N{MINUS SIGN}")


# How it was run


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


def _horizons(about: dict[str, Any]) -> str:
    given = about.get("horizon", 0)
    return " and ".join(f"{each:,}" for each in (given if isinstance(given, list | tuple) else [given]))


def _facts(results: Results) -> str:
    """How a sweep was run, as far as it is known; seeds as first and last if none between them is missing."""
    about = results.about
    seeds = sorted(about.get("seeds", []))
    listed = ", ".join(map(str, seeds))
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        listed = f"{seeds[0]} to {seeds[-1]}"
    facts = {
        "Horizon": f"{_horizons(about)} rounds",
        "Seeds": f"{len(seeds)}: {listed}" if seeds else "",
        "Ridge penalty": about.get("penalty", ""),
        "delta of policies that say none": about.get("delta", ""),
        "Estimator": "; ".join(about.get("estimator", [])),
        "Versions": ", ".join(f"{name} {number}" for name, number in about.get("versions", {}).items()),
        "Commit of the folder it was run in": about.get("commit", ""),
        "Machine": about.get("machine", ""),
        "Command": about.get("command", ""),
    }
    items = [("Environments", _problems(results)), ("Policies", _policies(results))]
    items += [(name, escape(str(fact))) for name, fact in facts.items() if fact]
    inner = "".join(f"<dt>{escape(name)}</dt><dd>{fact}</dd>" for name, fact in items)
    return f'<dl class="facts">{inner}</dl>'


def _problems(results: Results) -> str:
    """Each problem by its name, with its kind, shape and settings."""
    names = [*results.about.get("environments", []), *(cell.environment for cell in results.cells)]
    items = []
    for name in dict.fromkeys(names):
        cells = [cell for cell in results.cells if cell.environment == name]
        records = [each for each in results.settings["environments"] if each["environment"] == name]
        shapes = [{"dim": cell.dim, "arms": cell.arms} for cell in cells]
        known = {word.removeprefix("environment_"): text for word, text in _settings(records).items()}
        kind = known.pop("kind", "")
        known.pop("environment", None)
        items.append(_item(name, kind, _settings(shapes) | known))
    return f"<ul>{''.join(items)}</ul>"


def _policies(results: Results) -> str:
    """Each policy by its name, with its kind, its base and schedule if it has them, and its settings."""
    items = []
    for name in dict.fromkeys([*results.about.get("policies", []), *results.policies]):
        known = _settings([each for each in results.settings["policies"] if each["policy"] == name])
        parts = [known.pop(part) for part in ("base", "schedule") if part in known]
        kind = known.pop("kind", "")
        for word in ("policy", "horizon", "penalty", "estimator", "content"):  # told elsewhere
            known.pop(word, None)
        items.append(_item(name, f"{kind}({', '.join(parts)})" if parts else kind, known))
    return f"<ul>{''.join(items)}</ul>"


def _settings(records: Iterable[Facts]) -> dict[str, str]:
    """The settings of records of one name as text; of one that differs among them, all its values."""
    values: dict[str, dict[str, None]] = {}
    for record in records:
        for word, value in record.items():
            if value is not None:
                text = value if isinstance(value, str) else setting_text(value)
                values.setdefault(word, {})[text] = None
    return {word: " or ".join(texts) for word, texts in values.items()}


def _item(name: str, kind: str, settings: dict[str, str]) -> str:
    words = ", ".join(f"{word}={text}" for word, text in settings.items())
    more = f' <span class="soft">{escape(words)}</span>' if words else ""
    return f"<li><b>{escape(name)}</b>{': ' if kind or words else ''}{escape(kind)}{more}</li>"


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
    told = f", played at commit {commit[0][:12]}" if commit else ""
    fields = [
        "title = {infex: linear bandits that explore only when they are told to}",
        "author = {{The infex team}}",
        *([f"version = {{{version}}}"] if re.fullmatch(r"[\w.+-]+", version) else []),
        f"note = {{Python package{told}}}",
    ]
    inner = ",\n".join(f"  {field}" for field in fields)
    return f"{PAPER_ENTRY}\n\n@software{{infex,\n{inner}\n}}\n"
