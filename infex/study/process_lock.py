"""A lock that names the process which holds it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

from infex.errors import StoreFailed, StoreInUse
from infex.files import OWNER_ALONE


@final
class ProcessLock:
    """Holds the file beside `path` whose name ends in .lock, until it is released or the process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}.lock")
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ALONE)
        except OSError as error:
            raise StoreFailed(f"cannot lock {path}: {error.strerror or error}") from error
        self.release = weakref.finalize(self, os.close, self._file)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._sign()
        except BlockingIOError:
            holder = _holder(os.pread(self._file, 4096, 0))
            self.release()
            raise StoreInUse(f"{path} is open in {holder}: stop that first, or open it for reading") from None
        except OSError as error:
            self.release()
            raise StoreFailed(f"cannot lock {path}: {error.strerror or error}") from error

    def _sign(self) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        signature = json.dumps({"process": os.getpid(), "host": socket.gethostname(), "since": since})
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, signature.encode(), 0)


def _holder(signature: bytes) -> str:
    """Who has signed a lock."""
    signed: Any = None
    with contextlib.suppress(ValueError):
        signed = json.loads(signature)
    if not isinstance(signed, dict):
        return "another process"
    return f"process {signed.get('process')} on {signed.get('host')} since {signed.get('since')}"
