"""Contexts with names: what a table makes of them, one by one and many at once, and what it refuses."""

import math
import pickle
from collections import Counter, namedtuple
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Greedy, Infex, InfexError, LinUCB, every, features
from infex.errors import CannotLoad, InvalidContext, InvalidSetting
from infex.features import Encoded, Encoder, disjoint, interactions, table
from infex.policies import Uniform
from infex.registry import from_record, to_record

RANGES = {"age": (18, 90), "income": (0, 200_000)}
KINDS = {"country": ["FR", "DE"], "vip": [False, True], "shop": [1, 2, 3]}
OPEN = table(RANGES, KINDS, missing="flag", unseen="flag", beyond="clip")
VISITOR = {"age": 45, "income": 85_000, "country": "FR", "vip": True, "shop": 2}
Row = namedtuple("Row", ["age", "income", "country", "vip", "shop"])


def by_hand(encoder: Any, context: dict[str, Any]) -> list[float]:
    """The features of a context from the words of the docstring, one by one."""
    row = [1.0] if encoder.intercept else []
    for name, (low, high) in encoder.numbers:
        value = context.get(name)
        absent = value is None or value != value
        middle, half = (low + high) / 2, (high - low) / 2
        row.append(0.0 if absent else max(-1.0, min(1.0, (float(value) - middle) / half)))
        row += [float(absent)] if encoder.missing == "flag" else []
    for name, kinds in encoder.categories:
        value = context.get(name)
        absent = value is None or value != value
        hits = [not absent and type(value) is type(kind) and value == kind for kind in kinds]
        row += map(float, hits)
        row += [float(absent)] if encoder.missing == "flag" else []
        row += [float(not absent and not any(hits))] if encoder.unseen == "flag" else []
    return row


values = {
    "age": st.one_of(st.none(), st.just(math.nan), st.floats(-100, 200), st.integers(0, 100)),
    "income": st.one_of(st.none(), st.floats(-1e6, 1e6)),
    "country": st.sampled_from(["FR", "DE", "IT", "", None, math.nan]),
    "vip": st.sampled_from([True, False, None, "yes"]),
    "shop": st.sampled_from([1, 2, 3, 4, "1", None]),
}
contexts = st.lists(st.fixed_dictionaries({}, optional=values), min_size=0, max_size=6)


@given(
    given_contexts=contexts,
    missing=st.sampled_from(["flag", "middle"]),
    unseen=st.sampled_from(["flag", "zero"]),
    intercept=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_features_are_those_made_by_hand_one_by_one_and_many_at_once(
    given_contexts: list[dict[str, Any]], missing: str, unseen: str, intercept: bool
) -> None:
    encoder = table(RANGES, KINDS, missing=missing, unseen=unseen, beyond="clip", intercept=intercept)
    expected = np.array([by_hand(encoder, each) for each in given_contexts]).reshape(-1, encoder.size)
    np.testing.assert_allclose(encoder.rows(given_contexts), expected, rtol=1e-14, atol=1e-15)
    many = encoder.encode_many(given_contexts)
    singles = [encoder.encode(each) for each in given_contexts]
    for row, single in zip(many.rows, singles, strict=True):
        np.testing.assert_array_equal(row, single.vector)
    np.testing.assert_allclose(many.rows * encoder.longest, expected, rtol=1e-13, atol=1e-15)
    assert Counter(rule for single in singles for rule in single.noticed) == many.noticed
    assert np.linalg.norm(many.rows, axis=1).max(initial=0.0) <= 1 + 1e-12


def test_rules_that_were_needed_are_noticed() -> None:
    odd = {"age": 12, "income": 3e5, "country": "IT", "vip": None}
    noticed = ("age clipped", "income clipped", "country unseen", "vip missing", "shop missing")
    assert OPEN.encode(odd).noticed == noticed
    assert OPEN.encode_many([odd, odd, VISITOR]).noticed == dict.fromkeys(noticed, 2)
    assert OPEN.encode(VISITOR).noticed == ()


def test_names_say_what_a_feature_is() -> None:
    plain = table({"age": (18, 90)}, {"country": ["FR", "DE"]})
    assert plain.names == ("intercept", "age", "country=FR", "country=DE")
    flagged = table({"age": (18, 90)}, {"vip": [True]}, missing="flag", unseen="flag", intercept=False)
    assert flagged.names == ("age", "age missing", "vip=True", "vip missing", "vip unseen")
    assert (plain.size, plain.inputs, plain.longest) == (4, ("age", "country"), math.sqrt(3))
    assert isinstance(plain, Encoder)


def test_the_greatest_length_is_reached_and_never_passed() -> None:
    encoder = table(RANGES, {"country": ["FR", "DE"]})
    corner = encoder.encode({"age": 90, "income": 0, "country": "DE"}).vector
    assert np.linalg.norm(corner) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    "context",
    [
        VISITOR,
        dict(reversed(VISITOR.items())),
        MappingProxyType(VISITOR),
        Row(**VISITOR),
        pd.Series(VISITOR),
        pd.Series(VISITOR)[::-1],
        pd.DataFrame([VISITOR]).iloc[0],
        next(pd.DataFrame([VISITOR]).itertuples(index=False)),
        pl.DataFrame([VISITOR]).row(0, named=True),
        pa.Table.from_pylist([VISITOR]).to_pylist()[0],
        list(VISITOR.values()),
        tuple(VISITOR.values()),
        np.array(list(VISITOR.values()), dtype=object),
        VISITOR | {"age": np.float32(45), "income": Decimal(85_000), "shop": np.int16(2), "vip": np.True_},
        VISITOR | {"shop": 2.0, "country": np.str_("FR")},  # as pandas has whole numbers beside missing ones
    ],
    ids=lambda context: type(context).__name__,
)
def test_a_context_comes_in_many_forms(context: Any) -> None:
    np.testing.assert_array_equal(OPEN.encode(context).vector, OPEN.encode(VISITOR).vector)


