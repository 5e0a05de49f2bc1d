"""The atlas played, and what is read from it: regrets, what schedules gain, and how sure each figure is."""

from __future__ import annotations

import csv
import functools
import io
import math
import re
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex._stats import (
    INTERVAL_ENDS,
    PAIRS_OF_AN_INTERVAL,
    Interval,
    mean_intervals,
    product_of_means,
    ratio,
)
from infex.arrays import Floats
from infex.checks import one_of, whole
from infex.errors import InfexWarning, InvalidSetting
from infex.files import replace
from infex.lab.bases.catalogue import (
    ALONE,
    TUNED_SCHEDULES,
    Base,
    Problem,
    chosen_bases,
    chosen_problems,
    chosen_schedules,
)
from infex.lab.results import Results
from infex.lab.runner import Progress
from infex.lab.specs import named
from infex.lab.sweep import Sweep
from infex.policies.base import policy_info
from infex.streams import stream

ATLAS_HORIZON = 5000
ATLAS_SEEDS = 20
TUNING_SEEDS = 6
FIRST_TUNING_SEED = 1_000_000  # far from all seeds that regrets are read from
DRAWS = 1000
TRACEBACK = "Traceback (most recent call last):"  # before the last of them is what the last was raised from
REFUSAL = re.compile(r"^infex\.errors\.(?:NotKept|InvalidSetting|InvalidReward): (.+)$", re.MULTILINE)
FEWEST_RANKED = 4  # bases: the ranks of fewer correlate by chance
LEAST_GAIN = 0.01  # of a ratio: a difference that is surely smaller than this is none

Setting = Literal["published", "tuned"]
SETTINGS: tuple[Setting, ...] = ("published", "tuned")


class CellKey(NamedTuple):
    """Which cell of the atlas is meant."""

    problem: str
    base: str
    schedule: str
    setting: Setting = "published"


class Cell(NamedTuple):
    """The runs of one base on one problem, alone or under a schedule, by seed.

    `expression` is the base as it was played. `calls` is the mean share of rounds in which the base decided,
    `deviations` that of rounds in which it played another arm than the greedy one (NaN for a base alone), and
    `microseconds` the median time of a round.
    """

    expression: str
    regret: Floats
    calls: float
    deviations: float
    microseconds: float


class Statement(NamedTuple):
    """A figure in words, and the interval of 95 % that carries it."""

    words: str
    figure: Interval


