"""Contexts that a fitted transformer reads: scikit-learn's protocol, without scikit-learn."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import scipy.sparse

from infex import Bandit, Greedy, Infex, LinUCB, every
from infex.errors import CannotLoad, InvalidContext, InvalidSetting, NoRecord
from infex.features import Encoder, disjoint, interactions, transformed
from infex.registry import to_record


class Scaler:
    """A standard scaler of arrays, without names."""

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse

    def get_feature_names_out(self) -> Any:
        return np.array(["x0", "x1"], dtype=object)

    def transform(self, X: Any) -> Any:  # noqa: N803
        rows = (np.asarray(X, dtype=float) - [40.0, 50.0]) / [20.0, 25.0]
        return scipy.sparse.csr_matrix(rows) if self.sparse else rows


class Columns:
    """One that was fitted on a table of pandas: a number, and a country."""

    feature_names_in_ = np.array(["age", "country"], dtype=object)

    def get_feature_names_out(self) -> Any:
        return np.array(["age", "country_FR", "country_DE"], dtype=object)

    def transform(self, X: Any) -> Any:  # noqa: N803
        assert list(X.columns) == ["age", "country"]
        if not X["country"].isin(["FR", "DE", "IT"]).all():
            raise ValueError(f"Found unknown categories {X['country'].tolist()}")
        return np.column_stack([X["age"].to_numpy(float) / 100, X["country"] == "FR", X["country"] == "DE"])


class Words:
    """One that reads dicts, as DictVectorizer does."""

    def get_feature_names_out(self) -> list[str]:
        return ["a", "b"]

    def transform(self, X: Any) -> Any:  # noqa: N803
        return np.array([[row.get("a", 0.0), row.get("b", 0.0)] for row in X])


def test_a_transformer_serves_as_an_encoder() -> None:
    encoder = transformed(Columns(), longest=2)
    assert isinstance(encoder, Encoder)
    assert (encoder.names, encoder.size, encoder.inputs) == (
        ("age", "country_FR", "country_DE"), 3, ("age", "country"),
    )  # fmt: skip
    rows = [{"age": 50, "country": "FR"}, {"country": "DE", "age": 80}]
    expected = np.array([[0.5, 1.0, 0.0], [0.8, 0.0, 1.0]]) / 2
    for many in (rows, pd.DataFrame(rows), pd.DataFrame(rows)[["country", "age"]]):
        np.testing.assert_allclose(encoder.encode_many(many).rows, expected)
    for context, row in zip(rows, expected, strict=True):
        for one in (context, pd.Series(context), list({"age": 0, "country": 0} | context)):
            if not isinstance(one, list):
                np.testing.assert_allclose(encoder.encode(one).vector, row)
    assert encoder.encode_many([]).rows.shape == (0, 3)
    np.testing.assert_allclose(encoder.encode([50, "FR"]).vector, expected[0])


@pytest.mark.parametrize("sparse", [False, True])
def test_one_without_names_gets_arrays(sparse: bool) -> None:
    encoder = transformed(Scaler(sparse), longest=3)
    np.testing.assert_allclose(encoder.encode([60, 25]).vector, np.array([1.0, -1.0]) / 3)
    np.testing.assert_allclose(encoder.encode_many(np.array([[40, 50], [60, 25]])).rows[1] * 3, [1.0, -1.0])
    with pytest.raises(InvalidContext, match="fitted without names: give a context as an array"):
        encoder.encode(pd.Series({"b": 60, "a": 25}))
    words = transformed(Words(), longest=3)
    np.testing.assert_allclose(words.encode({"b": 1.5}).vector, [0.0, 0.5])


def test_a_bandit_by_a_transformer_is_one_by_its_features(tmp_path: Path) -> None:
    policy = Infex(LinUCB(), every(3))
    encoder = transformed(Columns(), longest=2)
    named = Bandit(features=disjoint(["tea", "coffee"], context=encoder), policy=policy)
    plain = Bandit(features=disjoint(["tea", "coffee"], 3, longest=2), policy=policy)
    rng = np.random.default_rng(1)
    for t in range(30):
        context = {"age": float(rng.uniform(0, 100)), "country": ["FR", "DE"][t % 2]}
        one = named.ask(context=context)
        other = plain.ask(context=[context["age"] / 100, 1.0 - t % 2, t % 2])
        assert one[1:9] == other[1:9]
        named.tell(one, math.sin(t))
        plain.tell(other, math.sin(t))
    np.testing.assert_array_equal(named.theta, plain.theta)
    assert named.names == ("age", "country_FR", "country_DE")
    named.save(tmp_path / "x.infex")
    with pytest.raises(CannotLoad, match=r"your code; load it with features=, it was Disjoint"):
        Bandit.load(tmp_path / "x.infex")
    again = Bandit.load(tmp_path / "x.infex", features=disjoint(["tea", "coffee"], context=encoder))
    assert again.digest() == named.digest()
    for other_map, message in [
        (
            disjoint(["tea", "coffee"], context=transformed(Columns(), longest=5)),
            r"longest is 2\.0, not 5\.0",
        ),
        (disjoint(["tea", "coffee"], 3, longest=2), "holds another feature map"),
    ]:
        with pytest.raises(CannotLoad, match=message):
            Bandit.load(tmp_path / "x.infex", features=other_map)
    with pytest.raises(NoRecord):
        to_record(named.features)
    with pytest.raises(NoRecord):
        to_record(interactions(np.eye(2), context=encoder))


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"age": 45, "country": "secret"}, "its `transform` raised ValueError"),
        ({"age": 45}, "country is missing"),
        ({"age": 45, "country": "FR", "x": 1}, "no feature 'x'"),
        ({"age": 4525, "country": "FR"}, r'of length 45.2\d*; give a larger longest, or beyond="clip"'),
        ({"age": math.inf, "country": "FR"}, "age of context 0 is inf"),
        ([45], "2 values"),
    ],
)
def test_a_context_that_it_cannot_take_is_refused_and_not_told(context: Any, message: str) -> None:
    bandit = Bandit(features=disjoint(2, context=transformed(Columns(), longest=2)), policy=Greedy())
    with pytest.raises(InvalidContext, match=message) as refused:
        bandit.ask(context=context)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert bandit.t == 0


def test_rows_that_are_too_long_may_be_shortened_and_are_counted() -> None:
    encoder = transformed(Columns(), longest=2, beyond="clip")
    bandit = Bandit(features=disjoint(2, context=encoder), policy=Greedy())
    bandit.ask(context={"age": 300, "country": "IT"})
    bandit.ask(context={"age": 100, "country": "IT"})
    assert bandit.noticed == {"context clipped": 1}
    many = encoder.encode_many({"age": [300, 100], "country": ["IT", "IT"]})
    np.testing.assert_allclose(many.rows, [[1.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    assert many.noticed == {"context clipped": 1}


class Short(Scaler):
    def get_feature_names_out(self) -> Any:
        return ["only"]


class Nameless(Scaler):
    def get_feature_names_out(self) -> Any:
        return []


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: transformed(3, longest=1), InvalidSetting, "transformer must have `transform`.*, got a int"),
        (lambda: transformed(Scaler, longest=1), InvalidSetting, "got a type"),
        (lambda: transformed(Scaler(), longest=0), InvalidSetting, "longest must be above 0, got 0"),
        (lambda: transformed(Scaler(), longest=1, beyond="flag"), InvalidSetting, "beyond must be"),
        (lambda: transformed(Nameless(), longest=1), InvalidSetting, "at least one feature"),
        (
            lambda: transformed(Short(), longest=9).encode([1, 2]),
            InvalidContext,
            "1 rows of 1 features, gave",
        ),
    ],
)
def test_a_transformer_that_does_not_fit_is_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