MANY: dict[str, list[Any]] = {
    "age": [20, None, 95, 60.5],
    "income": [1.5, 2e5, None, -3.0],
    "country": ["DE", None, "IT", "FR"],
    "vip": [True, False, None, True],
    "shop": [3, None, 1, 7],
}
ROWS = [dict(zip(MANY, row, strict=True)) for row in zip(*MANY.values(), strict=True)]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(MANY),
        pd.DataFrame(MANY)[list(reversed(MANY))],
        pd.DataFrame(MANY).convert_dtypes(),
        pd.DataFrame(MANY).astype({"country": "category", "vip": "boolean", "shop": "Int64"}),
        pl.DataFrame(MANY, strict=False),
        pl.DataFrame(MANY, strict=False).with_columns(pl.col("country").cast(pl.Categorical)),
        pa.table({name: pa.array(column) for name, column in MANY.items()}),
        pa.table({name: pa.array(column) for name, column in MANY.items()}).to_batches()[0],
        MANY,
        [pd.Series(row) for row in ROWS],
        np.array([list(row.values()) for row in ROWS], dtype=object),
        [list(row.values()) for row in ROWS],
    ],
    ids=lambda frame: f"{type(frame).__module__}.{type(frame).__name__}",
)
def test_many_contexts_come_as_any_table(frame: Any) -> None:
    expected = OPEN.encode_many(ROWS)
    found = OPEN.encode_many(frame)
    np.testing.assert_array_equal(found.rows, expected.rows)
    assert found.noticed == expected.noticed


def test_a_column_that_a_table_lacks_is_missing_in_every_row() -> None:
    frame = pd.DataFrame(MANY).drop(columns="age")
    assert OPEN.encode_many(frame).noticed["age missing"] == 4
    assert OPEN.rows([]).shape == (0, OPEN.size)
    assert OPEN.rows(pd.DataFrame(MANY)[:0]).shape == (0, OPEN.size)


def test_numbers_alone_come_as_an_array_of_floats() -> None:
    encoder = table(RANGES)
    rows = np.array([[18.0, 0.0], [90.0, 100_000.0]])
    np.testing.assert_array_equal(encoder.rows(rows), [[1.0, -1.0, -1.0], [1.0, 1.0, 0.0]])


def test_true_is_one_as_a_number_and_another_category_than_one() -> None:
    encoder = table({"vip": (0, 1)}, {"kind": [1, True, "x"]})
    np.testing.assert_array_equal(
        encoder.rows([{"vip": True, "kind": 1}, {"vip": np.False_, "kind": True}, {"vip": 1, "kind": "x"}]),
        [[1.0, 1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0, 1.0]],
    )


