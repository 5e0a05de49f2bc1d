"""The answer of the planner as data, and what is made of it: words, text, a figure, a page, JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from infex import registry
from infex._stats import Interval
from infex.checks import real, set_fields, whole
from infex.files import replace
from infex.lab.environments import ContextualInstance, LinearInstance
from infex.lab.planner.beliefs import Belief, Problems
from infex.lab.planner.evaluation import Cost, Evaluation, Figures, MenuEntry, cost, ratio
from infex.lab.planner.race import PROBLEMS_TO_SETTLE, PROBLEMS_TO_SHOW, Candidate, is_within
from infex.lab.text import paragraph, text_table
from infex.pages import breakable, chart, rounded, shell, table
from infex.policies import Greedy, Infex, Policy
from infex.policies.controls import Control, Limited, Paused
from infex.schedules.base import has

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRESH_TO_SETTLE = 256  # problems; after several evaluations few are left to one that was lucky
REFERENCE_NAMES = {
    "recommended": "recommended",
    "best": "the best",
    "LinUCB": "plain LinUCB",
    "greedy": "greedy",
}
REFERENCE_EXPLORES = {"LinUCB": "explores in every round", "greedy": "never explores"}
MENU_NOTE = (
    "All rows are of the same fresh problems. Other problems chose the candidates; these say only which of "
    "them has the least regret, and which explores least within each factor of it. How often a schedule "
    "explores that looks at the data is the mean there, with the greatest number in brackets. "
    '"Differ" is the share of explorations that played another arm than the greedy one. '
    '"Within?" says whether the whole interval lies within the factor (yes), or holds it (open).'
)
COSTS_NOTE = (
    'All figures are of fresh problems; "it" is what is recommended. What met fewer problems is shown by the '
    "difference on those that both met."
)
BEST_ARMS_PRINTED, BEST_ARMS_ON_PAGE = 3, 10


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The problem, what is allowed, and the time that may be spent.

    `bound` is as the user gave it, `logged` the number of logged rewards, `offers` how many rounds of a log
    have offers that are drawn from (0: arms stay), `noise_by` where the noise is from, and `problem` a
    problem of the user's own. Limits are None where there are none.
    """

    dim: int
    arms_count: int
    horizon: int
    noise: float
    bound: float
    logged: int
    max_share: float | None
    max_count: int | None
    max_cost: float | None
    keep_within: float
    seconds: float
    seed: int
    offers: int = 0
    noise_by: str = ""
    problem: str = ""

    def __post_init__(self) -> None:
        real("keep_within", self.keep_within, least=1)
        set_fields(
            self,
            max_cost=self.max_cost if self.max_cost is None else real("max_cost", self.max_cost, least=0),
            seconds=real("seconds", self.seconds, above=0),
            seed=whole("seed", self.seed),
        )
        most_explorations(self.horizon, self.max_share, self.max_count)


def most_explorations(horizon: int, share: float | None, count: int | None) -> int:
    """How many rounds of the horizon may explore."""
    most = horizon
    if share is not None:
        most = min(most, math.floor(real("max_share", share, least=0, most=1) * horizon + 1e-9))
    return most if count is None else min(most, whole("max_count", count, least=0))


class Tried(NamedTuple):
    """One candidate in the race: its explorations, and its mean regret over the problems it met there.

    By these figures some were chosen among hundreds, so that those look better than they are: do not quote
    them, but the menu's. Runs have `rounds` rounds: a candidate that was clearly worse before the end has
    lost at least that. Where the data decide on `explorations`, they are the mean of these runs, to a whole
    number. `cost` is the part of the regret in exploring rounds. `alive` says that it was not given up.
    """

    expression: str
    explorations: int
    problems: int
    rounds: int
    mean: float
    cost: float
    alive: bool

    @staticmethod
    def of(each: Candidate, alive: bool) -> Tried:
        """Those of a candidate that was played."""
        problems, cost = int(each.regret.size), float(each.cost.mean())
        return Tried(each.label, round(each.explorations), problems, each.rounds, each.mean, cost, alive)


