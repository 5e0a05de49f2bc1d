"""Targets by the words of a command line."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from infex.bandit import Bandit
from infex.errors import InfexError, InvalidTarget
from infex.evaluation.targets import logged
from infex.logs import Log
from infex.registry import parse

NOW = "now"


def named_targets(words: Iterable[str], log: Log) -> dict[str, Any]:
    """Targets by name: `now`, a label, a saved bandit, `module:function`, or a policy; `name=` may go before.

    >>> from infex.logs import Log
    >>> log = Log(arm=[0, 1], reward=[0.0, 1.0], labels=("tea", "coffee"))
    >>> named_targets(["now", "hot=tea", "Uniform"], log)
    {'now': evaluation.logged, 'hot': 'tea', 'Uniform': Uniform()}
    """
    found: dict[str, Any] = {}
    for word in words:
        name, _, what = word.partition("=") if _has_name(word) else (word, "", word)
        if name in found:
            raise InvalidTarget(f"two policies are called {name!r}: give one another name, as in mine={what}")
        found[name] = named_target(what, log)
    return found


def _has_name(word: str) -> bool:
    """Is there a name before the first `=`, and not a call such as Greedy(ties=...)?"""
    name, sign, _ = word.partition("=")
    return bool(sign) and "(" not in name and bool(name)


def named_target(what: str, log: Log) -> Any:
    """One of them."""
    if what == NOW:
        return logged
    if log.labels is not None and what in log.labels:
        return what
    if log.labels is None and what.isdigit():
        return int(what)
    if Path(what).is_file():
        return Bandit.load(what)
    if ":" in what and "(" not in what:
        return _imported(what)
    try:
        return parse(what)
    except InfexError as error:
        raise InvalidTarget(
            f"{what!r} is no arm of the log, no file of a bandit, and no policy to judge: {error}"
        ) from None


def _imported(what: str) -> Any:
    module, _, name = what.partition(":")
    try:
        return vars(importlib.import_module(module))[name]
    except (ImportError, KeyError) as error:
        raise InvalidTarget(f"{what!r}: there is no such function ({error})") from None
