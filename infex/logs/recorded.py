"""The log that a bandit wrote as it decided: decisions and rewards joined."""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from infex.errors import InvalidLog
from infex.logs.frames import FRAMES_BEGIN, Frame, frames
from infex.logs.joined_headers import has_returned, joined_headers, refuse_nameless_removals
from infex.logs.log import Log
from infex.logs.log_rows import LogReward, LogRow, rows_to_log
from infex.logs.log_schema import LogHeader, header_from
from infex.logs.recorder import AMONG_ARMS, DECIDED, IN_A_CONTEXT, NO_TIME, REWARD_FRAME, REWARDED, ROW, SAID

LASTING = ("arms", "labels", "features", "dim")  # of a header: what else it says may change


def is_recorded(path: Path) -> bool:
    """Does a file begin as those that bandits write?"""
    with path.open("rb") as file:
        return file.read(len(FRAMES_BEGIN)) == FRAMES_BEGIN


def read_recorded(path: Path) -> Log:
    """All decisions of the file in their order, each with its reward if one came."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return _joined(frames(mapped))


def _joined(parts: Iterator[Frame]) -> Log:
    rows: list[LogRow] = []
    rewards: list[LogReward | None] = []
    places: dict[tuple[int, str], int] = {}
    headers: list[LogHeader] = []
    stream, of_header = "", []
    for kind, content, _ in parts:
        try:
            if kind == SAID:
                header, stream = _said(content)
                headers.append(header)
            elif kind == DECIDED:
                row = _row(content, stream, headers[-1].facts.policy)
                places[row.round, row.id] = len(rows)
                rows.append(row)
                rewards.append(None)
                of_header.append(len(headers) - 1)
            elif kind == REWARDED:
                key, told = _reward(content)
                if (place := places.get(key)) is not None:  # told again, the last one counts
                    rewards[place] = told
        except (struct.error, UnicodeDecodeError, ValueError, IndexError):
            raise InvalidLog("this log holds something that is not of this version") from None
    if not rows:
        raise InvalidLog("a log must have at least one row, got none")
    return _whole(rows, rewards, headers, of_header)


def _whole(
    rows: list[LogRow], rewards: list[LogReward | None], headers: list[LogHeader], of_header: list[int]
) -> Log:
    """The log under its last header; where arms or features have changed, under one for all rows."""
    said = sorted(set(of_header))
    every = headers[said[0] : said[-1] + 1]
    refuse_nameless_removals(every)
    widths = {
        place: row.offers.shape[1]
        for row, place in zip(rows, of_header, strict=True)
        if row.offers is not None
    }
    used = [headers[place]._replace(dim=widths.get(place)) for place in said]
    same = len({json.dumps([each.as_data()[name] for name in LASTING]) for each in used}) == 1
    if same and not has_returned(every):
        return rows_to_log(rows, rewards, used[-1])
    between = [headers[before + 1 : place] for before, place in pairwise([said[0] - 1, *said])]
    found = joined_headers(used, between)
    eras = dict(zip(said, found.eras, strict=True))
    seen = [
        eras[place].row(_with_label(row, headers[place])) for row, place in zip(rows, of_header, strict=True)
    ]
    return rows_to_log(seen, rewards, found.header)


def _with_label(row: LogRow, header: LogHeader) -> LogRow:
    if row.label is not None or header.labels is None:
        return row
    return row._replace(label=header.labels[row.arm])


def _said(content: bytes) -> tuple[LogHeader, str]:
    said = json.loads(content)
    return header_from(said), str(said["stream"])


def _row(content: bytes, stream: str, policy: str | None) -> LogRow:
    (
        t, arm, greedy, propensity, explore_probability, base_propensity,
        at, loss, explored, offer, arms_size, rows, width,
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
    shares = [
        None if share != share else share for share in (propensity, explore_probability, base_propensity)
    ]  # NaN
    return LogRow(
        t, arm, texts[0], json.loads(texts[2]) if texts[2] else None, bool(explored), greedy,
        shares[0], shares[1], shares[2],
        propensities if arms_size else None,
        values if offer == AMONG_ARMS else None,
        values[0] if offer == IN_A_CONTEXT else None,
        None if at == NO_TIME else at, stream, texts[1], policy, loss, offered,
    )  # fmt: skip


def _reward(content: bytes) -> tuple[tuple[int, str], LogReward]:
    t, reward, weight, at, size = REWARD_FRAME.unpack_from(content)
    key = content[REWARD_FRAME.size : REWARD_FRAME.size + size].decode()
    return (t, key), LogReward(reward, weight, None if at == NO_TIME else at)
