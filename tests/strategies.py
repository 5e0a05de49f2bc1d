"""Strategies of hypothesis that tests of several packages use."""

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import reject
from hypothesis import strategies as st

from infex.errors import InvalidSetting

T = TypeVar("T")


def accepted(make: Callable[..., T], *settings: Any, **named: Any) -> st.SearchStrategy[T]:
    """What `make` gives of settings that are drawn, but for those that it refuses together."""

    def attempt(*drawn: Any, **others: Any) -> T:
        try:
            return make(*drawn, **others)
        except InvalidSetting:
            reject()

    return st.builds(attempt, *settings, **named)
