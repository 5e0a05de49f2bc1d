"""The runs of a sweep as tasks, each named by its content, and where they are played.

Workers import this module and what stands below it, and nothing that reads or writes tables.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self, final

import joblib

from infex.arrays import Floats, Integers
from infex.checks import one_of, whole
from infex.errors import InfexWarning, InvalidSetting
from infex.lab.environments import Instance
from infex.lab.simulation import Run, play
from infex.lab.simulation.simulator import cores
from infex.lab.specs import Facts, PolicySpec, ProblemSpec

if TYPE_CHECKING:
    from rich.progress import TaskID

TASK_FORMAT = 4  # raised when the same task comes to play another run
MEASURES = (  # of a run, by the names of their columns
    "seed", "horizon", "seconds", "explored", "different", "optimal", "regret_exploring", "regret_greedy",
    "log_det_ratio",
)  # fmt: skip
ROUNDS_OF_A_CHUNK = 100_000  # a tenth of a second, or a second where arms are many
FEWEST_CHUNKS = 32  # so that all cores are busy and little is lost by an interruption, however few runs
ROUNDS_OF_A_SHORT_RUN = 200  # a run takes as long as so many rounds before its first

ENGINES = ("local", "dask", "ray", "spark")
ANY_PORT = "127.0.0.1:0"  # of Dask's page: 8787 may be another cluster's
CHUNKS_PER_WORKER = 4  # in one wave
RUNS_OF_A_LARGE_SWEEP = 10_000  # which take so long that starting workers anew does not count
RETRIES_IN_VAIN = 2  # of all chunks that are left, when workers die and nothing is played in between
SPARK_TRIES = 4  # for a task whose worker died: what a Spark cluster does by default
DEATHS = {"BrokenProcessPool", "BrokenExecutor", "KilledWorker", "RayActorError"}  # Spark retries by itself
OTHER_CODE = (
    "some runs were played in this process alone: workers read other code of yours than it has, as where a "
    "module was edited after this process had read it"
)


# Tasks


class Task(NamedTuple):
    """One run: a problem, a policy and a seed; `key` is a hash of the records of all three."""

    problem: ProblemSpec
    policy: PolicySpec
    seed: int
    key: str

    def __str__(self) -> str:
        return f"{self.policy.label} on {self.problem.label} with seed {self.seed}"

    @staticmethod
    def of(problem: ProblemSpec, digest: str, policy: PolicySpec, seed: int) -> Task:
        """The run of a policy on the problem of a seed, which has that digest."""
        text = json.dumps([TASK_FORMAT, problem.label, digest, policy.key, seed])
        return Task(problem, policy, seed, hashlib.blake2b(text.encode(), digest_size=12).hexdigest())


class Outcome(NamedTuple):
    """What one task gave: columns of one run and its curve, or the traceback of what went wrong.

    `warned` holds the warnings of infex that it gave; a worker has no one to show them to, so the sweep
    repeats them.
    """

    key: str
    facts: Facts
    curve: tuple[Integers, Floats] | None = None
    error: str | None = None
    warned: tuple[Warning, ...] = ()


def outcome_of(run: Run, key: str, environment: str, policy: str, warned: Iterable[Warning] = ()) -> Outcome:
    """What a run gave, under the names that its problem and its policy have in tables."""
    facts: Facts = {"key": key, "environment": environment, "policy": policy}
    facts |= {"dim": run.instance.dim, "arms": run.instance.count}
    return Outcome(
        key, facts | {name: getattr(run, name) for name in MEASURES}, run.curve(), None, (*warned,)
    )


# Chunks, each of which one worker plays

Chunk = tuple[Task, ...]


def chunked(tasks: Iterable[Task]) -> list[Chunk]:
    """Tasks in chunks, each of all policies on some seeds of one problem, so that a problem is made once.

    A chunk has at most `ROUNDS_OF_A_CHUNK` rounds, if a seed has no more, and fewer where the sweep is small;
    one that has twice as many or more is cut into pieces. The longest come first, so that no worker ends long
    after the others.
    """
    groups: dict[tuple[int, int], dict[int, list[Task]]] = {}
    for task in tasks:
        place = task.policy.horizon * task.problem.size, id(task.problem)
        groups.setdefault(place, {}).setdefault(task.seed, []).append(task)
    total = sum(_rounds(some) for seeds in groups.values() for some in seeds.values())
    most = min(ROUNDS_OF_A_CHUNK, total // FEWEST_CHUNKS)
    chunks: list[list[Task]] = []
    for _, seeds in sorted(groups.items(), key=lambda item: -item[0][0]):
        filled = most
        for some in seeds.values():
            filled += _rounds(some)
            if filled > most:
                chunks.append([])
                filled = _rounds(some)
            chunks[-1] += some
    found = []
    for chunk in chunks:
        size = -(-len(chunk) // max(1, _rounds(chunk) // ROUNDS_OF_A_CHUNK))
        found += [tuple(chunk[first : first + size]) for first in range(0, len(chunk), size)]
    return found


def _rounds(tasks: Iterable[Task]) -> int:
    return sum(max(task.policy.horizon, ROUNDS_OF_A_SHORT_RUN) for task in tasks)


def play_chunk(chunk: Chunk) -> list[Outcome]:
    """Plays the tasks of a chunk, in their order; an error in one stops none of the others."""
    outcomes = []
    for _, group in itertools.groupby(chunk, key=lambda task: (id(task.problem), task.seed)):
        tasks = list(group)
        try:
            problem = tasks[0].problem.make(tasks[0].seed)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a user's code may raise anything, SystemExit too
            error = traceback.format_exc()
            outcomes += [Outcome(task.key, {}, error=error) for task in tasks]
        else:
            outcomes += [_played(task, problem) for task in tasks]
    return outcomes


def _played(task: Task, problem: Instance) -> Outcome:
    """What a task gives on its problem. Warnings of infex are noted, all others are shown.

    Filters of warnings belong to the process: where a cluster's worker plays in several threads, a warning
    may be missed or be noted with another run.
    """
    spec, error = task.policy, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", category=InfexWarning)
        try:
            settings = {"penalty": spec.penalty, "estimator": spec.estimator}
            run = play(problem, spec.policy, spec.horizon, task.seed, **settings)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a user's code may raise anything, SystemExit too
            error = traceback.format_exc()
    warned = []
    for each in caught:
        if isinstance(each.message, InfexWarning):
            warned.append(each.message)
        else:
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    if error is not None:
        return Outcome(task.key, {}, error=error, warned=tuple(warned))
    return outcome_of(run, task.key, task.problem.label, spec.label, warned)


def play_numbered(number: int, chunk: Chunk) -> tuple[int, list[Outcome] | None]:
    """A chunk's number, and what its tasks gave; None if this process has other code than they name."""
    specs = {id(spec): spec for task in chunk for spec in (task.problem, task.policy)}
    return number, play_chunk(chunk) if all(spec.is_current() for spec in specs.values()) else None