STRICT = table(RANGES, {"country": ["FR", "DE"]})
FINE = {"age": 45, "income": 85_000, "country": "FR"}


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (FINE | {"age": 45.25e9}, "age is above its range, 18 to 90"),
        (FINE | {"age": -45.25e9}, "age is below its range, 18 to 90"),
        (FINE | {"age": math.inf}, "age must be finite, got inf"),
        (FINE | {"age": 10**400}, "age must be finite, got inf"),
        (FINE | {"age": "45.25"}, "age must be a number, got a str"),
        (FINE | {"age": None}, "age is missing"),
        (FINE | {"age": math.nan}, "age is missing"),
        (FINE | {"age": pd.NA}, "age is missing"),
        (FINE | {"age": Decimal("NaN")}, "age is missing"),
        (FINE | {"country": pd.NaT}, "country is missing"),
        (FINE | {"country": "secret"}, "country is none of its 2 categories"),
        (FINE | {"country": ["secret"]}, "country must be a text, a whole number or a truth, got a list"),
        ({"age": 45, "income": 3}, "country is missing"),
        (FINE | {"Age": 45}, "no feature 'Age'; its names are"),
        (pd.Series({**FINE, "b": 4525}), "no feature 'b'"),
        (pd.Series([45, 85_000, "FR"]), "no feature 0"),
        (pd.Series([45, 4525, 3], index=["age", "age", "income"]), "a name more than once"),
        ([45, 4525], r"3 values, \['age', 'income', 'country'\]; got 2"),
        (np.array([[45, 4525, 3]]), "got an array of another shape"),
        ("secret", "got a str"),
        (4525.25, "got a float"),
        (pd.DataFrame([FINE]), "got a DataFrame"),
    ],
)
def test_a_refused_context_says_which_feature_is_wrong_and_nothing_it_holds(
    context: Any, message: str
) -> None:
    bandit = Bandit(features=disjoint(["tea", "coffee"], context=STRICT), policy=Greedy())
    with pytest.raises(InvalidContext, match=message) as refused:
        bandit.ask(context=context)
    assert not any(private in str(refused.value) for private in ("secret", "4525", "45.25", "85000"))
    assert (bandit.t, bandit.noticed) == (0, {})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([FINE, FINE | {"age": 4525}], "age of context 1 is above its range"),
        ([FINE, FINE | {"age": "secret"}], "age of context 1 must be a number, got a str"),
        ([FINE, FINE | {"age": None}], "age of context 1 is missing"),
        ([FINE, FINE | {"country": "secret"}], "country of context 1 is none of its 2"),
        ([FINE, FINE | {"country": None}], "country of context 1 is missing"),
        ([FINE, FINE | {"country": {}}], "country of context 1 must be a text"),
        (pd.DataFrame([FINE]).assign(secret=1), "no feature 'secret'"),
        (pd.DataFrame([[1, 2]], columns=["age", "age"]), "a name more than once"),
        ({"age": [1, 2], "income": [3]}, r"equally long, got \[1, 2\]"),
        (np.zeros((2, 4)), "3 values"),
        ("FR", "got a str"),
        (7, "got a int"),
    ],
)
def test_refused_rows_say_which_is_wrong(frame: Any, message: str) -> None:
    with pytest.raises(InvalidContext, match=message):
        STRICT.encode_many(frame)


def test_what_cannot_be_clipped_is_refused() -> None:
    with pytest.raises(InvalidContext, match="age must be finite, got -inf"):
        OPEN.encode({"age": -math.inf})
    with pytest.raises(InvalidContext, match="age of context 1 must be finite, got -inf"):
        OPEN.encode_many([{"age": 1000}, {"age": -math.inf}])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: table({"age": (90, 18)}), "the high end of 'age' must be above 90, got 18"),
        (lambda: table({"age": 18}), r"the range of 'age' must be \(low, high\), got 18"),
        (lambda: table({"age": (0, math.inf)}), "the high end of 'age' must be finite"),
        (lambda: table({"": (0, 1)}), "the name of a feature must be a text, got ''"),
        (lambda: table({1: (0, 1)}), "the name of a feature must be a text, got 1"),
        (lambda: table(3), "numbers must be a mapping of names, got 3"),
        (lambda: table(categories={"c": "FR"}), "the categories of 'c' must be a list .*, got 'FR'"),
        (lambda: table(categories={"c": []}), "got none"),
        (lambda: table(categories={"c": ["a", "a"]}), "must differ, got 'a' more than once"),
        (lambda: table(categories={"c": [1.5]}), "must be a whole number, got 1.5"),
        (lambda: table(categories={"c": [1, "1"]}), "names of features must differ, got 'c=1' 2 times"),
        (lambda: table({"a": (0, 1)}, {"a": ["x"]}), "names of features must differ, got 'a' 2 times"),
        (lambda: table({"intercept": (0, 1)}), "got 'intercept' 2 times"),
        (lambda: table(intercept=False), "a table needs a number"),
        (lambda: table(RANGES, missing="mean"), "missing must be 'refuse' or 'flag' or 'middle', got 'mean'"),
        (lambda: table(RANGES, unseen="clip"), "unseen must be"),
        (lambda: table(RANGES, beyond="flag"), "beyond must be"),
        (lambda: table(RANGES, intercept=1), "intercept must be True or False, got 1"),
        (lambda: disjoint(2, 3, context=STRICT), "leave them out"),
        (lambda: disjoint(2, context=STRICT, longest=7), "leave them out"),
        (lambda: disjoint(2, context=RANGES), "context must be an encoder such as .*, got a dict"),
        (lambda: disjoint(["a", "b"]), r"give context= \(as of features\.table\) or context_dim="),
        (lambda: disjoint(2, beyond="clip"), "or context_dim="),
    ],
)
def test_a_table_that_cannot_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        make()


