"""A disk that can fail: files of SQLite whose every call is counted, recorded, or refused.

After a power cut, what was synced is there, and of what was written since anything may be: each write, or a
part of it, or nothing.
"""

import random
from pathlib import Path
from typing import Any, NamedTuple

import apsw

SECTOR = 512


class Call(NamedTuple):
    """A call that changes a file: "write", "truncate", "sync" or "delete"; or "told", an acknowledgement."""

    what: str
    name: str
    offset: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """Passes everything on to the real disk, and records it; the call with the number `fails` is refused."""

    def __init__(self, name: str, fails: int | None = None, error: type[Exception] = apsw.IOError) -> None:
        super().__init__(name, "")
        self.name = name
        self.calls: list[Call] = []
        self.fails, self.error, self.count = fails, error, 0
        self.lasting = False  # do all calls fail from then on?

    def step(self) -> None:
        """Counts one call, which may fail."""
        self.count += 1
        if self.fails is not None and (
            self.count == self.fails or (self.lasting and self.count > self.fails)
        ):
            raise self.error(f"call {self.count} was refused")

    def told(self, number: int) -> None:
        """An entry was acknowledged."""
        self.calls.append(Call("told", "", number))

    def xOpen(self, name: Any, flags: list[int]) -> "DiskFile":  # noqa: N802 - SQLite's name
        return DiskFile(self, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
        self.step()
        self.calls.append(Call("delete", Path(name).name))
        super().xDelete(name, sync)


class DiskFile(apsw.VFSFile):
    """One file of it."""

    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self.disk = disk
        self.file = Path(name.filename() if hasattr(name, "filename") else str(name)).name
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self.disk.step()
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.step()
        super().xWrite(data, offset)
        self.disk.calls.append(Call("write", self.file, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.disk.step()
        super().xTruncate(size)
        self.disk.calls.append(Call("truncate", self.file, size))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.step()
        super().xSync(flags)
        self.disk.calls.append(Call("sync", self.file))


def after_a_cut(calls: list[Call], rng: random.Random) -> dict[str, bytes]:
    """The files after the power failed behind these calls."""
    synced: dict[str, bytearray] = {}
    waiting: dict[str, list[Call]] = {}
    for call in calls:
        if call.what == "sync":
            for each in waiting.pop(call.name, []):
                _apply(synced.setdefault(call.name, bytearray()), each)
            synced.setdefault(call.name, bytearray())
        elif call.what == "delete":
            synced.pop(call.name, None)
            waiting.pop(call.name, None)
        elif call.what != "told":
            waiting.setdefault(call.name, []).append(call)
    for name, left in waiting.items():
        for each in left:
            kept = _survived(each, rng)
            if kept is not None:
                _apply(synced.setdefault(name, bytearray()), kept)
    return {name: bytes(content) for name, content in synced.items()}


def _survived(call: Call, rng: random.Random) -> Call | None:
    """What is left of a call that was not synced: all, nothing, or some of its sectors."""
    fate = rng.choice(("kept", "lost", "torn"))
    if fate == "lost":
        return None
    if fate == "torn" and call.what == "write" and len(call.data) > SECTOR:
        return call._replace(data=call.data[: SECTOR * rng.randrange(1, len(call.data) // SECTOR + 1)])
    return call


def _apply(content: bytearray, call: Call) -> None:
    if call.what == "truncate":
        del content[call.offset :]
        content.extend(bytes(max(call.offset - len(content), 0)))
        return
    content.extend(bytes(max(call.offset - len(content), 0)))
    content[call.offset : call.offset + len(call.data)] = call.data
