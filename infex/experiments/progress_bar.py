"""A progress bar for whoever waits for a sweep, in a terminal or a notebook."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from infex.errors import InvalidSetting
from infex.experiments.sweep_log import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


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
