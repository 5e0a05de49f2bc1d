"""Every built-in thing is found by a machine: in the registry, under its contract, beside a slow version."""

import dataclasses
import importlib
import inspect
import re
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import infex
from infex import EpsilonGreedy, models, policies, registry, schedules
from infex.errors import FrozenSettings, InvalidSetting, NotKept
from infex.lab import environments
from infex.policies.compiled import CompiledSpec, compiled_spec
from infex.registry import POLICY_STATES
from infex.streams import Rounds
from infex.testing import play as choices_of
from infex.testing import problem, slow_play
from tests.lab.simulation.in_python import in_python
from tests.policies.test_contract import MAKERS
from tests.policies.test_controls import MAKERS as CONTROLS_UNDER_CONTRACT
from tests.schedules.test_contract import SCHEDULES as SCHEDULES_UNDER_CONTRACT

WITHOUT_A_SLOW_VERSION = {"ContextReduction": "its actions are drawn; tests/policies/test_rivals.py plays it"}


def kinds_in(room: ModuleType, verb: str) -> dict[str, type]:
    """The dataclasses with a verb that stand in the files of a room, exported or not."""
    names = [path.stem for path in Path(str(room.__file__)).parent.glob("*.py") if path.stem != "__init__"]
    modules = [importlib.import_module(f"{room.__name__}.{name}") for name in names]
    own = [
        kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__
    ]
    return {
        kind.__name__: kind
        for kind in own
        if dataclasses.is_dataclass(kind) and callable(getattr(kind, verb, None))
    }


def test_every_policy_in_its_room_is_a_row() -> None:
    assert set(kinds_in(policies, "choose")) == set(registry.POLICIES)


def test_every_estimator_in_its_room_is_a_row() -> None:
    assert set(kinds_in(models, "new_model")) == set(registry.ESTIMATORS)


def test_every_environment_in_its_room_is_a_row() -> None:
    own = {"OwnInstance"}  # it holds a user's code
    assert set(kinds_in(environments, "draws")) - own <= set(registry.BY_NAME)


def test_every_schedule_and_control_has_a_row() -> None:
    rows = {row.kind.__name__ for row in registry.MADE}
    assert set(kinds_in(schedules, "explores")) <= rows
    controls = {
        name
        for name, kind in kinds_in(policies, "explores").items()
        if issubclass(kind, infex.policies.Control)
    }
    assert controls <= rows


@pytest.mark.parametrize("name", sorted(registry.POLICIES))
def test_every_policy_is_public_under_contract_and_beside_a_slow_version(name: str) -> None:
    assert vars(policies)[name] is registry.POLICIES[name].kind
    assert name in vars(policies)["__all__"]
    if name in WITHOUT_A_SLOW_VERSION:
        return
    mine = [policy for make in MAKERS.values() if type(policy := make()).__name__ == name]
    assert mine, f"{name} is not under contract: it belongs into MAKERS of tests/policies/test_contract.py"
    given = problem(1, arms=4, dim=2, horizon=12)
    for policy in mine:
        if type(policy) is not EpsilonGreedy or not callable(policy.rate):
            fast = choices_of(policy, given.arms, given.reward, Rounds(1, "test").at, 12)
            slow = slow_play(policy, given.arms, given.reward, Rounds(1, "test").at, 12)
            if "random" not in repr(policy):  # slow versions break ties by the lowest index
                assert [choice.arm for choice in fast] == slow, f"{name} is not its slow version"


@pytest.mark.parametrize("name", sorted(registry.POLICIES))
@pytest.mark.parametrize("anew", [False, True], ids=["fixed arms", "arms drawn anew"])
def test_every_compiled_form_plays_as_the_policy(name: str, anew: bool) -> None:
    """Also one that says it reads less of the board than it does: it read what was not kept up."""
    make = environments.changing if anew else environments.gaussian
    instance = make(dim=3, arms=6, seed=2)
    for policy in [made for each in MAKERS.values() if type(made := each()).__name__ == name]:
        compiled = played(instance, policy)
        with in_python():
            assert played(instance, policy) == compiled
        assert compiled is not None or anew


def played(instance: Any, policy: Any) -> list[Any] | None:
    """The arms and rewards of a run; None of a policy that needs pulls of arms, which change."""
    try:
        run = infex.lab.play(instance, policy, 80, seed=1, record=True)
    except NotKept:
        return None
    assert run.arms is not None
    assert run.rewards is not None
    return [run.arms.tolist(), run.rewards.tolist()]


def notes_in(policy_state: Any) -> set[type]:
    """The named tuples of a note."""
    if not isinstance(policy_state, tuple):
        return set()
    inner = {kind for part in policy_state for kind in notes_in(part)}
    return inner | {type(policy_state)} if type(policy_state) is not tuple else inner


def built_in_things() -> list[Any]:
    things = [make() for make in MAKERS.values()] + list(SCHEDULES_UNDER_CONTRACT)
    things += [make(infex.every(3)) for make in CONTROLS_UNDER_CONTRACT.values()]
    things += [models.Ridge(), models.Discounted(), infex.features.disjoint(3, context_dim=2)]
    things += [make(dim=2, arms=3, seed=1) for make in (environments.gaussian, environments.changing)]
    things += [environments.contextual(2, 3, 1), environments.late(3), environments.walk(0.1)]
    return [each for each in things if type(each) in registry.BY_KIND and dataclasses.fields(each)]


