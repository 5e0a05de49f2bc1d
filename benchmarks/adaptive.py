"""Schedules that look at the data beside fixed ones: the tables of docs/adaptive.md.

`python -m benchmarks.adaptive` plays what is missing in build/adaptive, which takes about 20 minutes of one
core, and writes docs/measured/adaptive.json. The names of parts (see `SWEEPS`) play these alone.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import infex
from infex._stats import Interval, mean_intervals, paired
from infex.arrays import Floats
from infex.errors import SparseExploration
from infex.lab import Results, Sweep
from infex.lab.results import Cell
from infex.streams import stream

ROOT = Path(__file__).parents[1]
FOLDER, FILE = ROOT / "build" / "adaptive", ROOT / "docs" / "measured" / "adaptive.json"
BASE = "LinUCB(scale=0.3)"
BASES = (BASE, "LinUCB(scale=0.2)", "LinTS(inflation=None)")
FIXED = ("every(5)", "every(20)", "every(100)", "power(0.667)", "logarithmic(3)", "always()")
RARER = ("every(40)", "every(65)", "every(200)", "every(500)")  # so that rivals explore about as often
ADAPTIVE = (
    "ledger(0.3)",
    "ledger(1.0)",
    "ledger(3.0)",
    "doubtful(always(), scale=0.1)",
    "doubtful(every(20))",
)
FIXED_ARMS = {
    "d = 10, K = 10": "gaussian(dim=10, arms=10)",
    "d = 10, K = 100": "gaussian(dim=10, arms=100)",
    "d = 20, K = 100": "gaussian(dim=20, arms=100)",
    "near ties": "near_ties(dim=10, arms=10, ties=2, gap=0.005)",
    "collinear": "collinear(dim=10, arms=20, spread=0.1)",
    "clear gap": "sphere(dim=5, arms=20, gap=0.3)",
    "heavy tails": "gaussian(dim=10, arms=10, rewards=student, degrees=2.1)",
}
TWO_ARMS = {
    f"gap {gap}, {sign}": f"lower_bound(gap={gap}, which={which})"
    for gap in (0.05, 0.1, 0.2, 0.5)
    for which, sign in ((1, "arm 0 is better"), (2, "arm 1 is better"))
}
CONTEXTS = {
    "moving contexts": "changing(dim=10, arms=20)",
    "recurring contexts": "changing(dim=10, arms=20, best=recurring)",
}
DRIFT = {"jump at half time": "gaussian(dim=10, arms=10, moves=steps(every=10000))"}
LONG = {name: FIXED_ARMS[name] for name in ("d = 10, K = 10", "d = 10, K = 100", "near ties")}
LONG |= {name: TWO_ARMS[name] for name in TWO_ARMS if "0.1" in name or "0.5" in name}

REFERENCE = "logarithmic(3)"
SLACK = 1.1  # a rival may explore so many times as often
RESAMPLES = 2000
FIRST_SEED = 7000  # no seed below it is played here, so none of an earlier study
SEEDS, SEEDS_OF_TWO_ARMS, LONG_SEEDS = 84, 224, 24


SLOPE_GAPS = (0.1, 0.2, 0.5)
SLOPE_POLICIES = {
    "ledger(1), LinUCB": "Infex(LinUCB(delta=1e-7), ledger(1.0))",
    "logarithmic(1), LinUCB": "Infex(LinUCB(delta=1e-7), logarithmic(1))",
    "logarithmic(2), LinUCB": "Infex(LinUCB(delta=1e-7), logarithmic(2))",
}
NARROW = {"ledger(1), LinUCB(scale=0.3)": "Infex(LinUCB(delta=1e-7, scale=0.3), ledger(1.0))"}
SLOPE_HORIZONS = (10**3, 10**4, 10**5, 10**6)
SLOPE_SEEDS, LONGEST_SEEDS = 100, 16


def _slope(policies: dict[str, str], horizons: tuple[int, ...], seeds: int) -> Sweep:
    """With one delta a run is the beginning of every longer one, so horizons are points of one curve."""
    environments = {
        f"gap {gap}, arm {which - 1} is better": f"lower_bound(gap={gap}, which={which})"
        for gap in SLOPE_GAPS
        for which in (1, 2)
    }
    seeded = range(FIRST_SEED, FIRST_SEED + seeds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseExploration)  # that is what is looked at
        return Sweep(environments=environments, policies=policies, horizon=horizons, seeds=seeded)


def _sweep(environments: dict[str, str], bases: tuple[str, ...], seeds: int, **more: Any) -> Sweep:
    settings: dict[str, Any] = {"schedules": FIXED + ADAPTIVE + RARER, "horizon": 20_000} | more
    numbers = range(FIRST_SEED, FIRST_SEED + seeds)
    return Sweep(environments=environments, bases=bases, seeds=numbers, **settings)


SWEEPS = {
    **{
        f"{part}-{number}": _sweep(problems, (base,), seeds)
        for number, base in enumerate(BASES)
        for part, problems, seeds in (
            ("arms", FIXED_ARMS, SEEDS),
            ("two", TWO_ARMS, SEEDS_OF_TWO_ARMS),
            ("drift", DRIFT, SEEDS),
        )
    },
    **{
        f"contexts-{number}": _sweep(CONTEXTS, (base,), SEEDS, schedules=FIXED + ADAPTIVE)
        for number, base in enumerate(BASES)
    },
    **{
        f"discounted-{number}": _sweep(DRIFT, (base,), SEEDS, estimator="Discounted(rate=0.9995)")
        for number, base in enumerate(BASES)
    },
    "slope": _slope(SLOPE_POLICIES | NARROW, SLOPE_HORIZONS, SLOPE_SEEDS),
    "slope-longest": _slope(SLOPE_POLICIES, (10**7,), LONGEST_SEEDS),
    "long": _sweep(LONG, (BASE,), LONG_SEEDS, horizon=200_000, schedules=FIXED + ADAPTIVE),
}


def play(part: str) -> Results:
    """The runs of a part; those that are in its folder are not played again."""
    return SWEEPS[part].run(out=FOLDER / part, workers=1)


# Tables


REGRET, CALLS, DEVIATIONS = range(3)
Problem = str
Pair = tuple[str, str]  # a base and a schedule
Played = dict[Problem, dict[Pair, Floats]]  # regret, calls and deviations of each run, by seed, (3, seeds)


def runs_of(results: Results, bases: Iterable[str]) -> Played:
    """The runs of every base with every schedule, by problem."""
    return {
        cell.environment: {
            (base, schedule): _figures(results, cell, f"Infex({base}, {schedule})")
            for base in bases
            for schedule in FIXED + ADAPTIVE + RARER
            if results.has(cell, f"Infex({base}, {schedule})")
        }
        for cell in results.cells
    }


def _figures(results: Results, cell: Cell, policy: str) -> Floats:
    columns = (results.regret, results.explored, results.deviations)
    return np.array([column(cell, policy) for column in columns], dtype=np.float64)


def short_runs() -> Played:
    """All problems of 20,000 rounds with all bases; a jump with a discount is a problem of its own."""
    found: Played = {}
    for part in ("arms", "two", "contexts", "drift", "discounted"):
        for number, base in enumerate(BASES):
            for problem, runs in runs_of(play(f"{part}-{number}"), [base]).items():
                name = f"{problem}, discounted" if part == "discounted" else problem
                found.setdefault(name, {}).update(runs)
    return found


def both_signs(played: Played) -> Played:
    """The same, but of two arms with one gap the means over both signs: which is better nobody knows."""
    found: Played = {}
    for name, pairs in played.items():
        gap, _, sign = name.partition(", ")
        if not sign.endswith("is better"):
            found[name] = pairs
        elif f"two arms, {gap}" not in found:
            others = played[f"{gap}, arm 1 is better"]
            found[f"two arms, {gap}"] = {pair: (runs + others[pair]) / 2 for pair, runs in pairs.items()}
    return found


def table(title: str, note: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> dict[str, Any]:
    """A table as docs/measured has it."""
    return {"title": title, "note": note, "columns": [*columns], "rows": [[*row] for row in rows]}


def by_problem(title: str, note: str, played: Played, problems: Iterable[str]) -> dict[str, Any]:
    """Mean regret with its interval, and mean calls and deviations, of every schedule with `BASE`."""
    names, rows = [*problems], []
    for schedule in FIXED + ADAPTIVE:
        cells = []
        for name in names:
            regret, calls, deviations = played[name][BASE, schedule]
            (mean,) = mean_intervals([regret])
            cells.append(f"{_interval(mean)}; {calls.mean():,.0f}, {deviations.mean():,.0f}")
        rows.append([f"`{schedule}`", *cells])
    return table(title, note, ["schedule", *names], rows)


def in_all(played: Played) -> dict[str, Any]:
    """Every pair against logarithmic(3) with the same base: geometric means of ratios over all problems."""
    rows = []
    for base in BASES:
        for schedule in FIXED + ADAPTIVE:
            if schedule == REFERENCE:
                continue
            ratios = [_ratio(played, base, schedule, figure) for figure in range(3)]
            gaps = [
                paired(pairs[base, schedule][REGRET], pairs[base, REFERENCE][REGRET])
                for pairs in played.values()
            ]
            lower, higher = sum(gap.high < 0 for gap in gaps), sum(gap.low > 0 for gap in gaps)
            rows.append([f"`{base}`", f"`{schedule}`", *ratios, f"{lower}, {higher} of {len(played)}"])
    note = (
        f"Geometric means over problems of 20,000 rounds of the ratio to `{REFERENCE}` with the same base, "
        "with 95 % intervals by drawing seeds again (percentile bootstrap). The last column: on how many "
        "problems the paired interval of the difference in regret lies below 0, and above it."
    )
    heads = ("base", "schedule", "regret", "calls", "deviations", "regret lower, higher")
    return table("One setting for all problems.", note, heads, rows)


def _ratio(played: Played, base: str, schedule: str, figure: int) -> str:
    """The geometric mean over problems of a ratio of means; seeds are drawn again in each problem."""
    logs, drawn = [], []
    for name, pairs in played.items():
        one, other = (pairs[base, each][figure] for each in (schedule, REFERENCE))
        picked = stream(0, "adaptive", name).integers(one.size, size=(RESAMPLES, one.size))
        logs.append(np.log(one.mean() / other.mean()))
        drawn.append(np.log(one[picked].mean(axis=1) / other[picked].mean(axis=1)))
    low, high = np.exp(np.quantile(np.mean(drawn, axis=0), (0.025, 0.975)))
    return f"{np.exp(np.mean(logs)):.2f} [{low:.2f}, {high:.2f}]"


def against_fixed(played: Played, figure: int, counted: str) -> dict[str, Any]:
    """Each adaptive schedule less the best of the fixed pairs that explore no more often."""
    rows = []
    for name, pairs in played.items():
        cells = []
        for schedule in ADAPTIVE:
            mine = pairs[BASE, schedule]
            rivals = [
                runs[REGRET]
                for pair, runs in pairs.items()
                if pair[1] not in ADAPTIVE and runs[figure].mean() <= SLACK * mine[figure].mean()
            ]
            if not rivals:
                cells.append("none as rare")
                continue
            gap = paired(mine[REGRET], min(rivals, key=lambda regret: float(regret.mean())))
            mark = "**" if gap.settled else ""
            cells.append(f"{mark}{gap.mean:+,.0f}{mark} [{gap.low:+,.0f}, {gap.high:+,.0f}]")
        rows.append([name, *cells])
    note = (
        "Regret less that of a fixed rival, paired, with its 95 % interval; bold where this excludes 0, "
        f"negative where the schedule that looks at the data is better. It explores by `{BASE}`. The rival "
        f"has at most {SLACK:g} times as many {counted}, and the least mean regret of all such pairs of base "
        f"and schedule, out of {len(BASES) * len(FIXED + RARER)} ({len(BASES) * len(FIXED)} in contexts). It "
        "was chosen on these very seeds, which favours it: what beats it does so in spite of that, and what "
        "loses to it may owe that to the choice."
    )
    return table(f"At no more {counted}.", note, ["problem", *(f"`{each}`" for each in ADAPTIVE)], rows)


def slopes() -> list[dict[str, Any]]:
    """Explorations and regret of the two arms by round, and how fast explorations grow with log t."""
    most, longest = play("slope"), play("slope-longest")
    counts, growth = [], []
    for place in dict.fromkeys(cell.environment for cell in most.cells):
        cells = [cell for cell in (*most.cells, *longest.cells) if cell.environment == place]
        gap = float(place.split()[1].rstrip(","))
        for policy in SLOPE_POLICIES | NARROW:
            played = [
                (results, cell)
                for cell in cells
                for results in (most if cell.horizon else longest,)
                if results.has(cell, policy)
            ]
            figures = [_figures(results, cell, policy) for results, cell in played]
            words = []
            for regret, calls, deviations in figures:
                (loss,) = mean_intervals([regret])
                words.append(f"{calls.mean():,.0f}, {deviations.mean():,.0f}; {_interval(loss)}")
            words += [""] * (len(SLOPE_HORIZONS) + 1 - len(words))
            counts.append([place, f"`{policy}`", *words])
            if "ledger" in policy:
                growth.append([place, f"`{policy}`", *_steps(figures)])
        if place.endswith("arm 0 is better"):
            growth.append([place, f"dn/dt = rho(n); in the limit {2 / gap**2:,.0f}", *_sketched_steps(gap)])
    rounds = [f"t = 10^{round(math.log10(t))}" for t in (*SLOPE_HORIZONS, 10**7)]
    note = (
        "Mean calls, deviations; regret with its 95 % interval, up to round t. "
        f"{SLOPE_SEEDS} runs up to 10^6, {LONGEST_SEEDS} of them up to 10^7. LinUCB has delta = 10^-7."
    )
    steps = (
        "Deviations from round t to 10 t, divided by log 10, with 95 % intervals over runs: the slope "
        "against log t. Where arm 0 is better, there is the slope of a sketch, too."
    )
    between = [f"10^{k} to 10^{k + 1}" for k in range(3, 7)]
    return [
        table("Two arms, by round.", note, ["problem", "policy", *rounds], counts),
        table("How fast the ledger explores.", steps, ["problem", "policy", *between], growth),
    ]


def _steps(figures: list[Floats]) -> list[str]:
    """What each tenfold of rounds adds to deviations, for one unit of log t."""
    found = []
    for before, after in itertools.pairwise(each[2] for each in figures):
        runs = min(before.size, after.size)
        (step,) = mean_intervals([(after[:runs] - before[:runs]) / math.log(10)])
        found.append(f"{step.value:,.1f} [{step.low:,.1f}, {step.high:,.1f}]")
    return found + [""] * (4 - len(found))


def _sketched_steps(gap: float) -> list[str]:
    """The same if each exploration waits until S is 1, and the estimate of theta is always -gap.

    After n explorations the deviation of that estimate is D = 1/sqrt(1 + n), so that a round adds
    D psi(gap/D), psi(z) = phi(z) - z Phi(-z).
    """
    distances = [1.0 / math.sqrt(1 + n) for n in range(int((7 / gap) ** 2))]  # psi(7) is 2e-13
    losses = np.array([distance * _psi(gap / distance) for distance in distances])
    waits = np.maximum(np.ceil(1.0 / losses), 2.0)
    counts = np.searchsorted(np.cumsum(waits), [10.0**k for k in range(3, 8)], side="right")
    return [f"{step:,.1f}" for step in np.diff(counts) / math.log(10)]


def _psi(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - z * math.erfc(z / math.sqrt(2)) / 2


def _interval(interval: Interval) -> str:
    digits = 0 if abs(interval.value) >= 10 else 1
    value, low, high = (f"{each:,.{digits}f}" for each in interval)
    return f"{value} [{low}, {high}]"


def tables() -> list[dict[str, Any]]:
    """All tables of the page."""
    played = short_runs()
    whole = both_signs(played)
    arms, two = list(FIXED_ARMS), list(TWO_ARMS)
    note = (
        f"`{BASE}`, 20,000 rounds: mean regret with its 95 % interval (bootstrap-t); mean calls, mean "
        "deviations, over {seeds} seeds."
    )
    few, many = note.format(seeds=SEEDS), note.format(seeds=SEEDS_OF_TWO_ARMS)
    rest = [*CONTEXTS, *DRIFT, *(f"{name}, discounted" for name in DRIFT)]
    long = runs_of(play("long"), [BASE])
    long_note = f"`{BASE}`, 200,000 rounds, {LONG_SEEDS} seeds, as above."
    return [
        in_all(whole),
        against_fixed(whole, DEVIATIONS, "deviations"),
        against_fixed(whole, CALLS, "calls"),
        by_problem("Random arms.", few, played, arms[:3]),
        by_problem("Structure.", few, played, arms[3:]),
        by_problem("Two arms, small gaps.", many, played, two[:4]),
        by_problem("Two arms, large gaps.", many, played, two[4:]),
        by_problem("Contexts and jumps.", few, played, rest),
        by_problem("Ten times as long.", long_note, long, list(LONG)[:3]),
        by_problem("Ten times as long, two arms.", long_note, long, list(LONG)[3:]),
        *slopes(),
    ]


def main() -> None:
    """Plays what is missing, and writes the file of the page."""
    if sys.argv[1:]:
        for part in sys.argv[1:]:
            print(part, play(part))
        return
    found: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "how": "`python -m benchmarks.adaptive`.",
        "versions": {"infex": infex.__version__, "numpy": np.__version__},
        "tables": tables(),
    }
    FILE.write_text(json.dumps(found, indent=1) + "\n")
    for each in found["tables"]:
        print(f"\n{each['title']} {each['note']}")
        for row in [each["columns"], *each["rows"]]:
            print(" | ".join(row))


if __name__ == "__main__":
    main()
