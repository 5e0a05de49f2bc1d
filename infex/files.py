"""Files that are written whole or not at all."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

OWNER_ALONE = 0o600


def make_private(path: Path) -> None:
    """Makes an empty file that its owner alone may read and write; one that is there stays as it is.

    If it cannot be made, nothing is raised: whoever opens it next says why.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ALONE)
        try:
            os.fchmod(descriptor, OWNER_ALONE)  # whatever the umask
        finally:
            os.close(descriptor)


def replace(target: Path, data: bytes, mode: int | None = None) -> None:
    """Writes beside the target, brings it to the disk, and renames; `mode` says who may read it."""
    with replacing(target, mode) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(target: Path, mode: int | None = None) -> Iterator[IO[bytes]]:
    """A file beside the target; once all is written it is brought to the disk, and takes its place."""
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder: name a file", str(target))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(beside, "x+b") as file:
            if mode is not None:
                os.chmod(beside, mode)  # before anything is in it
            elif target.exists():
                os.chmod(beside, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