class Arm(NamedTuple):
    """One of the arms, and in what share of the simulated problems it was the best."""

    label: str
    best: float


@final
@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What to do, why, and what it costs; `print` shows all of it.

    `recommended` is the policy as an expression, `policy` itself, and `code` a line of
    Python to paste, for arms divided by `longest`; where the policy holds objects of your own, it is a
    comment with their names instead, and only `policy` has them. `menu` has the least regret, the least
    exploration within some factors of it, and the knee; `levels` the candidate that
    the race puts first for each number of exploring rounds. `regret` has the regret over `rounds` rounds of
    what is "recommended", of the `best` candidate, of "LinUCB" in every round and of "greedy"; `against` by
    how much the regret of the recommended one exceeds that of the others, and `times_best` how many times as
    much each loses as the best, both on the problems that both met. LinUCB is left out where it takes too
    long, and a level that met fewer than 64 problems. All these figures are of fresh problems; those of the
    menu are of the same ones, which only gave the entries their names. `candidates` has the
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
    levels: tuple[Figures, ...]
    candidates: tuple[Tried, ...]
    regret: dict[str, Cost]
    against: dict[str, Cost]
    times_best: dict[str, Interval]
    arms: tuple[Arm, ...]
    when: str
    why: str
    question: Question

    @staticmethod
    def of(question: Question, evaluation: Evaluation) -> Plan:
        """The plan that a race and its evaluation come to."""
        race, chosen, best = evaluation.race, evaluation.chosen, evaluation.best
        runs = {"recommended": evaluation.fresh(chosen), "best": evaluation.fresh(best)}
        regret = {name: each.regret for name, each in (runs | evaluation.references).items() if each.rounds}
        others = {name: each for name, each in regret.items() if name != "recommended"}
        tried = [Tried.of(each, each in race.alive) for each in race.entered if each.rounds]
        return Plan(
            recommended=chosen.label,
            policy=chosen.policy,
            code=code_of(chosen.policy, chosen.label),
            best=best.label,
            settled=not doubts(evaluation),
            open=evaluation.open(),
            explorations=evaluation.figures(chosen).explorations,
            horizon=race.horizon,
            rounds=chosen.rounds,
            keep_within=question.keep_within,
            longest=race.pool.source.longest,
            menu=evaluation.menu(),
            levels=evaluation.levels(),
            candidates=tuple(sorted(tried, key=lambda each: (-each.rounds, each.mean))),
            regret={name: cost(each) for name, each in regret.items()},
            against={name: cost(regret["recommended"], each) for name, each in others.items()},
            times_best={name: ratio(each, regret["best"]) for name, each in regret.items()},
            arms=_best_arms(race.pool.source, evaluation.pool.drawn),
            when=rounds_of(chosen.policy, race.horizon),
            why=reasons(evaluation),
            question=question,
        )

    def __repr__(self) -> str:
        state = "settled" if self.settled else "not settled"
        return f"<Plan: {self.recommended}, {self.explorations} of {self.horizon} rounds explore, {state}>"

    def __str__(self) -> str:
        rows = self.menu_rows()
        menu = [
            [
                names,
                explorations_text(each),
                percent_text(each.different),
                regret_text(each.regret.value),
                ratio_text(each.ratio),
                holds,
            ]
            for names, holds, each in rows
        ]
        costs = [
            [
                name,
                f"{each.problems:,}",
                with_interval(each.mean, number),
                *(number(figure.value) for figure in (each.median, each.worst_decile)),
            ]
            for name, each, number in self.cost_rows()
        ]
        often = ", ".join(f"{arm.label} {arm.best:.0%}" for arm in self.arms[:BEST_ARMS_PRINTED])
        lines = [
            paragraph(self.assumed),
            "",
            self.code,
            paragraph(self.why),
            paragraph(f"{self.explored}; they cost {regret_text(self.chosen().cost)}"),
            self.divided,
            paragraph(f"most often the best arm: {often}") if often else "",
            "",
            text_table(["the menu", "explores", "differ", "regret", "times the best", "within?"], menu),
            *(
                f"{explorations_text(e)} explorations, {e.problems:,} problems: {e.expression}"
                for *_, e in rows
            ),
            paragraph(self.menu_note),
            "",
            text_table(
                [f"regret of {self.rounds:,} rounds", "problems", "mean", "median", "worst decile"], costs
            ),
            paragraph(COSTS_NOTE),
        ]
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

    @property
    def explored(self) -> str:
        """How many rounds explore, and which."""
        share, figures = f"{self.explorations / self.horizon:.2%}", self.chosen()
        words = f"{self.explorations:,} of {self.horizon:,} rounds explore ({share}"
        if figures.most != self.explorations:
            words += f" in the mean, and {figures.most:,} on the problem with most"
        if figures.most == 0 and isinstance(self.policy, Infex):
            words += "; it never explored on these problems"
        if figures.projected:
            words += f", if it goes on as in the first {self.rounds:,}"
        return f"{words}), {self.when}"

    @property
    def menu_note(self) -> str:
        """How the menu is to be read."""
        if not any(entry.figures.projected for entry in self.menu):
            return MENU_NOTE
        return f'{MENU_NOTE} "About": if it goes on as in the first {self.rounds:,} rounds.'

    def chosen(self) -> Figures:
        """The figures of what is recommended."""
        return next(entry.figures for entry in self.menu if entry.figures.expression == self.recommended)

    def menu_rows(self) -> list[tuple[str, str, Figures]]:
        """A row for each candidate on the menu: its names, whether it is as near as they say, its figures.

        The one that explores most is the first.
        """
        rows = []
        for figures in {entry.figures.expression: entry.figures for entry in self.menu}.values():
            same = [entry for entry in self.menu if entry.figures.expression == figures.expression]
            names = [entry.name for entry in same]
            names += ["recommended"] if figures.expression == self.recommended else []
            holds = ", ".join(dict.fromkeys(entry.holds for entry in same if entry.holds))
            rows.append((", ".join(names), holds, figures))
        return sorted(rows, key=lambda row: -row[2].explorations)

    def cost_rows(self) -> list[tuple[str, Cost, Callable[[float], str]]]:
        """Regret on the same problems, and differences: names, figures, and how to write them."""
        problems = self.regret["recommended"].problems
        same = {name: each for name, each in self.regret.items() if each.problems == problems}
        return [(REFERENCE_NAMES[name], each, regret_text) for name, each in same.items()] + [
            (f"it less {REFERENCE_NAMES[name]}", each, difference_text) for name, each in self.against.items()
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
        """Writes `plan.png`, `plan.svg` and `plan.html` into a folder, made if it is missing; the files."""
        from infex.lab.reports.figures import picture

        drawn, folder = front_figure(self), Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        files = {
            folder / "plan.png": picture(drawn, "png"),
            folder / "plan.svg": picture(drawn, "svg"),
            folder / "plan.html": plan_page(self).encode(),
        }
        for path, data in files.items():
            replace(path, data)
        return list(files)


def _best_arms(source: Problems, problems: Sequence[Any]) -> tuple[Arm, ...]:
    """How often each arm was the best, in problems or in rounds of them, most often first.

    Nothing where arms are drawn for each problem, or the problem is a user's own.
    """
    if not isinstance(source, Belief) or (source.arms is None and source.offers is None):
        return ()
    wins = np.zeros(source.count)
    for problem in problems if source.offers is None else problems[:PROBLEMS_TO_SETTLE]:
        if isinstance(problem, LinearInstance):
            means = problem.means[None]
        elif isinstance(problem, ContextualInstance):
            assert problem.sets is not None
            means = problem.sets.rows[:, 0] @ problem.thetas.T
        else:
            means = problem.sets @ problem.theta
        wins += np.bincount(np.argmax(means, axis=1), minlength=source.count)
    names = source.labels or [str(place) for place in range(source.count)]
    arms = [Arm(name, float(share)) for name, share in zip(names, wins / wins.sum(), strict=True)]
    return tuple(sorted(arms, key=lambda arm: -arm.best))


# Words


def explorations_text(figures: Figures) -> str:
    """How many rounds explore; where the data decide, in the mean and at most."""
    about = "about " if figures.projected else ""
    most = "" if figures.most == figures.explorations else f" (to {figures.most:,})"
    return f"{about}{figures.explorations:,}{most}"


def regret_text(value: float, sign: str = "") -> str:
    """A regret as people write it: whole, or with three digits where it is small.

    >>> regret_text(12345.6), regret_text(0.01234), regret_text(-3.21, "+")
    ('12,346', '0.0123', '-3.21')
    """
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.3g}"