def _unpacked(packed: bytes) -> tuple[int, list[Outcome] | None]:
    return play_numbered(*pickle.loads(packed))


# Engines


@final
class Engine:
    """One of "local" (processes of this machine), "dask", "ray" and "spark", and its address."""

    def __init__(self, name: str = "local", scheduler: str | None = None, workers: int | None = None) -> None:
        self.name = one_of("engine", name, ENGINES)
        if scheduler is not None and name == "local":
            raise InvalidSetting(f"a scheduler ({scheduler!r}) needs an engine that has one, such as dask")
        self.scheduler = scheduler
        self.workers = None if workers is None else whole("workers", workers, least=1)
        if name == "local":
            self.workers = self.workers or cores()

    def about(self) -> dict[str, Any]:
        """What a report says of it."""
        here = cores() if self.name == "local" else None
        return {"engine": self.name, "workers": self.workers, "cores": here}

    def outcomes(self, chunks: list[Chunk]) -> Iterator[list[Outcome]]:
        """The outcomes of all chunks as they come, in any order; a worker that dies costs a retry.

        Chunks whose code workers do not have go to fresh ones; where these do not have it either, this
        process plays them. The workers of a large sweep end with it: tables are written next, and each worker
        takes as much memory as 30,000 runs.
        """
        local = self.name == "local"
        if local and self.workers == 1:
            yield from map(play_chunk, chunks)
            return
        other = yield from self._retried(chunks)
        if other and local:
            _end_workers()
            other = yield from self._retried(other)
        if other:
            warnings.warn(OTHER_CODE, RuntimeWarning, stacklevel=3)
        yield from map(play_chunk, other)
        if local and sum(map(len, chunks)) >= RUNS_OF_A_LARGE_SWEEP:
            _end_workers()

    def _retried(
        self, chunks: list[Chunk], alone: bool = False
    ) -> Generator[list[Outcome], None, list[Chunk]]:
        """The outcomes of chunks; returns the chunks whose code workers do not have.

        When workers die again and again with nothing played in between, each task that is left is played
        alone; if its workers die even so, the task is recorded as failed.
        """
        left, other = dict(enumerate(chunks)), []
        in_vain = 0
        death = ""
        while left and in_vain <= RETRIES_IN_VAIN:
            before = len(left)
            try:
                for number, outcomes in self._played(left):
                    chunk = left.pop(number)
                    if outcomes is None:
                        other.append(chunk)
                    else:
                        yield outcomes
            except Exception as error:
                if not {kind.__name__ for kind in type(error).__mro__} & DEATHS:
                    raise
                in_vain, death = in_vain + 1 if len(left) == before else 0, str(error)
        for task in itertools.chain.from_iterable(left.values()):
            if alone:
                yield [Outcome(task.key, {}, error=f"the worker that played it died: {death}")]
            else:
                other += yield from self._retried([(task,)], alone=True)
        return other

    def _played(self, chunks: dict[int, Chunk]) -> Iterator[tuple[int, list[Outcome] | None]]:
        """What workers give for each number, as it comes; in waves where a backend gives all at once."""
        try:
            if self.name == "dask":
                yield from self._on_dask(chunks)
                return
            if self.name != "local":
                (_ray if self.name == "ray" else _spark)(self.scheduler)
        except ImportError as error:
            raise InvalidSetting(f"engine {self.name!r} is not installed here: {error}") from None
        calls = [joblib.delayed(play_numbered)(*each) for each in chunks.items()]
        name = "loky" if self.name == "local" else self.name
        with joblib.parallel_config(backend=name, n_jobs=self.workers or -1):
            if name == "loky":
                with _deaf():
                    found = joblib.Parallel(return_as="generator_unordered", batch_size=1)(calls)
                yield from found
                return
            run, wave = joblib.Parallel(batch_size=1), CHUNKS_PER_WORKER * joblib.effective_n_jobs()
            for start in range(0, len(calls), wave):
                yield from run(calls[start : start + wave])

    def _on_dask(self, chunks: dict[int, Chunk]) -> Iterator[Any]:
        """The same by Dask's own futures: joblib would play in this process while there is one core."""
        import cloudpickle  # type: ignore[import-untyped]
        from dask.distributed import Client, as_completed

        connect: Any = Client
        here = {"n_workers": self.workers, "threads_per_worker": 1, "dashboard_address": ANY_PORT}
        try:
            client = connect(self.scheduler) if self.scheduler else connect(processes=True, **here)
        except OSError as error:
            raise InvalidSetting(f"no Dask scheduler answers at {self.scheduler!r}: {error}") from None
        with client:
            packed = [cloudpickle.dumps(each) for each in chunks.items()]
            gather: Any = as_completed
            for _, found in gather(client.map(_unpacked, packed, pure=False), with_results=True):
                yield found


