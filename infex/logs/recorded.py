"""The file to which a bandit appends its decisions and rewards, and how it is read back as a log.

The file is a sequence of frames with checksums. Frames are handed to the system in one write, so that they
survive the end of the process at any moment. A frame that was not finished, at the end of the file, is cut
off; any other damage is refused.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, final

import numpy as np

from infex.errors import InvalidLog, StoreFailed, StoreInUse
from infex.logs.log import Log
from infex.logs.schema import (
    LogHeader,
    LogReward,
    LogRow,
    has_readded_arms,
    header_from,
    joined_headers,
    refuse_unlabelled_removals,
    rows_to_log,
)

FILE_START = b"infex log 1\n"
FRAME_HEAD = struct.Struct("<IIBI")  # length, checksum, kind; and the checksum of these three
HEADER, DECISION, REWARD = 1, 2, 3  # kinds of frames
ROW = struct.Struct("<qiidddqdBBIIIHHHH")
REWARD_CONTENT = struct.Struct("<qddqH")
NO_TIME = -(2**63)
CONTEXT, ARMS = 1, 2  # what the numbers at the end of a decision are
LASTING = ("arms", "labels", "features", "dim")  # of a header: if these differ, rows have to be converted


# Frames


class Frame(NamedTuple):
    """One frame of a file, and where it ends."""

    kind: int
    content: bytes
    end: int


def _framed(kind: int, content: bytes) -> bytes:
    head = struct.pack("<IIB", len(content), zlib.crc32(content), kind)
    return head + zlib.crc32(head).to_bytes(4, "little") + content


def frames(data: bytes | mmap.mmap) -> Iterator[Frame]:
    """All complete frames of a file; InvalidLog if it is damaged elsewhere than at its end."""
    if data[: len(FILE_START)] != FILE_START:
        raise InvalidLog("this is not a log that a bandit of this infex wrote")
    at = len(FILE_START)
    while (begin := at + FRAME_HEAD.size) <= len(data):
        length, checksum, kind, head_checksum = FRAME_HEAD.unpack(data[at:begin])
        if zlib.crc32(data[at : begin - 4]) != head_checksum:
            return _refuse_damage(data, at)
        content = data[begin : begin + length]
        if len(content) < length:
            return None
        if zlib.crc32(content) != checksum:
            return _refuse_damage(data, begin + length - 1)
        at = begin + length
        yield Frame(kind, content, at)


def _refuse_damage(data: bytes | mmap.mmap, at: int) -> None:
    """Zeros up to the end are what a power cut leaves; anything else is damage."""
    if data[at:].strip(b"\0"):
        raise InvalidLog(f"this log is damaged at byte {at:,}: it was changed since it was written")


# Writing


@final
class Recorder:
    """Appends to the log at `path`, which no other process may have open for that; cuts off a torn end first.

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
            self._size = _complete_size(self._file)
            os.ftruncate(self._file, self._size)
            if not self._size:
                self.write([FILE_START])
        except BlockingIOError:
            self.close()
            raise StoreInUse(
                f"another bandit writes its log to {path}: give each one of its own, or end the other's with "
                "log_to(None)"
            ) from None
        except InvalidLog as error:
            self.close()
            raise InvalidLog(f"cannot append to the log {path}: {error}") from None

    def write(self, parts: Iterable[bytes]) -> None:
        """Hands frames to the system, all or none; a forked process needs a log of its own."""
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


def _complete_size(file: int) -> int:
    """The size of a file without a torn end."""
    size = os.fstat(file).st_size
    if size < len(FILE_START) and FILE_START.startswith(os.pread(file, size, 0)):
        return 0  # new, or torn at once
    with mmap.mmap(file, size, access=mmap.ACCESS_READ) as mapped:
        return max((frame.end for frame in frames(mapped)), default=len(FILE_START))


def header_frame(header: LogHeader, stream: str) -> bytes:
    """The header of all rows that follow, up to the next header."""
    return _framed(HEADER, json.dumps({"stream": stream} | header.as_data()).encode())


def row_frame(row: LogRow) -> bytes:
    """One decision, without what the header says."""
    key, reason = row.id.encode(), row.reason.encode()
    label = b"" if row.label is None else json.dumps(row.label).encode()
    kind, values = 0, np.empty((0, 0))
    if row.context is not None:
        kind, values = CONTEXT, np.atleast_2d(row.context)
    elif row.offers is not None:
        kind, values = ARMS, row.offers
    offered = b"" if row.offered is None else row.offered.tobytes()
    propensities = np.empty(0) if row.base_propensities is None else row.base_propensities
    probabilities = (
        np.nan if each is None else each
        for each in (row.propensity, row.explore_probability, row.base_propensity)
    )
    head = ROW.pack(
        row.round, row.arm, row.greedy, *probabilities, NO_TIME if row.at is None else row.at, row.loss,
        row.explored, kind, propensities.size, *values.shape,
        len(key), len(reason), len(label), len(offered),
    )  # fmt: skip
    parts = (head, key, reason, label, offered, propensities.tobytes(), values.tobytes())
    return _framed(DECISION, b"".join(parts))


