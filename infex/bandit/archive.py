"""One file that holds a bandit: versioned, checked, replaced as a whole, without pickle.

The first line is "infex bandit FORMAT SHA256", the rest NumPy's npz with one array of settings as
JSON and the arrays of numbers. The digest is that of the format and the rest.
"""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from infex.errors import DamagedFile, ForeignFile, NewerFile
from infex.files import replacing
from infex.linear.estimating import Arrays

MAGIC = b"infex bandit "
FORMAT = 4
LONGEST_HEAD = 200  # bytes, far more than the first line has
CHUNK_READ = 1 << 20
SETTINGS_ARRAY = "settings"


def write(path: str | os.PathLike[str], settings: dict[str, Any], arrays: Arrays) -> None:
    """Puts a new file in the place of the old one; a crash leaves one of the two, whole."""
    stored = _stored(settings, arrays)
    with replacing(Path(os.path.realpath(path))) as file:
        _write(file, stored)


def packed(settings: dict[str, Any], arrays: Arrays) -> bytes:
    """What such a file would hold."""
    file = io.BytesIO()
    _write(file, _stored(settings, arrays))
    return file.getvalue()


def _stored(settings: dict[str, Any], arrays: Arrays) -> Any:
    text = json.dumps(settings, allow_nan=False).encode()
    return arrays | {SETTINGS_ARRAY: np.frombuffer(text, dtype=np.uint8)}


def _write(file: IO[bytes], stored: Any) -> None:
    """The arrays behind room for the first line, which is written when their digest is known."""
    version = str(FORMAT).encode()
    room = len(_head(version, hashlib.sha256()))
    file.seek(room)
    np.savez(file, **stored)
    file.seek(room)
    digest = _digest(version, file)
    file.seek(0)
    file.write(_head(version, digest))


def read(path: str | os.PathLike[str]) -> tuple[int, dict[str, Any], Arrays]:
    """The format, settings and arrays of a file, if it is whole and of a format known here."""
    with open(path, "rb") as file:
        return unpacked(path, file)


def unpacked(path: str | os.PathLike[str], file: IO[bytes]) -> tuple[int, dict[str, Any], Arrays]:
    """The same of a file that is open; `path` is what errors call it."""
    begun = file.read(len(MAGIC))
    if begun != MAGIC:
        shown = (begun + file.read(16))[:16]
        raise ForeignFile(f"{path} is not a bandit saved by infex: it starts with {shown!r}")
    version, _, digest = file.readline(LONGEST_HEAD).removesuffix(b"\n").partition(b" ")
    if not version.isdigit() or len(version) > 9:
        raise DamagedFile(f"{path} is damaged: its first line is cut or changed")
    if int(version) > FORMAT:
        raise NewerFile(
            f"{path} has format {int(version)}, this infex reads up to {FORMAT}: install a newer infex"
        )
    body = file.tell()
    if _digest(version, file).hexdigest().encode() != digest:
        raise DamagedFile(f"{path} is damaged: its content does not match its checksum")
    file.seek(body)
    return int(version), *_content(path, file)


def _content(path: str | os.PathLike[str], file: IO[bytes]) -> tuple[dict[str, Any], Arrays]:
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        settings = json.loads(arrays.pop(SETTINGS_ARRAY).tobytes())
    except Exception as error:  # zipfile, NumPy and JSON raise many kinds
        raise DamagedFile(f"{path} is damaged: {error}") from None
    if not isinstance(settings, dict):
        raise DamagedFile(f"{path} is damaged: its settings are no mapping")
    return settings, arrays


def _digest(version: bytes, file: IO[bytes]) -> Any:
    """That of the format and the rest of a file."""
    found = hashlib.sha256(version + b"\n")
    while part := file.read(CHUNK_READ):
        found.update(part)
    return found


def _head(version: bytes, digest: Any) -> bytes:
    text: str = digest.hexdigest()
    return MAGIC + version + b" " + text.encode() + b"\n"
