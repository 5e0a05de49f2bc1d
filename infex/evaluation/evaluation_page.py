"""The page of an evaluation: verdicts in words, intervals, what the log supports, and what carries it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infex.evaluation.comparing import REFUTED, Comparison
from infex.evaluation.evaluation_words import figure, interval, of_log, verdict_words
from infex.evaluation.target_value import Carrier, LogFinding, TargetValue
from infex.files import replace
from infex.pages import chart, rounded, shell, table

if TYPE_CHECKING:
    from infex.evaluation.evaluation import Evaluation

GROUNDS = {
    "guaranteed": "holds at least as often as it says, for the noise and bound that are stated",
    "asymptotic": "holds about as often as it says, with many explorations",
    "assumed": "holds if what is assumed is true",
}
ESTIMATOR_WORDS = {
    "on_policy": "what was earned",
    "dm": "linear model of all rounds",
    "dr": "linear model, corrected by explorations",
    "ips": "weighted explorations",
    "snips": "weighted explorations over their weights",
    "manski": "weighted explorations, gaps bounded",
    "blocks": "all rounds up to each exploration",
}
PAIR_WORDS = {
    "dm": "the linear model of all rounds",
    "paired draws": "explorations that both share",
    "manski": "explorations, with gaps bounded",
}


def write_evaluation(found: Evaluation, path: str | os.PathLike[str]) -> None:
    """Writes the page, whole or not at all."""
    replace(Path(path), evaluation_page(found).encode())


def evaluation_page(found: Evaluation) -> str:
    """One self-contained page."""
    title = "Which policy would have been better?"
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="soft">From a log of {escape(of_log(found.work))}.</p>',
        *_verdicts(found),
        f"<h2>Reward a round, with intervals of {found.work.confidence:.0%}</h2>",
        chart(_intervals(found)),
        table(("", "value", "interval", "by", "interval by"), map(_value_row, found.judged), texts=(3, 4)),
        "<h2>What this log supports, and what not</h2>",
        _support(found),
        *_carriers(found),
        "<h2>What was noticed</h2>",
        _notes(found),
        '<p class="soft">Values are of the rounds in this log, not of others to come. '
        f"{_grounds(found.judged)}</p>",
    ]
    return shell(title, parts)


def _verdicts(found: Evaluation) -> list[str]:
    """The verdict in words, first of all."""
    if not found.comparisons:
        return ["<p>No target was named to compare the others with.</p>"]
    kinds = {"better": "holds", "worse": "fails"}
    rows = [
        f'<li class="{kinds.get(each.verdict, "")}"><b>{each.verdict}</b> {escape(verdict_words(each))} '
        f'<span class="soft">{escape(_rests_on(each))}</span></li>'
        for each in found.comparisons
    ]
    return [f'<ul class="claims">{"".join(rows)}</ul>', *_settling(found)]


def _rests_on(pair: Comparison) -> str:
    """What a verdict rests on, for somebody who does not know the words of the table."""
    words = PAIR_WORDS.get(pair.estimator)
    return "" if words is None else f"By {words}; the interval {GROUNDS[pair.ground]}."


def _settling(found: Evaluation) -> list[str]:
    """What would settle the verdicts that are open."""
    said = []
    for each in found.comparisons:
        if each.estimator == REFUTED:
            said.append(
                f"<p>{escape(each.first)} and {escape(each.second)} were compared by the linear model, which "
                "explorations speak against: other features are needed, not more rounds.</p>"
            )
        elif each.verdict == "cannot tell" and each.low < each.high and each.difference:
            more = found.needed(each.first, each.second)
            what = "rounds" if each.estimator == "dm" else "explorations"
            rounds = "" if what == "rounds" else f" ({more.rounds:,} rounds at the pace of this log)"
            said.append(
                f"<p>If {escape(each.first)} really differs from {escape(each.second)} by what it seems, "
                f"about {more.explorations:,} more {what}{rounds} would show it.</p>"
            )
    return said


def _intervals(found: Evaluation) -> dict[str, Any]:
    """All targets on one scale; the line is the target that others are compared with."""
    rows = [
        dict(zip(("value", "low", "high"), rounded((one.value, one.low, one.high)), strict=True))
        | {"name": one.name, "text": figure(one.value)}
        for one in found.judged
    ]
    line = None if found.against is None else rounded([found[found.against].value])[0]
    label = "reward a round"
    title = f"Values with intervals of {found.work.confidence:.0%}"
    return {"kind": "rows", "title": title, "x": {"label": label}, "rows": rows, "reference": line}


def _value_row(one: TargetValue) -> list[str]:
    value = [f"<b>{escape(one.name)}</b>", figure(one.value), interval(one.low, one.high)]
    estimator = f"{ESTIMATOR_WORDS.get(one.estimator, one.estimator)}<br><small>{escape(one.why)}</small>"
    return [*value, estimator, f"{one.method}<br><small>{one.ground}</small>"]


def _support(found: Evaluation) -> str:
    heads = ("", "could be played", "explorations", "worth", "model says", "corrected by")
    return table(heads, map(_support_row, found.judged))


def _support_row(one: TargetValue) -> list[str]:
    support = "assumed" if one.support is None else f"{one.support:.1%}"
    counts = [f"{one.explorations:,}", f"{one.effective:,.0f}"]
    return [escape(one.name), support, *counts, figure(one.model), figure(one.correction)]


def _carriers(found: Evaluation) -> list[str]:
    """The five rounds that carry each estimate."""
    return [_carried(one) for one in found.judged if one.carriers]


def _carried(one: TargetValue) -> str:
    body = table(("round", "arm", "weight", "reward", "of all weights"), map(_carrier_row, one.carriers))
    head = f"The {len(one.carriers)} rounds that carry {escape(one.name)} most"
    return f"<details><summary>{head}</summary>{body}</details>"


def _carrier_row(carrier: Carrier) -> list[str]:
    figures = [figure(carrier.weight), figure(carrier.reward), f"{carrier.share:.1%}"]
    return [f"{carrier.round:,}", escape(str(carrier.arm)), *figures]


def _notes(found: Evaluation) -> str:
    said = [(each.warns, each.words) for each in found.findings]
    said += [(each.warns, f"{', '.join(names)}: {each.words}") for each, names in _shared(found).items()]
    if not said:
        return "<p>Nothing that would speak against these values.</p>"
    return f'<ul class="claims">{"".join(_note(warns, words) for warns, words in said)}</ul>'


def _shared(found: Evaluation) -> dict[LogFinding, list[str]]:
    """What was found of targets, each once, with the names of all that it concerns."""
    names: dict[LogFinding, list[str]] = {}
    for one in found.judged:
        for each in one.findings:
            names.setdefault(each, []).append(one.name)
    return names


def _note(warns: bool, words: str) -> str:
    mark, kind = ("fails", "warning") if warns else ("", "note")
    return f'<li class="{mark}"><b>{kind}</b> {escape(words)}</li>'


def _grounds(judged: Iterable[TargetValue]) -> str:
    used = sorted({one.ground for one in judged})
    return " ".join(f"An interval that is {name} {GROUNDS[name]}." for name in used)
