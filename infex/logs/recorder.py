"""The file to which a bandit writes its log as it decides."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import struct
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import final

import numpy as np

from infex.errors import InvalidLog, StoreFailed, StoreInUse
from infex.logs.frames import FRAMES_BEGIN, framed, frames
from infex.logs.log_rows import LogReward, LogRow
from infex.logs.log_schema import LogHeader

SAID, DECIDED, REWARDED = 1, 2, 3  # kinds of frames
ROW = struct.Struct("<qiidddqdBBIIIHHHH")
REWARD_FRAME = struct.Struct("<qddqH")
NO_TIME = -(2**63)
IN_A_CONTEXT, AMONG_ARMS = 1, 2


@final
class Recorder:
    """Appends to the log at `path`, which no other process may have open for that; a torn end is cut first.

    What `write` was given survives the end of this process at any moment; `sync` brings it to the disk.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self._process = Path(path), os.getpid()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreFailed(f"cannot write the log {path}: {error.strerror or error}") from error
        self.close = weakref.finalize(self, os.close, self._file)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._size = _sound_size(self._file)
            os.ftruncate(self._file, self._size)
            if not self._size:
                self.write([FRAMES_BEGIN])
        except BlockingIOError:
            self.close()
            raise StoreInUse(
                f"another bandit writes its log to {path}: give each one of its own, or end the other's with "
                "log_to(None)"
            ) from None
        except InvalidLog as error:
            self.close()
            raise InvalidLog(f"cannot go on with the log {path}: {error}") from None

    def write(self, parts: Iterable[bytes]) -> None:
        """Hands frames to the system, all or none; a process that was forked off needs a log of its own."""
        if os.getpid() != self._process:
            raise StoreInUse(
                f"the log {self.path} belongs to the process that opened it: call bandit.log_to here"
            )
        data = b"".join(parts)
        try:
            written = os.write(self._file, data)
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise StoreFailed(f"cannot write the log {self.path}: {error.strerror or error}") from error
        self._size += len(data)

    def sync(self) -> None:
        """Brings all that was written to the disk."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise StoreFailed(f"cannot write the log {self.path}: {error.strerror or error}") from error


def _sound_size(file: int) -> int:
    """How much of a file is whole."""
    size = os.fstat(file).st_size
    if size < len(FRAMES_BEGIN) and FRAMES_BEGIN.startswith(os.pread(file, size, 0)):
        return 0  # new, or torn at once
    with mmap.mmap(file, size, access=mmap.ACCESS_READ) as mapped:
        return max((frame.end for frame in frames(mapped)), default=len(FRAMES_BEGIN))


def said_frame(header: LogHeader, stream: str) -> bytes:
    """What is true of all rows that follow, until something else is said."""
    return framed(SAID, json.dumps({"stream": stream} | header.as_data()).encode())


def row_frame(row: LogRow) -> bytes:
    """One decision; what is said once of many is not in it."""
    key, reason = row.id.encode(), row.reason.encode()
    label = b"" if row.label is None else json.dumps(row.label).encode()
    offer, values = 0, np.empty((0, 0))
    if row.context is not None:
        offer, values = IN_A_CONTEXT, np.atleast_2d(row.context)
    elif row.offers is not None:
        offer, values = AMONG_ARMS, row.offers
    offered = b"" if row.offered is None else row.offered.tobytes()
    propensities = np.empty(0) if row.base_propensities is None else row.base_propensities
    shares = (
        np.nan if share is None else share
        for share in (row.propensity, row.explore_probability, row.base_propensity)
    )
    head = ROW.pack(
        row.round, row.arm, row.greedy, *shares, NO_TIME if row.at is None else row.at, row.loss,
        row.explored, offer, propensities.size, *values.shape,
        len(key), len(reason), len(label), len(offered),
    )  # fmt: skip
    return framed(
        DECIDED, b"".join((head, key, reason, label, offered, propensities.tobytes(), values.tobytes()))
    )


def reward_frame(t: int, key: str, told: LogReward) -> bytes:
    """The reward of the decision of round t that has this id."""
    name = key.encode()
    at = NO_TIME if told.at is None else told.at
    return framed(REWARDED, REWARD_FRAME.pack(t, told.reward, told.weight, at, len(name)) + name)
