"""How much a service takes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from infex.checks import settings_by_name, whole

SECONDS_TO_RETRY = 1
MOST_HEAD = 32_768  # bytes of a request's line and headers
CROWDED = "infex.crowded"  # so is marked what came on one connection too many


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """What is more is refused, with 413, 422 or, where later is better, 429 or 503.

    `body` is in bytes. `batch`, `arms` and `features` are those of one request; `waiting` requests may wait
    for one study at once, `pending` decisions for their rewards; `studies` may be open; `listeners` may
    follow the page's events.
    """

    body: int = 1_000_000
    batch: int = 1_000
    arms: int = 1_000
    features: int = 2_000
    waiting: int = 1_000
    pending: int = 1_000_000
    studies: int = 200
    listeners: int = 50
    seconds: int = 30
    closing_seconds: int = 20

    def __post_init__(self) -> None:
        for name, value in settings_by_name(self).items():
            whole(name, value, least=1)
