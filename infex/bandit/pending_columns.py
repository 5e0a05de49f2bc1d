"""Pending decisions to arrays of a file and back; nothing of a file is believed unchecked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from infex.arrays import Floats, Integers, fitting_rows
from infex.bandit.decisions import (
    BEST_ARM,
    CHANCE,
    CHOSEN,
    ESTIMATE,
    FIGURES,
    HIGH,
    LABELLED,
    LAW,
    LIFE,
    LOW,
    NOTHING_SAID,
    PROBABILITY,
    WHOLES,
    WHY,
    Coder,
    Decisions,
    T,
    Tables,
)
from infex.bandit.pending_block import Block
from infex.bandit.waiting import Waiting
from infex.checks import whole as whole_number
from infex.errors import DamagedFile
from infex.linear.estimating import Arrays
from infex.linear.grounds import NO_PLACE, Grounds
from infex.linear.offers import Layout, Separate
from infex.policies.choice import MOST_LIKELY
from infex.records.notes import reason_of

MOST_ARMS = 2**53


def pending_record(waiting: Waiting) -> tuple[dict[str, Any], Arrays]:
    """Pending decisions: the words they point at as plain data, all else as arrays."""
    decisions, grounds = waiting.whole()
    whole, figures, explored, tables = decisions.parts
    words = {
        "reasons": [str(reason) for reason in tables.reasons],
        "labels": list(tables.labels),
        "lives": list(tables.lives),
        "texts": list(tables.texts),
    }
    arrays: Arrays = {"pending whole": whole, "pending figures": figures, "pending explored": explored}
    return words, arrays | {
        "pending place": grounds.place, "pending row": grounds.row, "pending rows": grounds.rows
    }  # fmt: skip


def forget_lives(words: dict[str, Any], arrays: Arrays, lives: set[str], prefix: str = "") -> None:
    """Brings a record to what is the same for bandits in the same state: no names of lives, and one table.

    Words and rows stand in the order in which decisions use them, and an id of the bandit's own is its round.
    """
    name_of_whole = f"{prefix}pending whole"
    whole = np.array(arrays[name_of_whole])
    for row, name in ((WHY, "reasons"), (LABELLED, "labels"), (LIFE, "lives")):
        kept = ["" if name == "lives" and word in lives else word for word in words[name]]
        whole[row], words[name] = _in_order(whole[row], kept)
    own = whole[LIFE] < 0
    words["texts"] = [words["texts"][-1 - code] for code in whole[LIFE, own].tolist()]
    whole[LIFE, own] = -1 - np.arange(int(own.sum()))
    arrays[name_of_whole] = whole
    names = [f"{prefix}pending {part}" for part in ("place", "row", "rows")]
    place, of_row, rows = (arrays[name] for name in names)
    arrays |= zip(names, Grounds(place, of_row, rows).at(np.arange(place.size))[:3], strict=True)


def _in_order(codes: Integers, words: list[Any]) -> tuple[Integers, list[Any]]:
    """The same codes in a table of the words that are used, each once, in the order of their first use."""
    coder = Coder()
    used, first = np.unique(codes[codes >= 0], return_index=True)
    for code in used[np.argsort(first)].tolist():
        coder.code(words[code])
    numbers = {code: coder.code(words[code]) for code in used.tolist()}
    table = np.array([numbers.get(code, NOTHING_SAID) for code in range(len(words))] or [NOTHING_SAID])
    return np.where(codes >= 0, table[np.maximum(codes, 0)], codes), list(coder.words)


def pending_kept(kept: Mapping[str, Any], arrays: Arrays, layout: Layout, t: int) -> Waiting:
    """Pending decisions of t rounds; each learns on a fixed arm, on features, or on an arm in a context."""
    tables = _tables(kept)
    whole = _whole(arrays["pending whole"], tables, t)
    count = whole.shape[1]
    figures = _figures(arrays["pending figures"], count)
    explored = np.array(arrays["pending explored"])
    if explored.dtype != np.bool_ or explored.shape != (count,):
        raise DamagedFile(f"which of {count} decisions explored is {explored.dtype} of {explored.shape}")
    _refuse_same(whole, tables)
    waiting = Waiting()
    if count:
        decisions = Decisions(whole, figures, explored, tables)
        waiting.add_block(Block(decisions, _grounds(arrays, count, layout)))
    return waiting


def _tables(kept: Mapping[str, Any]) -> Tables:
    for name in Tables._fields:
        if not isinstance(kept[name], list):
            raise DamagedFile(f"its {name} are no list")
    for name in ("reasons", "lives", "texts"):
        if not all(isinstance(text, str) for text in kept[name]) or (name != "reasons" and "" in kept[name]):
            raise DamagedFile(f"a decision has an id or a reason that is no text, among {name}")
    for label in kept["labels"]:
        if not isinstance(label, str):
            whole_number("a label", label, error=DamagedFile)
    reasons = tuple(reason_of(text) for text in kept["reasons"])
    return Tables(reasons, tuple(kept["labels"]), tuple(kept["lives"]), kept["texts"])


def _whole(array: object, tables: Tables, t: int) -> Integers:
    """Whole numbers of decisions, each from its least to its most, with rounds that go up."""
    found = _integers("whole numbers", array, (WHOLES, -1))
    limits = {
        T: (1, t), CHOSEN: (0, MOST_ARMS), BEST_ARM: (0, MOST_ARMS), WHY: (0, len(tables.reasons) - 1),
        LABELLED: (NOTHING_SAID, len(tables.labels) - 1), LIFE: (-len(tables.texts), len(tables.lives) - 1),
    }  # fmt: skip
    for row, (least, most) in limits.items():
        _refuse_beyond("a whole number of a pending decision", found[row], least, most)
    if (np.diff(found[T]) <= 0).any():
        raise DamagedFile("the rounds of pending decisions do not go up")
    return found


def _integers(name: str, array: object, shape: tuple[int, ...]) -> Integers:
    found = np.array(array)
    fits = found.dtype.kind in "iu" and len(found.shape) == len(shape)
    if not fits or any(size not in (-1, length) for size, length in zip(shape, found.shape, strict=True)):
        raise DamagedFile(f"{name} of pending decisions are {found.dtype} of {found.shape}, not of {shape}")
    if found.size and int(found.max()) > MOST_ARMS:
        raise DamagedFile(f"{name} of pending decisions must be at most {MOST_ARMS}, got {found.max()}")
    return found.astype(np.int64, copy=False)


def _refuse_beyond(name: str, numbers: Integers, least: int, most: int) -> None:
    if numbers.size and not (least <= numbers.min() and numbers.max() <= most):
        raise DamagedFile(f"{name} must be from {least} to {most}, got {numbers.min()} to {numbers.max()}")


def _figures(array: object, count: int) -> Floats:
    """Estimates that are finite, ends that may be endless, and chances that may be unknown."""
    found = np.array(array)
    if found.dtype != np.float64 or found.shape != (FIGURES, count):
        raise DamagedFile(f"figures of {count} pending decisions are {found.dtype} of {found.shape}")
    if not np.isfinite(found[ESTIMATE]).all() or np.isnan(found[[LOW, HIGH]]).any():
        raise DamagedFile("an estimate of a pending decision, or an end of its interval, is no number")
    shares = found[[PROBABILITY, CHANCE, LAW]]
    if not (np.isnan(shares) | ((shares >= 0.0) & (shares <= MOST_LIKELY))).all():
        raise DamagedFile("a chance of a pending decision is not from 0 to 1")
    return found


def _grounds(arrays: Arrays, count: int, layout: Layout) -> Grounds:
    apart = isinstance(layout, Separate)
    dim, arms = (layout.row, layout.arms) if isinstance(layout, Separate) else layout.shape
    place = _integers("arms that are learnt on", arrays["pending place"], (count,))
    row = _integers("rows that are learnt on", arrays["pending row"], (count,))
    given = np.asarray(arrays["pending rows"])
    rows = fitting_rows("rows of pending decisions", given, dim) if given.size else np.zeros((0, dim))
    _refuse_beyond("an arm that is learnt on", place, NO_PLACE, arms - 1)
    _refuse_beyond("a row that is learnt on", row, NO_PLACE, len(rows) - 1)
    if ((row < 0) if apart else (place >= 0) == (row >= 0)).any():
        raise DamagedFile("a pending decision is learnt on both an arm and a row, or on neither")
    return Grounds(place, row, rows, apart)


def _refuse_same(whole: Integers, tables: Tables) -> None:
    """Refuses ids of which two are the same: a text, or one that looks like a life's."""
    used = whole[LIFE][whole[LIFE] < 0]
    if len(set(tables.texts)) < len(tables.texts) or np.unique(used).size < used.size:
        raise DamagedFile("an id of pending decisions comes twice")
    if len(set(tables.lives)) < len(tables.lives):
        raise DamagedFile("the name of a life comes twice")
    names = {name: code for code, name in enumerate(tables.lives)}
    for text in tables.texts:
        name, _, number = text.rpartition("-")
        if name in names and number.isdecimal() and len(number) < 19 and str(int(number)) == number:
            same = (whole[T] == int(number)) & (whole[LIFE] == names[name])
            if same.any():
                raise DamagedFile(f"decision {text!r} waits twice")