def difference_text(value: float) -> str:
    """A difference, with its sign."""
    return regret_text(value, "+")


def with_interval(figure: Interval, number: Callable[[float], str] = regret_text) -> str:
    """A figure with its interval, where there is one.

    >>> with_interval(Interval(1.148, 1.09, 1.21)), with_interval(Interval(2.0, math.nan, math.nan))
    ('1.15 [1.09, 1.21]', '2')
    """
    value, low, high = map(number, figure)
    return f"{value} [{low}, {high}]" if math.isfinite(figure.low) else value


def percent_text(value: float) -> str:
    """A share in percent; a dash where it is not known.

    >>> percent_text(0.123)
    '12 %'
    """
    return f"{100 * value:.0f} %" if math.isfinite(value) else "\N{EN DASH}"


def ratio_text(ratio: Interval) -> str:
    """A ratio with its interval, where there is one."""
    return with_interval(ratio, "{:.2f}".format)


def code_of(policy: Policy, label: str) -> str:
    """A policy as a line of Python, after `import infex`; a comment if it holds objects of a user's own.

    >>> import infex
    >>> code_of(infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own"), "")
    "infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data='own')"
    >>> code_of(object(), "Infex(LinUCB, Doubling)")
    '# Infex(LinUCB, Doubling): it holds objects of your own, take the policy of the plan'
    """
    comment = f"# {' '.join(label.split())}: it holds objects of your own, take the policy of the plan"
    return _python(policy) or comment


