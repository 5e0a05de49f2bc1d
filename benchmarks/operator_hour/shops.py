"""The two studies of a database: what they begin with, what visitors ask, how arms and features change."""

from random import Random
from typing import Any, Protocol, final

import infex

EVERY = 10  # rounds between explorations, at first
DEFAULT = 0.0  # the reward of a decision of `Pricing` whose time has passed
FEATURE = (-0.3, 0.3)  # of `Banners`: arms are no longer than 1
NAMES = tuple(f"a{number}" for number in range(12))  # of arms, of which some are there


class Shop(Protocol):
    """A kind of study."""

    name: str
    settings: dict[str, Any]

    def request(self, rng: Random, more_features: list[str]) -> dict[str, Any]:
        """What a visitor asks, who knows of so many features that were added."""

    def new_arm(
        self, rng: Random, label: str, more_features: list[str]
    ) -> tuple[list[Any], list[str] | None]:
        """Arms and labels of `RemoteStudy.add_arms`."""

    def extension(self, feature: str) -> dict[str, Any]:
        """The words of `RemoteStudy.extend`."""


@final
class Pricing:
    """Each arm has a regression of its own, contexts have names, and rewards must come within 20 seconds."""

    name = "pricing"

    def __init__(self) -> None:
        numbers = {"age": (0, 100), "spent": (0, 10)}
        table = infex.features.table(numbers=numbers, categories={"country": ["FR", "DE"]}, missing="middle")
        self.settings = {
            "features": infex.features.disjoint(NAMES[:5], context=table),
            "policy": f"Infex(LinUCB, every({EVERY}))",
            "wait": 20.0,
            "default": DEFAULT,
        }

    def request(self, rng: Random, more_features: list[str]) -> dict[str, Any]:
        context = {
            "age": rng.uniform(0, 100),
            "spent": rng.uniform(0, 10),
            "country": rng.choice(["FR", "DE"]),
        }
        return {"context": context | {name: rng.random() for name in more_features}}

    def new_arm(
        self, rng: Random, label: str, more_features: list[str]
    ) -> tuple[list[Any], list[str] | None]:
        return [label], None

    def extension(self, feature: str) -> dict[str, Any]:
        return {"numbers": {feature: [0, 1]}}


@final
class Banners:
    """One regression for all arms, whose features are fixed; rewards may take for ever."""

    name = "banners"

    def __init__(self) -> None:
        rng, labels = Random(1), list(NAMES[:5])
        self.settings = {
            "arms": [[rng.uniform(*FEATURE) for _ in range(4)] for _ in labels],
            "labels": labels,
            "policy": f"Infex(LinUCB, every({EVERY}))",
        }

    def request(self, rng: Random, more_features: list[str]) -> dict[str, Any]:
        return {}

    def new_arm(
        self, rng: Random, label: str, more_features: list[str]
    ) -> tuple[list[Any], list[str] | None]:
        return [[rng.uniform(*FEATURE) for _ in range(4 + len(more_features))]], [label]

    def extension(self, feature: str) -> dict[str, Any]:
        return {"more": 1}
