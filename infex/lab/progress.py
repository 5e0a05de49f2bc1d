"""What happens while a sweep is played, and a progress bar that shows it."""

from __future__ import annotations

import contextlib
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self, final

from infex.errors import InvalidSetting
from infex.lab.tasks import Task, TaskOutcome

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


Progress = Callable[[int, int, int], None]  # runs done, runs in all, runs that failed


@final
class SweepLog:
    """Counts the runs of a sweep as they come, and keeps failures and warnings."""

    def __init__(self, tasks: dict[str, Task], earlier: int, progress: Progress | None) -> None:
        self._tasks = tasks
        self._finished = earlier
        self._progress = progress
        self._tracebacks: dict[str, str] = {}
        self._warned: dict[tuple[str, ...], Warning] = {}  # one of a kind for each policy and environment
        self._show()

    def enter(self, outcomes: list[TaskOutcome]) -> None:
        """Takes in the outcomes of one chunk."""
        self._finished += len(outcomes)
        for outcome in outcomes:
            if outcome.error is not None:
                self._tracebacks[outcome.key] = outcome.error
            task = self._tasks[outcome.key]
            for warning in outcome.warned:
                kind = type(warning).__name__, task.player.label, task.recipe.label
                self._warned[kind] = warning
        self._show()

    def _show(self) -> None:
        if self._progress is not None:
            self._progress(self._finished, len(self._tasks), len(self._tracebacks))

    def failures(self) -> tuple[dict[str, str], ...]:
        """The runs that failed, in the order of the sweep, with their tracebacks."""
        failed = {key: task for key, task in self._tasks.items() if key in self._tracebacks}
        told = self._tracebacks
        return tuple({"key": key, "run": str(task), "traceback": told[key]} for key, task in failed.items())

    def warn(self, stacklevel: int) -> None:
        """Gives the warnings of all runs, each once, and one if runs failed."""
        for warning in self._warned.values():
            warnings.warn(warning, stacklevel=stacklevel + 1)
        if failed := self.failures():
            warnings.warn(self._told(failed), RuntimeWarning, stacklevel=stacklevel + 1)

    def _told(self, failed: tuple[dict[str, str], ...]) -> str:
        last_line = failed[0]["traceback"].strip().splitlines()[-1]
        words = f"{len(failed)} of {len(self._tasks)} runs failed; see results.failures"
        return f"{words}. {failed[0]['run']}: {last_line}"


class ProgressBar:
    """A bar on stderr that begins with the first runs, and leaves no line behind if there is an error.

    It also ends the sweep after a Ctrl-C that came where Python cannot raise, as while code is compiled.
    """

    def __init__(self, console: Console | None = None) -> None:
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
        self._bar = progress.Progress(*columns, console=console or Console(stderr=True))
        self._line: TaskID | None = None
        self._interrupted = False
        self._before = signal.getsignal(signal.SIGINT)

    @property
    def _hears(self) -> bool:
        """May it handle Ctrl-C? A shell may have set it to be ignored; another thread may not set it."""
        alone = threading.current_thread() is threading.main_thread()
        return alone and self._before is signal.default_int_handler

    def __enter__(self) -> Self:
        if self._hears:
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def _interrupt(self, *given: object) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._hears:
            signal.signal(signal.SIGINT, self._before)
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
            self._line = self._bar.add_task("compiling", total=None)
            self._bar.start()
            return
        name = "runs" if not failed else f"runs, [red]{failed} failed[/red]"
        self._bar.update(self._line, completed=done, total=total, description=name)


@contextlib.contextmanager
def showing(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """What is told how far a sweep is: a function of a user's, a bar for True, nothing for None or False."""
    if progress is True:
        with ProgressBar() as bar:
            yield bar.show
    elif progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    else:
        raise InvalidSetting(
            f"progress must be True, or a function of (done, total, failed), got {progress!r}"
        )
