"""Results as a table, and what is read from it."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final, overload

import numpy as np
import pyarrow as pa

from infex._stats import Difference, Interval, Spread, mean_intervals, paired, spread
from infex.arrays import Floats, Integers
from infex.errors import InvalidSetting
from infex.files import replace
from infex.lab import comparison
from infex.lab.comparison import Band, ResultsDiff, band_of, difference, slope_of
from infex.lab.fingerprint import commit, digest, versions
from infex.lab.progress import Progress
from infex.lab.runs import Against, PlayedRuns, against, matching
from infex.lab.runs import Cell as Cell
from infex.lab.simulation import Run
from infex.lab.table import Facts, Table, by_round, of_policy, runs_of, write_wide
from infex.lab.tasks import TaskOutcome, outcome_of, shape_of
from infex.policies import Infex, Policy
from infex.registry import label_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from infex.lab.reports.series import Look
    from infex.lab.sweep import Sweep


Drawn = Sequence["str | Policy"] | Mapping[Any, str] | None
LEAST_GRID = 4  # values of a setting


@final
class Results(PlayedRuns):
    """The runs of a sweep that went well, as `table()`, and those that failed, as `failures`.

    `bases` maps the name of a policy to that of the base it explores with. `about` tells how the runs
    were made. Where a method asks for a policy, it is named as in the table or the sweep, or is the object.
    """

    def __init__(
        self,
        table: pa.Table,
        *,
        bases: dict[str, str] | None = None,
        failures: tuple[dict[str, str], ...] = (),
        about: dict[str, Any] | None = None,
        sweep: Sweep | None = None,
    ) -> None:
        super().__init__(table, bases or {}, failures, about or {})
        self._sweep = sweep

    @staticmethod
    def load(folder: str | Path) -> Results:
        """The results that a folder holds, of a sweep or of `save`."""
        from infex.lab.store import read

        return read(folder)

    @staticmethod
    def of(runs: Iterable[Run] | Mapping[str, Iterable[Run]], *, environment: Naming = "by hand") -> Results:
        """Results of runs that `play` and `play_many` gave; a dict of them, {name: runs}, names policies.

        `environment` names the problem, or is a function of a run that does. Runs with one seed on problems
        of one name are paired, so they must be of one problem; others are refused.

        >>> from infex import Greedy, LinUCB
        >>> from infex.lab import environments, play_many
        >>> problem = environments.gaussian(dim=3, arms=5, seed=1)
        >>> runs = {"UCB": play_many(problem, LinUCB(), 50), "greedy": play_many(problem, Greedy(), 50)}
        >>> Results.of(runs).policies
        ['UCB', 'greedy']
        """
        made = made_of(runs, environment)
        bases = {policy: base for policy, base in made.bases.items() if base in made.bases}
        return Results(made.table, bases=bases, about=about(made))

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Writes table, summary, settings and failures into a folder, as `load` and all commands read it.

        A folder with other contents is written to with `force` alone.
        """
        from infex.lab.store import save

        save(self, folder, force)

    def __getstate__(self) -> dict[str, Any]:
        """All but the sweep, whose objects a pickle may not hold."""
        return self.__dict__ | {"_sweep": None}

    def spread(self, cell: Cell, policy: str | Policy) -> Spread:
        """The spread of final regret."""
        return spread(self.regret(cell, policy))

    @functools.cached_property
    def _intervals(self) -> dict[tuple[Cell, str], Interval]:
        """Mean final regret of each cell and policy; all share their draws."""
        return dict(
            zip(self._runs, mean_intervals([runs.regret for runs in self._runs.values()]), strict=True)
        )

    def interval(self, cell: Cell, policy: str | Policy) -> Interval:
        """Mean final regret with its interval of 95 %; fewer than 12 runs are too few for one (NaN)."""
        self._of(cell, policy)
        return self._intervals[cell, self.known(policy)]

    def both(
        self,
        cell: Cell,
        one: str | Policy,
        other: str | Policy,
        figure: Literal["regret", "seconds"] = "regret",
    ) -> tuple[Floats, Floats]:
        """Final "regret" or "seconds" of two policies, over the seeds that both played, by seed."""
        a, b = self._of(cell, one), self._of(cell, other)
        _, left, right = np.intersect1d(a.seeds, b.seeds, return_indices=True)
        if figure == "seconds":
            return a.seconds[left], b.seconds[right]
        return a.regret[left], b.regret[right]

    @overload
    def compare(self, cell: Cell, one: str | Policy, other: str | Policy) -> Difference: ...

    @overload
    def compare(self, cell: str | Policy, one: str | Policy) -> dict[Cell, Difference]: ...

    def compare(
        self, cell: Cell | str | Policy, one: str | Policy, other: str | Policy | None = None
    ) -> Difference | dict[Cell, Difference]:
        """Final regret of one policy minus that of another, over the seeds that both played.

        Without a cell, as in `results.compare("LinUCB", "Greedy")`, for each cell that has both.
        """
        if isinstance(cell, Cell) and other is not None:
            return paired(*self.both(cell, one, other))
        if isinstance(cell, Cell) or other is not None:
            raise InvalidSetting("compare takes two policies, or a cell of results.cells and two policies")
        left, right = self.known(cell), self.known(one)
        return {
            place: self.compare(place, left, right)
            for place in self.cells
            if self.has(place, left) and self.has(place, right)
        }

    def tests(
        self,
        against: str | Policy,
        *,
        policy: str | Policy | None = None,
        cell: Cell | None = None,
        test: Literal["wilcoxon", "sign"] = "wilcoxon",
    ) -> Table:
        """Every policy, or one, less another: a row for each cell with means, medians, intervals, p-values.

        `p` is two-sided, of Wilcoxon's signed ranks or of signs; `p_holm` is corrected for all rows of the
        table (Holm). `below` counts the pairs in which the policy has less regret.
        """
        chosen = None if policy is None else self.known(policy)
        if cell is not None and cell not in self.cells:
            raise InvalidSetting(f"no runs in {cell}; results.cells are the problems that there are")
        return comparison.tests(self, self.known(against), chosen, [cell] if cell else self.cells, test)

    def worst(self, by: Literal["regret", "ratio"] = "regret") -> Table:
        """The problem on which each policy does worst: by mean regret, or by its ratio to the least there.

        `regret_most` is that of its worst run there, with `seed_of_most`.
        """
        return comparison.worst(self, by)

    def slope(self, cell: Cell, policy: str | Policy, since: int | None = None) -> Interval:
        """How fast mean regret grows from round `since` (a tenth of the horizon) on: 1 is linear, 0.5 a root.

        It is the slope of its logarithm against that of the round, with an interval of 95 % over runs.
        """
        return slope_of(*self.curves(cell, policy), since)

    def best(self, cell: Cell | None = None, of: Literal["mean", "median"] = "mean") -> comparison.Best:
        """The policy of the lowest mean or median regret in a cell, and how many it was chosen from.

        Without a cell there must be one problem alone.
        """
        if cell is None and len(self.cells) != 1:
            raise InvalidSetting(f"there are {len(self.cells)} problems: name one of results.cells")
        return comparison.best(self, self.cells[0] if cell is None else cell, of)

    def confirm(
        self,
        seeds: int = 200,
        *,
        cell: Cell | None = None,
        of: Literal["mean", "median"] = "mean",
        neighbours: int = 4,
        workers: int | None = None,
        progress: Progress | bool | None = None,
    ) -> comparison.Confirmation:
        """Plays the best policy of a cell, and the `neighbours` that came next, on so many fresh seeds.

        Seeds go on after the last of the sweep, so none of them has chosen the policy. `workers` and
        `progress` are those of `Sweep.run`.
        """
        from infex.lab.sweep import sweep_behind

        sweep = self._sweep or sweep_behind(self.about)
        return comparison.confirm(self.best(cell, of), sweep, seeds, neighbours, workers, progress)

    def diff(self, other: Results | str | Path) -> ResultsDiff:
        """Which runs agree bit for bit with another's, or a folder's, which do not, which are missing."""
        second = other if isinstance(other, Results) else Results.load(other)
        return difference(by_round(self._lists), by_round(second._lists))

    def bands(self, cell: Cell, policy: str | Policy, of: Literal["mean"] | float = "mean") -> Band:
        """Recorded rounds, the mean or a quantile (0.5 is the median) of regret, and its interval of 95 %.

        Each round has an interval of its own; fewer than 12 runs are too few for any (NaN).
        """
        return band_of(*self.curves(cell, policy), of)

    def band(self, cell: Cell, policy: str | Policy) -> tuple[Integers, Floats, Floats]:
        """Recorded rounds, mean regret up to them, and its standard deviation (0 for one run)."""
        rounds, regret = self.curves(cell, policy)
        std = regret.std(axis=0, ddof=1) if len(regret) > 1 else np.zeros(rounds.size)
        return rounds, regret.mean(axis=0), std

    def summary(self) -> Table:
        """One row for each cell and policy: final regret with its interval and spread, and computation time.

        One run has no standard deviation, and fewer than 12 have no interval (null).
        """
        return comparison.summary(self)

    def latex(
        self,
        show: Look = "std",
        *,
        policies: Drawn = None,
        against: str | Policy | None = None,
        caption: str | None = None,
        label: str = "tab:regret",
    ) -> str:
        r"""Final regret as a LaTeX table (booktabs): a row for each policy, a column for each problem.

        `show` and `policies` are as in `plot`. Bold are the least of a column and all that are not
        significantly worse, paired over seeds (Wilcoxon's test, 5 %, Holm's correction); with `against`, a
        dagger marks what differs significantly from that policy. `caption` is LaTeX; without one it says what
        the numbers are.
        """
        from infex.lab.reports.latex import latex

        other = None if against is None else self.known(against)
        return latex(self, show, self._named(policies), other, caption, label)

    def report(self, path: str | Path) -> None:
        """Writes the report as one HTML page that loads nothing: verdicts, charts, tables and settings."""
        from infex.lab.report import report_page

        replace(Path(path), report_page(self).encode())

    def write(self, folder: Path) -> None:
        """Writes `results.parquet` and `summary.csv`."""
        from infex.lab.store import write_tables

        write_tables(folder, functools.partial(write_wide, self._lists, self.settings), self.summary().arrow)

    def against(self, setting: str, **only: object) -> Against:
        """Final regret by the values of a setting, with a line for each mixture of the others.

        `setting` is a column of the table, such as "period", "scale", "delta", "penalty", "horizon", "arms"
        or "environment_gap"; `only` keeps runs whose columns have these values, or one of a list.
        `.table()` of what comes out has the numbers, and `.plot()` draws them.
        """
        return against(self._only(only).finals, setting)

    def plot(
        self,
        *,
        policies: Drawn = None,
        show: Look | None = None,
        log: bool = False,
        times: bool = False,
        columns: int | None = None,
        size: tuple[float, float] | None = None,
        against: str | None = None,
        **only: object,
    ) -> Figure:
        """A matplotlib figure of regret, with a panel for each problem.

        `policies` are drawn in the order given; a dict, {policy: name}, names them in the legend. `only`
        keeps runs whose columns have these values, or one of a list, as in `against`: `plot(dim=10)`,
        `plot(arms=50, scale=0.2)`. `show` is "std" (means with one standard deviation, as if nothing is
        said), "interval" (means with intervals of 95 %) or "median" (medians with quartiles); with `log`,
        regret and rounds have logarithmic axes. With `times` a panel of computation times stands beside each.
        `columns` is how many problems stand side by side, `size` is width and height in inches.

        A grid of settings, such as "LinUCB(scale=[0.1, 0.2, 0.5, 1])", is drawn as final regret against that
        setting; `against` names another setting, or is "round" for regret by round. If no `show` is given it
        has means with one standard error, and medians; with `log`, regret has a logarithmic axis, and so has
        the setting if its values are positive numbers.
        """
        from infex.lab.reports.figures import regret_figure

        names = self._named(policies)
        kept = self._only(only if policies is None else {"policy": list(names)} | only)
        setting = kept.grid_setting() if against is None else against
        if setting not in (None, "round"):
            return kept.against(setting).plot(show, log, size, kept._without(setting, names))
        layout: dict[str, Any] = {"times": times, "columns": columns, "size": size}
        return regret_figure(kept, kept.cells, names=names, show=show or "std", log=log, **layout)

    def _named(self, policies: Drawn) -> dict[str, str]:
        """The policies to draw, by their names in the table, with the names that readers see."""
        if policies is None:
            return {policy: policy for policy in self.policies}
        if isinstance(policies, Mapping):
            return {self.known(policy): name for policy, name in policies.items()}
        if isinstance(policies, str):
            raise InvalidSetting(f"policies must be a list, or a dict of names, got the text {policies!r}")
        known = [(self.known(policy), policy) for policy in policies]
        return {name: given if isinstance(given, str) else name for name, given in known}

    def grid_setting(self) -> str | None:
        """The setting of policies that a sweep went through, if a grid of it is what was played.

        It is the number with the most values, if there are at least 4 and most policies have one.
        """
        values: dict[str, dict[str, float]] = {}
        for record in self.settings["policies"]:
            if record["policy"] in self.policies:
                for setting, value in record.items():
                    if (
                        isinstance(value, int | float)
                        and not isinstance(value, bool)
                        and setting != "horizon"
                    ):
                        values.setdefault(setting, {})[record["policy"]] = value
        counts = {
            setting: len(set(found.values()))
            for setting, found in values.items()
            if len(found) > len(self.policies) / 2
        }
        most = max(counts, key=counts.__getitem__, default=None)
        return most if most is not None and counts[most] >= LEAST_GRID else None

    def _without(self, setting: str, names: Mapping[str, str]) -> dict[str, float]:
        """Mean regret of the policies that do not have a setting, by their names, if there is one problem."""
        having = {record["policy"] for record in self.settings["policies"] if record.get(setting) is not None}
        if len(self.cells) > 1 or not having:
            return {}
        rest = [policy for policy in self.policies if policy not in having]
        return {names[policy]: self.spread(self.cells[0], policy).mean for policy in rest}

    def _only(self, only: dict[str, object]) -> Results:
        """The runs whose columns have these values, or one of a list; policies are named as everywhere."""
        if not only:
            return self
        lists = (list, tuple, set)
        wanted: dict[str, Any] = {
            name: value if isinstance(value, lists) else [value] for name, value in only.items()
        }
        if "policy" in wanted:
            wanted["policy"] = [self.known(policy) for policy in wanted["policy"]]
        kept = self._whole.filter(matching(self.finals, wanted))
        return Results(kept, bases=self.bases, about=self.about)