@pytest.mark.parametrize("thing", built_in_things(), ids=lambda thing: type(thing).__name__)
def test_what_is_set_on_a_built_in_thing_is_refused_by_name(thing: Any) -> None:
    """Python's own frozen classes with slots say `super(type, obj): obj must be an instance`."""
    kind = type(thing).__name__
    field = max((field.name for field in dataclasses.fields(thing) if field.init), key=len)
    with pytest.raises(FrozenSettings, match=rf"{kind} has no attribute 'xyz', and cannot be changed"):
        thing.xyz = 1
    with pytest.raises(FrozenSettings, match=rf"{kind} has no attribute .* \(did you mean {field}\?\)"):
        setattr(thing, f"{field}q", 1)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"{field} of {kind} cannot be changed"):
        setattr(thing, field, 1)


def test_a_subclass_of_a_built_in_policy_may_keep_something_of_its_own() -> None:
    class Counting(infex.LinUCB):  # type: ignore[misc]
        pass

    policy: Any = Counting(delta=0.1)
    policy.count = 3
    assert policy.count == 3
    with pytest.raises(FrozenSettings, match="delta of Counting cannot be changed"):
        policy.delta = 0.5


def test_every_note_of_infexs_own_can_be_kept() -> None:
    """One that was not listed came back as a plain tuple."""
    given = problem(1, arms=4, dim=2, horizon=12)
    found: set[type] = set()
    for make in MAKERS.values():
        fast = choices_of(make(), given.arms, given.reward, Rounds(1, "test").at, 12)
        found |= {kind for choice in fast for kind in notes_in(choice.policy_state)}
    for make_control in CONTROLS_UNDER_CONTRACT.values():
        found |= notes_in(make_control(infex.every(3)).initial_state())
    own = {kind for kind in found if kind.__module__.startswith("infex.")}
    assert own <= set(POLICY_STATES.values())
    assert {"GuardedState", "CertainState", "SwitchingState"} <= {kind.__name__ for kind in own}


def test_every_control_is_under_contract() -> None:
    made = {type(make(infex.every(3))) for make in CONTROLS_UNDER_CONTRACT.values()}
    controls = {row.kind for row in registry.MADE if issubclass(row.kind, infex.policies.Control)}
    assert controls <= made


@pytest.mark.parametrize(
    "name",
    sorted(
        set(registry.SCHEDULES)
        - {"guarded", "conservative", "doubtful", "ledger", "until_certain", "paused", "catching_up"}
    ),
)
def test_every_schedule_is_public_and_under_contract(name: str) -> None:
    assert name in {*schedules.__all__, *vars(policies)["__all__"]}
    kinds = {row.kind for row in registry.MADE if row.name == name}
    assert any(type(schedule) in kinds for schedule in SCHEDULES_UNDER_CONTRACT), (
        f"{name} is not under contract"
    )


def test_every_public_name_has_a_docstring_that_speaks_of_its_arguments() -> None:
    for name in dir(infex):
        thing = infex.__version__ if name == "__version__" else getattr(infex, name)
        if name == "__version__" or isinstance(thing, ModuleType):
            continue
        words = inspect.getdoc(thing) or ""
        assert words, name
        if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        for argument in arguments_of(thing):
            assert spoken_of(argument, thing, words), f"the docstring of {name} does not speak of {argument}"


def arguments_of(thing: Any) -> list[str]:
    if inspect.isclass(thing) and (getattr(thing, "_is_protocol", False) or issubclass(thing, Enum)):
        return []
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return []
    plain = {"self", "args", "kwargs", "settings", "value", "values"}
    return [name for name in parameters if name not in plain and not name.startswith("_")]


def spoken_of(argument: str, thing: Any, words: str) -> bool:
    """Is an argument named in the docstring, or in that of a class it inherits settings from?"""
    inherited = " ".join(inspect.getdoc(kind) or "" for kind in getattr(thing, "__mro__", ())[1:-1])
    stem = argument.removesuffix("s").replace("_", " ")
    pattern = rf"\b({re.escape(argument)}|{re.escape(stem)})\b"
    return re.search(pattern, f"{words} {inherited}", re.IGNORECASE) is not None


@pytest.mark.parametrize(
    "kind", [infex.Bandit, infex.models.Posterior, infex.lab.Run], ids=lambda kind: kind.__name__
)
def test_every_method_speaks_of_its_arguments(kind: Any) -> None:
    for name in dir(kind):
        method = getattr(kind, name)
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        for argument in arguments_of(method):
            words = inspect.getdoc(method) or ""
            assert spoken_of(argument, method, words), f"{kind.__name__}.{name} does not speak of {argument}"


def test_a_subclass_that_may_decide_otherwise_is_not_compiled_as_its_parent() -> None:
    class Mine(infex.LinUCB):  # type: ignore[misc]
        """A careless user's."""

    assert isinstance(compiled_spec(infex.LinUCB()), CompiledSpec)
    assert compiled_spec(Mine()) is None


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"policy must be a policy, .* got 7"):
        infex.Bandit(np.eye(2), 7)
