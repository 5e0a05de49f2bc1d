"""Waiting for an event, however long it takes.

No test waits for a time to pass, nor hopes that something is over by then. `PATIENCE` decides nothing:
it only turns what would hang for ever into a failure.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

PATIENCE = 600.0  # seconds

T = TypeVar("T")


def until(found: Callable[[], T], event: str, process: subprocess.Popen[Any] | None = None) -> T:
    """What `found` gives once that is true; fails if a process that should bring it about has ended."""
    end = time.monotonic() + PATIENCE
    while True:
        is_over = process is not None and process.poll() is not None  # looked up before the last look
        if result := found():
            return result
        assert not is_over, f"the process ended before {event}"
        assert time.monotonic() < end, f"waited {PATIENCE:g} s until {event}"
        time.sleep(0.01)


@contextlib.contextmanager
def started(command: list[str], **settings: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that ends with the block, as do all that it started: they are a group of their own."""
    process = subprocess.Popen(command, start_new_session=True, **settings)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):  # none of them is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