Naming = str | Callable[[Run], str]


class Made(NamedTuple):
    """Runs as a table; the bases of policies by name, in the order in which they came; and their settings.

    Of a name that stands for policies of several settings, those are known which all of them share.
    """

    table: pa.Table
    bases: dict[str, str | None]
    settings: dict[str, list[Facts]]


def made_of(runs: Iterable[Run] | Mapping[str, Iterable[Run]], environment: Naming) -> Made:
    """What runs are in tables."""
    outcomes: list[TaskOutcome] = []
    bases: dict[str, str | None] = {}
    facts: dict[tuple[str, int], Facts] = {}
    checks = _Pairing({}, set())
    for policy, run in _named(runs):
        label = environment if isinstance(environment, str) else environment(run)
        checks.enter(run, policy, label)
        outcomes.append(_outcome(run, policy, label))
        bases.setdefault(policy, label_of(run.policy.base) if isinstance(run.policy, Infex) else None)
        told = {"policy": policy, "horizon": run.horizon} | of_policy(run.policy)
        known = facts.setdefault((policy, run.horizon), told)
        facts[policy, run.horizon] = {name: value for name, value in known.items() if told.get(name) == value}
    return Made(runs_of(outcomes), bases, {"policies": list(facts.values()), "environments": []})


class _Pairing(NamedTuple):
    """What runs have been seen: problems by seed, and runs by policy and seed."""

    problems: dict[tuple[object, ...], str]
    runs: set[tuple[object, ...]]

    def enter(self, run: Run, policy: str, label: str) -> None:
        """Refuses a run that would be compared with one of another problem, or be one of two."""
        shape, problem = (label, *shape_of(run.instance), run.horizon), digest(run.instance)
        if self.problems.setdefault((*shape, run.seed), problem) != problem:
            raise InvalidSetting(
                f"two problems with seed {run.seed} are both called {label!r}, and their runs would be "
                "compared as if they were one: play each problem with a seed of its own "
                "(play_many(..., paired=True)), or name them by environment=lambda run: ..."
            )
        if (*shape, run.seed, policy) in self.runs:
            raise InvalidSetting(
                f"two runs of {policy!r} on {label!r} have seed {run.seed}; "
                "a dict of runs, {name: runs}, tells policies apart"
            )
        self.runs.add((*shape, run.seed, policy))