def reward_frame(t: int, key: str, reward: LogReward) -> bytes:
    """The reward of the decision of round t that has this id."""
    name = key.encode()
    at = NO_TIME if reward.at is None else reward.at
    return _framed(REWARD, REWARD_CONTENT.pack(t, reward.reward, reward.weight, at, len(name)) + name)


# Reading


def read_recorded(path: Path) -> Log:
    """All decisions of the file in their order, each with its reward if one came."""
    rows: list[LogRow] = []
    rewards: list[LogReward | None] = []
    places: dict[tuple[int, str], int] = {}
    headers: list[LogHeader] = []
    header_of_row: list[int] = []
    stream = ""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for kind, content, _ in frames(mapped):
            try:
                if kind == HEADER:
                    data = json.loads(content)
                    headers.append(header_from(data))
                    stream = str(data["stream"])
                elif kind == DECISION:
                    row = _row(content, stream, headers[-1])
                    places[row.round, row.id] = len(rows)
                    rows.append(row)
                    rewards.append(None)
                    header_of_row.append(len(headers) - 1)
                elif kind == REWARD:
                    t, reward, weight, at, size = REWARD_CONTENT.unpack_from(content)
                    key = content[REWARD_CONTENT.size : REWARD_CONTENT.size + size].decode()
                    if (place := places.get((t, key))) is not None:  # of several rewards the last one counts
                        rewards[place] = LogReward(reward, weight, None if at == NO_TIME else at)
            except (struct.error, UnicodeDecodeError, ValueError, IndexError):
                raise InvalidLog("this log holds something that this version does not know") from None
    if not rows:
        raise InvalidLog("a log must have at least one row, got none")
    return _under_one_header(rows, rewards, headers, header_of_row)


def _row(content: bytes, stream: str, header: LogHeader) -> LogRow:
    (
        t, arm, greedy, propensity, explore_probability, base_propensity,
        at, loss, explored, kind, arms_size, rows, width,
        key_size, reason_size, label_size, offered_size,
    ) = ROW.unpack_from(content)  # fmt: skip
    begin = ROW.size
    texts = []
    for size in (key_size, reason_size, label_size):
        texts.append(content[begin : begin + size].decode())
        begin += size
    offered = np.frombuffer(content[begin : begin + offered_size], dtype=bool) if offered_size else None
    begin += offered_size
    propensities = np.frombuffer(content[begin : begin + 8 * arms_size])
    values = np.frombuffer(content[begin + 8 * arms_size :]).reshape(rows, width)
    return LogRow(
        round=t,
        arm=arm,
        id=texts[0],
        label=json.loads(texts[2]) if texts[2] else None,
        explored=bool(explored),
        greedy=greedy,
        propensity=None if np.isnan(propensity) else propensity,
        explore_probability=None if np.isnan(explore_probability) else explore_probability,
        base_propensity=None if np.isnan(base_propensity) else base_propensity,
        base_propensities=propensities if arms_size else None,
        offers=values if kind == ARMS else None,
        context=values[0] if kind == CONTEXT else None,
        at=None if at == NO_TIME else at,
        stream=stream,
        reason=texts[1],
        policy=header.facts.policy,
        loss=loss,
        offered=offered,
    )


def _under_one_header(
    rows: list[LogRow], rewards: list[LogReward | None], headers: list[LogHeader], header_of_row: list[int]
) -> Log:
    """The log under its last header or, if arms or features have changed, under one for all rows."""
    used = sorted(set(header_of_row))
    spanned = headers[used[0] : used[-1] + 1]
    refuse_unlabelled_removals(spanned)
    dims = {
        place: row.offers.shape[1]
        for row, place in zip(rows, header_of_row, strict=True)
        if row.offers is not None
    }
    own = [headers[place]._replace(dim=dims.get(place)) for place in used]
    same = len({json.dumps([each.as_data()[name] for name in LASTING]) for each in own}) == 1
    if same and not has_readded_arms(spanned):
        return rows_to_log(rows, rewards, own[-1])
    between = [headers[before + 1 : place] for before, place in pairwise([used[0] - 1, *used])]
    joined = joined_headers(own, between)
    eras = dict(zip(used, joined.eras, strict=True))
    converted = []
    for row, place in zip(rows, header_of_row, strict=True):
        labels = headers[place].labels
        labelled = row if row.label is not None or labels is None else row._replace(label=labels[row.arm])
        converted.append(eras[place].row(labelled))
    return rows_to_log(converted, rewards, joined.header)