@final
@dataclass(frozen=True, eq=False)
class Atlas:
    """All cells that were played, those that were `refused` with the reason, and what follows from them.

    `failures` are runs that broke in any other way. Intervals are bootstrap-t, but for those of `spread` (the
    basic bootstrap) and of a rank correlation (quantiles of draws). They speak of other instances of the
    problems that were played, and of no other problems.
    """

    bases: tuple[Base, ...]
    problems: tuple[Problem, ...]
    schedules: tuple[str, ...]
    horizon: int
    seeds: tuple[int, ...]
    tuning_seeds: int  # 0 where nothing was tuned
    cells: Mapping[CellKey, Cell]
    refused: Mapping[CellKey, str]
    failures: tuple[dict[str, str], ...] = ()

    @property
    def columns(self) -> tuple[tuple[str, Setting], ...]:
        """What each base was played as: alone and under every schedule, and tuned where it was."""
        published: list[tuple[str, Setting]] = [(name, "published") for name in (ALONE, *self.schedules)]
        return (*published, *((name, "tuned") for name in self.tuned_schedules))

    @property
    def tuned_schedules(self) -> tuple[str, ...]:
        """The schedules for which settings were chosen, "alone" among them."""
        return tuple(
            name for name in TUNED_SCHEDULES if self.tuning_seeds and name in (ALONE, *self.schedules)
        )

    @property
    def shown_schedule(self) -> str:
        """The schedule that stands for all where one must: every(20), or else the first."""
        return "every(20)" if "every(20)" in self.schedules else self.schedules[0]

    def refusals(self) -> dict[tuple[str, str], str]:
        """Why a base was left out of a problem, by the names of problem and base."""
        return {(key.problem, key.base): reason for key, reason in self.refused.items()}

    @property
    def is_complete(self) -> bool:
        """Has every base runs on some problem, and every problem runs of some base?"""
        bases, problems = ({getattr(key, name) for key in self.cells} for name in ("base", "problem"))
        return len(bases) == len(self.bases) and len(problems) == len(self.problems)

    # Figures of one cell

    def regret(self, key: CellKey) -> Interval:
        """Mean regret, with its interval."""
        return self._regrets[self._require(key)]

    @functools.cached_property
    def _regrets(self) -> dict[CellKey, Interval]:
        intervals = mean_intervals([cell.regret for cell in self.cells.values()])
        return dict(zip(self.cells, intervals, strict=True))

    def regret_ratio(self, key: CellKey) -> Interval:
        """Mean regret over that of the base alone at the same setting, paired: below 1 the schedule gains."""
        alone = key._replace(schedule=ALONE)
        return ratio(self.cells[self._require(key)].regret, self.cells[self._require(alone)].regret)

    def _require(self, key: CellKey) -> CellKey:
        if key not in self.cells:
            reason = self.refused.get(key)
            why = f": {reason}" if reason else "; atlas.cells are those that there are"
            raise InvalidSetting(f"no runs of {key.base!r}, {key.schedule} on {key.problem!r}{why}")
        return key

    def command(self, key: CellKey) -> str:
        """The command that plays the runs of a cell again, and nothing else."""
        base = next(base for base in self.bases if base.name == key.base)
        problem = next(problem for problem in self.problems if problem.name == key.problem)
        words = ["infex", "lab", "atlas", "--base", base.option or base.name, "--problem", problem.option]
        words += ["--schedule", key.schedule]
        words += ["--seeds", str(len(self.seeds)), "--horizon", str(self.horizon)]
        is_tuned = key.setting == "tuned" and base.is_tunable  # others reuse their published runs
        words += ["--tune", "--tuning-seeds", str(self.tuning_seeds)] if is_tuned else ["--no-tune"]
        words += ["--out", "cell"]
        return shlex.join(words)

    # Figures that join problems

    @functools.cached_property
    def common(self) -> tuple[int, ...]:
        """The indices of problems on which all bases have runs, and regret, in all columns."""
        complete = np.isfinite(self._log_regrets[0]).all(axis=(1, 2))
        return tuple(np.flatnonzero(complete).tolist())

    @functools.cached_property
    def _log_regrets(self) -> Floats:
        """log mean regret, (1 + draws, problems, bases, columns): of all seeds, then of seeds drawn again.

        All share their draws, as problems may share their instances. NaN where there are no runs, or no
        regret.
        """
        seeds, draws = len(self.seeds), DRAWS if len(self.seeds) >= PAIRS_OF_AN_INTERVAL else 0
        drawn = stream(0, "atlas", seeds).integers(seeds, size=(draws, seeds))
        rows = np.concatenate([np.arange(seeds)[None], drawn])
        found = np.full((1 + draws, len(self.problems), len(self.bases), len(self.columns)), np.nan)
        for p, problem in enumerate(self.problems):
            for b, base in enumerate(self.bases):
                for c, column in enumerate(self.columns):
                    cell = self.cells.get(CellKey(problem.name, base.name, *column))
                    if cell is not None:
                        means = cell.regret[rows].mean(axis=1)
                        found[:, p, b, c] = np.log(means, where=means > 0.0, out=np.full_like(means, np.nan))
        return found

    def _log_regrets_of(self, schedule: str, setting: Setting = "published") -> Floats:
        """log mean regret of one column on `common` problems, (1 + draws, problems, bases)."""
        column = self.columns.index(self._column(schedule, setting))
        return np.asarray(self._log_regrets[..., column][:, self.common])

    def _column(self, schedule: str, setting: Setting) -> tuple[str, Setting]:
        if (schedule, setting) not in self.columns:
            raise InvalidSetting(
                f"the atlas has no {schedule!r} at the {setting} setting; it has {self.columns}"
            )
        return schedule, setting

    def _mean_ratio(self, pairs: Iterable[tuple[CellKey, CellKey]]) -> Interval:
        """The geometric mean, over pairs of cells that both have runs, of one regret over the other.

        NaN without such pairs, and where one of these cells has no regret.
        """
        played = [pair for pair in pairs if all(key in self.cells for key in pair)]
        if not played:
            return Interval(math.nan, math.nan, math.nan)
        rows = np.array([self.cells[key].regret for pair in played for key in pair])
        return product_of_means(rows, np.tile([1.0, -1.0], len(played)) / len(played))

    def _base(self, name: str) -> int:
        one_of("base", name, [base.name for base in self.bases])
        return [base.name for base in self.bases].index(name)

    def overall_ratio(self, base: str, schedule: str, setting: Setting = "published") -> Interval:
        """The geometric mean, over the problems that the base plays so, of regret over that of it alone."""
        self._base(base)
        column = self._column(schedule, setting)
        keys = [CellKey(problem.name, base, *column) for problem in self.problems]
        return self._mean_ratio((key, key._replace(schedule=ALONE)) for key in keys)

    def problem_ratio(self, problem: str, schedule: str, setting: Setting = "published") -> Interval:
        """The geometric mean, over the bases that play it so, of regret on a problem over that alone.

        Bases without a setting to tune are left out, so that published and tuned settings are of the same.
        """
        one_of("problem", problem, [each.name for each in self.problems])
        column = self._column(schedule, setting)
        keys = [CellKey(problem, base.name, *column) for base in self.bases if base.is_tunable]
        return self._mean_ratio((key, key._replace(schedule=ALONE)) for key in keys)

    def relative(self, base: str, schedule: str = ALONE, setting: Setting = "published") -> Interval:
        """The geometric mean, over the `common` problems, of regret over that of the first base alone.

        The first base is LinUCB at the theory's radius, unless others were asked for.
        """
        self._base(base)
        column, first = self._column(schedule, setting), self.bases[0].name
        names = [self.problems[place].name for place in self.common]
        return self._mean_ratio((CellKey(each, base, *column), CellKey(each, first, ALONE)) for each in names)

    def microseconds(self, base: str) -> float:
        """The median over problems of the time that a round of the base alone takes."""
        keys = [CellKey(problem.name, base, ALONE) for problem in self.problems]
        times = [self.cells[key].microseconds for key in keys if key in self.cells]
        return float(np.median(times)) if times else math.nan

    def verdicts(self, schedule: str, setting: Setting = "published") -> dict[str, int]:
        """On how many pairs of base and problem a schedule "gains", "loses", or neither can be told.

        Each pair by its own interval of 95 %, which must be 1 % away from 1: of 40 pairs without any gain, at
        most one would be said to gain, and one to lose. At tuned settings, bases without a setting to tune
        are left out.
        """
        self._column(schedule, setting)
        found = {"gains": 0, "loses": 0, "cannot be told": 0}
        for problem in self.problems:
            for base in (base for base in self.bases if base.is_tunable or setting == "published"):
                key = CellKey(problem.name, base.name, schedule, setting)
                if key in self.cells and key._replace(schedule=ALONE) in self.cells:
                    compared = self.regret_ratio(key)
                    word = "cannot be told"
                    if compared.high < 1.0 - LEAST_GAIN:
                        word = "gains"
                    elif compared.low > 1.0 + LEAST_GAIN:
                        word = "loses"
                    found[word] += 1
        return found

    def spread(self, schedule: str, setting: Setting = "published") -> Interval:
        """By which factor the regrets of bases differ on a `common` problem, 1 if they do not.

        The factor is between the tenth and the ninetieth of 100 bases; its logarithm is a root mean square
        over problems. Noise of means adds to the square, and as much again to that of each draw, so it is
        taken off: the estimate is 2 s^2 less the mean of the draws', and its interval the basic bootstrap's
        (Davison and Hinkley, 1997, section 5.2).
        """
        low, high = np.quantile(self._log_regrets_of(schedule, setting), (0.1, 0.9), axis=2)
        square, *drawn = np.square(high - low).mean(axis=1).tolist()
        if not drawn or not np.isfinite(drawn).all():
            return Interval(math.exp(math.sqrt(square)), math.nan, math.nan)
        ends = np.quantile(drawn, INTERVAL_ENDS[::-1])
        squares = (2.0 * square - each for each in (float(np.mean(drawn)), *map(float, ends)))
        return Interval(*(math.exp(math.sqrt(max(each, 0.0))) for each in squares))

    def excess(self, base: str) -> Interval:
        """How many times the regret of the tuned base alone it has alone at its published setting.

        The geometric mean over the problems that it plays: how much it explores beyond need.
        """
        self._base(base)
        keys = [CellKey(problem.name, base, *self._column(ALONE, "tuned")) for problem in self.problems]
        return self._mean_ratio((key._replace(setting="published"), key) for key in keys)

    def statements(self) -> list[Statement]:
        """The headline figures in words, over the `common` problems.

        Of the best base the same runs say that it is the best and how good it is: the best of many looks
        better than it is.
        """
        if not self.common or len(self.bases) < 2 or not self.schedules:
            return []
        schedule = self.shown_schedule
        found = [
            Statement(
                "Alone, bases differ on one problem by a factor (10th to 90th percentile) of",
                self.spread(ALONE),
            ),
            Statement(f"Under {schedule} they differ by a factor of", self.spread(schedule)),
            *(self._best_alone(setting) for name, setting in self.columns if name == ALONE),
        ]
        tunable = [base.name for base in self.bases if base.is_tunable]
        every = [base.name for base in self.bases]
        if "Uniform" in every:
            words = f"The regret of uniform exploration under {schedule}, over that of the other bases, is"
            keys = self._common_keys(every, schedule)
            pairs = ((key._replace(base="Uniform"), key) for key in keys if key.base != "Uniform")
            found.append(Statement(words, self._mean_ratio(pairs)))
        words = f"With all bases at their published settings, regret under {schedule} over that alone is"
        found.append(Statement(words, self._common_ratio(every, schedule)))
        if (schedule, "tuned") in self.columns and tunable:
            words = f"With the {len(tunable)} that can be tuned at their {{}} settings, that is"
            found += (
                Statement(words.format(setting), self._common_ratio(tunable, schedule, setting))
                for setting in SETTINGS
            )
        if (schedule, "tuned") in self.columns and len(tunable) >= FEWEST_RANKED:
            words = (
                "The rank correlation over these bases of what tuning takes from their regret alone and what "
                f"{schedule} takes from it at published settings is"
            )
            found.append(Statement(words, self._excess_and_gain(schedule, tunable)))
        return found

    def _common_keys(
        self, bases: Iterable[str], schedule: str, setting: Setting = "published"
    ) -> list[CellKey]:
        """The cells of some bases on the `common` problems."""
        names = [self.problems[place].name for place in self.common]
        return [CellKey(problem, base, schedule, setting) for problem in names for base in bases]

    def _common_ratio(self, bases: Iterable[str], schedule: str, setting: Setting = "published") -> Interval:
        """The geometric mean, over some bases and the `common` problems, of regret over that alone."""
        keys = self._common_keys(bases, schedule, setting)
        return self._mean_ratio((key, key._replace(schedule=ALONE)) for key in keys)

    def _best_alone(self, setting: Setting) -> Statement:
        """Which base has the least regret alone, by the point estimate of `relative`."""
        figures = {base.name: self.relative(base.name, ALONE, setting) for base in self.bases}
        best, first = min(figures, key=lambda name: figures[name].value), self.bases[0].name
        unit = f"that of {first}" if setting == "published" else f"that of {first} at its published setting"
        words = f"Alone at {setting} settings, {best} has the least regret, in multiples of {unit}:"
        return Statement(words, figures[best])

    def _excess_and_gain(self, schedule: str, bases: Sequence[str]) -> Interval:
        """Spearman's correlation over bases of log excess and log gain, each a mean over common problems.

        NaN where all bases are best as published.
        """
        from scipy.stats import rankdata

        places = [self._base(name) for name in bases]
        alone, tuned, scheduled = (
            logs.mean(axis=1)[:, places]
            for logs in (
                self._log_regrets_of(ALONE),
                self._log_regrets_of(ALONE, "tuned"),
                self._log_regrets_of(schedule),
            )
        )
        ranks = [rankdata(each, axis=1) for each in (alone - tuned, alone - scheduled)]
        apart, other = (each - each.mean(axis=1, keepdims=True) for each in ranks)
        sizes = np.sqrt(np.sum(apart**2, axis=1) * np.sum(other**2, axis=1))
        value, *drawn = (np.sum(apart * other, axis=1) / np.where(sizes > 0.0, sizes, np.nan)).tolist()
        if not drawn or not np.isfinite(drawn).all():
            return Interval(value, math.nan, math.nan)
        return Interval(value, *map(float, np.quantile(drawn, INTERVAL_ENDS)))

    # Files

    def table(self) -> list[dict[str, Any]]:
        """A row for each cell: regret, its ratio to that alone, with intervals; calls, deviations, time."""
        rows: list[dict[str, Any]] = []
        for key, cell in self.cells.items():
            row: dict[str, Any] = key._asdict() | {"expression": cell.expression}
            row |= dict(zip(("regret", "regret_low", "regret_high"), self.regret(key), strict=True))
            compared = Interval(math.nan, math.nan, math.nan)
            if key._replace(schedule=ALONE) in self.cells:
                compared = self.regret_ratio(key)
            row |= dict(zip(("ratio", "ratio_low", "ratio_high"), compared, strict=True))
            row |= {"calls": cell.calls, "deviations": cell.deviations, "microseconds": cell.microseconds}
            rows.append(row)
        return rows

    def write(self, folder: str | Path) -> list[Path]:
        """Writes `atlas.html` and `atlas.csv` into a folder, which is made if it is missing; the files."""
        from infex.lab.bases.page import atlas_page

        Path(folder).mkdir(parents=True, exist_ok=True)

        text, rows = io.StringIO(), self.table()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        files = {Path(folder, "atlas.html"): atlas_page(self), Path(folder, "atlas.csv"): text.getvalue()}
        for path, content in files.items():
            replace(path, content.encode())
        return list(files)