def about(made: Made) -> dict[str, Any]:
    """What a report says of runs that were made by hand."""
    horizons = made.table["horizon"].unique().to_pylist()
    return {
        "title": "Runs made by hand",
        "environments": made.table["environment"].unique().to_pylist(),
        "policies": list(made.bases),
        "horizon": horizons[0] if len(horizons) == 1 else horizons,
        "seeds": sorted(made.table["seed"].unique().to_pylist()),
        "settings": made.settings,
        "versions": versions(),
        "commit": commit(),
    }


def _named(runs: Iterable[Run] | Mapping[str, Iterable[Run]]) -> Iterator[tuple[str, Run]]:
    """Every run with the name of its policy: that of its key, or the one that a sweep would give."""
    _refuse_others(runs, Run | Iterable)
    groups = runs.items() if isinstance(runs, Mapping) else [(None, runs)]
    for name, some in groups:
        for run in [some] if isinstance(some, Run) else some:
            _refuse_others(run, Run)
            yield (label_of(run.policy) if name is None else name), run


def _refuse_others(given: object, kind: type | types.UnionType) -> None:
    if not isinstance(given, kind):
        raise InvalidSetting(f"runs must be what play and play_many give, got a {type(given).__name__}")


def _outcome(run: Run, policy: str, label: str) -> TaskOutcome:
    content = ["by hand", label, digest(run.instance), policy, digest(run.policy), run.seed, run.horizon]
    key = hashlib.blake2b(repr(content).encode(), digest_size=12).hexdigest()
    return outcome_of(run, key, label, policy)
