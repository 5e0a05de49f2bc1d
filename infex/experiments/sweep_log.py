"""What happens while a sweep is played: how many runs are done, which failed, and their warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import final

from infex.experiments.tasks import Task, TaskOutcome

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
