"""What the atlas plays: bases at their published settings and tuned, schedules, and problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from infex.checks import hint, safe_repr
from infex.errors import InvalidSetting
from infex.lab.paper import PAPER_DIMS
from infex.lab.specs import named, problem_specs

ALONE = "alone"  # the base decides in every round
TUNED_SCHEDULES = (ALONE, "every(20)")  # for which settings are chosen
SCALES = (0.03, 0.1, 0.2, 0.5)  # tried beside the published setting; bases that explore far more have others

Coverage = Literal["covered", "not covered", "silent", "not stated"]
Propensities = Literal["exact", "by draws", "not stated"]


class Base(NamedTuple):
    """A base by its `name` and as an expression, at its published setting and at those tried to tune it.

    `coverage` says whether Theorem 1 of Lee and Oh (2025) covers it, and `why`: the theorem asks for a base
    whose regret is polylogarithmic in T on each instance. `propensities` says whether the probabilities of
    arms are known exactly, or by draws.
    """

    name: str
    published: str
    tuning_settings: tuple[str, ...] = ()
    coverage: Coverage = "not stated"
    why: str = ""
    propensities: Propensities = "not stated"
    option: str = ""  # what names it on the command line, if that is not its name

    @property
    def is_tunable(self) -> bool:
        """Are there other settings than the published one to choose from?"""
        return bool(self.tuning_settings)

    @property
    def settings(self) -> tuple[str, ...]:
        """All expressions that are tried, the published one first."""
        return (self.published, *self.tuning_settings)


class Problem(NamedTuple):
    """A problem by its `name` and as an expression, and the estimator that all policies learn by."""

    name: str
    environment: str
    estimator: str | None = None

    @property
    def option(self) -> str:
        """What names it on the command line."""
        return self.name if self in (*PROBLEMS, *LARGE_PROBLEMS) else self.environment


def _with_values(expression: str, setting: str, values: Iterable[float]) -> tuple[str, ...]:
    """The expression with each value of a setting."""
    name, _, rest = expression.rstrip(")").partition("(")
    words = [rest] if rest else []
    return tuple(f"{name}({', '.join([*words, f'{setting}={value:g}'])})" for value in values)


def _base(
    name: str,
    expression: str,
    coverage: Coverage,
    why: str,
    propensities: Propensities,
    setting: str = "scale",
    values: Iterable[float] = SCALES,
) -> Base:
    """A base that is tuned over values of one setting; over none where there are no values."""
    return Base(name, expression, _with_values(expression, setting, values), coverage, why, propensities)


BASES = (
    _base("LinUCB", "LinUCB", "covered", "Abbasi-Yadkori et al. (2011), Theorem 5", "exact"),
    _base(
        "LinUCB, mixture radius",
        "LinUCB(radius=mixture)",
        "covered",
        "as LinUCB, by a radius that is smaller",
        "exact",
    ),
    _base("LinTS", "LinTS", "covered", "Lee and Oh (2025), Theorem 2", "by draws"),
    _base(
        "LinTS, Agrawal's scale",
        "LinTS(inflation=agrawal)",
        "silent",
        "Agrawal and Goyal (2013) bound it by sqrt(T)",
        "by draws",
        values=(0.005, 0.02, 0.05, 0.2),
    ),
    _base(
        "LinTS, not inflated",
        "LinTS(inflation=None)",
        "not covered",
        "its regret can be linear (Hamidi and Bayati, 2020)",
        "by draws",
    ),
    _base("OptimisticTS", "OptimisticTS", "silent", "no bound by instance is known to us", "by draws"),
    _base("RandLinUCB", "RandLinUCB", "silent", "Vaswani et al. (2020) bound it by sqrt(T)", "exact"),
    _base("LinIMED-1", "LinIMED", "silent", "Bian and Tan (2024) bound it by sqrt(T)", "exact"),
    _base("LinIMED-3", "LinIMED(variant=3)", "silent", "Bian and Tan (2024) bound it by sqrt(T)", "exact"),
    _base(
        "LinMED-90",
        "LinMED",
        "silent",
        "log^2 T on each instance (Balagopalan and Jun, 2025), but for all we know only as a mean",
        "exact",
    ),
    _base("LinIDS, variance", "LinIDS", "silent", "Kirschner and Krause (2018) bound it by sqrt(T)", "exact"),
    _base(
        "LinIDS, directed",
        "LinIDS(gain=directed)",
        "silent",
        "Kirschner and Krause (2018) bound it by sqrt(T)",
        "exact",
    ),
    _base(
        "LinPHE",
        "LinPHE",
        "silent",
        "Kveton et al. (2019) bound it by sqrt(T)",
        "by draws",
        values=(0.02, 0.05, 0.1, 0.25),
    ),
    _base(
        "WeightedBootstrap", "WeightedBootstrap", "silent", "no bound is known to us", "by draws", values=()
    ),
    _base(
        "EnsembleSampling",
        "EnsembleSampling",
        "silent",
        "Lee and Oh (2024) bound it by sqrt(T)",
        "exact",
        "noise",
    ),
    _base(
        "TSUCB", "TSUCB", "silent", "Baek and Farias (2021) bound its Bayesian regret", "by draws", "noise"
    ),
    _base(
        "PhasedElimination",
        "PhasedElimination",
        "covered",
        "with delta = 1/T, by the phases of Lattimore and Szepesvari (2020), section 22.1",
        "exact",
        "noise",
    ),
    _base(
        "SpannerIGW",
        "SpannerIGW",
        "not covered",
        "of order sqrt(T) on some instances, whatever their gaps (Balagopalan and Jun, 2025)",
        "exact",
        "rate",
        (100, 400, 1600, 6400),
    ),
    _base("SupLinUCB", "SupLinUCB", "silent", "Chu et al. (2011) bound it by sqrt(T)", "exact"),
    _base(
        "EXP2",
        "EXP2",
        "not covered",
        "of order sqrt(T) on some instances, whatever their gaps (Balagopalan and Jun, 2025)",
        "exact",
        "rate",
        (0.01, 0.02, 0.05, 0.1),
    ),
    _base(
        "WeightedOFUL",
        "WeightedOFUL",
        "silent",
        "Zhou et al. (2021) bound it by sqrt(T)",
        "exact",
        values=(0.0005, 0.002, 0.005, 0.02),
    ),
    _base("Uniform", "Uniform", "not covered", "its regret is linear", "exact", values=()),
)

SCHEDULES = ("every(5)", "every(20)", "every(100)", "logarithmic(3)", "ledger(1)")

LARGE_PROBLEMS = tuple(  # which take as long as all others together, several times over
    Problem(f"d = {dim}, K = 1000", f"gaussian(dim={dim}, arms=1000)") for dim in PAPER_DIMS
)
PROBLEMS = (
    *(
        Problem(f"d = {dim}, K = {arms}", f"gaussian(dim={dim}, arms={arms})")
        for dim in PAPER_DIMS
        for arms in (10, 100)
    ),
    Problem("near ties", "near_ties(dim=10, arms=50, ties=10, gap=0.01)"),
    Problem("heavy tails", "gaussian(dim=10, arms=100, rewards=student, degrees=2.1)"),
    Problem("drift", "gaussian(dim=10, arms=100, moves=steps(every=1250))"),
    Problem("moving contexts", "changing(dim=10, arms=20)"),
    Problem("recurring contexts", "changing(dim=10, arms=20, best=recurring)"),
    Problem("kernel", "kernel(arms=100, rank=20)"),
    Problem("logistic", "gaussian(dim=10, arms=100, link=logistic, rewards=bernoulli)", "Logistic"),
)


def chosen_bases(asked: Iterable[str] | Mapping[str, str]) -> tuple[Base, ...]:
    """The bases of the atlas that are asked for, by name; all for none.

    Any other text is the expression of a base of one's own, as is each value of a dict, whose keys are names.
    A list in it gives settings: the first counts as published, and the others are for tuning.
    """
    if asked and isinstance(asked, Mapping):
        return tuple(_own_base(name, expression) for name, expression in asked.items())
    known = {base.name: base for base in BASES}
    found = dict.fromkeys(_list_of("bases", asked))
    return tuple(known.get(text) or _own_base(text, _expression(text, known)) for text in found) or BASES


def _own_base(name: str, expression: str) -> Base:
    first, *others = (each.label for each in named(expression, "policy"))
    return Base(name, first, tuple(others), option=expression)


def chosen_problems(asked: Iterable[str] | Mapping[str, str], large: bool) -> tuple[Problem, ...]:
    """The problems of the atlas that are asked for, by name; all for none, with the `large` ones or without.

    Any other text is the expression of a problem, as is each value of a dict, whose keys are names. A list in
    it gives several problems.
    """
    if asked and isinstance(asked, Mapping):
        named_problems = (each for name, text in asked.items() for each in _own_problems(name, text))
        return tuple(dict.fromkeys(named_problems))
    known = {problem.name: problem for problem in (*PROBLEMS, *LARGE_PROBLEMS)}
    found = list(dict.fromkeys(_list_of("problems", asked)))
    if not found:
        return (*PROBLEMS, *LARGE_PROBLEMS) if large else PROBLEMS
    problems: list[Problem] = []
    for text in found:
        problems += [known[text]] if text in known else _own_problems(text, _expression(text, known))
    return tuple(dict.fromkeys(problems))


def _own_problems(name: str, expression: str) -> list[Problem]:
    """The problem of an expression, under a name; those of a list in it are called as they are alone."""
    labels = [spec.label for spec in problem_specs(expression)]
    return [Problem(name, expression)] if len(labels) == 1 else [Problem(each, each) for each in labels]


def chosen_schedules(asked: Iterable[str]) -> tuple[str, ...]:
    """The schedules that are asked for, as expressions; those of the atlas for none.

    Every base is played alone in any case, and "alone" asks for nothing else. A list gives several.
    """
    texts = _list_of("schedules", asked)
    found: list[str] = []
    for text in texts:
        if text != ALONE:
            labels = [each.label for each in named(text, "schedule")]
            found += [text] if len(labels) == 1 else labels
    return tuple(dict.fromkeys(found)) if texts else SCHEDULES


def _list_of(name: str, asked: Iterable[str]) -> list[str]:
    found = [asked] if isinstance(asked, str) else list(asked)
    for each in found:
        if not isinstance(each, str) or not each:
            raise InvalidSetting(
                f"{name} must be names or expressions, such as 'my.module:Policy()', got {safe_repr(each)}"
            )
    return found


def _expression(text: str, known: Iterable[str]) -> str:
    """The text, if it can be an expression: one that begins like a name of the atlas is misspelt."""
    if " " in text.split("(")[0]:
        raise InvalidSetting(f"the atlas has no {text!r}{hint(text, known)}; it has {'; '.join(known)}")
    return text
