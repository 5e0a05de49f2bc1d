"""What a log can and cannot tell, before anybody asks it of a policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from infex.evaluation import findings
from infex.evaluation.evaluation_words import of_log
from infex.evaluation.groundwork import Groundwork, TargetRounds, groundwork, rounds_of
from infex.evaluation.log_arguments import require_log, reward_range
from infex.evaluation.supporting import lacking
from infex.evaluation.target_value import LogFinding
from infex.evaluation.targets import TargetPolicy, one_hot
from infex.logs import Log

ARMS_LISTED_HERE = 10


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheck:
    """What was found: `arms` that weights can judge if always played, why not the others, and `can_tell`.

    `model` says what the linear model rests on; None where there is too little for any.

    `words` tell what the log is, and `findings` what speaks against it.
    """

    words: str
    arms: tuple[object, ...]
    others: dict[object, str]
    model: str | None
    findings: tuple[LogFinding, ...] = field(repr=False)

    @property
    def can_tell(self) -> bool:
        """Can it judge anything?"""
        return bool(self.arms) or self.model is not None

    def __str__(self) -> str:
        lines = [self.words]
        if self.arms:
            lines.append(f"weights can judge {_listed(self.arms)}")
        for reason in sorted(set(self.others.values())):
            arms = tuple(arm for arm, why in self.others.items() if why == reason)
            lines.append(f"weights cannot judge {_listed(arms)}: {reason}")
        lines.append(
            "nothing can be judged" if not self.can_tell else f"the model: {self.model or 'too few rewards'}"
        )
        return "\n".join([*lines, *(f"- {each.words}" for each in self.findings)])

    def as_record(self) -> dict[str, object]:
        """All of it as plain data."""
        return {
            "log": self.words,
            "weights can judge": list(self.arms),
            "weights cannot judge": {str(arm): why for arm, why in self.others.items()},
            "model": self.model,
            "findings": [each._asdict() for each in self.findings],
        }


def _listed(arms: tuple[object, ...]) -> str:
    some = ", ".join(str(arm) for arm in arms[:ARMS_LISTED_HERE])
    left = len(arms) - ARMS_LISTED_HERE
    return f"{'arm' if len(arms) == 1 else 'arms'} {some}{f' and {left:,} more' if left > 0 else ''}"


def check(log: Log, *, rewards: tuple[float, float] | None = None) -> LogCheck:
    """What a log can tell: which arms weights can judge, what the model rests on, and what was noticed.

    `rewards` are the least and the greatest reward, if they are known.

    >>> from infex.logs import Log
    >>> found = check(Log(arm=[0, 1] * 50, reward=[1.0, 0.0] * 50, propensity=[1.0, 0.5] * 50))
    >>> found.arms, found.can_tell
    ((0,), True)
    """
    require_log(log)
    known = reward_range(log.facts, rewards)
    work = groundwork(log, rewards=known, confidence=0.95, noise=None, bound=None)
    reasons = {log.label(arm): _why_not(work, arm) for arm in range(log.count)}
    enough = work.sums.count >= 2
    features = "arms known by their places alone" if log.dim is None else f"{log.dim} features"
    return LogCheck(
        words=of_log(work),
        arms=tuple(arm for arm, why in reasons.items() if why is None) if enough else (),
        others={arm: why for arm, why in reasons.items() if why is not None},
        model=f"{features}; {work.model.words}" if enough else None,
        findings=findings.of_log(work) + (findings.misfit(work) if enough else ()),
    )


def _why_not(work: Groundwork, arm: int) -> str | None:
    """Why weights cannot judge an arm that is always played where it is on offer."""
    rounds = _always(work, arm)
    reason = lacking(work, rounds)
    if reason is not None:
        return "the log could not play that in all rounds" if "could not play" in reason else reason
    return None if rounds.of_arm[work.design.rows].any() else "never drawn"


def _always(work: Groundwork, arm: int) -> TargetRounds:
    log = work.log

    def probabilities(span: slice) -> np.ndarray:
        size = len(range(*span.indices(len(log))))
        found = one_hot(np.full(size, arm), log.count)
        return found if log.offered is None else found * log.offered[span]

    return rounds_of(TargetPolicy(f"arm {arm}", probabilities), work)
