"""Two results, run by run: which agree bit for bit, which do not, which are missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from infex.arrays import Floats, Integers

COMPARED = ("t", "regret", "explored", "optimal", "regret_exploring", "regret_greedy", "log_det_ratio")
NOT_COMPARED = ("key", "seconds")  # the code and the clock: neither is what a run gave

Name = tuple[tuple[str, object], ...]


class RunBits(NamedTuple):
    """One run of a table: the name of its content, its rounds, and all that was measured, as bits."""

    key: str
    rounds: Integers
    regret: Floats
    bits: bytes


class Parted(NamedTuple):
    """Two runs of one name that differ: from which recorded round on, and the regret of both at the end.

    `round` is None where the curves agree and only other figures differ. `same_content` says whether the
    same problem, policy and code were played.
    """

    run: str
    round: int | None
    one: float
    other: float
    same_content: bool


class ResultsDiff(NamedTuple):
    """How many runs agree bit for bit, which do not, and which are missing from one of the two."""

    same: int
    different: tuple[Parted, ...]
    only_one: tuple[str, ...]
    only_other: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Have both the same runs, equal to the last bit?"""
        return not (self.different or self.only_one or self.only_other)

    def __str__(self) -> str:
        return (
            f"{self.same:,} runs agree bit for bit, {len(self.different):,} differ, "
            f"{len(self.only_one):,} are in the first alone, {len(self.only_other):,} in the second alone"
        )


def difference(one: pa.Table, other: pa.Table) -> ResultsDiff:
    """What differs between two tables of runs, each named by all columns of both that measure nothing."""
    common = [name for name in one.column_names if name in other.column_names]
    naming = [name for name in common if name not in (*COMPARED, *NOT_COMPARED)]
    measured = [name for name in common if name in COMPARED]
    left, right = (_runs(table, naming, measured) for table in (one, other))
    pairs = [(name, left[name], right[name]) for name in left if name in right]
    different = [_parted(name, a, b) for name, a, b in pairs if a.bits != b.bits]
    return ResultsDiff(
        len(pairs) - len(different),
        tuple(different),
        tuple(_words(name) for name in left if name not in right),
        tuple(_words(name) for name in right if name not in left),
    )


def _runs(table: pa.Table, naming: list[str], measured: list[str]) -> dict[Name, RunBits]:
    """The runs of a table by their names, in its order."""
    rows = table.combine_chunks()
    if not rows.num_rows:
        return {}
    codes = rows["key"].combine_chunks().dictionary_encode().indices.to_numpy()
    order = np.lexsort((rows["t"].to_numpy(), codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    bits = np.stack([rows[name].to_numpy()[order].view(np.int64) for name in measured], axis=1)
    t, regret = rows["t"].to_numpy()[order], rows["regret"].to_numpy()[order]
    firsts = rows.select(["key", *naming]).take(order[starts]).to_pylist()
    runs: dict[Name, RunBits] = {}
    for row, a, b in zip(firsts, starts, [*starts[1:], len(order)], strict=True):
        name = tuple((column, row[column]) for column in naming)
        while name in runs:  # another run of that name, told apart by nothing that the columns say
            name = (*name, ("again", True))
        runs[name] = RunBits(row["key"], t[a:b], regret[a:b], bits[a:b].tobytes())
    return runs


def _parted(name: Name, one: RunBits, other: RunBits) -> Parted:
    both = min(one.rounds.size, other.rounds.size)
    apart = (one.rounds[:both] != other.rounds[:both]) | (
        one.regret[:both].view(np.int64) != other.regret[:both].view(np.int64)
    )
    longer = one if one.rounds.size > other.rounds.size else other
    first = int(np.argmax(apart)) if apart.any() else both
    where = int(longer.rounds[first]) if first < longer.rounds.size else None
    ends = float(one.regret[-1]), float(other.regret[-1])
    return Parted(_words(name), where, *ends, one.key == other.key)


def _words(name: Name) -> str:
    """A run as people say it."""
    facts = dict(name)
    more = [f"{key} {value}" for key, value in facts.items() if key not in ("policy", "environment", "seed")]
    return f"{facts['policy']} on {facts['environment']} with seed {facts['seed']} ({', '.join(more)})"
