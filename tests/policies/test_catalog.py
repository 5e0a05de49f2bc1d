import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infex import (
    EpsilonGreedy,
    Greedy,
    Infex,
    InfexError,
    LinTS,
    LinUCB,
    always,
    budget,
    every,
    jittered,
    listed,
    logarithmic,
    never,
    power,
    stretched,
)
from infex.errors import InvalidExpression, SparseExploration
from infex.policies import Uniform
from infex.registry import expression, parse
from infex.schedules import from_count

TEXTS = {
    "Greedy": Greedy(),
    "Greedy(ties=random)": Greedy(ties="random"),
    "Uniform": Uniform(),
    "EpsilonGreedy": EpsilonGreedy(),
    "EpsilonGreedy(rate=0.1)": EpsilonGreedy(rate=0.1),
    "LinUCB(delta=0.0001, scale=2)": LinUCB(delta=1e-4, scale=2),
    "LinTS(sampling=spherical)": LinTS(sampling="spherical"),
    "Infex(LinUCB, every(5))": Infex(LinUCB(), every(5)),
    "Infex(LinTS, every(100), data=own)": Infex(LinTS(), every(100), data="own"),
    "Infex(LinTS, every(20, offset=3) | stretched(1.5))": Infex(LinTS(), every(20, 3) | stretched(1.5)),
    "always()": always(),
    "never()": never(),
    "power(0.5)": power(0.5),
    "logarithmic(2)": logarithmic(2),
    "jittered(20, seed=7)": jittered(20, 7),
    "budget(every(20) | listed([1, 2]), 5)": budget(every(20) | listed([1, 2]), 5),
    f"listed({list(range(1, 40))})": listed(range(1, 40)),
}


@pytest.mark.parametrize("text", TEXTS)
def test_expressions_are_written_and_read_back(text: str) -> None:
    assert expression(TEXTS[text]) == text
    assert parse(text) == TEXTS[text]


@given(
    noise=st.floats(0, 1e300), delta=st.floats(0, 1, exclude_min=True), r=st.floats(0, 1, exclude_min=True)
)
def test_numbers_come_back_to_the_last_bit(noise: float, delta: float, r: float) -> None:
    policy = Infex(LinTS(noise=noise, delta=delta), power(r))
    assert parse(expression(policy)) == policy


def test_python_with_brackets_and_quotes_is_read_too() -> None:
    assert parse("Infex(LinUCB(delta=1e-4), every(m=20), data='own')") == Infex(
        LinUCB(delta=1e-4), every(20), data="own"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "LinUBC",
            r"unknown name 'LinUBC' in 'LinUBC' \(did you mean LinUCB\?\); known are .*Discounted, E",
        ),
        ("Infex(LinUCB, evry(5))", "unknown name 'evry'"),
        ("LinUCB(", "not an expression like .*: 'LinUCB\\('"),
        ("", "not an expression"),
        (None, "not an expression like .*: None"),
        ("LinUCB(gamma=1)", "gamma"),
        ("LinUCB(delta=2)", "delta must be at most 1, got 2"),
        ("LinUCB(delta=-1)", "delta must be above 0, got -1"),
        ("every(0)", "period must be at least 1, got 0"),
        ("Infex(LinUCB)", "schedule"),
        ("__import__('os')", "unknown name '__import__'"),
        ("LinUCB().__class__", "cannot read"),
        ("lambda: 0", "cannot read"),
        ("every(2 ** 9)", "cannot read '2 \\*\\* 9'"),
        ("every(5) | 3", "a schedule needs"),
    ],
)
def test_bad_expressions_are_refused_and_say_why(text: str, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Infex(every(5), LinUCB)", "unknown name 'every' .*; a policy is one of"),
        ("Infex(LinUCB, evry)", r"unknown name 'evry' .*\(did you mean every\?\); a schedule is one of"),
        ("LinUCB | Greedy", "unknown name 'LinUCB' .*; a schedule is one of"),
        ("every(3) + every(5)", r"cannot read 'every\(3\) \+ every\(5\)'"),
        ("3", "'3' names no policy, schedule or estimator"),
        ("'LinUCB'", "names no policy"),
        ("Infex(LinUCB, every(5), greedy=Gredy)", r"unknown name 'Gredy' .*\(did you mean Greedy\?\)"),
        ("tests.stateful:Walk", "not an expression like"),
        ("tests.stateful.Walk", "an object of yours is written with a colon: 'tests.stateful:Walk'"),
    ],
)
def test_a_name_that_does_not_fit_its_place_is_refused_and_nothing_is_imported(
    text: str, message: str
) -> None:
    with pytest.raises(InvalidExpression, match=message):
        parse(text)


def test_a_kind_can_be_asked_for() -> None:
    assert parse("every(3)", "schedule") == every(3)
    with pytest.raises(InvalidExpression, match=r"unknown name 'every' in .*; an estimator is one of"):
        parse("every(3)", "estimator")


@pytest.mark.parametrize(
    "thing", [from_count(math.sqrt), EpsilonGreedy(rate=math.sin), Infex(LinUCB(), from_count(math.sqrt)), 7]
)
def test_what_is_not_in_the_catalogue_has_no_expression(thing: Any) -> None:
    with pytest.raises(InvalidExpression, match="not in the catalogue"):
        expression(thing)


def test_reading_a_sparse_schedule_warns_as_making_it_does() -> None:
    with pytest.warns(SparseExploration):
        parse("Infex(LinUCB, never)")
