"""`infex serve` for as long as something needs it, on a free port of this machine."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator

SHOWN = "http://127.0.0.1:8321"  # the address that pages show: that of `infex serve` without --port
PATIENT = "seconds=600.0"  # for a client on a busy machine: nothing that is shown may depend on speed
LISTENS = re.compile(r" at (http://\S+:\d+)/$", re.MULTILINE)


@contextlib.contextmanager
def served(*words: str) -> Iterator[str]:
    """The address of `infex serve WORDS`, once its studies are open; at the end it must end well."""
    command = [sys.executable, "-m", "infex", "serve", *words, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            url = address(process.stderr)
            while not is_ready(url):
                time.sleep(0.05)
            yield url
        finally:
            process.terminate()
    assert process.returncode == 0, f"{command} ended with {process.returncode}"


def address(said: Iterable[str]) -> str:
    """Where a service says that it listens; what else it says comes with the error if it never does."""
    words = ""
    for line in said:
        words += line
        if found := LISTENS.search(words):
            return found[1]
    raise AssertionError(f"the service did not start: {words}")


def is_ready(url: str) -> bool:
    """Are the studies of a service open?"""
    try:
        with urllib.request.urlopen(f"{url}/readyz"):
            return True
    except urllib.error.HTTPError:
        return False
