"""What users say to every function that judges by a log, checked."""

from __future__ import annotations

from infex.checks import real
from infex.errors import InvalidLog, InvalidSetting
from infex.logs import Log, LogFacts
from infex.logs.log import reward_range as checked_range


def require_log(log: object) -> None:
    """Refuses anything but a log."""
    if not isinstance(log, Log):
        raise InvalidSetting(f"log must be a Log, as evaluation.read gives it, got a {type(log).__name__}")


def own_part(log: Log) -> Log:
    """A part of a log, without decisions for those held out."""
    if log.held_out is not None and log.held_out.all():
        raise InvalidLog(
            "all decisions of a part of this log are for those held out: read larger parts or, to judge by "
            "these decisions alone, parts without the column held_out"
        )
    return log.without_held_out()


def reward_range(facts: LogFacts, rewards: object) -> tuple[float, float] | None:
    """The least and the greatest reward as they were said, else as the log knows them."""
    return facts.rewards if rewards is None else checked_range(rewards)


def confidence_level(confidence: float) -> float:
    """A confidence, above 0 and below 1."""
    return real("confidence", confidence, above=0, most=1 - 1e-12)


def positive(name: str, value: float | None) -> float | None:
    """A number above 0, if one was said."""
    return None if value is None else real(name, value, above=0)
