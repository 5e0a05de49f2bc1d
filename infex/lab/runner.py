"""Where chunks of runs are played: in this process, in others, or on a cluster."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import joblib

from infex.checks import one_of, whole
from infex.errors import InfexWarning, InvalidSetting
from infex.lab.environments import Instance, LinearInstance
from infex.lab.fingerprint import digest
from infex.lab.simulation.run import Run
from infex.lab.simulation.simulator import cores, play, play_many
from infex.lab.specs import LabelledPolicy
from infex.lab.tasks import Chunk, Task, TaskOutcome, failed, outcome_of
from infex.models.base import Estimator
from infex.policies.base import asks_for_problem

MOST_NUMBERS_REMEMBERED = 3 << 19  # in problems: 12 MB, more than a chunk has in its arms
NUMBERS_BESIDE = 640  # that the objects of a problem take beside its arms, in bytes 5 kB


@final
class RememberedProblems:
    """The last plain problems that were made in this process; other policies play the same ones.

    A plain problem is data alone: whoever plays it leaves it as it is.
    """

    def __init__(self, most: int = MOST_NUMBERS_REMEMBERED) -> None:
        self.most, self.held = most, 0
        self._made: dict[tuple[str, int], LinearInstance] = {}
        self._lock = threading.Lock()  # a worker of a cluster may play in several threads

    def __len__(self) -> int:
        return len(self._made)

    def of(self, task: Task) -> Instance:
        """The problem of a task."""
        name = task.content.digest, task.seed
        found = self._made.get(name) if task.content.is_plain else None
        if found is not None:
            return found
        made = task.recipe.make(task.seed)
        if task.content.is_plain and isinstance(made, LinearInstance) and made.is_plain:
            with self._lock:
                self._keep(name, made)
        return made

    def _keep(self, name: tuple[str, int], made: LinearInstance) -> None:
        if name not in self._made:
            self.held += _numbers(made)
            self._made[name] = made
        while self.held > self.most and len(self._made) > 1:
            self.held -= _numbers(self._made.pop(next(iter(self._made))))


def _numbers(instance: LinearInstance) -> int:
    return NUMBERS_BESIDE + instance.arms.size + 2 * len(instance.arms)


REMEMBERED_PROBLEMS = RememberedProblems()


def play_chunk(chunk: Chunk) -> list[TaskOutcome]:
    """Plays the tasks of a chunk, in their order; an error in one stops none of the others."""
    outcomes: list[TaskOutcome] = []
    made: dict[tuple[str, int], Instance | str] = {}
    for _, group in itertools.groupby(chunk.tasks, key=lambda task: (id(task.player), task.recipe.label)):
        tasks = list(group)
        for task in tasks:
            name = task.recipe.label, task.seed
            made[name] = made[name] if name in made else _made(task)
        outcomes += _outcomes(tasks, [made[task.recipe.label, task.seed] for task in tasks])
    return outcomes


def _made(task: Task) -> Instance | str:
    """The problem of a task, or the traceback of what went wrong."""
    try:
        return REMEMBERED_PROBLEMS.of(task)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's code may raise anything, SystemExit too
        return traceback.format_exc()


def _outcomes(tasks: Sequence[Task], made: Sequence[Instance | str]) -> list[TaskOutcome]:
    """The outcomes of one policy on one problem with many seeds."""
    plain = [each for each in made if isinstance(each, LinearInstance) and each.is_plain]
    if 1 < len(plain) == len(tasks) and not _asks_for_more(tasks[0]):
        try:
            return _batch(tasks, plain)
        except KeyboardInterrupt:
            raise
        except BaseException:  # which run it was, and why, is told by playing them one by one
            pass
    return [_alone(task, instance) for task, instance in zip(tasks, made, strict=True)]


def _asks_for_more(task: Task) -> bool:
    """Is the policy another one for each problem, because it asks what theory takes for known?"""
    return asks_for_problem(task.player.policy)


def _batch(tasks: Sequence[Task], instances: list[LinearInstance]) -> list[TaskOutcome]:
    """All in one call; warnings stand with the last, since they are told once for a policy and problem."""
    player = tasks[0].player
    seeds = [task.seed for task in tasks]
    with _noted() as warned:
        runs = play_many(
            instances, player.policy, player.horizon, seeds,
            penalty=player.penalty, workers=1, estimator=_estimator(tasks[0]), paired=True,
        )  # fmt: skip
    outcomes = [_outcome(task, run) for task, run in zip(tasks, runs, strict=True)]
    return [*outcomes[:-1], outcomes[-1]._replace(warned=tuple(warned))]


def _alone(task: Task, instance: Instance | str) -> TaskOutcome:
    if isinstance(instance, str):
        return failed(task.key, instance)
    player = task.player
    try:
        with _noted() as warned:
            run = play(
                instance, player.policy, player.horizon, task.seed,
                penalty=player.penalty, estimator=_estimator(task),
            )  # fmt: skip
    except KeyboardInterrupt:
        raise
    except BaseException:  # a user's code may raise anything, SystemExit too
        return failed(task.key, traceback.format_exc(), tuple(warned))
    return _outcome(task, run)._replace(warned=tuple(warned))


def _estimator(task: Task) -> Estimator | None:
    return None if task.player.estimator is None else task.player.estimator.thing


def _outcome(task: Task, run: Run) -> TaskOutcome:
    return outcome_of(run, task.key, task.recipe.label, task.player.label)


@contextmanager
def _noted() -> Iterator[list[Warning]]:
    """Keeps the warnings of infex that are given inside; all others are shown.

    Filters of warnings belong to the process: where a cluster's worker plays in several threads, a warning
    may be missed or be kept with another run.
    """
    noted: list[Warning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", category=InfexWarning)
        try:
            yield noted
        finally:
            noted += [each.message for each in caught if isinstance(each.message, InfexWarning)]
    for each in caught:
        if not isinstance(each.message, InfexWarning):
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)


class OtherCode(NamedTuple):
    """The names of runs that a worker did not play, since its code is another."""

    keys: tuple[str, ...]


def play_if_same(chunk: Chunk) -> list[TaskOutcome] | OtherCode:
    """What the tasks of a chunk gave, if this process has the code that they are named by."""
    return play_chunk(chunk) if has_code_of(chunk) else OtherCode(chunk.keys)


def has_code_of(chunk: Chunk) -> bool:
    """Are policies, estimators and problems of a chunk here what they were where it was made?"""
    players = {id(task.player): task.player for task in chunk.tasks}
    problems = {task.recipe.label: task for task in chunk.tasks}
    return all(map(_is_player, players.values())) and all(map(_is_problem, problems.values()))


def _is_player(player: LabelledPolicy) -> bool:
    estimator = None if player.estimator is None else digest(player.estimator.thing)
    return digest(player.policy) == player.content and estimator == player.estimator_content


def _is_problem(task: Task) -> bool:
    return task.recipe.code() == task.content.code


ANY_PORT = "127.0.0.1:0"  # of Dask's page: 8787 may be another cluster's
ENGINES = ("local", "dask", "ray", "spark")
CHUNKS_PER_WORKER = 4  # in one wave
RUNS_OF_A_LARGE_SWEEP = 10_000  # which take so long that starting workers anew does not count
RETRIES_IN_VAIN = 2  # of all chunks that are left, when workers die and nothing is played in between
OTHER_CODE = (
    "some runs were played in this process alone: workers read other code of yours than it has, as where a "
    "module was edited after this process had read it"
)
SPARK_TRIES = 4  # for a task whose worker died: what a Spark cluster does by default


@final
@dataclass(frozen=True, slots=True)
class Engine:
    """One of "local" (processes of this machine), "dask", "ray" and "spark", and its address."""

    name: str = "local"
    scheduler: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        one_of("engine", self.name, ENGINES)
        if self.scheduler is not None and self.name == "local":
            raise InvalidSetting(
                f"a scheduler ({self.scheduler!r}) needs an engine that has one, such as dask"
            )
        if self.workers is not None:
            object.__setattr__(self, "workers", whole("workers", self.workers, least=1))

    @staticmethod
    def of(engine: Engine | str, scheduler: str | None = None, workers: int | None = None) -> Engine:
        """An engine from its name, or a given one; a scheduler or workers named here replace its own."""
        if not isinstance(engine, Engine):
            return Engine(engine, scheduler, workers)
        return Engine(
            engine.name,
            engine.scheduler if scheduler is None else scheduler,
            engine.workers if workers is None else workers,
        )

    def about(self) -> dict[str, Any]:
        """What a report says of it."""
        local = self.name == "local"
        return {
            "engine": self.name,
            "workers": (self.workers or cores()) if local else self.workers,
            "cores": cores() if local else None,
        }

    @property
    def alone(self) -> bool:
        """Is everything played in this process?"""
        return self.name == "local" and (self.workers or cores()) == 1

    @contextlib.contextmanager
    def opened(self) -> Iterator[Any]:
        """joblib's backend of that name, connected."""
        with contextlib.ExitStack() as stack:
            backend = stack.enter_context(_connected(self.name, self.scheduler))
            jobs = (self.workers or cores()) if self.name == "local" else (self.workers or -1)
            yield stack.enter_context(joblib.parallel_config(backend=backend, n_jobs=jobs))


