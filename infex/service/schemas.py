"""What requests and responses say: each body as a type, from which it is decoded, checked and documented."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from operator import itemgetter
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from infex.bandit import Decision
from infex.checks import settings_by_name, whole
from infex.errors import InfexError, InvalidBody
from infex.registry import from_record, parse

Key = Annotated[
    str, Meta(min_length=1, max_length=200, description="Your own name for a decision, such as an order's.")
]
StudyName = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Unit = Annotated[str, Meta(min_length=1, max_length=200, description="Whom it is about, such as a customer.")]
Reason = Annotated[str, Meta(min_length=1, max_length=500, description="Why, for the journal.")]
OptionalReason = Annotated[str, Meta(max_length=500, description="Why, for the journal.")]
Expression = Annotated[
    str, Meta(min_length=1, max_length=2000, description="As in Python: Infex(LinUCB, every(50)).")
]
Record = Annotated[dict[str, Any], Meta(description="What infex.to_record(...) gives.")]
ArmLabel = str | int
Context = Annotated[
    dict[str, float | str | None] | list[float],
    Meta(description="By the names of the study's features, or as numbers in their order."),
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """What is more is refused, with 413, 422 or, where later is better, 429 or 503.

    `body` is in bytes, and so is `log`, a file to learn from. `batch`, `arms` and `features` are those of
    one request; `waiting` requests may wait for one study at once, twice as many may be under way in all;
    `pending` decisions may wait for their rewards; `studies` may be open; `listeners` may follow the page's
    events. A body must have come, and a decision must be on disk, within `seconds`; what was begun has
    `closing_seconds` when the service ends.
    """

    body: int = 1_000_000
    log: int = 1_000_000_000
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


class RequestBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What bodies of requests have in common: fields by name, and none that is unknown."""


class DecisionRequest(RequestBody, frozen=True, kw_only=True):
    """Asks for a decision. The same key again gives the same decision; another request with it is refused.

    Without a key the header Idempotency-Key is the key.
    """

    key: Key | None = None
    context: Context | None = None
    arms: list[list[float]] | None = None
    labels: list[ArmLabel] | None = None
    allowed: list[bool] | None = None
    offered: (
        Annotated[list[ArmLabel], Meta(description="What can be had now, by label or number.")] | None
    ) = None
    explore: Annotated[bool, Meta(description="May this one be explored on?")] = True
    played: (
        Annotated[ArmLabel, Meta(description="The arm that was played, of a study that is an apprentice.")]
        | None
    ) = None
    unit: Unit | None = None


class RewardRequest(RequestBody, frozen=True, kw_only=True):
    """Tells the reward of a decision, exactly once: the same again changes nothing, another is refused.

    Without a key the header Idempotency-Key is the key of the decision.
    """

    key: Key | None = None
    reward: float
    weight: float = 1.0
    part: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class HoldoutArm(RequestBody, frozen=True, kw_only=True):
    """The arm that all units get who are held out, by label or number."""

    arm: ArmLabel