def _python(value: object) -> str | None:
    """The Python that makes data or a built-in thing; None for anything else."""
    import infex

    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list | tuple):
        parts = [_python(part) for part in value]
        return None if None in parts else f"[{', '.join(map(str, parts))}]"
    found = registry.entry_of(value)
    if found is None:
        return None
    entry, settings = found
    if entry.name == "union":
        members = [_python(member) for member in settings["members"]]
        return None if None in members else " | ".join(map(str, members))
    package = "infex" if hasattr(infex, entry.name) else entry.make.__module__.rpartition(".")[0]
    arguments = []
    for name, parameter in registry.parameters_of(entry.make).items():
        text = _python(settings[name])
        if text is None:
            return None
        if parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            arguments.append(text)
        elif text != _python(parameter.default):
            arguments.append(f"{name}={text}")
    return f"{package}.{entry.name}({', '.join(arguments)})"


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
    if reads_data(schedule):
        return f"where the data leave doubt, by {registry.label_of(schedule)}, which no regret bound covers"
    if not (has(schedule, "when") and has(schedule, "count")):
        return f"in the rounds of {registry.label_of(schedule)}"
    count = schedule.count(horizon)
    first = [f"{schedule.when(n):,}" for n in range(1, min(count, 4) + 1)]
    last = f", ..., {schedule.when(count):,}" if count > 4 else ""
    return f"in rounds {', '.join(first)}{last}"


def reads_data(schedule: object) -> bool:
    """Do the data decide in which rounds it explores? A limit or a pause by the round does not read them.

    >>> from infex import budget, every, guarded, paused
    >>> reads_data(paused(every(5), every(10))), reads_data(budget(guarded(every(5), 1.0), 3))
    (False, True)
    """
    while isinstance(schedule, Control):
        if not isinstance(schedule, Limited | Paused):  # a user's own may read what it likes
            return True
        schedule = schedule.schedule
    return False


