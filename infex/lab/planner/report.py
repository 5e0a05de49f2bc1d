"""The answer of the planner: in words, as data, as text, as a figure and as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from infex import registry
from infex._stats import Interval
from infex.arrays import Integers
from infex.files import replace
from infex.lab.environments import ContextualInstance, Instance, LinearInstance
from infex.lab.planner.beliefs import Belief
from infex.lab.planner.judging import FRESH_TO_SETTLE, Cost, Judged, MenuEntry, Verdict, against, cost, ratio
from infex.lab.planner.race import PROBLEMS_TO_SETTLE, PROBLEMS_TO_SHOW, Candidate, Pool
from infex.lab.text import paragraph, text_table
from infex.pages import breakable, chart, rounded, shell, table
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.schedules.base import has

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from infex.lab.planner.planner import Question

REFERENCE_NAMES = {
    "recommended": "recommended",
    "best": "the best",
    "LinUCB": "plain LinUCB",
    "greedy": "greedy",
}
MENU_NOTE = (
    "All rows are of the same fresh problems. Other problems chose the candidates; these say only which of "
    'them has the least regret. "Within?" says whether the interval lies within the factor (yes), beyond it '
    "(no), or holds it (open)."
)
COSTS_NOTE = (
    'All figures are of fresh problems; "it" is what is recommended. What met fewer problems is shown by the '
    "difference on those that both met."
)
BEST_ARMS_PRINTED, BEST_ARMS_ON_PAGE = 3, 10
SOFT_COLOUR, MENU_COLOUR = "#7F7F7F", "#1F77B4"


class Tried(NamedTuple):
    """One candidate in the race: its explorations, and its mean regret over the problems it met there.

    By these figures some were chosen among hundreds, so that those look better than they are: do not quote
    them, but the menu's. Runs have `rounds` rounds: a candidate that was clearly worse before the end has
    lost at least that. `cost` is the part of the regret in exploring rounds. `alive` says that it was not
    given up.
    """

    expression: str
    explorations: int
    problems: int
    rounds: int
    mean: float
    cost: float
    alive: bool


class Arm(NamedTuple):
    """One of the arms, and in what share of the simulated problems it was the best."""

    label: str
    best: float


class MenuRow(NamedTuple):
    """One candidate of the menu with all its names, and whether it is as near as each of them says."""

    names: str
    holds: str
    judged: Judged
    recommended: bool


@final
@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What to do, why, and what it costs; `print` shows all of it.

    `recommended` is the policy as an expression, `policy` itself, and `code` a line of
    Python to paste, for arms divided by `longest` (of your own objects it has the names only). `menu` has the
    least regret, the least exploration within some factors of it, and the knee; `levels` the candidate that
    the race puts first for each number of exploring rounds. `regret` has the regret over `rounds` rounds of
    what is "recommended", of the `best` candidate, of "LinUCB" in every round and of "greedy"; `against` by
    how much the regret of the recommended one exceeds that of the others, and `times_best` how many times as
    much each loses as the best, both on the problems that both met. LinUCB is left out where it takes too
    long, and a level that met fewer than 64 problems. All these figures are of fresh problems; those of the
    menu are of the same ones, which chose nothing but which entry is the least regret. `candidates` has the
    figures of the race. `settled` says whether it is shown that no other candidate is better by more than
    `keep_within`, `open` how many explore less and may still be as near. `arms`, if they are yours, says how
    often each was the best. `question` is what was asked for.
    """

    recommended: str
    policy: Policy
    code: str
    best: str
    settled: bool
    open: int
    explorations: int
    horizon: int
    rounds: int
    keep_within: float
    longest: float
    menu: tuple[MenuEntry, ...]
    levels: tuple[Judged, ...]
    candidates: tuple[Tried, ...]
    regret: dict[str, Cost]
    against: dict[str, Cost]
    times_best: dict[str, Interval]
    arms: tuple[Arm, ...]
    when: str
    why: str
    question: Question

    @staticmethod
    def of(question: Question, verdict: Verdict) -> Plan:
        """The plan that a race and its judgement come to."""
        chosen, compared = verdict.chosen, verdict.compared()
        played = [_tried(each, each in verdict.alive) for each in verdict.entered if each.rounds]
        return Plan(
            recommended=chosen.label,
            policy=chosen.policy,
            code=code_of(chosen),
            best=verdict.best.label,
            settled=verdict.is_settled,
            open=verdict.open,
            explorations=chosen.explorations,
            horizon=verdict.race.horizon,
            rounds=chosen.rounds,
            keep_within=question.keep_within,
            longest=verdict.race.pool.source.longest,
            menu=verdict.menu(),
            levels=verdict.judged_levels(),
            candidates=tuple(sorted(played, key=lambda each: (-each.rounds, each.mean))),
            regret={name: cost(regret) for name, regret in compared.items()},
            against={
                name: against(compared["recommended"], regret)
                for name, regret in compared.items()
                if name != "recommended"
            },
            times_best={name: ratio(regret, compared["best"]) for name, regret in compared.items()},
            arms=_best_arms(verdict.sitting.pool),
            when=rounds_of(chosen.policy, verdict.race.horizon),
            why=reasons(verdict),
            question=question,
        )

    def __repr__(self) -> str:
        state = "settled" if self.settled else "not settled"
        return f"<Plan: {self.recommended}, {self.explorations} of {self.horizon} rounds explore, {state}>"

    def __str__(self) -> str:
        share = f"{self.explorations / self.horizon:.2%}"
        lines = [
            paragraph(self.assumed),
            "",
            self.code,
            paragraph(self.why),
            paragraph(
                f"{self.explorations:,} of {self.horizon:,} rounds explore ({share}), {self.when}; they cost "
                f"{said(self.chosen().cost)}"
            ),
            self.divided,
        ]
        if self.arms:
            often = ", ".join(f"{arm.label} {arm.best:.0%}" for arm in self.arms[:BEST_ARMS_PRINTED])
            lines.append(paragraph(f"most often the best arm: {often}"))
        head = ["the menu", "explores", "regret", "times the best", "within?"]
        rows = self.menu_rows()
        figures = [
            [
                row.names,
                f"{row.judged.explorations:,}",
                said(row.judged.regret.value),
                times(row.judged.ratio),
            ]
            for row in rows
        ]
        lines += [
            "",
            text_table(head, [[*cells, row.holds] for cells, row in zip(figures, rows, strict=True)]),
        ]
        lines += [
            f"{row.judged.explorations:,} explorations, {row.judged.problems:,} problems: "
            f"{row.judged.expression}"
            for row in rows
        ]
        head = [f"regret of {self.rounds:,} rounds", "problems", "mean", "median", "worst decile"]
        costs = [
            [name, f"{each.problems:,}", interval_text(each.mean, sign), *_ends(each, sign)]
            for name, each, sign in self.cost_rows()
        ]
        lines += [paragraph(MENU_NOTE), "", text_table(head, costs), paragraph(COSTS_NOTE)]
        return "\n".join(line for place, line in enumerate(lines) if line or lines[place - 1])

    @property
    def assumed(self) -> str:
        """What problems were simulated."""
        question = self.question
        shape = f"{question.arms_count:,} arms in {question.dim} dimensions"
        if question.problem:
            return (
                f"simulated: {question.problem}, {shape}; LinUCB and LinTS assume noise {question.noise:g} "
                f"and bound {question.bound:g}"
            )
        law = "any direction"
        if question.logged:
            law = f"a posterior of {question.logged:,} logged rewards, with which every run begins"
        drawn = f", as in {question.offers:,} rounds of the log" if question.offers else ""
        noise = f"noise {question.noise:g}" + (f" ({question.noise_by})" if question.noise_by else "")
        return (
            f"simulated: {shape}{drawn}, mean rewards up to {question.bound * self.longest:g} (bound "
            f"{question.bound:g}), {noise}, theta of {law}"
        )

    @property
    def divided(self) -> str:
        """What to do with your arms before the line of code fits them; nothing if none was longer than 1."""
        if self.longest == 1.0:
            return ""
        return f"arms were divided by {self.longest:g}, so that none is longer than 1; divide yours too"

    def chosen(self) -> Judged:
        """The figures of what is recommended."""
        return next(entry.judged for entry in self.menu if entry.judged.expression == self.recommended)

    def menu_rows(self) -> list[MenuRow]:
        """A row for each candidate on the menu, from the least regret to the fewest explorations."""
        rows = []
        for expression, judged in {each.judged.expression: each.judged for each in self.menu}.items():
            same = [entry for entry in self.menu if entry.judged.expression == expression]
            chosen = self.recommended == expression
            names = [*(entry.name for entry in same), *(["recommended"] if chosen else [])]
            holds = ", ".join(dict.fromkeys(entry.holds for entry in same if entry.holds))
            rows.append(MenuRow(", ".join(names), holds, judged, chosen))
        return sorted(rows, key=lambda row: -row.judged.explorations)

    def cost_rows(self) -> list[tuple[str, Cost, str]]:
        """Regret and differences to show, each with its name and sign; regrets are of the same problems."""
        problems = self.regret["recommended"].problems
        same = {name: each for name, each in self.regret.items() if each.problems == problems}
        return [(REFERENCE_NAMES[name], each, "") for name, each in same.items()] + [
            (f"it less {REFERENCE_NAMES[name]}", each, "+") for name, each in self.against.items()
        ]

    def as_data(self) -> dict[str, Any]:
        """The plan as plain data, for JSON."""
        names = [each.name for each in fields(self) if each.name not in ("policy", "longest")]
        return {name: getattr(self, name) for name in names} | {
            "share": self.explorations / self.horizon,
            "arms_divided_by": self.longest,
            "menu": [entry._asdict() | {"holds": entry.holds} for entry in self.menu],
            "question": asdict(self.question),
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Writes `plan.png`, `plan.svg` and `plan.html` into a folder; the files."""
        from infex.lab.reports.figures import picture

        drawn, folder = front_figure(self), Path(folder)
        files = {
            folder / "plan.png": picture(drawn, "png"),
            folder / "plan.svg": picture(drawn, "svg"),
            folder / "plan.html": plan_page(self).encode(),
        }
        for path, data in files.items():
            replace(path, data)
        return list(files)


def _tried(each: Candidate, alive: bool) -> Tried:
    problems, cost = int(each.regret.size), float(each.cost.mean())
    return Tried(each.label, each.explorations, problems, each.rounds, each.mean, cost, alive)


def _best_arms(pool: Pool) -> tuple[Arm, ...]:
    """How often each arm was the best, in problems or in rounds of them, most often first.

    Nothing where arms are drawn for each problem, or the problem is a user's own.
    """
    known, problems = pool.source, pool.drawn
    if not isinstance(known, Belief) or (known.arms is None and known.offers is None):
        return ()
    problems = problems if known.offers is None else problems[:PROBLEMS_TO_SETTLE]
    wins = np.bincount(np.concatenate([_best_in(problem) for problem in problems]), minlength=known.count)
    names = known.labels or [str(place) for place in range(known.count)]
    arms = [Arm(name, float(share)) for name, share in zip(names, wins / wins.sum(), strict=True)]
    return tuple(sorted(arms, key=lambda arm: -arm.best))


def _best_in(problem: Instance) -> Integers:
    """The best arm of a problem; where arms change from round to round, that of each."""
    if isinstance(problem, LinearInstance):
        return np.array([int(np.argmax(problem.means))])
    if isinstance(problem, ContextualInstance):
        assert problem.sets is not None
        found: Integers = np.argmax(problem.sets.rows[:, 0] @ problem.thetas.T, axis=1)
        return found
    best: Integers = np.argmax(problem.sets @ problem.theta, axis=1)  # type: ignore[union-attr]
    return best


# Words


def said(value: float, sign: str = "") -> str:
    """A regret as people write it: whole, or with three digits where it is small.

    >>> said(12345.6), said(0.01234), said(-3.21, "+")
    ('12,346', '0.0123', '-3.21')
    """
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.3g}"


def times(ratio: Interval) -> str:
    """A ratio with its interval, where there is one.

    >>> times(Interval(1.148, 1.09, 1.21)), times(Interval(2.0, math.nan, math.nan))
    ('1.15 [1.09, 1.21]', '2.00')
    """
    if not math.isfinite(ratio.low):
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def interval_text(figure: Interval, sign: str = "") -> str:
    """A regret with its interval, where there is one."""
    if not math.isfinite(figure.low):
        return said(figure.value, sign)
    return f"{said(figure.value, sign)} [{said(figure.low, sign)}, {said(figure.high, sign)}]"


def _ends(each: Cost, sign: str) -> list[str]:
    return [said(each.median.value, sign), said(each.worst_decile.value, sign)]


def code_of(candidate: Candidate) -> str:
    """A candidate as a line of Python; of a user's own objects it has the names only.

    >>> import infex
    >>> code_of(Candidate(infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own"), 5))
    'infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own")'
    """
    policy = candidate.policy
    if isinstance(policy, Greedy):
        return "infex.Greedy()"
    base = policy.base if isinstance(policy, Infex) else policy
    schedule = policy.schedule if isinstance(policy, Infex) else None
    known = schedule is None or type(schedule) in registry.BY_KIND
    if not isinstance(base, LinUCB | LinTS) or not known:
        return candidate.label
    defaults = asdict(type(base)())
    settings = [f"{name}={value!r}" for name, value in asdict(base).items() if value != defaults[name]]
    inner = f"infex.{type(base).__name__}({', '.join(settings)})"
    if not isinstance(policy, Infex):
        return inner
    more = ', data="own"' if policy.data == "own" else ""
    return f"infex.Infex({inner}, infex.{schedule!r}{more})"


def rounds_of(policy: Policy, horizon: int) -> str:
    """The rounds in which it explores, in words.

    >>> import infex
    >>> rounds_of(infex.Infex(infex.LinUCB(), infex.every(20)), 1000)
    'in rounds 20, 40, 60, 80, ..., 1,000'
    """
    if isinstance(policy, Greedy):
        return "never"
    if not isinstance(policy, Infex):
        return "in every round"
    schedule: Any = policy.schedule
    if not (has(schedule, "when") and has(schedule, "count")):
        return f"in the rounds of {registry.label_of(schedule)}"
    count = schedule.count(horizon)
    first = [f"{schedule.when(n):,}" for n in range(1, min(count, 4) + 1)]
    last = f", ..., {schedule.when(count):,}" if count > 4 else ""
    return f"in rounds {', '.join(first)}{last}"


def reasons(verdict: Verdict) -> str:
    """Why this candidate was chosen, how it did on fresh problems, and whether that settles it."""
    judged, best = verdict.recommended, verdict.judged(verdict.best)
    within, loses = f"{verdict.keep_within:g} times", said(judged.regret.value)
    fresh = f"{judged.problems:,} fresh problems"
    compared = f"{times(judged.ratio)} times the {said(best.regret.value)} of {best.expression}."
    if not judged.explorations:
        words = f"You need no exploration: what the log has taught is enough. On {fresh} greedy loses {loses}"
        words += ", the least." if verdict.chosen is verdict.best else f": {compared}"
    elif verdict.chosen is not verdict.best:
        words = (
            f"It explores least of those within {within} the least regret. On {fresh}, which did not choose "
            f"it, it loses {loses}: {compared}"
        )
    elif verdict.rival is None:
        words = f"It loses {loses} on {fresh}, the least." + _not_compared(verdict)
    else:
        rival = verdict.rival
        often = "in every round" if judged.explorations == verdict.race.horizon else "as often as this"
        words = (
            f"Explore {often}: nothing that explores less often came within {within} of its regret, {loses} "
            f"on {fresh}. The nearest, {rival.expression} with {rival.explorations:,} explorations, loses "
            f"{times(rival.ratio)} times as much there."
        )
    if verdict.is_settled:
        return f"{words} Settled: {_shown(verdict)}."
    return f"{words} Not settled: {_doubt(verdict)} Give it more seconds."


def _not_compared(verdict: Verdict) -> str:
    """Why the best is recommended though none that explores less was judged beside it."""
    met = verdict.best.regret.size
    if met < PROBLEMS_TO_SHOW:
        return f" {met} problems were tried, too few to tell whether exploring less is as good."
    tried = min(each.explorations for each in verdict.entered if each.rounds)
    return "" if tried < verdict.chosen.explorations else " Nothing that explores less was tried."


def _shown(verdict: Verdict) -> str:
    if verdict.chosen is verdict.best:
        return "no other is better by more than that, and none that explores less is as near"
    words = f"the interval stays within {verdict.keep_within:g}, and no other is better by more than that"
    if not verdict.open:
        return words
    return f"{words}. Whether {verdict.open} that explore less are as near could not be told"


def _doubt(verdict: Verdict) -> str:
    """What is missing for a settled choice."""
    if not verdict.is_allowed:  # what is promised comes first
        spent = said(verdict.recommended.cost)
        return f"exploring cost {spent} there, more than max_cost = {verdict.race.max_cost:g}."
    if not verdict.is_complete:
        return _cut_short(verdict)
    if verdict.is_choice_shown:
        return "another may still be better by more than that."
    if verdict.recommended.problems < FRESH_TO_SETTLE:
        return f"{verdict.recommended.problems} fresh problems are too few."
    if verdict.chosen is not verdict.best:
        return f"the interval goes beyond {verdict.keep_within:g}."
    return f"{verdict.open or 'the nearest'}{' that explore less' if verdict.open else ''} may be as near."


def _cut_short(verdict: Verdict) -> str:
    """What the race had no time for."""
    rounds, horizon = verdict.chosen.rounds, verdict.race.horizon
    waiting = sum(each.rounds < horizon for each in verdict.alive)
    if rounds < horizon:
        words = f"no candidate was played to the end, figures are of the first {rounds:,} rounds."
        return words + " max_cost was held against these only." * (verdict.race.max_cost < math.inf)
    if waiting:
        return f"{waiting} of {len(verdict.alive)} candidates that may be as good were not played to the end."
    return f"{verdict.best.regret.size} problems chose it, too few to see what goes wrong but rarely."


# The figure and the page


def _marks(plan: Plan, some: Sequence[Judged]) -> list[tuple[Judged, Interval]]:
    """What has a mark in the picture: the least regret times the ratio to it on the same problems."""
    least = plan.regret["best"].mean.value
    marks = [(each, Interval(*(least * end for end in each.ratio))) for each in some]
    return [(each, drawn) for each, drawn in marks if math.isfinite(drawn.low + drawn.high)]


def _limits(plan: Plan, names: Sequence[str]) -> dict[str, float]:
    """Lines across the picture: the regret of what the plan is compared with, by the same measure."""
    least = plan.regret["best"].mean.value
    known = {name: least * plan.times_best[name].value for name in names if name in plan.times_best}
    return {REFERENCE_NAMES[name]: level for name, level in known.items() if math.isfinite(level)}


def front_figure(plan: Plan) -> Figure:
    """A matplotlib figure: the first of each number of explorations, the menu, and LinUCB and greedy.

    Every mark is the least regret times a ratio of the same fresh problems, with the interval of that ratio;
    what only the race has met is not drawn.
    """
    from infex.lab.reports.figures import PaperFigure

    drawn = PaperFigure(figsize=(7.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    menu = list({entry.judged.expression: entry.judged for entry in plan.menu}.values())
    for some, mark, colour, size, label in (
        (plan.levels, "o-", SOFT_COLOUR, 3, "the best of each number of explorations"),
        (menu, "o", MENU_COLOUR, 7, "the menu"),
        ([plan.chosen()], "*", "#000000", 13, "recommended"),
    ):
        marks = _marks(plan, some)
        if marks:
            means = [each.value for _, each in marks]
            reach = [
                [each.value - each.low for _, each in marks],
                [each.high - each.value for _, each in marks],
            ]
            counts = [judged.explorations for judged, _ in marks]
            style: dict[str, Any] = {"fmt": mark, "color": colour, "ms": size, "label": label}
            axes.errorbar(counts, means, yerr=reach, lw=1, elinewidth=1, **style)
    for (name, level), dash in zip(
        _limits(plan, ("LinUCB", "greedy")).items(), ((4, 2), (1, 2)), strict=False
    ):
        axes.axhline(level, color=SOFT_COLOUR, lw=1, dashes=dash, label=name)
    axes.set(xscale="log", yscale="log")
    _number_plainly(axes.xaxis, axes.get_xlim())
    _number_plainly(axes.yaxis, axes.get_ylim())
    axes.set_xlabel(f"exploring rounds in {plan.horizon:,}")
    axes.set_ylabel(f"regret of {plan.rounds:,} rounds, mean over fresh problems")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return drawn


def _number_plainly(axis: Axis, ends: tuple[float, float]) -> None:
    """Numbers on a log scale as people write them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ends
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: said(value)))
    axis.set_minor_formatter(NullFormatter())


def front_data(plan: Plan) -> dict[str, Any]:
    """What the chart on the page shows, by the number of explorations: the marks of `front_figure`."""
    menu = list({entry.judged.expression: entry.judged for entry in plan.menu}.values())
    limits = _limits(plan, ["LinUCB", "greedy"])
    label = f"regret of {plan.rounds:,} rounds, mean over fresh problems"
    return {
        "title": "Regret by how often it explores",
        "height": 360,
        "x": {"label": f"exploring rounds in {plan.horizon:,}", "name": "explorations", "log": True},
        "y": {"label": label, "name": "regret", "log": True},
        "limits": [{"y": level, "name": name, "colour": 7} for name, level in limits.items()],
        "series": [
            _front(plan, "the best of each number of explorations", plan.levels, shape="joined", colour=7),
            _front(plan, "on the menu", menu, shape="dots", colour=0),
            _front(plan, "recommended", [plan.chosen()], shape="dots", colour=1, strong=True),
        ],
        "hint": "Each mark is a candidate, with the interval of its regret. Point at one, or use arrow keys.",
    }


def _front(plan: Plan, name: str, judged: Sequence[Judged], **look: Any) -> dict[str, Any]:
    """Marks of one kind, in the order of their explorations."""
    marks = sorted(_marks(plan, judged), key=lambda mark: mark[0].explorations)
    ends = zip(*((drawn.value, drawn.low, drawn.high) for _, drawn in marks), strict=True)
    y, low, high = map(rounded, ends) if marks else ([], [], [])
    names = [each.expression for each, _ in marks]
    x = [each.explorations for each, _ in marks]
    return {"name": name, "x": x, "y": y, "low": low, "high": high, "names": names, **look}


def plan_page(plan: Plan) -> str:
    """One self-contained page."""
    state = "settled" if plan.settled else "NOT settled"
    share = (
        f"{plan.explorations:,} of {plan.horizon:,} rounds explore ({plan.explorations / plan.horizon:.2%})"
    )
    menu = [
        [
            (f"<b>{escape(row.names)}</b>" if row.recommended else escape(row.names))
            + f"<br><small>{breakable(row.judged.expression)}</small>",
            f"{row.judged.explorations:,}",
            _small(row.judged.regret, ""),
            times(row.judged.ratio),
            row.holds,
            f"{row.judged.problems:,}",
        ]
        for row in plan.menu_rows()
    ]
    costs = [
        [name, f"{each.problems:,}", *(_small(figure, sign) for figure in each[1:4])]
        for name, each, sign in plan.cost_rows()
    ]
    arms = [[escape(arm.label), f"{arm.best:.1%}"] for arm in plan.arms[:BEST_ARMS_ON_PAGE]]
    left = sum(tried.alive for tried in plan.candidates)
    parts = [
        "<h1>How rarely to explore</h1>",
        f"<p><b>{escape(plan.recommended)}</b> ({state}). {escape(share)}, {escape(plan.when)}.</p>",
        f'<pre tabindex="0"><code>{escape(plan.code)}</code></pre>',
        f"<p><b>{escape(plan.divided)}.</b></p>" if plan.divided else "",
        f"<p>{escape(plan.why)}</p>",
        "<h2>The menu</h2>",
        table(("", "explorations", "regret", "times the best", "within?", "problems"), menu),
        f"<p>{escape(MENU_NOTE)}</p>",
        f"<h3>Regret of {plan.rounds:,} rounds, by how often it explores</h3>",
        chart(front_data(plan), "front"),
        "<p>Each mark is the least regret times the ratio to it on the same fresh problems.</p>",
        "<h2>What it costs</h2>",
        f"<p>Regret of {plan.rounds:,} rounds, with intervals of 95 % by bootstrap, which need 12 problems. "
        f"{COSTS_NOTE}</p>",
        table(("", "problems", "mean", "median", "worst decile"), costs),
        *(["<h2>Arms that were most often the best</h2>", table(("arm", "best in"), arms)] if arms else []),
        f'<p class="soft">{escape(plan.assumed)}; {escape(_asked(plan.question))}. Of '
        f"{len(plan.candidates):,} candidates {left:,} were not given up; plan.json has all of them.</p>",
    ]
    return shell("How rarely to explore", parts)


def _asked(question: Question) -> str:
    """Limits, time and seed, in words."""
    asked = ("max_share", "max_count", "max_cost", "keep_within", "seconds", "seed")
    values = [(name.replace("_", " "), getattr(question, name)) for name in asked]
    return ", ".join(f"{name} {value:g}" for name, value in values if value is not None)


def _small(figure: Interval, sign: str) -> str:
    """A figure, and its interval in small type where there is one."""
    value, _, interval = interval_text(figure, sign).partition(" ")
    return f"{value} <small>{interval}</small>" if interval else value