class StudyRequest(RequestBody, frozen=True, kw_only=True):
    """Begins a study, with the settings of `infex.Study.open`."""

    name: StudyName
    policy: Expression | Record
    features: Record | None = None
    arms: list[list[float]] | None = None
    labels: list[ArmLabel] | None = None
    dim: Annotated[int, Meta(ge=1)] | None = None
    estimator: Expression | Record | None = None
    allowed: list[bool] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    penalty: float = 1.0
    rewards: (
        Annotated[tuple[float, float], Meta(description="Rewards beyond this range are refused.")] | None
    ) = None
    rescale: bool = False
    wait: Annotated[str, Meta(max_length=40)] | float | None = None
    default: float | None = None
    again: Literal["refuse", "sum"] = "refuse"
    holdout: Annotated[float, Meta(ge=0, le=1)] = 0.0
    holdout_policy: (
        Annotated[str, Meta(max_length=200, description='"uniform" or "greedy".')] | HoldoutArm
    ) = "uniform"
    reward_unit: Annotated[str, Meta(max_length=20, description="Such as EUR: shown beside rewards.")] = ""
    sticky: Annotated[
        bool | float | str, Meta(description='Units keep their arms, or for a time: "30 days".')
    ] = False
    awaits_log: Annotated[bool, Meta(description="Nothing is decided before a log was learnt from.")] = False
    apprentice: Annotated[bool, Meta(description="It learns from arms that are `played` elsewhere.")] = False

    def settings(self) -> dict[str, Any]:
        """Keyword arguments for `Study.open`."""
        plain = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        del plain["name"]
        if isinstance(self.holdout_policy, HoldoutArm):
            plain["holdout_policy"] = {"arm": self.holdout_policy.arm}
        objects = [name for name in ("policy", "estimator", "features") if name in plain]
        return plain | {name: parsed(name, plain[name]) for name in objects}


class NewArms(RequestBody, frozen=True, kw_only=True):
    """Arms that come behind those there are: rows of features, labels, or how many, as the study's are."""

    arms: Annotated[int, Meta(ge=1)] | list[list[float] | str | int]
    labels: list[ArmLabel] | None = None


class NewFeatures(RequestBody, frozen=True, kw_only=True):
    """Features that contexts or arms get: `more` of them, or further `numbers` and `categories` by name."""

    more: Annotated[int, Meta(ge=0)] | None = None
    numbers: dict[str, tuple[float, float]] | None = None
    categories: dict[str, list[str | int]] | None = None
    longest: float | None = None