def test_a_range_as_wide_as_floats_is_no_trouble() -> None:
    encoder = table({"x": (-1.7e308, 1.7e308), "y": (1.0, math.nextafter(1.0, 2.0))})
    assert encoder.rows([[1.7e308, 1.0], [0.0, math.nextafter(1.0, 2.0)]])[:, 1].tolist() == [1.0, 0.0]
    assert np.abs(encoder.rows([[0.0, 1.0], [0.0, math.nextafter(1.0, 2.0)]])).max() <= 1.0
    assert table({"x": (0, 5e-324)}).rows([[0.0], [5e-324]])[:, 1].tolist() == [0.0, 1.0]


def test_a_table_is_kept_as_a_record_and_copied() -> None:
    assert from_record(to_record(OPEN)) == OPEN
    assert from_record(to_record(OPEN)).names == OPEN.names
    assert pickle.loads(pickle.dumps(OPEN)) == OPEN
    assert hash(OPEN) == hash(table(RANGES, KINDS, missing="flag", unseen="flag", beyond="clip"))
    assert table({"a": (0, 1), "b": (0, 1)}) != table({"b": (0, 1), "a": (0, 1)})  # arrays go by their order
    for rule in (disjoint(["a", "b"], context=OPEN), interactions(np.eye(2), context=OPEN)):
        assert from_record(to_record(rule)) == rule
        assert rule != disjoint(["a", "b"], OPEN.size, longest=OPEN.longest)


@pytest.mark.parametrize("rule", ["disjoint", "interactions"])
def test_asking_by_name_is_asking_with_the_features(rule: str) -> None:
    arms = np.array([[1.0, 0.0], [0.6, 0.8]])
    own, plain = (
        (disjoint(["a", "b"], **how) if rule == "disjoint" else interactions(arms, labels=["a", "b"], **how))
        for how in ({"context": OPEN}, {"context_dim": OPEN.size, "longest": OPEN.longest})
    )
    policy = Infex(LinUCB(), every(3))
    named, listed = Bandit(features=own, policy=policy), Bandit(features=plain, policy=policy)
    for t, context in enumerate(ROWS * 5):
        one, other = named.ask(context=context), listed.ask(context=OPEN.rows([context])[0])
        assert one[1:6] == other[1:6]
        assert one[6:9] == pytest.approx(other[6:9], rel=1e-12)
        named.tell(one, math.sin(t))
        listed.tell(other, math.sin(t))
    np.testing.assert_allclose(named.theta, listed.theta, rtol=1e-12, atol=1e-14)
    assert (named.names, listed.names) == (OPEN.names, None)
    estimates = OPEN.rows(ROWS) @ named.theta.T @ (np.eye(2) if rule == "disjoint" else arms.T)
    for context, expected in zip(ROWS, estimates, strict=True):
        assert named.estimates(context=context).estimate == pytest.approx(expected, rel=1e-10)


def test_decisions_count_what_was_noticed_and_reads_do_not(tmp_path: Any) -> None:
    bandit = Bandit(features=disjoint(["a", "b"], context=OPEN), policy=Infex(Uniform(), every(2)))
    old = VISITOR | {"age": 120}
    for read in (bandit.decide, bandit.posterior, bandit.estimates):
        read(context=old)
    assert bandit.noticed == {}
    decided = bandit.decide(context=old)
    before = bandit.digest()
    bandit.enter(from_record(to_record(decided)))  # as a journal would have it
    assert bandit.noticed == {"age clipped": 1}
    assert bandit.digest() != before
    bandit.ask(context=old | {"country": "IT"})
    bandit.ask(context=VISITOR)
    assert bandit.noticed == {"age clipped": 2, "country unseen": 1}
    bandit.save(tmp_path / "x.infex")
    again = Bandit.load(tmp_path / "x.infex")
    assert (again.noticed, again.digest()) == (bandit.noticed, bandit.digest())
    assert pickle.loads(pickle.dumps(bandit)).noticed == bandit.noticed
    plain = Bandit(features=disjoint(["a", "b"], OPEN.size, longest=9), policy=Infex(Uniform(), every(2)))
    with pytest.raises(InfexError, match="no encoder"):
        plain.enter(decided)


