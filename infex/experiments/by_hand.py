"""Runs that were made by hand, with `play` or `play_many`, as results."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from infex.errors import InvalidSetting
from infex.experiments.content import digest
from infex.experiments.provenance import commit, versions
from infex.experiments.run_lists import runs_of
from infex.experiments.setting_columns import Facts, of_policy
from infex.experiments.tasks import TaskOutcome, outcome_of, shape_of
from infex.policies import Infex
from infex.registry import label_of
from infex.simulation import Run

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
