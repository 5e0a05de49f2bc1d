"""A loaded file is never trusted: whatever is in it, a named error comes before compiled code reads it."""

import contextlib
import copy
import hashlib
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    Bandit,
    Infex,
    LinTS,
    LinUCB,
    every,
    features,
    guarded,
    listed,
    models,
    paused,
    until_certain,
)
from infex.bandit import Changes, archive
from infex.errors import CannotLoad, DamagedFile, InfexError, InvalidRecord, InvalidReward, RewardOutOfRange
from infex.policies import GreedyFirst, RarelySwitchingUCB, Uniform
from infex.testing import problem

ARMS = problem(3, arms=3, dim=2, horizon=1).arms
KINDS: dict[str, Any] = {
    "fixed": lambda: Bandit(
        ARMS, Infex(RarelySwitchingUCB(), guarded(every(2), 5.0)), labels=["a", "b", "c"]
    ),
    "own": lambda: Bandit(ARMS, Infex(LinTS(), every(2), data="own"), allowed=[True, False, True]),
    "contexts": lambda: Bandit(features=features.disjoint(["x", "y"], context_dim=2), policy=LinUCB()),
    "first": lambda: Bandit(ARMS, Infex(GreedyFirst(LinUCB()), paused(every(2), listed([3]), "make up"))),
    "certain": lambda: Bandit(ARMS, Infex(LinUCB(), until_certain(every(2), delta=0.1))),
    "discounted": lambda: Bandit(ARMS, LinUCB(), estimator=models.Discounted()),
    "lasso": lambda: Bandit(ARMS, LinUCB(), estimator=models.Lasso()),
    "windowed": lambda: Bandit(ARMS, LinUCB(), estimator=models.Windowed(size=4)),
    "logistic": lambda: Bandit(ARMS, LinUCB(), estimator=models.Logistic()),
}


def ask(bandit: Bandit) -> Any:
    return bandit.ask(context=[0.3, 0.4]) if bandit.features else bandit.ask()


def kept(kind: str, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    bandit = KINDS[kind]()
    for t in range(12):
        decision = ask(bandit)
        if t % 4:
            bandit.tell(decision, float(t % 2))
    bandit.save(path)
    stored, arrays = archive.read(path)
    return stored, arrays


def crafted(bandit: Bandit, path: Path, change: Callable[[Any, Any], None]) -> Bandit:
    """The bandit of a file whose header and arrays were changed, with the right checksum."""
    bandit.save(path)
    header, arrays = archive.read(path)
    change(header, arrays)
    archive.write(path, header, arrays)
    return Bandit.load(path)


def refused(path: Path, stored: Any, arrays: Any, words: str = "") -> None:
    archive.write(path, stored, arrays)
    with pytest.raises(DamagedFile, match=rf"x\.infex.*{words}"):
        Bandit.load(path)


@pytest.mark.parametrize("place", [7, 99_999_999, -1, 2.5, "a", True, [[0]], 2**60])
def test_a_pending_decision_that_points_at_no_arm_is_refused(tmp_path: Path, place: Any) -> None:
    """It made `tell` read foreign memory, and the process die."""
    path = tmp_path / "x.infex"
    stored, arrays = kept("fixed", path)
    arrays["pending place"] = np.array([place, *arrays["pending place"][1:].tolist()][:1] * 3)
    refused(path, stored, arrays)


@pytest.mark.parametrize("kind", ["fixed", "contexts"])
@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("t", 0, 0, "do not go up from 1 to 12"),
        ("t", 2, 13, "do not go up from 1 to 12"),
        ("t", 1, 1, "do not go up from 1 to 12"),
        ("t", 0, -1, "must be from 0"),
        ("arm", 0, -1, "must be from 0"),
        ("arm", 0, 2**60, "must be from 0"),
        ("greedy", 0, -1, "must be from 0"),
        ("place", 0, 9, "an arm that a pending decision is learnt on is not there"),
        ("place", 0, -2, "must be from -1"),
        ("row", 0, 99, "a row that a pending decision is learnt on is not there"),
        ("row", 0, -2, "must be from -1"),
        ("estimate", 0, math.nan, "finite"),
        ("estimate", 0, math.inf, "finite"),
        ("low", 0, math.nan, "no number"),
        ("high", 0, math.nan, "no number"),
        ("propensity", 0, 1.5, "from 0 to 1"),
        ("explore_probability", 0, math.inf, "from 0 to 1"),
        ("base_propensity", 0, -0.5, "from 0 to 1"),
    ],
)
def test_a_column_of_pending_decisions_that_cannot_be_is_refused(
    tmp_path: Path, kind: str, name: str, place: Any, value: Any, words: str
) -> None:
    path = tmp_path / "x.infex"
    stored, arrays = kept(kind, path)
    changed_array = arrays[f"pending {name}"].copy()
    changed_array[place] = value
    arrays[f"pending {name}"] = changed_array
    refused(path, stored, arrays, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"ids": ["a", "a", "b"]}, "do not fit together"),
        ({"ids": ["a"]}, "do not fit together"),
        ({"ids": ["", "a", "b"]}, "no text"),
        ({"ids": [1, "a", "b"]}, "no text"),
        ({"ids": "abc"}, "no list"),
        ({"reasons": [1, "greedy", "greedy"]}, "no text"),
        ({"labels": [0.5, "a", "a"]}, "no text"),
    ],
)
def test_words_of_pending_decisions_that_cannot_be_are_refused(
    tmp_path: Path, words: Any, message: str
) -> None:
    path = tmp_path / "x.infex"
    stored, arrays = kept("fixed", path)
    stored["pending"] |= words
    refused(path, stored, arrays, message)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