# Playing it


def atlas(
    bases: Iterable[str] | Mapping[str, str] = (),
    problems: Iterable[str] | Mapping[str, str] = (),
    schedules: Iterable[str] = (),
    *,
    seeds: int = ATLAS_SEEDS,
    horizon: int = ATLAS_HORIZON,
    large: bool = False,
    tune: bool = True,
    tuning_seeds: int = TUNING_SEEDS,
    out: str | Path | None = None,
    workers: int | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
) -> Atlas:
    """Every base alone and under every schedule, on every problem, paired by instance and noise.

    `bases`, `problems` and `schedules` are those of the atlas, or some of them by name; other texts are
    expressions of your own, and in a dict they have names. With `large`, the paper's problems with 1,000 arms
    are among them, which take hours. Base and greedy rounds share their data, but for bases that refuse that.

    Each base is played at its published setting with so many `seeds`. With `tune`, it is also played alone
    and under every(20) at that one of its settings whose mean regret on `tuning_seeds` other seeds is least:
    five settings for every base of the atlas that has one to tune, and for one of yours those of a list, as
    in "my.module:Policy(scale=[1, 0.1])", of which the first counts as published.

    With `out`, finished runs are kept in that folder, and the same call after an interruption goes on.
    `workers`, `engine`, `scheduler`, `force` and `progress` are those of `Sweep.run`.

    >>> small = atlas(["LinUCB"], ["gaussian(dim=2, arms=5)"], ["every(5)"], seeds=2, horizon=50, tune=False)
    >>> [(key.schedule, cell.regret.size) for key, cell in small.cells.items()]
    [('alone', 2), ('every(5)', 2)]
    """
    asked_bases, asked_problems = chosen_bases(bases), chosen_problems(problems, large)
    asked_schedules = chosen_schedules(schedules)
    whole("seeds", seeds, least=1)
    whole("tuning_seeds", tuning_seeds, least=1)
    if seeds >= FIRST_TUNING_SEED:
        raise InvalidSetting(f"seeds must be fewer than {FIRST_TUNING_SEED}, which tune, got {seeds}")
    run = {"workers": workers, "engine": engine, "scheduler": scheduler, "force": force, "progress": progress}
    runs = _AtlasRuns(horizon, range(seeds), None if out is None else Path(out), run)
    for problem in asked_problems:
        runs.play_published(problem, asked_bases, (ALONE, *asked_schedules))
        if tune:
            tuned = [name for name in TUNED_SCHEDULES if name in (ALONE, *asked_schedules)]
            other_seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + tuning_seeds)
            runs.play_tuned(problem, asked_bases, tuned, other_seeds)
    return Atlas(
        asked_bases,
        asked_problems,
        asked_schedules,
        horizon,
        tuple(range(seeds)),
        tuning_seeds if tune else 0,
        runs.cells,
        runs.refused,
        tuple(runs.failures),
    )


