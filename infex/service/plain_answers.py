"""Figures and explanations of any kind as plain data that JSON can hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any

import numpy as np

from infex.checks import settings_by_name


def plain_figures(value: object) -> Any:
    """Dataclasses and named tuples by their fields, arrays as lists; what is not a finite number is None.

    >>> plain_figures({"mean": float("nan"), "by": (1, np.float64(2.5))})
    {'mean': None, 'by': [1, 2.5]}
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return plain_figures(value.tolist())
    if isinstance(value, int | float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return _plain_parts(value)


def _plain_parts(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain_figures(settings_by_name(value))
    if isinstance(value, Mapping):
        return {str(name): plain_figures(part) for name, part in value.items()}
    if isinstance(value, tuple) and (fields := vars(type(value)).get("_fields")):
        return {name: plain_figures(part) for name, part in zip(fields, value, strict=True)}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_figures(part) for part in value]
    return str(value)
