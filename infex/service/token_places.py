"""Where the tokens of a service are kept."""

from __future__ import annotations

from pathlib import Path

from infex.errors import InvalidSetting
from infex.study.stores.base import sqlite_path


def token_path(url: str, said: Path | None) -> Path:
    """The file of tokens: the one that was said, or that beside the database."""
    beside = sqlite_path(url)
    if said is not None:
        return said
    if beside is None:
        raise InvalidSetting("say --tokens FILE: only a database of SQLite has a file beside it")
    return beside.with_name(f"{beside.name}.tokens")
