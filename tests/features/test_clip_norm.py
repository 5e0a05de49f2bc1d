"""Vectors longer than `longest`: refused, or shortened and counted, wherever a bandit reads contexts."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Infex, LinUCB, every, features, from_record, to_record
from infex.errors import InvalidContext, InvalidSetting
from infex.features import ClipNorm, clip_norm, disjoint, hybrid, interactions, transformed
from tests.study.studies import shop

LONGEST = 2.5
LABELS = ["tea", "juice", "milk"]
ROWS = np.array([[0.6, 0.8], [1.0, 0.0], [0.0, 0.5]])
POLICY = Infex(LinUCB(), every(3))
MAKERS: dict[str, Any] = {
    "disjoint": lambda **how: disjoint(LABELS, 4, longest=LONGEST, **how),
    "interactions": lambda **how: interactions(ROWS, 4, longest=LONGEST, labels=LABELS, **how),
    "hybrid": lambda **how: hybrid(interactions(ROWS, 4, longest=LONGEST, labels=LABELS, **how), own=[0, 2]),
}


def contexts_of(seed: int, count: int) -> Any:
    """Contexts of all lengths, some near `longest`."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((count, 4)) * rng.choice([0.1, 1.0, 10.0], size=(count, 1))
    found[rng.random(count) < 0.2] *= 0.0
    return found


def by_hand(contexts: Any) -> Any:
    """The same in their directions, none longer than `longest`."""
    return np.array([x * min(1.0, LONGEST / max(float(np.sqrt(sum(x * x))), 1e-9)) for x in contexts])


@given(kind=st.sampled_from(list(MAKERS)), seed=st.integers(0, 999))
@settings(max_examples=25, deadline=None)
def test_a_long_context_is_as_one_that_was_shortened_by_hand(kind: str, seed: int) -> None:
    contexts, short = contexts_of(seed, 40), by_hand(contexts_of(seed, 40))
    long = int((np.linalg.norm(contexts, axis=1) > LONGEST * (1 + 1e-9)).sum())
    clips, plain = (
        Bandit(features=MAKERS[kind](beyond="clip"), policy=POLICY),
        Bandit(features=MAKERS[kind](), policy=POLICY),
    )
    many = copy.deepcopy(clips)
    rewards = np.random.default_rng(seed + 1).normal(size=20)
    arms = [LABELS[place] for place in np.random.default_rng(seed).integers(3, size=20)]
    clips.learn(contexts[:20], arms, rewards)
    plain.learn(short[:20], arms, rewards)
    many.learn(contexts[:20].tolist(), arms, rewards)
    for context, other in zip(contexts[20:], short[20:], strict=True):
        one, two = clips.ask(context=context), plain.ask(context=other)
        assert one.estimate == pytest.approx(two.estimate, abs=1e-12)
        assert one.high == pytest.approx(two.high, rel=1e-12)
    batch = many.ask_many(contexts[20:])
    assert [d[1:] for d in batch] == [d[1:] for d in clips.pending]
    assert clips.noticed == many.noticed == ({"context clipped": long} if long else {})
    assert many.digest() == clips.digest()
    clips.tell_many(list(clips.pending), rewards)
    plain.tell_many(list(plain.pending), rewards)
    context = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(
        clips.posterior(context=context).estimates, plain.posterior(context=context).estimates, atol=1e-11
    )


@pytest.mark.parametrize("kind", MAKERS)
def test_it_is_kept_replayed_extended_and_refused_by_default(kind: str, tmp_path: Path) -> None:
    bandit = Bandit(features=MAKERS[kind](beyond="clip"), policy=POLICY)
    again = copy.deepcopy(bandit)
    for place, context in enumerate(contexts_of(3, 12)):
        entry = bandit.decide(context=context)
        bandit.enter(entry)
        again.enter(from_record(to_record(entry)))
        if place % 2:
            bandit.tell(entry.decision.id, 0.5)
            again.tell(again.pending[-1].id, 0.5)
    assert bandit.noticed == again.noticed != {}
    assert bandit.digest() == again.digest()
    bandit.save(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex")
    assert (loaded.digest(), loaded.features) == (bandit.digest(), bandit.features)
    loaded.extend(2, longest=5.0)
    times = loaded.noticed["context clipped"]
    loaded.ask(context=[3.0, 3.0, 0.0, 0.0, 0.0, 0.0])
    loaded.ask(context=[0.0, 0.0, 0.0, 0.0, 30.0, 40.0])
    assert loaded.noticed["context clipped"] == times + 1
    plain = Bandit(features=MAKERS[kind](), policy=POLICY)
    with pytest.raises(InvalidContext, match=r"no longer than longest=2.5, got one of length 20"):
        plain.ask(context=[0.0, 20.0, 0.0, 0.0])
    assert plain.noticed == {}


def test_a_study_counts_it_and_comes_back_with_it(tmp_path: Path) -> None:
    how: Any = {"features": MAKERS["disjoint"](beyond="clip")}
    with shop(tmp_path, **how) as study:
        study.ask("a", context=[0.0, 20.0, 0.0, 0.0])
        study.ask("b", context=[0.0, 2.0, 0.0, 0.0])
        assert study.metrics()["noticed"] == {"context clipped": 1}
    with shop(tmp_path) as study:
        assert study.metrics()["noticed"] == {"context clipped": 1}


class Large:
    """Gives what it was given."""

    def transform(self, rows: Any) -> Any:
        return np.asarray(rows, dtype=float)

    def get_feature_names_out(self) -> list[str]:
        return ["a", "b"]


@pytest.mark.parametrize("encoder", [clip_norm(2, 3.0), transformed(Large(), longest=3.0, beyond="clip")])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e150, 1e300])
def test_numbers_of_any_size_keep_their_direction(encoder: Any, size: float) -> None:
    vectors = size * np.array([[3.0, 4.0], [-4.0, 3.0]])
    rows, noticed = encoder.encode_many(vectors)
    expected = vectors / size / 5.0 if size >= 1.0 else vectors / 3.0
    np.testing.assert_allclose(rows, expected, rtol=1e-15)
    assert noticed == ({"context clipped": 2} if size >= 1.0 else {})
    for vector, row in zip(vectors, rows, strict=True):
        np.testing.assert_array_equal(encoder.encode(vector).vector, row)


@pytest.mark.parametrize("wrong", [[1.0], [1.0, np.nan], [np.inf, 0.0], {"a": 1.0, "b": 2.0}, "ab", None])
def test_what_is_no_vector_is_refused_and_not_shown(wrong: Any) -> None:
    with pytest.raises(InvalidContext, match="must be 2 finite numbers"):
        clip_norm(2).encode(wrong)
    with pytest.raises(InvalidContext, match="context 1 must be 2 finite numbers"):
        clip_norm(2).encode_many([[1.0, 2.0], wrong])


def test_settings_are_checked() -> None:
    for make in (lambda: clip_norm(0), lambda: clip_norm(2, 0.0), lambda: clip_norm(2, float("nan"))):
        with pytest.raises(InvalidSetting):
            make()
    with pytest.raises(InvalidSetting, match="beyond must be"):
        disjoint(2, 3, beyond="cut")
    with pytest.raises(InvalidSetting, match="say it to the encoder"):
        disjoint(2, context=features.table({"age": (0, 1)}), beyond="clip")
    assert disjoint(2, 3, longest=4.0, beyond="clip").context == ClipNorm(3, 4.0)
    assert from_record(to_record(MAKERS["interactions"](beyond="clip"))) == MAKERS["interactions"](
        beyond="clip"
    )