def reasons(evaluation: Evaluation) -> str:
    """Which reference is better, why this candidate was chosen, how it did, and whether that settles it."""
    race, keep_within = evaluation.race, evaluation.keep_within
    is_best, nearest = evaluation.chosen is evaluation.best, evaluation.nearest
    chosen, best = evaluation.figures(evaluation.chosen), evaluation.figures(evaluation.best)
    loses, fresh = regret_text(chosen.regret.value), f"{chosen.problems:,} fresh problems"
    compared = f"{ratio_text(chosen.ratio)} times the {regret_text(best.regret.value)} of {best.expression}."
    if not chosen.ratio.value <= keep_within and not is_best:
        words = (
            f"Nothing that max_cost allows came within {keep_within:g} times the least regret. On {fresh} "
            f"this came nearest, and loses {loses}: {compared}"
        )
    elif evaluation.chosen.planned == 0:
        words = f"You need no exploration: what the log has taught is enough. On {fresh} greedy loses {loses}"
        words += ", the least of the schedules tried." if is_best else f": {compared}"
    elif not is_best:
        by_fresh = f"which chose it among the {len(evaluation.judged)} judged there"
        by_whom = "which did not choose it" if evaluation.chosen is evaluation.proposed else by_fresh
        words = (
            f"It explores least of the schedules judged within {keep_within:g} times the least regret. On "
            f"{fresh}, {by_whom}, it loses {loses}: {compared}"
        )
    elif nearest is not None:
        rival = evaluation.figures(nearest)
        often = "in every round" if chosen.explorations == race.horizon else "as often as this"
        allowed = "max_cost allows and that " if race.max_cost < math.inf else ""
        words = (
            f"Explore {often}: of the {len(evaluation.judged)} schedules judged on {fresh}, none that "
            f"{allowed}explores less often came within {keep_within:g} times its regret, {loses}. "
            f"The nearest, {rival.expression} with {explorations_text(rival)} explorations, loses "
            f"{ratio_text(rival.ratio)} times as much there."
        )
    else:
        words = f"It loses {loses} on {fresh}, the least of the schedules tried."
        met = evaluation.best.regret.size
        if met < PROBLEMS_TO_SHOW:
            words += f" {met} problems were tried, too few to tell whether exploring less is as good."
        elif chosen.explorations <= min(each.explorations for each in race.entered if each.rounds):
            words += " Nothing that explores less was tried."
    words = " ".join([*_better_references(evaluation), words])
    doubt = doubts(evaluation)
    if doubt:
        return f"{words} Not settled: {doubt} Give it more seconds."
    if is_best:
        return (
            f"{words} Settled: no other schedule tried is better by more than that, and none that explores "
            "less is as near."
        )
    words += (
        f" Settled: the interval stays within {keep_within:g}, and no other schedule tried is better by more "
        "than that."
    )
    rarer = evaluation.open()
    return f"{words} Whether {rarer} that explore less are as near could not be told." if rarer else words


def _better_references(evaluation: Evaluation) -> list[str]:
    """A sentence for each reference that loses less than the recommended one on the problems both met."""
    sentences = []
    regret = evaluation.fresh(evaluation.chosen).regret
    for name, reference in evaluation.references.items():
        if not reference.regret.size:
            continue
        excess = cost(regret, reference.regret)
        if excess.mean.value > 0.0:
            how = "loses less" if excess.mean.low > 0.0 else "lost less, though not clearly,"
            words = f"{REFERENCE_NAMES[name]}, which {REFERENCE_EXPLORES[name]}, {how} than this on the same "
            words += f"{excess.problems:,} problems, by {with_interval(excess.mean)} in the mean."
            sentences.append(words[0].upper() + words[1:])
    return sentences