def places(thing: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested data."""
    inner = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


def changed(thing: Any, place: tuple[Any, ...], value: Any, remove: bool) -> Any:
    thing = copy.deepcopy(thing)
    inner = thing
    for key in place[:-1]:
        inner = inner[key]
    if remove:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return thing


@given(kind=st.sampled_from(list(KINDS)), data=st.data())
@settings(max_examples=120, deadline=None)
def test_any_change_of_the_settings_is_refused_by_name_or_can_be_used(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: Any
) -> None:
    path = tmp_path_factory.mktemp("strange") / "x.infex"
    stored, arrays = kept(kind, path)
    place = data.draw(st.sampled_from(places(stored)[1:]))
    other = changed(stored, place, data.draw(ODD), data.draw(st.booleans()))
    archive.write(path, other, arrays)
    use(path)


@given(kind=st.sampled_from(list(KINDS)), data=st.data())
@settings(max_examples=80, deadline=None)
def test_any_change_of_the_arrays_is_refused_by_name_or_can_be_used(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: Any
) -> None:
    path = tmp_path_factory.mktemp("strange") / "x.infex"
    stored, arrays = kept(kind, path)
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = np.array(arrays[name], dtype=np.float64)
    change = data.draw(st.sampled_from(["number", "shape", "kind", "gone", "more"]))
    if change == "number" and array.size:
        array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(
            st.sampled_from([math.nan, math.inf, 1e300, -1e300, -1.0, 1e9, 0.5, 7.0])
        )
    arrays[name] = {
        "number": array,
        "shape": array.reshape(-1)[:-1],
        "kind": array.astype(str),
        "gone": array,
        "more": np.concatenate([np.atleast_1d(array)] * 2),
    }[change]
    if change == "gone":
        del arrays[name]
    archive.write(path, stored, arrays)
    use(path)


def use(path: Path) -> None:
    """Loads, asks, tells all that waits, and saves; only named errors may come, and only from loading."""
    try:
        bandit = Bandit.load(path)
    except InfexError:
        return
    for decision in bandit.pending:
        with contextlib.suppress(InvalidReward, RewardOutOfRange):  # a file may say another range
            bandit.tell(decision, 1.0)
    assert bandit.features is None or isinstance(bandit.features, features.Disjoint | features.Interactions)
    longest = 1.0 if bandit.features is None else bandit.features.longest
    context = [0.3 * min(longest, 1e300), 0.4 * min(longest, 1e300)] if bandit.features else None
    for _ in range(5):
        decision = bandit.ask(context=context)
        with contextlib.suppress(InvalidReward, RewardOutOfRange):
            bandit.tell(decision, 1.0)
    bandit.estimates(context=context)
    bandit.exploration()
    bandit.save(path)
    Bandit.load(path)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: features.interactions(np.eye(2)[::-1], context_dim=3, labels=["b", "a"]), "arms|kind|not "),
        (lambda: features.disjoint(["a", "b"], context_dim=3, longest=10), "longest is 1.0, not 10.0"),
        (lambda: features.disjoint(3, context_dim=2), "arms is .*, not 3"),
        (lambda: features.disjoint(["b", "a"], context_dim=3), r"arms is \['a', 'b'\], not \['b', 'a'\]"),
    ],
)
def test_another_map_of_the_same_dimension_is_refused(tmp_path: Path, other: Any, message: str) -> None:
    """Labels in another order played the forbidden product, every time."""
    path = tmp_path / "x.infex"
    rule = features.disjoint(["a", "b"], context_dim=3)
    bandit = Bandit(features=rule, policy=Infex(Uniform(), every(1)), allowed=[True, False])
    bandit.save(path)
    with pytest.raises(CannotLoad, match=f"holds another feature map: .*({message}).*say adopt=True"):
        Bandit.load(path, features=other())
    assert Bandit.load(path, features=features.disjoint(["a", "b"], context_dim=3)).features == rule


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": "x"}, "level of the policy state FirstNote cannot be 'x'"),
        ({"switched": 1}, "switched of the policy state FirstNote cannot be 1"),
    ],
)
def test_a_note_with_parts_of_another_kind_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "x.infex"
    stored, arrays = kept("first", path)
    fresh = {"kind": "FirstNote", "switched": False, "level": 0.1, "base": None}
    stored["policy_state"]["base"] = fresh
    archive.write(path, stored, arrays)
    assert Bandit.load(path).t == 12
    stored["policy_state"]["base"] = fresh | change
    archive.write(path, stored, arrays)
    with pytest.raises(DamagedFile, match=message):
        Bandit.load(path)


def test_a_guard_that_stopped_by_something_else_than_a_word_is_refused(tmp_path: Path) -> None:
    """Exploration stopped for good, without a word."""
    path = tmp_path / "x.infex"
    for stopped in ("no", [1, 2], 1):
        stored, arrays = kept("fixed", path)
        stored["policy_state"]["states"]["parts"][0]["stopped"] = stopped
        archive.write(path, stored, arrays)
        with pytest.raises(DamagedFile, match="stopped of the policy state GuardedState cannot be"):
            Bandit.load(path)


@pytest.mark.parametrize("planned", [9, 12])
def test_more_planned_than_was_done_or_skipped_is_refused(tmp_path: Path, planned: int) -> None:
    path = tmp_path / "x.infex"
    stored, arrays = kept("own", path)
    stored["account"]["planned"] = planned
    archive.write(path, stored, arrays)
    with pytest.raises(DamagedFile, match="do not fit together"):
        Bandit.load(path)


def test_a_count_that_wraps_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    stored, arrays = kept("own", path)
    arrays["all told"] = np.array(2**63 + 5, dtype=np.uint64)
    archive.write(path, stored, arrays)
    with pytest.raises(DamagedFile, match="told must be at most"):
        Bandit.load(path)


def test_masks_go_by_label_into_another_map(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    rule = features.disjoint(["a", "b", "c"], context_dim=2)
    Bandit(features=rule, policy=Infex(Uniform(), every(1)), allowed=[True, False, True]).save(path)
    other = features.disjoint(["b", "d", "a"], context_dim=2)
    bandit = Bandit.load(path, features=other, adopt=True)
    assert bandit.allowed is not None
    assert dict(zip(["b", "d", "a"], bandit.allowed.tolist(), strict=True)) == {
        "b": False,
        "d": True,
        "a": True,
    }
    assert {bandit.ask(context=[0.1, 0.2]).label for _ in range(40)} == {"d", "a"}


def test_a_file_names_what_wrote_it(tmp_path: Path) -> None:
    stored, _ = kept("fixed", tmp_path / "x.infex")
    assert stored["written_by"].startswith("infex ")
    json.dumps(stored, allow_nan=False)


def test_a_mask_by_place_does_not_go_to_another_map(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    rule = features.disjoint(3, context_dim=2)
    Bandit(features=rule, policy=LinUCB(), allowed=[True, False, True]).save(path)
    with pytest.raises(CannotLoad, match="by place which arms may be tried"):
        Bandit.load(path, features=features.disjoint(["a", "b", "c"], context_dim=2), adopt=True)


@pytest.mark.parametrize("dim", [5000, 10**6, 10**12])
@pytest.mark.parametrize("estimator", [None, models.Logistic(), models.Windowed(size=4)], ids=repr)
def test_a_file_with_more_features_than_numbers_takes_no_memory(
    tmp_path: Path, dim: int, estimator: Any
) -> None:
    """Arms that change have columns of no numbers, of any dimension."""
    bandit = Bandit(dim=2, policy=LinUCB(), estimator=estimator)

    def change(header: Any, arrays: Any) -> None:
        arrays["columns"] = np.empty((dim, 0))

    with pytest.raises(DamagedFile, match="its features need"):
        crafted(bandit, tmp_path / "x.infex", change)


def test_a_file_with_more_arms_than_numbers_takes_no_memory(tmp_path: Path) -> None:
    bandit = Bandit(features=features.disjoint(2, 3), policy=LinUCB())

    def change(header: Any, arrays: Any) -> None:
        header["layout"] = [10**9, 3, 0]
        header["features"]["arms"] = 10**9
        arrays["columns"] = np.empty((3 * 10**9, 0))

    with pytest.raises(DamagedFile, match="its features need"):
        crafted(bandit, tmp_path / "x.infex", change)


def test_arrays_that_are_larger_than_their_file_are_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.infex"
    header, arrays = kept("fixed", path)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    content = io.BytesIO()
    stored: Any = arrays | {"header": text, "all truth": np.zeros((2, 300, 300))}
    np.savez_compressed(content, **stored)
    checksum = hashlib.sha256(b"1\n" + content.getvalue()).hexdigest()
    path.write_bytes(b"infex bandit 1 " + checksum.encode() + b"\n" + content.getvalue())
    with pytest.raises(DamagedFile, match="its arrays take"):
        Bandit.load(path)
    with pytest.raises(InvalidRecord, match="its arrays take"):
        Changes.from_bytes(content.getvalue())
