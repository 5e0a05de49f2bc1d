"""One file that holds a bandit: versioned, with a checksum, replaced as a whole, without pickle.

The first line is "infex bandit FORMAT SHA256", the rest NumPy's npz with one array that holds the header as
JSON, and the arrays of numbers. The checksum is that of the format and the rest: what a file says is what a
bandit wrote, so that only shapes are checked again, and what memory they take.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from infex.errors import (
    DamagedFile,
    ForeignFile,
    NewerFile,
)
from infex.files import replacing
from infex.models.base import Arrays

MAGIC = b"infex bandit "
FORMAT = 1
LONGEST_HEAD = 200  # bytes, far more than the first line has
CHUNK_READ = 1 << 20
HEADER = "header"

FilePath = str | os.PathLike[str]


def write(path: FilePath, header: dict[str, Any], arrays: Arrays) -> None:
    """Puts a new file in the place of the old one; a crash leaves one of the two, whole."""
    with replacing(Path(os.path.realpath(path))) as file:
        _write(file, header, arrays)


def to_bytes(header: dict[str, Any], arrays: Arrays) -> bytes:
    """What such a file would hold."""
    file = io.BytesIO()
    _write(file, header, arrays)
    return file.getvalue()


def _write(file: IO[bytes], header: dict[str, Any], arrays: Arrays) -> None:
    """The arrays behind room for the first line, which is written when their checksum is known."""
    text = np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8)
    stored: Any = arrays | {HEADER: text}
    version = str(FORMAT).encode()
    room = len(_first_line(version, hashlib.sha256()))
    file.seek(room)
    np.savez(file, **stored)
    file.seek(room)
    checksum = _checksum(version, file)
    file.seek(0)
    file.write(_first_line(version, checksum))


def read(path: FilePath) -> tuple[dict[str, Any], Arrays]:
    """The header and arrays of a file, if it is whole and of a format known here."""
    with open(path, "rb") as file:
        return _read(path, file)


def from_bytes(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """The same of what `to_bytes` gave."""
    return _read("a snapshot", io.BytesIO(content))


def _read(path: FilePath, file: IO[bytes]) -> tuple[dict[str, Any], Arrays]:
    begun = file.read(len(MAGIC))
    if begun != MAGIC:
        first = (begun + file.read(16))[:16]
        raise ForeignFile(f"{path} is not a bandit saved by infex: it starts with {first!r}")
    version, _, checksum = file.readline(LONGEST_HEAD).removesuffix(b"\n").partition(b" ")
    if not version.isdigit() or len(version) > 9:
        raise DamagedFile(f"{path} is damaged: its first line is cut or changed")
    if int(version) != FORMAT:
        raise NewerFile(f"{path} has format {int(version)}, this infex reads {FORMAT}: install a newer infex")
    body = file.tell()
    if _checksum(version, file).hexdigest().encode() != checksum:
        raise DamagedFile(f"{path} is damaged: its content does not match its checksum")
    file.seek(body)
    try:
        arrays = read_arrays(file)
        header = json.loads(arrays.pop(HEADER).tobytes())
    except Exception as error:  # zipfile, NumPy and JSON raise many kinds
        raise DamagedFile(f"{path} is damaged: {error}") from None
    if not isinstance(header, dict):
        raise DamagedFile(f"{path} is damaged: its header is no mapping")
    return header, arrays


def read_arrays(file: IO[bytes]) -> Arrays:
    """The arrays of an npz from anywhere; refuses what would take more memory than the file has bytes."""
    start = file.tell()
    room = file.seek(0, os.SEEK_END) - start
    with zipfile.ZipFile(file) as members:
        needed = sum(each.file_size for each in members.infolist())
    if needed > room:
        raise DamagedFile(f"its arrays take {needed} bytes, and it has {room}")
    file.seek(start)
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _checksum(version: bytes, file: IO[bytes]) -> Any:
    found = hashlib.sha256(version + b"\n")
    while part := file.read(CHUNK_READ):
        found.update(part)
    return found


def _first_line(version: bytes, checksum: Any) -> bytes:
    text: str = checksum.hexdigest()
    return MAGIC + version + b" " + text.encode() + b"\n"


def digest(header: dict[str, Any], arrays: Arrays) -> str:
    """A short text that is the same for the same content."""
    found = hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].shape} {arrays[name].dtype}".encode())
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()