class AmendmentRequest(RequestBody, frozen=True, kw_only=True):
    """Changes a study, in one commit: all of it, or nothing.

    With a `key`, or the header Idempotency-Key, it is made once: the same again changes nothing, another
    request under it is refused. Keys of amendments are not those of decisions. The changes are made in this
    order: `remove_arms`, `extend`, `add_arms`, `allowed` (may exploring try this arm? one for each),
    `pending`, `policy` (with its schedule and limits), `explore` (false pauses exploring, true goes on with
    it), `freeze` (those held out get the greedy arm of the present state from now on), `apprentice` (false
    lets a study decide that was one).
    """

    reason: Reason
    key: Key | None = None
    remove_arms: Annotated[list[ArmLabel], Meta(min_length=1)] | None = None
    extend: NewFeatures | None = None
    add_arms: NewArms | None = None
    allowed: list[bool] | None = None
    pending: Literal["narrow", "ignore"] | None = None
    policy: Expression | Record | None = None
    explore: bool | None = None
    freeze: bool = False
    apprentice: bool | None = None

    def changes(self) -> dict[str, Any]:
        """Keyword arguments for `Study.amend`, without key and reason."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        if self.policy is not None:
            plain["policy"] = parsed("policy", self.policy)
        return {field: value for field, value in plain.items() if field not in ("key", "reason")}


class CorrectionRequest(RequestBody, frozen=True, kw_only=True):
    """Puts the reward of a decision right; the same again changes nothing."""

    key: Key
    reward: float
    reason: OptionalReason = ""


class ErasureRequest(RequestBody, frozen=True, kw_only=True):
    """Erases all that is kept of a unit, but the keys and times of its decisions."""

    unit: Unit
    reason: OptionalReason = ""


class ArchiveRequest(RequestBody, frozen=True, kw_only=True):
    """Moves old entries of the journal into files beside the database, but the newest `keep`."""

    keep: Annotated[int, Meta(ge=1)]


class PreviewRequest(RequestBody, frozen=True, kw_only=True):
    """Asks how often a policy would explore, without changing anything."""

    policy: Expression | Record


class ResponseBody(msgspec.Struct, frozen=True):
    """What bodies of responses have in common: every field is there, null where there is no value."""


class DecisionAnswer(ResponseBody, frozen=True, gc=False):
    """A decision that is on disk. `low` and `high` are null where the interval has no end.

    `round` counts from 1. `greedy` is the arm of the largest estimate among those offered, also where another
    rule decided (`reason` "held out"); `estimate` is that of this arm. `propensity` is the probability of
    this arm, `explore_probability` that of exploring, `base_propensity` that of this arm given that the round
    explores; null where not known.
    """

    key: str
    round: int
    arm: int
    label: str | int | None
    explored: bool
    reason: str
    greedy: int
    estimate: float
    low: float | None
    high: float | None
    propensity: float | None
    explore_probability: float | None
    base_propensity: float | None


class RewardAnswer(ResponseBody, frozen=True, gc=False):
    """What has become of the reward of a decision: pending, rewarded, defaulted, late, corrected, erased."""

    key: str
    state: str


class ErasureAnswer(ResponseBody, frozen=True, kw_only=True):
    """How many entries were erased."""

    erased: int


class VerdictAnswer(ResponseBody, frozen=True, kw_only=True):
    """Whether the journal holds; if not, `entry` is the first that does not fit, and `why` says why not.

    Of `decisions`, `proven` were decided once more and came out the same; `unproven` rest on something that
    was erased since. `checkpoint` is the end of the journal, to be kept elsewhere.
    """

    holds: bool
    entry: int | None
    why: str
    entries: int
    decisions: int
    proven: int
    unproven: int
    checkpoint: str


class ArchiveAnswer(ResponseBody, frozen=True, kw_only=True):
    """How many entries were moved."""

    archived: int


class LearntAnswer(ResponseBody, frozen=True, kw_only=True):
    """How many rewards of a log the study has learnt."""

    rows: int


class StudyAnswer(ResponseBody, frozen=True, kw_only=True):
    """A study at a glance; `words` are its policy as a sentence, `rules` its settings that are of rewards."""

    name: str
    policy: str
    paused: bool
    arms: list[str | int] | None
    figures: dict[str, Any]
    words: str
    rules: dict[str, Any]


class ExplainAnswer(ResponseBody, frozen=True, kw_only=True):
    """Why a decision was taken, and whether the journal gives it again."""

    key: str
    why: dict[str, Any]


class PreviewAnswer(ResponseBody, frozen=True, kw_only=True):
    """How often a policy would explore in the next `rounds`; `basis` says why these are so many.

    `now` is what the policy in force would do. A number is null where the schedule does not tell.
    """

    policy: str
    rounds: int
    basis: str
    explorations: int | None
    now: int | None


class HealthAnswer(ResponseBody, frozen=True, kw_only=True):
    """Does it work? Everybody may ask, so that it tells nothing of the studies."""

    status: str
    version: str


class RefusalAnswer(ResponseBody, frozen=True, kw_only=True):
    """Why a request was refused: the field, its value unless that is private, and what would be right."""

    error: str
    message: str
    field: str | None = None
    value: str | None = None
    expected: str | None = None


def parsed(field: str, thing: str | dict[str, Any]) -> Any:
    """A policy, an estimator or a feature map from text or from a record: built-in ones alone."""
    try:
        return parse(thing) if isinstance(thing, str) else from_record(thing)
    except InfexError as error:
        error.field = field
        raise


FIELDS_OF_ANSWER = itemgetter(*map(Decision._fields.index, (
    "id", "t", "arm", "label", "explored", "reason", "greedy", "estimate", "low", "high", "propensity",
    "explore_probability", "base_propensity",
)))  # fmt: skip


def decision_answer(decision: Decision) -> DecisionAnswer:
    """A decision as it is answered; what is not finite is encoded as null."""
    return DecisionAnswer(*FIELDS_OF_ANSWER(decision))


def plain_figures(value: object) -> Any:
    """Figures as JSON can hold them: fields by name, arrays as lists; what is not a finite number is None.

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
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain_figures(settings_by_name(value))
    if isinstance(value, Mapping):
        return {str(name): plain_figures(part) for name, part in value.items()}
    if isinstance(value, tuple) and (fields := vars(type(value)).get("_fields")):
        return {name: plain_figures(part) for name, part in zip(fields, value, strict=True)}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_figures(part) for part in value]
    return str(value)