def _end_workers() -> None:
    """Ends the workers of this machine; those that start next read all modules anew."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


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


# Progress

Progress = Callable[[int, int, int], None]  # runs done, runs in all, runs that failed


class ProgressBar:
    """A bar on stderr that begins with the first runs, and leaves no line behind if there is an error.

    It also ends the sweep after a Ctrl-C that was lost where it came, as in code of a user's that catches
    everything.
    """

    def __init__(self) -> None:
        from rich import progress
        from rich.console import Console

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
        )
        self._bar = progress.Progress(*columns, console=Console(stderr=True))
        self._line: TaskID | None = None
        self._interrupted = False

    def __enter__(self) -> Self:
        """Listens to Ctrl-C, unless a shell has set it to be ignored, or this is not the main thread."""
        in_main = threading.current_thread() is threading.main_thread()
        self._hears = in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._hears:
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def _interrupt(self, *given: object) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._bar.live.transient = kind is not None and issubclass(kind, Exception)
        if self._line is not None:
            self._bar.stop()

    def show(self, done: int, total: int, failed: int) -> None:
        """Shows how many of all runs are done, and how many of them failed."""
        if self._interrupted:
            raise KeyboardInterrupt
        if self._line is None:
            if done == total:
                return
            self._line = self._bar.add_task("runs", total=total)
            self._bar.start()
        name = "runs" if not failed else f"runs, [red]{failed} failed[/red]"
        self._bar.update(self._line, completed=done, description=name)


@contextlib.contextmanager
def showing(progress: Progress | bool | None) -> Iterator[Progress]:
    """What is told how far a sweep is: a user's function, a bar for True, nothing for None or False."""
    if progress is True:
        with ProgressBar() as bar:
            yield bar.show
    elif progress is None or progress is False:
        yield lambda done, total, failed: None
    elif callable(progress):
        yield progress
    else:
        raise InvalidSetting(
            f"progress must be True, or a function of (done, total, failed), got {progress!r}"
        )
