"""A study may be amended to a policy of a user's class: by the name of the class, with its settings."""

import dataclasses
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import infex
from infex.cli.main import main
from infex.errors import CannotLoad, NoRecord, OtherSettings
from infex.study.settings import made_from, reference_to
from tests.study import users_rules
from tests.study.studies import replayed, shop, url_in
from tests.study.users_rules import Chosen, Held, Plain, Turns, Unknown, Weights


@pytest.mark.parametrize(
    "policy",
    [
        Turns(2, (1, 3)),
        Plain(),
        infex.Infex(Turns(1), infex.every(3)),
        infex.Infex(infex.LinUCB(), infex.every(3)),
    ],
    ids=["dataclass", "without settings", "inside a built-in one", "built in"],
)
def test_a_policy_by_its_name_is_in_force_when_the_study_is_opened_again(tmp_path: Path, policy: Any) -> None:
    with shop(tmp_path) as study:
        study.ask_many([f"a{n}" for n in range(7)])
        study.amend(policy=policy, reason="a rule of our own")
        arms = [study.ask(f"b{n}").arm for n in range(12)]
        study.tell_many([f"b{n}" for n in range(12)], [0.1 * n for n in range(12)])
        before = study.digest()
        assert replayed(study) == before
    with shop(tmp_path) as again:
        assert again.digest() == before
        assert [again.ask(f"b{n}").arm for n in range(12)] == arms
        assert again.explain("b3").proven
        again.ask("c")


def test_a_study_that_begins_with_a_rule_by_its_name_needs_no_settings(tmp_path: Path) -> None:
    shop(tmp_path, policy=Turns(2)).close()
    with shop(tmp_path) as again:
        assert again.ask("a").arm == 0
    with pytest.raises(OtherSettings, match="policy"):
        shop(tmp_path, policy=Turns(1))
    shop(tmp_path, policy=Turns(2)).close()


def test_a_number_of_numpys_in_a_policy_is_the_plain_number(tmp_path: Path) -> None:
    """Only the class was kept, so that a study which was opened again played with 0 in its place."""
    policy = Turns(np.int64(2), (np.int32(3), np.int8(1)))
    with shop(tmp_path, policy=policy) as study:
        arms = [study.ask(f"a{n}").arm for n in range(6)]
        before = study.digest()
    with shop(tmp_path) as again:
        assert again.digest() == before == replayed(again)
        assert again.policy == Turns(2, (3, 1))
        assert [again.ask(f"a{n}").arm for n in range(6)] == arms
        assert again.explain("a5").proven
    with pytest.raises(OtherSettings, match="first"):
        shop(tmp_path, policy=Turns(0, (3, 1)))
    shop(tmp_path, policy=policy).close()


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.longdouble(0.5), np.bool_(True)])
def test_any_number_of_numpys_is_kept_by_its_value(tmp_path: Path, number: Any) -> None:
    """np.float64 was a bare TypeError, and any other came back as 0."""
    shop(tmp_path, policy=Held(number)).close()
    with shop(tmp_path) as again:
        policy = again.policy
    assert isinstance(policy, Held)
    assert policy.anything == number
    assert type(policy.anything) in (float, bool)


@pytest.mark.parametrize(
    "value",
    [Fraction(1, 2), Decimal("0.5"), timedelta(1), frozenset({1}), np.ones(2), Weights(a=0.9), Chosen(1, 2)],
)
def test_a_value_that_is_not_kept_must_be_given_again(tmp_path: Path, value: Any) -> None:
    """It was made anew of nothing: a half came back as 0."""
    with pytest.raises(NoRecord):
        reference_to(Held(value))
    shop(tmp_path, policy=Held(value)).close()
    with pytest.raises(CannotLoad, match="policy"):
        shop(tmp_path)
    shop(tmp_path, policy=Held(value)).close()


def test_a_class_that_says_it_is_a_policy_is_made_again_where_none_of_it_was_made() -> None:
    """Python gives such a class its `__init__` when the first object is made."""
    kept = {"object": "tests.study.users_rules:Declared", "settings": {}}
    made = made_from(kept)
    assert type(made).__name__ == "Declared"
    assert reference_to(made) == kept


def test_a_class_that_is_gone_or_takes_other_settings_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(tmp_path) as study:
        study.amend(policy=Turns(2), reason="a rule of our own")

    @dataclasses.dataclass(frozen=True)
    class Renamed:
        begin: int = 0

        def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
            return infex.Choice(0, explored=False)

    @dataclasses.dataclass(frozen=True)
    class Grown:
        first: int = 0
        steps: tuple[int, ...] = (1,)
        more: float = 0.5

        def choose(self, t: int, posterior: Any, rng: Any) -> infex.Choice:
            return infex.Choice(0, explored=False)

    Grown.__qualname__ = "Turns"
    refusals = [
        (None, CannotLoad, r"tests.study.users_rules:Turns, which cannot be imported"),
        (Renamed, CannotLoad, r"tests.study.users_rules:Turns with first, steps"),
        (Grown, OtherSettings, r"is not what it was when the study took it"),
    ]
    for kind, error, told in refusals:
        with monkeypatch.context() as patch:
            if kind is None:
                patch.delattr(users_rules, "Turns")
            else:
                patch.setattr(users_rules, "Turns", kind)
            with pytest.raises(infex.InfexError, match=told) as raised:
                shop(tmp_path)
            assert isinstance(raised.value, error) or isinstance(raised.value.__cause__, error)
    shop(tmp_path).close()


def test_what_cannot_be_made_again_by_its_name_is_refused_at_once(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        with pytest.raises(NoRecord, match="Unknown was made with is not known: make it a dataclass"):
            study.amend(policy=Unknown(1), reason="no")
        assert study.metrics()["amendments"] == 0


def test_parts_of_any_depth_are_made_again() -> None:
    policy = infex.Infex(Turns(1, (2, 2)), infex.every(3) | infex.listed([7]))
    again = made_from(reference_to(policy))
    assert again == policy
    assert type(again.base) is Turns


def test_the_command_takes_a_rule_by_its_name(tmp_path: Path) -> None:
    shop(tmp_path).close()
    words = ["study", "amend", url_in(tmp_path), "shop", "--reason", "ours", "--json", "--policy"]
    done = CliRunner().invoke(main, [*words, "tests.study.users_rules:Turns(first=2)"])
    assert done.exit_code == 0, done.output
    with shop(tmp_path) as study:
        assert study.ask("a").arm == 0
    assert CliRunner().invoke(main, [*words, "LinUCB(scale=[0.1, 0.5])"]).exit_code != 0


def test_a_number_whose_value_a_journal_did_not_keep_is_not_taken_for_0() -> None:
    kept = {"object": "numpy:int64", "settings": {}}
    with pytest.raises(CannotLoad, match=r"numpy:int64 was made with was not kept: .* policy="):
        made_from({"object": "tests.study.users_rules:Turns", "settings": {"first": kept}})