def doubts(evaluation: Evaluation) -> str:
    """What is missing for a settled choice; nothing if the race and the fresh problems show it to be right.

    All that were not given up must have played all rounds of enough problems, and the race must show that
    none is better than the best by more than `keep_within`. Fresh problems must show that the recommended
    one is within it; or that the nearest is beyond it, where the best is recommended because none that
    explores less is near.
    """
    race, keep_within = evaluation.race, evaluation.keep_within
    chosen, best, nearest = evaluation.chosen, evaluation.best, evaluation.nearest
    figures, rarer = evaluation.figures(chosen), evaluation.open()
    if not race.is_allowed(evaluation.fresh(chosen)):  # what is promised comes first
        return f"exploring cost {regret_text(figures.cost)} there, more than max_cost = {race.max_cost:g}."
    if chosen.rounds < race.horizon:
        words = f"no candidate was played to the end, figures are of the first {chosen.rounds:,} rounds."
        return words + " max_cost was held against these only." * (race.max_cost < math.inf)
    waiting = sum(each.rounds < race.horizon for each in race.alive)
    if waiting:
        return f"{waiting} of {len(race.alive)} candidates that may be as good were not played to the end."
    if best.regret.size < PROBLEMS_TO_SETTLE:
        return f"{best.regret.size} problems chose it, too few to detect rare failures."
    if figures.problems < FRESH_TO_SETTLE:
        return f"{figures.problems} fresh problems are too few."
    if chosen is not best and not figures.ratio.high <= keep_within:
        return f"the interval goes beyond {keep_within:g}."
    if chosen is best and rarer:
        return f"{rarer} candidates that explore less may also be within {keep_within:g}."
    if chosen is best and nearest is not None and not evaluation.figures(nearest).ratio.low > keep_within:
        return f"the best schedule that explores less may also be within {keep_within:g}."
    if not all(each is best or is_within(best, each, keep_within) for each in race.fit):
        return "another may still be better by more than that."
    return ""


# The figure and the page


def front_data(plan: Plan) -> dict[str, Any]:
    """The chart of regret by explorations: the first of each number of them, the menu, LinUCB and greedy.

    Every mark is the least regret times a ratio of the same fresh problems, with the interval of that ratio;
    what only the race has met is not drawn.
    """
    least = plan.regret["best"].mean.value

    def marks(name: str, some: Sequence[Figures], **look: Any) -> dict[str, Any]:
        known = [(each, [least * end for end in each.ratio]) for each in some]
        known = sorted(
            (pair for pair in known if math.isfinite(sum(pair[1]))), key=lambda pair: pair[0].explorations
        )
        y, low, high = (rounded(ends[k] for _, ends in known) for k in range(3))
        x, names = [each.explorations for each, _ in known], [each.expression for each, _ in known]
        return {"name": name, "x": x, "y": y, "low": low, "high": high, "names": names, **look}

    levels = {
        name: least * plan.times_best[name].value for name in ("LinUCB", "greedy") if name in plan.regret
    }
    return {
        "title": "Regret by how often it explores",
        "height": 360,
        "x": {"label": f"exploring rounds in {plan.horizon:,}", "name": "explorations", "log": True},
        "y": {
            "label": f"regret of {plan.rounds:,} rounds, mean over fresh problems",
            "name": "regret",
            "log": True,
        },
        "limits": [
            {"y": level, "name": REFERENCE_NAMES[name], "colour": 7}
            for name, level in levels.items()
            if math.isfinite(level)
        ],
        "series": [
            marks("the best of each number of explorations", plan.levels, shape="joined", colour=7),
            marks("on the menu", [each for *_, each in plan.menu_rows()], shape="dots", colour=0),
            marks("recommended", [plan.chosen()], shape="dots", colour=1, strong=True),
        ],
        "hint": "Each mark is a candidate, with the interval of its regret. Point at one, or use arrow keys.",
    }


