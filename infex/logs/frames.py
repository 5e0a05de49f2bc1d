"""A file that is only ever appended to: frames with checksums, of which a torn last one is cut.

A frame is handed to the system in one write, so that it survives the end of its process at any moment; a
frame that was not finished (its head is there, and its content is not) is cut, and any other damage is named.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from infex.errors import InvalidLog

FRAMES_BEGIN = b"infex log 1\n"
FRAME_HEAD = struct.Struct("<IIBI")  # length, checksum, kind; and the checksum of these three
PLAIN_HEAD = struct.Struct("<IIB")
Bytes = bytes | mmap.mmap


class Frame(NamedTuple):
    """What one frame holds, and where in the file it ends."""

    kind: int
    content: bytes
    end: int


def framed(kind: int, content: bytes) -> bytes:
    """Content with its head."""
    head = PLAIN_HEAD.pack(len(content), zlib.crc32(content), kind)
    return head + zlib.crc32(head).to_bytes(4, "little") + content


def frames(data: Bytes) -> Iterator[Frame]:
    """All whole frames of a file; InvalidLog where it is damaged elsewhere than at its torn end."""
    if data[: len(FRAMES_BEGIN)] != FRAMES_BEGIN:
        raise InvalidLog("this is no log that a bandit of this infex has written")
    at = len(FRAMES_BEGIN)
    while at < len(data):
        found = _frame(data, at)
        if found is None:
            return
        yield found
        at = found.end


def _frame(data: Bytes, at: int) -> Frame | None:
    """The frame at a place; None where the file is torn there."""
    begin = at + FRAME_HEAD.size
    if begin > len(data):
        return None
    length, checksum, kind, head = FRAME_HEAD.unpack(data[at:begin])
    if zlib.crc32(data[at : begin - 4]) != head:
        _refuse_damage(data, at)
        return None
    content = data[begin : begin + length]
    if len(content) < length:
        return None
    if zlib.crc32(content) != checksum:
        _refuse_damage(data, begin + length - 1)
        return None
    return Frame(kind, content, begin + length)


def _refuse_damage(data: Bytes, at: int) -> None:
    """Nothing but zeros to the end is what a system leaves that lost power; anything else is damage."""
    if data[at:].strip(b"\0"):
        raise InvalidLog(f"this log is damaged at byte {at:,}: it was changed since it was written")