@contextlib.contextmanager
def _connected(name: str, scheduler: str | None) -> Iterator[Any]:
    """joblib's name for an engine, or a backend of its own, while the connection lasts."""
    if name == "dask":
        with _dask(scheduler) as backend:
            yield backend
        return
    try:
        if name == "ray":
            _ray(scheduler)
        elif name == "spark":
            _spark(scheduler)
    except ImportError as error:
        raise InvalidSetting(f"engine {name!r} is not installed here: {error}") from None
    yield "loky" if name == "local" else name


def _ray(scheduler: str | None) -> None:
    """The cluster at an address, or one of this machine; it ends with this process."""
    import ray
    from ray.util.joblib import register_ray

    try:
        ray.init(address=scheduler, ignore_reinit_error=True, log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError) as error:
        raise InvalidSetting(f"no Ray cluster answers at {scheduler!r}: {error}") from None
    register_ray()


def _spark(scheduler: str | None) -> None:
    """The running session, or one with that master, or one on this machine that retries tasks."""
    from joblibspark import register_spark
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    if scheduler is None and not SparkConf().contains("spark.master"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        scheduler = f"local[{cores()}, {SPARK_TRIES}]"
    if scheduler is not None:
        SparkSession.builder.master(scheduler).getOrCreate()
    register_spark()


@contextlib.contextmanager
def _dask(scheduler: str | None) -> Iterator[Any]:
    """A Dask cluster; with one core (so far), joblib would play in this very process instead."""
    try:
        from dask.distributed import Client
        from joblib._dask import DaskDistributedBackend
    except ImportError as error:
        raise InvalidSetting(f"engine 'dask' is not installed here: {error}") from None

    class Cluster(DaskDistributedBackend):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, int(super().effective_n_jobs(n_jobs)))

    connect: Any = Client
    try:
        client = connect(scheduler) if scheduler else connect(processes=True, dashboard_address=ANY_PORT)
    except OSError as error:
        raise InvalidSetting(f"no Dask scheduler answers at {scheduler!r}: {error}") from None
    with client:
        yield Cluster(wait_for_workers_timeout=60)


