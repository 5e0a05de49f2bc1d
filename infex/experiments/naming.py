"""What name a user may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest known name; nothing if none is near.

    >>> hint("horizont", ["horizon", "seeds"]), hint("x", ["horizon"])
    (' (did you mean horizon?)', '')
    """
    names = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.7)
    return f" (did you mean {names[nearest[0]]}?)" if nearest else ""
