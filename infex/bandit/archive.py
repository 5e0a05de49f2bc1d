"""One file that holds a bandit: versioned, checked, replaced as a whole, without pickle.

The first line is `infex bandit FORMAT SHA256`, the rest NumPy's npz with one array of settings as
JSON and the arrays of numbers. The digest is that of the format and the rest.
"""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from infex.errors import DamagedFile, ForeignFile, NewerFile
from infex.files import replace
from infex.linear.estimating import Arrays

MAGIC = b"infex bandit "
FORMAT = 3
SETTINGS_ARRAY = "settings"


def write(path: str | os.PathLike[str], settings: dict[str, Any], arrays: Arrays) -> None:
    """Puts a new file in the place of the old one; a crash leaves one of the two, whole."""
    content = io.BytesIO()
    text = json.dumps(settings, allow_nan=False).encode()
    stored: Any = arrays | {SETTINGS_ARRAY: np.frombuffer(text, dtype=np.uint8)}
    np.savez(content, **stored)
    body = content.getvalue()
    version = str(FORMAT).encode()
    head = MAGIC + version + b" " + _digest(version, body) + b"\n"
    replace(Path(os.path.realpath(path)), head + body)


def read(path: str | os.PathLike[str]) -> tuple[int, dict[str, Any], Arrays]:
    """The format, settings and arrays of a file, if it is whole and of a format known here."""
    data = Path(path).read_bytes()
    if not data.startswith(MAGIC):
        raise ForeignFile(f"{path} is not a bandit saved by infex: it starts with {data[:16]!r}")
    line, _, body = data.removeprefix(MAGIC).partition(b"\n")
    version, _, digest = line.partition(b" ")
    if not version.isdigit() or len(version) > 9:
        raise DamagedFile(f"{path} is damaged: its first line is cut or changed")
    if int(version) > FORMAT:
        raise NewerFile(
            f"{path} has format {int(version)}, this infex reads up to {FORMAT}: install a newer infex"
        )
    if _digest(version, body) != digest:
        raise DamagedFile(f"{path} is damaged: its content does not match its checksum")
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        settings = json.loads(arrays.pop(SETTINGS_ARRAY).tobytes())
    except Exception as error:  # zipfile, NumPy and JSON raise many kinds
        raise DamagedFile(f"{path} is damaged: {error}") from None
    if not isinstance(settings, dict):
        raise DamagedFile(f"{path} is damaged: its settings are no mapping")
    return int(version), settings, arrays


def _digest(version: bytes, body: bytes) -> bytes:
    return hashlib.sha256(version + b"\n" + body).hexdigest().encode()