# How msgspec words what is wrong: "Expected `float`, got `str` - at `$[1].reward`".
MISFIT = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
NAMED_FIELD = re.compile(r"`(?P<name>.*)`$", re.DOTALL)
BYTE = re.compile(r"\(byte (\d+)\)$")
FIELD_BEFORE = re.compile(rb'"([A-Za-z_][A-Za-z0-9_-]{0,40})"\s*:[^:"}]*$')
PATH_STEPS = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]")
TYPE_NAMES = {"str": "string", "float": "number", "int": "integer", "bool": "boolean"}
"""Types of Python as JSON calls them."""
TYPE_NAME = re.compile(rf"\b({'|'.join(TYPE_NAMES)})\b")
PRIVATE_FIELDS = ("context", "unit")  # personal data: never in responses about errors, nor in logs
LONGEST_SHOWN = 60


class BodyDecoder:
    """Reads one type from JSON: no unknown fields, no numbers as text, no NaN and no infinity."""

    def __init__(self, kind: Any) -> None:
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)

    def decode(self, body: bytes) -> Any:
        """The body as data; InvalidBody names the field that is wrong."""
        try:
            return self._decoder.decode(body)
        except UnicodeDecodeError:
            raise InvalidBody("the body is not UTF-8", field="body", expected="JSON in UTF-8") from None
        except msgspec.ValidationError as error:
            raise _misfit(str(error), body) from None
        except RecursionError:
            raise InvalidBody("the body is nested too deep", field="body", expected="less depth") from None
        except msgspec.DecodeError as error:
            raise _malformed(str(error), body) from None


def _misfit(words: str, body: bytes) -> InvalidBody:
    """For JSON that is well formed: msgspec tells types and places, and no values."""
    found = MISFIT.match(words)
    what, path = (found["what"], (found["path"] or "").removeprefix(".")) if found else (words, "")
    if "field" in what and (named := NAMED_FIELD.search(what)):
        message, path = what, f"{path}.{named['name']}".removeprefix(".")
        expected = "no such field" if "unknown field" in what else "a value"
    else:
        what = TYPE_NAME.sub(lambda name: TYPE_NAMES[name[1]], what).replace("`", "")
        message = f"{what} in {path[:LONGEST_SHOWN] or 'body'}"
        expected = "a finite number" if "out of range" in what else what.removeprefix("Expected ")
        if what.startswith("Invalid enum value"):
            expected = "one of the values in /openapi.json"
        expected = expected.split(", got ")[0]
    field = path[:LONGEST_SHOWN] or "body"
    return InvalidBody(message, field=field, expected=expected, value=_value_at(path, body))


def _value_at(path: str, body: bytes) -> str | None:
    """What stands at a path of the body, in brief; None for personal data."""
    steps = PATH_STEPS.findall(path)
    if not steps or any(name in PRIVATE_FIELDS for name, _ in steps):
        return None
    try:
        found: Any = msgspec.json.decode(body)
        for name, place in steps:
            found = found[name] if name else found[int(place)]
        return msgspec.json.encode(found)[:LONGEST_SHOWN].decode(errors="replace")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LookupError, TypeError, ValueError):
        return None


def _malformed(words: str, body: bytes) -> InvalidBody:
    """For what is not JSON, such as NaN: the field is the last one that was named before it."""
    place = BYTE.search(words)
    before = FIELD_BEFORE.search((body if place is None else body[: int(place[1])])[-200:])
    field = before[1].decode() if before else "body"
    return InvalidBody(f"{words} in {field}", field=field, expected="JSON, with finite numbers")