def outcomes_of(chunks: list[Chunk], engine: Engine) -> Iterator[list[TaskOutcome]]:
    """The outcomes of all chunks as they come, in any order; a worker that dies costs a retry.

    When workers die again and again with nothing played in between, each task that is left is played
    alone; if its worker dies twice then, the task is recorded as failed. Chunks whose code workers do not
    have go to fresh ones; where these do not have it either, this process plays them. The workers of a large
    sweep end with it: tables are written next, and each worker takes as much memory as 30,000 runs.
    """
    if engine.alone:
        yield from map(play_chunk, chunks)
        return
    other: dict[tuple[str, ...], Chunk] = {}
    yield from _tried(chunks, engine, other)
    if other and engine.name == "local":
        _end_workers()
        again, other = other, {}
        yield from _tried(list(again.values()), engine, other)
    if other:
        warnings.warn(OTHER_CODE, RuntimeWarning, stacklevel=3)
    yield from map(play_chunk, other.values())
    if engine.name == "local" and sum(len(chunk.tasks) for chunk in chunks) >= RUNS_OF_A_LARGE_SWEEP:
        _end_workers()


def _end_workers() -> None:
    """Ends the workers of this machine; those that start next read all modules anew."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


def _tried(
    chunks: list[Chunk], engine: Engine, other: dict[tuple[str, ...], Chunk]
) -> Iterator[list[TaskOutcome]]:
    """The outcomes of what workers play; `other` gets the chunks whose code they do not have."""
    left = {chunk.keys: chunk for chunk in chunks}
    in_vain = 0
    while left and in_vain <= RETRIES_IN_VAIN:
        before = len(left)
        try:
            for outcomes in _together(list(left.values()), engine):
                if isinstance(outcomes, OtherCode):
                    other[outcomes.keys] = left.pop(outcomes.keys)
                    continue
                del left[tuple(outcome.key for outcome in outcomes)]
                yield outcomes
        except Exception as error:
            if not _is_death(error):
                raise
            in_vain = in_vain + 1 if len(left) == before else 0
    for chunk in left.values():
        for task in chunk.tasks:
            yield _apart(Chunk((task,)), engine)


def _together(chunks: list[Chunk], engine: Engine) -> Iterator[list[TaskOutcome] | OtherCode]:
    """All chunks as they come; in waves where a backend (ray, spark) only gives all outcomes at once."""
    work = [joblib.delayed(play_if_same)(chunk) for chunk in chunks]
    with engine.opened() as settings:
        if settings["backend"].supports_return_generator:
            with _deaf():
                outcomes = joblib.Parallel(return_as="generator_unordered", batch_size=1)(work)
            yield from outcomes
            return
        run = joblib.Parallel(batch_size=1)
        wave = CHUNKS_PER_WORKER * joblib.effective_n_jobs()
        for start in range(0, len(work), wave):
            yield from run(work[start : start + wave])


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Workers started here ignore Ctrl-C; this process handles it for all of them."""
    if sys.platform == "win32":  # pragma: no cover - it has no masks of signals
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # starting it later would unblock the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _apart(single: Chunk, engine: Engine, tries: int = 2) -> list[TaskOutcome]:
    """A chunk of one task, by itself."""
    try:
        (outcomes,) = _together([single], engine)
    except Exception as error:
        if not _is_death(error):
            raise
        if tries > 1:
            return _apart(single, engine, tries - 1)
        return [failed(key, f"the worker that played it died: {error}") for key in single.keys]
    if isinstance(outcomes, OtherCode):
        return [failed(key, "workers read other code than this process has") for key in single.keys]
    return outcomes


def _is_death(error: Exception) -> bool:
    """Does the error say that a worker died? Each engine has an error of its own; Spark retries by itself."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"BrokenProcessPool", "BrokenExecutor", "KilledWorker", "RayActorError"})