def test_a_named_series_is_never_read_by_position() -> None:
    """It was: `Series({'b': .2, 'a': .1})` was taken as a=.2."""
    plain = disjoint(2, context_dim=2)
    for context in (pd.Series({"b": 0.2, "a": 0.1}), {"b": 0.2, "a": 0.1}):
        with pytest.raises(InvalidContext, match=f"got a {type(context).__name__} with names"):
            plain(context)
    assert plain(pd.Series([0.2, 0.1])).tolist() == plain([0.2, 0.1]).tolist()
    assert features.table is table


class Own:
    """An encoder of one's own, which may be wrong."""

    names, size, longest = ("a", "b"), 2, 4.0

    def __init__(self, gives: Any) -> None:
        self.gives = gives

    def encode(self, context: Any) -> Any:
        return self.gives

    def encode_many(self, contexts: Any) -> Any:
        raise NotImplementedError


def test_an_encoder_of_ones_own_serves_and_is_looked_at(tmp_path: Any) -> None:
    fine = Own(Encoded(np.array([0.5, 0.5]), ("guessed",)))
    bandit = Bandit(features=disjoint(["a", "b"], context=fine), policy=Greedy(), penalty=3.0)
    bandit.tell(bandit.ask(context="anything"), 1.0)
    np.testing.assert_allclose(bandit.theta[0], np.array([2.0, 2.0]) / (3 + 8), rtol=1e-12)
    assert (bandit.names, bandit.noticed) == (("a", "b"), {"guessed": 1})
    bandit.save(tmp_path / "x.infex")
    with pytest.raises(CannotLoad, match="your code"):
        Bandit.load(tmp_path / "x.infex")
    rule = disjoint(["a", "b"], context=fine)
    assert Bandit.load(tmp_path / "x.infex", features=rule).digest() == bandit.digest()
    for wrong in (
        np.array([0.5, 0.5]),
        Encoded(np.array([0.5])),
        Encoded([0.5, 0.5]),
        Encoded(np.array([1, 0])),
        Encoded(np.array([1.0, 0.5])),
        Encoded(np.array([math.nan, 0.5])),
    ):
        for features_map in (disjoint(2, context=Own(wrong)), interactions(np.eye(2), context=Own(wrong))):
            with pytest.raises(InvalidContext, match="an encoder must give"):
                Bandit(features=features_map, policy=Greedy()).ask(context="anything")
    with pytest.raises(InvalidContext, match="an encoder must give"):
        Bandit(features=disjoint(2, 3), policy=Greedy()).ask(context=Encoded(np.zeros(2)))


def test_batches_and_logs_come_as_tables() -> None:
    """Each decision of a batch as if it were asked alone; a log as that of its features."""
    frame, policy = pd.DataFrame(MANY), Infex(LinUCB(), every(2))
    rules: list[Any] = [disjoint(["a", "b"], context=OPEN)]
    for rule in [*rules, interactions(np.eye(2), context=OPEN, labels=["a", "b"])]:
        batch, alone = Bandit(features=rule, policy=policy), Bandit(features=rule, policy=policy)
        for contexts in (frame, pl.DataFrame(MANY, strict=False), ROWS):
            many = batch.ask_many(contexts)
            single = [alone.ask(context=row) for row in ROWS]
            assert [decision.arm for decision in many] == [decision.arm for decision in single]
        assert batch.noticed == alone.noticed != {}
        vectors = rule.over(OPEN.size, OPEN.longest, None)
        learnt, told = Bandit(features=rule, policy=policy), Bandit(features=vectors, policy=policy)
        learnt.learn(frame, ["a", "b", "b", "a"], [1.0, 2.0, 3.0, 4.0])
        told.learn(OPEN.rows(ROWS), ["a", "b", "b", "a"], [1.0, 2.0, 3.0, 4.0])
        np.testing.assert_allclose(learnt.theta, told.theta, rtol=1e-12, atol=1e-15)
        assert learnt.noticed == dict(OPEN.encode_many(ROWS).noticed)
        assert learnt.pulls.tolist() == [2, 2]  # type: ignore[union-attr]
