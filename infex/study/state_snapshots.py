"""The state of a study as bytes, for a quick start; what does not fit is not used."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from infex.bandit import Bandit
from infex.bandit.reshape import reshaping_of
from infex.errors import DamagedFile, InfexError
from infex.study.cases import Case
from infex.study.holding_out import held_out
from infex.study.known_keys import KnownKeys
from infex.study.standing import History, Standing
from infex.study.study_settings import alive
from infex.study.tallies import Tallies
from infex.version import __version__

SNAPSHOT_VERSION = 2
CHECK_SIZE = 32


def snapshot_of(standing: Standing) -> bytes:
    """All of a state."""
    kept = standing.record() | {
        "v": SNAPSHOT_VERSION,
        "infex": __version__,
        "bandit": standing.bandit.to_bytes(),
        "keys": standing.keys.to_bytes(),
        "frozen": None if standing.frozen is None else standing.frozen.to_bytes(),
    }
    body = msgspec.msgpack.encode(kept)
    return blake2b(body, digest_size=CHECK_SIZE).digest() + body


def standing_from(
    content: bytes, number: int, given: Mapping[str, object], history: History
) -> Standing | None:
    """The state of a snapshot after so many entries; None if it is not one that can be used."""
    body = content[CHECK_SIZE:]
    if blake2b(body, digest_size=CHECK_SIZE).digest() != content[:CHECK_SIZE]:
        return None
    try:
        kept = msgspec.msgpack.decode(body)
        if (kept["v"], kept["infex"], kept["number"]) != (SNAPSHOT_VERSION, __version__, number):
            return None
        return _restored(kept, number, given, history)
    except (InfexError, msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return None


def _restored(kept: Any, number: int, given: Mapping[str, object], history: History) -> Standing:
    settings = kept["settings"]
    own = {
        name: alive(name, settings[name], given.get(name))
        if settings[name] is not None and settings[name]["record"] is None
        else None
        for name in ("policy", "estimator", "features")
    }
    standing = Standing(settings, given, history, Bandit.from_bytes(kept["bandit"], **own))
    standing.number, standing.amendments = kept["number"], list(kept["amendments"])
    standing.relocations = [(at, reshaping_of(moved)) for at, moved in kept["relocations"]]
    standing.keys = KnownKeys(kept["keys"])
    standing.tallies = Tallies.of(kept["tallies"])
    waiting = {decision.id: (decision, on) for decision, on in standing.bandit.pending_entries()}
    if kept["frozen"] is not None:
        standing.frozen = Bandit.from_bytes(kept["frozen"], **own)
    for key, digest, unit, at, decided, held in kept["cases"]:
        decision, on = (held_out(key, *held), None) if held is not None else waiting.pop(key)
        case = Case(decision, on, digest, unit, at, decided, decided, held=held is not None, on_since=number)
        standing.await_reward(key, case)
    if waiting:
        raise DamagedFile("decisions wait in the snapshot that are no cases")
    return standing
