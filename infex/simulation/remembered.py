"""What runs read of a policy before their first round, once of each of infex's own: these cannot change."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, final

from infex.policies import form
from infex.policies.traits import Policy, hook, traits_of
from infex.records import stream_names

Read = TypeVar("Read")
MOST_READ = 64


@final
class Remembered(Generic[Read]):
    """A function of a policy, whose answers for the last of infex's own are remembered.

    Each holds its policy, so that no other can have its id.
    """

    def __init__(self, read: Callable[[Any], Read]) -> None:
        self._read = read
        self._known: dict[int, tuple[Policy, Read]] = {}

    def __call__(self, policy: Policy) -> Read:
        known = self._known.get(id(policy))
        if known is not None and known[0] is policy:
            return known[1]
        found = self._read(policy)
        if traits_of(policy).trusted:
            if len(self._known) >= MOST_READ:
                self._known.clear()
            self._known[id(policy)] = policy, found
        return found


def _asks(policy: Policy) -> bool:
    return any(hook(link, "informed") is not None for link in traits_of(policy).chain)


form_of = Remembered(form.form_of)
stream_name = Remembered(stream_names.stream_name)
asks_for_problem = Remembered(_asks)  # does it, or a policy in it, ask for the problem that it plays?