class _AtlasRuns:
    """The cells of an atlas while it is played, and how its runs are made."""

    def __init__(self, horizon: int, seeds: range, out: Path | None, run: dict[str, Any]) -> None:
        self.cells: dict[CellKey, Cell] = {}
        self.refused: dict[CellKey, str] = {}
        self.failures: list[dict[str, str]] = []
        self._horizon, self._seeds, self._out, self._run = horizon, seeds, out, run

    def play_published(self, problem: Problem, bases: Sequence[Base], schedules: Sequence[str]) -> None:
        """Plays all bases at their published settings."""
        settings = {
            CellKey(problem.name, base.name, schedule): base.published
            for base in bases
            for schedule in schedules
        }
        results = self._results(problem, "published", settings.items(), self._seeds)
        for key, setting in settings.items():
            self._add(key, setting, results)

    def play_tuned(
        self, problem: Problem, bases: Sequence[Base], schedules: Sequence[str], seeds: range
    ) -> None:
        """Chooses a setting for each base on other seeds, and plays the chosen one.

        Bases without settings to tune, or best as published, reuse their published runs.
        """
        published = [
            (base, CellKey(problem.name, base.name, schedule))
            for base in bases
            for schedule in schedules
            if CellKey(problem.name, base.name, schedule) in self.cells
        ]
        tried = [(key, setting) for base, key in published if base.is_tunable for setting in base.settings]
        choice = {key: base.published for base, key in published}
        if tried:
            results = self._results(problem, "tuning", tried, seeds)
            means: dict[CellKey, dict[str, float]] = {}
            for key, setting in tried:
                regret = _regret(results, _name(key, setting))
                if regret.size == len(seeds):
                    means.setdefault(key, {})[setting] = float(regret.mean())
            choice |= {key: min(some, key=some.__getitem__) for key, some in means.items()}
        others = [(key, choice[key]) for base, key in published if choice[key] != base.published]
        tuned = self._results(problem, "tuned", others, self._seeds) if others else None
        for base, key in published:
            if choice[key] == base.published or tuned is None:
                self.cells[key._replace(setting="tuned")] = self.cells[key]
            else:
                self._add(key._replace(setting="tuned"), choice[key], tuned)

    def _results(
        self, problem: Problem, part: str, played: Iterable[tuple[CellKey, str]], seeds: range
    ) -> Results:
        """The runs of bases on a problem; those that are in the folder already are not played again."""
        sweep = Sweep(
            environments={problem.name: problem.environment},
            policies={_name(key, base): _policy(base, key.schedule) for key, base in played},
            horizon=self._horizon,
            seeds=seeds,
            estimator=problem.estimator,
            title=f"{problem.name}, {part}",
        )
        folder = re.sub("[^a-z0-9]+", "-", problem.name.lower()).strip("-")
        out = None if self._out is None else self._out / folder / part
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfexWarning)  # rare exploration is what is on trial
            warnings.filterwarnings("ignore", r"\d+ of \d+ runs failed", RuntimeWarning)
            results = sweep.run(out=out, **self._run)
        refusals = _refusals(results, len(seeds))
        self.failures += (each for each in results.failures if each["policy"] not in refusals)
        return results

    def _add(self, key: CellKey, expression: str, results: Results) -> None:
        """Adds the cell if every seed succeeded, else the refusal.

        The runs that are left of a cell where some failed may be the lucky ones.
        """
        name = _name(key, expression)
        regret = _regret(results, name)
        if regret.size == len(self._seeds):
            (where,) = results.cells
            self.cells[key] = Cell(
                expression,
                regret,
                float(np.mean(results.explored(where, name))) / self._horizon,
                float(np.mean(results.deviations(where, name))) / self._horizon,
                1e6 * float(np.median(results.seconds(where, name))) / self._horizon,
            )
            return
        reason = _refusals(results, len(self._seeds)).get(name)
        if reason is not None:
            self.refused[key] = reason


def _refusals(results: Results, seeds: int) -> dict[str, str]:
    """The policies all of whose runs refused to be played, and the reason of the last."""
    reasons: dict[str, list[str]] = {}
    for failure in results.failures:
        refusal = REFUSAL.search(failure["traceback"].rpartition(TRACEBACK)[2])
        if refusal is not None:
            reasons.setdefault(failure["policy"], []).append(refusal.group(1))
    return {policy: some[-1] for policy, some in reasons.items() if len(some) == seeds}


def _regret(results: Results, name: str) -> Floats:
    """Final regrets of a policy by seed; none if all its runs failed."""
    if name not in results.policies:
        return np.zeros(0)
    (cell,) = results.cells
    return results.regret(cell, name)


def _name(key: CellKey, expression: str) -> str:
    """What a base is called in the tables of a problem's runs."""
    return f"{key.base} | {key.schedule} | {expression}"


def _policy(base: str, schedule: str) -> str:
    """The expression of a base alone or under a schedule, on shared data unless the base refuses that."""
    if schedule == ALONE:
        return base
    (found,) = named(base, "policy")
    own = ", data=own" if policy_info(found.thing).needs_own_data else ""
    return f"Infex({base}, {schedule}{own})"
