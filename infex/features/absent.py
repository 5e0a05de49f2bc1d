"""What stands for a missing value: None, NaN, and pandas' own."""

import sys


def is_absent(value: object) -> bool:
    """Does it stand for a missing value? Nobody has pandas' own who has not loaded pandas.

    >>> [is_absent(value) for value in (None, float("nan"), 0.0, "")]
    [True, True, False, False]
    """
    if value is None or (isinstance(value, float) and value != value):
        return True
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)
