"""A warm bandit from parts of a log, each learnt by itself, here or on a cluster: sums add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.bandit import Bandit, Changes
from infex.errors import InvalidLog
from infex.evaluation.log_arguments import own_part
from infex.evaluation.warm_bandit import bandit, rounds_of
from infex.logs import Log, log_of
from infex.logs.files import guarded_reading
from infex.logs.log import Fingerprint
from infex.logs.schema import header_of
from infex.policies.base import Policy


class Cluster(Protocol):
    """What is asked of a client of Dask (`dask.distributed.Client`)."""

    def map(self, function: Callable[..., Any], *iterables: Iterable[Any], pure: bool) -> Sequence[Any]:
        """Futures of a function of each."""

    def gather(self, futures: Sequence[Any]) -> Sequence[Any]:
        """What they came to."""


@final
class LogPart(NamedTuple):
    """One row group of a file of Parquet: whoever reads it needs the path alone."""

    path: str
    group: int

    def read(self) -> Log:
        """Its rows."""
        import pyarrow.parquet as pq

        with guarded_reading(self.path), pq.ParquetFile(self.path) as file:
            table = file.read_row_group(self.group, use_threads=False)
            return log_of(table, header_of(file.schema_arrow.metadata))


def log_parts(path: str | Path) -> list[LogPart]:
    """The row groups of a log, as `write` or `infex log convert` has left it.

    For `bandit_of_parts`, on several machines that see the same files.

    `path` is the file of Parquet.
    """
    import pyarrow.parquet as pq

    with guarded_reading(str(path)), pq.ParquetFile(path) as file:
        return [LogPart(str(path), group) for group in range(file.num_row_groups)]


class Lesson(NamedTuple):
    """What one part teaches: sums, or the bandit itself for the first part; rounds, and marks of the log."""

    learnt: Bandit | Changes
    last: int
    rounds: Integers
    different: Bools
    losses: Floats
    taught: Fingerprint


def lesson_of(part: Log | LogPart, policy: Policy, settings: dict[str, Any], is_first: bool) -> Lesson:
    """Learns one part."""
    log = own_part(part.read() if isinstance(part, LogPart) else part)
    explored, different, losses = rounds_of(log)
    learnt = bandit(log, policy, fresh=True, **settings)
    given = learnt if is_first else learnt.changes()
    rest = log.round[explored], different[explored], losses[explored]
    return Lesson(given, int(log.round.max()), *rest, Fingerprint.of(log))


def bandit_of_parts(
    parts: Iterable[Log | LogPart],
    policy: Policy,
    *,
    client: Cluster | None = None,
    fresh: bool = False,
    **settings: Any,
) -> Bandit:
    """The bandit that was told all rewards of a log, learnt part by part: V and b add up.

    `parts` are those of `read_parts`, or of `log_parts`; with a `client` of Dask each is learnt by one of its
    workers, and only sums come back. `fresh` and the `settings` are those of `evaluation.bandit`. Not for
    estimators whose rewards count by their order.

    `policy` is the bandit's.

    >>> from infex import Greedy, evaluation
    >>> log = evaluation.Log(arm=[0, 1, 0, 1], reward=[1.0, 0.0, 1.0, 0.5], arms=[[1.0, 0.0], [0.0, 1.0]])
    >>> parts = [log.take(slice(0, 2)), log.take(slice(2, 4))]
    >>> evaluation.bandit_of_parts(parts, Greedy()).pulls.tolist()
    [2, 2]
    """
    if client is None:
        lessons = (lesson_of(part, policy, settings, not number) for number, part in enumerate(parts))
        return _added(lessons, fresh)
    given = list(parts)
    rest = [policy] * len(given), [settings] * len(given), [not number for number in range(len(given))]
    return _added(client.gather(client.map(lesson_of, given, *rest, pure=False)), fresh)


def _added(lessons: Iterable[Lesson], fresh: bool) -> Bandit:
    """The bandit of the first part, to which the sums of the others are added in their order."""
    found: Bandit | None = None
    heard: list[Lesson] = []
    for lesson in lessons:
        if isinstance(lesson.learnt, Bandit):
            found = lesson.learnt
        else:
            assert found is not None
            found.apply(lesson.learnt)
            found.taught = found.taught + lesson.taught
        heard.append(lesson._replace(learnt=NOTHING_CHANGED))
    if found is None:
        raise InvalidLog("a log must have at least one row, got none")
    if not fresh:
        rounds, different, losses = (np.concatenate([part[place] for part in heard]) for place in (2, 3, 4))
        found.resume(max(part.last for part in heard), rounds, different, losses)
    return found


NOTHING_CHANGED = Changes({}, ())
