"""Objects of a user's by their names: `package.module:object`."""

from __future__ import annotations

import importlib
import operator
from typing import Any

from infex.errors import InfexError


def imported(reference: str, error: type[InfexError], without: str) -> Any:
    """The object that `package.module:object` names; else an `error` that begins with `without`."""
    module, _, name = reference.partition(":")
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except (Exception, SystemExit) as reason:  # a module may raise anything while it is imported
        raise error(f"{without}: {reason}") from reason
