"""A service that listens, in a process of its own."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE, started


def command(folder: Path, *more: str, port: int = 0) -> list[str]:
    url = f"sqlite:///{folder}/shop.db"
    return [sys.executable, "-m", "infex", "serve", "--db", url, "--port", str(port), *more]


def serving(
    folder: Path, *more: str, port: int = 0
) -> contextlib.AbstractContextManager[tuple[str, subprocess.Popen[Any]]]:
    """Its address, once it listens, and its process."""
    return listening(command(folder, *more, port=port))


@contextlib.contextmanager
def listening(words: list[str], **settings: Any) -> Iterator[tuple[str, subprocess.Popen[Any]]]:
    """The address that a command says on its standard error, and its process."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with started(words, stderr=subprocess.PIPE, text=True, env=environment, **settings) as process:
        assert process.stderr is not None
        with process.stderr as said:
            lines: list[str] = []
            for line in said:
                lines.append(line)
                if found := re.search(r"at (http://\S+:\d+)/$", line.strip()):
                    yield found[1], process
                    return
            raise AssertionError("".join(lines))


@contextlib.contextmanager
def served(folder: Path, *more: str) -> Iterator[str]:
    """Its address; at the end it is asked to end, and must do so."""
    with serving(folder, *more) as (url, process):
        yield url
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