def front_figure(plan: Plan) -> Figure:
    """The chart of `front_data` as a matplotlib figure."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from infex.lab.reports.figures import PaperFigure

    data, soft = front_data(plan), "#7F7F7F"
    drawn = PaperFigure(figsize=(7.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    looks = (("o-", soft, 3), ("o", "#1F77B4", 7), ("*", "#000000", 13))
    for series, (mark, colour, size) in zip(data["series"], looks, strict=True):
        if series["x"]:
            y = series["y"]
            reach = [
                [abs(end - value) for end, value in zip(series[side], y, strict=True)]
                for side in ("low", "high")
            ]
            style: dict[str, Any] = {"fmt": mark, "color": colour, "ms": size, "label": series["name"]}
            axes.errorbar(series["x"], y, yerr=reach, lw=1, elinewidth=1, **style)
    for limit, dash in zip(data["limits"], ((4, 2), (1, 2)), strict=False):
        axes.axhline(limit["y"], color=soft, lw=1, dashes=dash, label=limit["name"])
    axes.set(xlabel=data["x"]["label"], ylabel=data["y"]["label"])
    for name, axis, set_scale in (("x", axes.xaxis, axes.set_xscale), ("y", axes.yaxis, axes.set_yscale)):
        if any(0 in series[name] for series in data["series"]):  # no explorations, or no regret
            set_scale("symlog", linthresh=1)
        else:
            set_scale("log")
            low, high = axis.get_view_interval()
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
        axis.set_major_formatter(FuncFormatter(lambda value, place: regret_text(value)))
        axis.set_minor_formatter(NullFormatter())
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return drawn


def plan_page(plan: Plan) -> str:
    """One self-contained page."""
    state = "settled" if plan.settled else "NOT settled"
    menu = [
        [
            f"{f'<b>{escape(names)}</b>' if each.expression == plan.recommended else escape(names)}"
            f"<br><small>{breakable(each.expression)}</small>",
            explorations_text(each),
            percent_text(each.different),
            _small(with_interval(each.regret)),
            ratio_text(each.ratio),
            holds,
            f"{each.problems:,}",
        ]
        for names, holds, each in plan.menu_rows()
    ]
    costs = [
        [name, f"{each.problems:,}", *(_small(with_interval(figure, number)) for figure in each[1:4])]
        for name, each, number in plan.cost_rows()
    ]
    arms = [[escape(arm.label), f"{arm.best:.1%}"] for arm in plan.arms[:BEST_ARMS_ON_PAGE]]
    limits = ("max_share", "max_count", "max_cost", "keep_within", "seconds", "seed")
    asked = [(name.replace("_", " "), getattr(plan.question, name)) for name in limits]
    left = sum(tried.alive for tried in plan.candidates)
    parts = [
        "<h1>How rarely to explore</h1>",
        f"<p><b>{escape(plan.recommended)}</b> ({state}). {escape(plan.explored)}.</p>",
        f'<pre tabindex="0"><code>{escape(plan.code)}</code></pre>',
        f"<p><b>{escape(plan.divided)}.</b></p>" if plan.divided else "",
        f"<p>{escape(plan.why)}</p>",
        "<h2>The menu</h2>",
        table(("", "explorations", "differ", "regret", "times the best", "within?", "problems"), menu),
        f"<p>{escape(plan.menu_note)}</p>",
        f"<h3>Regret of {plan.rounds:,} rounds, by how often it explores</h3>",
        chart(front_data(plan), "front"),
        "<p>Each mark is the least regret times the ratio to it on the same fresh problems.</p>",
        "<h2>What it costs</h2>",
        f"<p>Regret of {plan.rounds:,} rounds, with intervals of 95 % by bootstrap, which need 12 problems. "
        f"{COSTS_NOTE}</p>",
        table(("", "problems", "mean", "median", "worst decile"), costs),
        *(["<h2>Arms that were most often the best</h2>", table(("arm", "best in"), arms)] if arms else []),
        f'<p class="soft">{escape(plan.assumed)}; '
        f"{', '.join(f'{name} {value:g}' for name, value in asked if value is not None)}. Of "
        f"{len(plan.candidates):,} candidates {left:,} were not given up; plan.json has all of them.</p>",
    ]
    return shell("How rarely to explore", parts)


def _small(text: str) -> str:
    """A figure with its interval in small type."""
    return re.sub(r"(\[.*\])", r"<small>\1</small>", text)
