"""How the compiled loops of `infex.core` play a policy."""

from __future__ import annotations

from typing import NamedTuple

from infex.core.choosing import Base, Kind, Reads, Wrap
from infex.core.controls import Control, ControlKind
from infex.policies.base import Policy
from infex.policies.choice import is_built_in
from infex.schedules.base import Schedule

READ_PULLS = (Kind.UCB1, Kind.GAUSSIAN_TS, Kind.PLAIN_HYBRID_TS)
"""Bases that look at pulls and rewards of fixed arms."""


class BaseSpec(NamedTuple):
    """What decides in exploring rounds: see `infex.core.choosing.Base`.

    `rate` is what `Kind` says of each kind (`core/choosing.pxd`); `bonus` is added to the radius of the
    theory; `degrees` of optimism are their distribution function and their values.
    """

    kind: Kind
    reads: Reads
    noise: float = 0.0
    bound: float = 0.0
    delta: float = 1.0
    scale: float = 0.0
    rate: float = 0.0
    bonus: float = 0.0
    random_ties: bool = False
    mixture: bool = False
    degrees: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())


class WrapperSpec(NamedTuple):
    """What stands around a base, with its numbers."""

    kind: Wrap = Wrap.NOTHING
    first: float = 0.0
    second: float = 0.0
    random_ties: bool = False


class ControlSpec(NamedTuple):
    """A control: its limit, over how many rounds, its confidence radius, and when it pauses."""

    kind: ControlKind
    makes_up: bool = False
    limit: float = 0.0
    over: int = 0
    noise: float = 0.0
    bound: float = 0.0
    delta: float = 1.0
    scale: float = 0.0
    mixture: bool = False
    pauses: Schedule | None = None

    @property
    def control(self) -> Control:
        """The same as the core has it."""
        return Control(*self[:-1])


class ControlsSpec(NamedTuple):
    """Controls around a schedule, how far apart missed rounds are made up for, and how far all look back."""

    rows: tuple[ControlSpec, ...] = ()
    spacing: int = 1
    span: int = 0


class CompiledSpec(NamedTuple):
    """A policy in the terms of the compiled loops; without a schedule the base decides always.

    `own`: does the base see exploring rounds alone, and count them alone? `apart`: does it see these alone,
    though it counts all? `is_base`: may it stand as a base of `Infex`?
    """

    base: BaseSpec
    schedule: Schedule | None = None
    own: bool = False
    random_ties: bool = False
    is_base: bool = True
    wrap: WrapperSpec = WrapperSpec()
    controls: ControlsSpec | None = None
    apart: bool = False

    @property
    def is_plain(self) -> bool:
        """Can the loop over fixed arms play it? It plays kinds up to HYBRID_TS, with nothing around them."""
        plain = self.base.kind <= Kind.HYBRID_TS and self.wrap.kind == Wrap.NOTHING
        return plain and self.controls is None and not self.apart

    @property
    def reads(self) -> Reads:
        """What the base reads of the arms, with what is wrapped around it."""
        greedy = self.wrap.kind in (Wrap.GREEDY_FIRST, Wrap.COMMITS)
        return max(self.base.reads, Reads.READS_SCORES) if greedy else self.base.reads

    @property
    def core_base(self) -> Base:
        """The base as the core has it."""
        settings, wrap = self.base._asdict() | {"reads": self.reads}, self.wrap
        return Base(
            **settings,
            wrap=wrap.kind,
            first=wrap.first,
            second=wrap.second,
            wrap_random_ties=wrap.random_ties,
        )


def wrapped(base: Policy, wrap: WrapperSpec) -> CompiledSpec | None:
    """The specification of a policy with something around it, if the loops know both."""
    spec = compiled_spec(base)
    if not isinstance(spec, CompiledSpec) or not spec.is_base or spec.wrap.kind != Wrap.NOTHING:
        return None
    return spec._replace(wrap=wrap, schedule=None, random_ties=False)


class ForcedSpec(NamedTuple):
    """Forced sampling or a LASSO bandit: see `infex.core.models.LassoModel`.

    `forces`: are there forced rounds? Their estimate, by LASSO of strength `first`, keeps arms within
    `keep`/2 of its best. That from n rewards has the strength later sqrt((of_n log n + of_d log d)/n). A
    strength of 0 is least squares.
    """

    forces: bool
    keep: float = 0.0
    first: float = 0.0
    later: float = 0.0
    of_n: float = 1.0
    of_d: float = 1.0
    random_ties: bool = False


def compiled_spec(policy: Policy) -> CompiledSpec | ForcedSpec | None:
    """How compiled loops play a policy, if they can: what the method `compiled` of a built-in policy says."""
    if not is_built_in(policy) or "compiled" not in vars(type(policy)):
        return None
    spec: CompiledSpec | ForcedSpec | None = policy.compiled()  # type: ignore[attr-defined]
    return spec
