"""Results as a table, and what is read from it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final, overload

import numpy as np
import pyarrow as pa

from infex.arrays import Floats, Integers
from infex.errors import InvalidSetting
from infex.experiments import best as choosing
from infex.experiments import by_hand, summaries
from infex.experiments.bands import Band, band_of, slope_of
from infex.experiments.cells import Cell as Cell
from infex.experiments.diffing import ResultsDiff, difference
from infex.experiments.played import PlayedRuns
from infex.experiments.run_lists import by_round
from infex.experiments.runs_table import Table
from infex.experiments.setting_columns import write_wide
from infex.experiments.settings_found import Against, against, matching
from infex.experiments.sweep_log import Progress
from infex.policies import Policy
from infex.simulation import Run
from infex.statistics import Difference, Interval, Spread, mean_intervals, paired, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from infex.experiments.sweep import Sweep
    from infex.reports.strips import Look


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
        from infex.experiments.folder import read

        return read(folder)

    @staticmethod
    def of(
        runs: Iterable[Run] | Mapping[str, Iterable[Run]], *, environment: by_hand.Naming = "by hand"
    ) -> Results:
        """Results of runs that `play` and `play_many` gave; a dict of them, {name: runs}, names policies.

        `environment` names the problem, or is a function of a run that does. Runs with one seed on problems
        of one name are paired, so they must be of one problem; others are refused.

        >>> from infex import Greedy, LinUCB, environments, play_many
        >>> problem = environments.gaussian(dim=3, arms=5, seed=1)
        >>> runs = {"UCB": play_many(problem, LinUCB(), 50), "greedy": play_many(problem, Greedy(), 50)}
        >>> Results.of(runs).policies
        ['UCB', 'greedy']
        """
        made = by_hand.made_of(runs, environment)
        bases = {policy: base for policy, base in made.bases.items() if base in made.bases}
        return Results(made.table, bases=bases, about=by_hand.about(made))

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Writes table, summary, settings and failures into a folder, as `load` and all commands read it.

        A folder with other contents is written to with `force` alone.
        """
        from infex.experiments.folder import save

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
        return summaries.tests(self, self.known(against), chosen, [cell] if cell else self.cells, test)

    def worst(self, by: Literal["regret", "ratio"] = "regret") -> Table:
        """The problem on which each policy does worst: by mean regret, or by its ratio to the least there.

        `regret_most` is that of its worst run there, with `seed_of_most`.
        """
        return summaries.worst(self, by)

    def slope(self, cell: Cell, policy: str | Policy, since: int | None = None) -> Interval:
        """How fast mean regret grows from round `since` (a tenth of the horizon) on: 1 is linear, 0.5 a root.

        It is the slope of its logarithm against that of the round, with an interval of 95 % over runs.
        """
        return slope_of(*self.curves(cell, policy), since)

    def best(self, cell: Cell | None = None, of: Literal["mean", "median"] = "mean") -> choosing.Best:
        """The policy of the lowest mean or median regret in a cell, and how many it was chosen from.

        Without a cell there must be one problem alone.
        """
        if cell is None and len(self.cells) != 1:
            raise InvalidSetting(f"there are {len(self.cells)} problems: name one of results.cells")
        return choosing.best(self, self.cells[0] if cell is None else cell, of)

    def confirm(
        self,
        seeds: int = 200,
        *,
        cell: Cell | None = None,
        of: Literal["mean", "median"] = "mean",
        neighbours: int = 4,
        workers: int | None = None,
        progress: Progress | bool | None = None,
    ) -> choosing.Confirmation:
        """Plays the best policy of a cell, and the `neighbours` that came next, on so many fresh seeds.

        Seeds go on after the last of the sweep, so none of them has chosen the policy. `workers` and
        `progress` are those of `Sweep.run`.
        """
        from infex.experiments.sweep_record import sweep_behind

        sweep = self._sweep or sweep_behind(self.about)
        return choosing.confirm(self.best(cell, of), sweep, seeds, neighbours, workers, progress)

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
        return summaries.summary(self)

    def latex(self, show: Look = "std") -> str:
        """Final regret as a LaTeX table (booktabs): a row for each policy, a column for each problem.

        `show` as in `plot`: means with standard deviations or intervals, or medians with quartiles.
        """
        from infex.reports.latex import latex

        return latex(self, show)

    def write(self, folder: Path) -> None:
        """Writes `results.parquet` and `summary.csv`."""
        from infex.experiments.folder import write_tables

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
        dim: int | None = None,
        *,
        show: Look | None = None,
        log: bool = False,
        against: str | None = None,
        **only: object,
    ) -> Figure:
        """A matplotlib figure of regret and time, with a row for each problem.

        `dim` and `only` keep runs whose columns have these values, or one of a list, as in `against`:
        `plot(dim=10, policy=["LinUCB", "Greedy"])`, `plot(arms=50, scale=0.2)`. `show` is "std" (means with
        one standard deviation, as if nothing is said), "interval" (means with intervals of 95 %) or "median"
        (medians with quartiles); with `log`, regret and rounds have logarithmic axes.

        With `against` it is final regret against the values of that setting. If no `show` is given it has
        means with one standard error, and medians; with `log`, regret has a logarithmic axis, and so has the
        setting if its values are positive numbers.
        """
        from infex.reports import figure

        if dim is not None:
            only["dim"] = dim
        if against is not None:
            return self.against(against, **only).plot(show, log)
        return figure(self._only(only), show=show or "std", log=log)

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
