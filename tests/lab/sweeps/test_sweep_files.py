"""Sweep files: read strictly, faults named with file and key."""

from pathlib import Path

import pytest

from infex.errors import InfexError
from infex.lab.sweep import read_sweep

GOOD = """
title = "Mine"
horizon = 500
seeds = [3, 4]
policies = ["LinUCB", "Greedy", "tests.lab.sweeps.players:middle"]
bases = ["LinTS(scale=0.2)"]
schedules = ["every(5)", "stretched(1)"]
data = ["own"]

[[environments]]
kind = "gaussian"
dim = [2, 3]
arms = [4, 5]

[[environments]]
kind = "changing"
dim = 2
arms = 6
best = "fixed"

[[environments]]
kind = "object"
object = "tests.lab.sweeps.players:small"
label = "small ones"
"""


def test_a_sweep_file_is_a_grid(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(GOOD)
    sweep = read_sweep(path)
    assert sweep.title == sweep.about()["title"] == "Mine"
    assert [problem.label for problem in sweep.problems] == [
        "gaussian(dim=2, arms=4)",
        "gaussian(dim=2, arms=5)",
        "gaussian(dim=3, arms=4)",
        "gaussian(dim=3, arms=5)",
        "changing(dim=2, arms=6, best=fixed)",
        "small ones",
    ]
    assert [player.label for player in sweep.players] == [
        "LinUCB",
        "Greedy",
        "tests.lab.sweeps.players:middle",
        "Infex(LinTS(scale=0.2), every(5), data=own)",
        "Infex(LinTS(scale=0.2), stretched(1), data=own)",
    ]
    assert len(sweep.tasks()) == 6 * 5 * 2
    assert not sweep.run(workers=1).failures


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "horizon = 500",
            "horizont = 500",
            r"unknown key `horizont` \(did you mean horizon\?\); known are environments, .*, title$",
        ),
        ("horizon = 500", 'horizon = "long"', "horizon must be a whole number, got 'long'"),
        ("seeds = [3, 4]", "seeds = []", "an empty sweep: 6 environments, 5 policies, 0 seeds"),
        ('"LinUCB", ', '"LinUBC", ', "unknown name 'LinUBC'"),
        (
            "dim = 2\narms = 6",
            "dim = 2\narmz = 6",
            r"no setting 'armz' \(did you mean arms\?\); .*best.* `environments\[1\]`",
        ),
        ("dim = 2\narms = 6", "dim = 2", r"changing needs arms, as in .* - at `environments\[1\]`"),
        (
            'label = "small ones"',
            'lable = "small ones"',
            r"small has no setting 'lable' \(did you mean label\?\); it has none",
        ),
        ('title = "Mine"', "title = 3", "title must be text, got 3"),
        ("seeds = [3, 4]", "seeds = true", "seeds must be a list, got True"),
        (
            'kind = "object"',
            'kind = "other"',
            r"one of changing, .*, object; got 'other' - at `environments\[2\]`",
        ),
        (
            'best = "fixed"',
            'best = "any"',
            r"best must be 'moving' or .*, got 'any' - at `environments\[1\]`",
        ),
        (
            "dim = [2, 3]",
            "dim = []",
            r"an empty list of dim; say one number or more - at `environments\[0\]`",
        ),
        ("players:small", "players:large", "cannot load 'tests.lab.sweeps.players:large'"),
        ("seeds = [3, 4]", "seeds = [3, 4", "sweep.toml: "),
        ('"LinUCB", ', '"LinUBC", ', r"a policy is one of .*EpsilonGreedy, .* - at `policies\[0\]`"),
        ('"stretched(1)"', '"streched(1)"', r"a schedule is one of always, .* - at `schedules\[1\]`"),
        (
            "players:small",
            "players:not_a_policy",
            r"one of infex.lab.environments, got 3; .* - at `environments\[2\]`",
        ),
        ('data = ["own"]', "data = []", "bases need data"),
        ('data = ["own"]', 'data = ["mine"]', "data must be 'shared' or 'own', got 'mine'"),
    ],
)
def test_a_bad_file_is_named_with_its_fault(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "sweep.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InfexError, match=message) as caught:
        read_sweep(path)
    assert str(path) in str(caught.value)


def test_an_empty_grid_and_a_missing_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text("environments = []\npolicies = ['Greedy']\n")
    with pytest.raises(InfexError, match="an empty sweep: 0 environments"):
        read_sweep(path)
    path.write_text("policies = ['Greedy']\n")
    with pytest.raises(InfexError, match="the key `environments` is missing"):
        read_sweep(path)
    with pytest.raises(InfexError, match="No such file"):
        read_sweep(tmp_path / "nowhere.toml")


def test_environments_may_be_text(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    own = "tests.lab.sweeps.players:small"
    table = '{kind = "changing", dim = 2, arms = 3}'
    path.write_text(f'policies = ["Greedy"]\nenvironments = ["gaussian(dim=5, arms=20)", "{own}", {table}]\n')
    assert [problem.label for problem in read_sweep(path).problems] == [
        "gaussian(dim=5, arms=20)",
        own,
        "changing(dim=2, arms=3)",
    ]
    path.write_text('policies = ["Greedy"]\nenvironments = ["gaussian(dimm=5, arms=20)"]\n')
    with pytest.raises(
        InfexError, match=r"no setting 'dimm' \(did you mean dim\?\).* - at `environments\[0\]`"
    ):
        read_sweep(path)
    path.write_text('policies = ["Greedy"]\nenvironments = [3]\n')
    with pytest.raises(InfexError, match=r"must be one of .*, got 3; .* - at `environments\[0\]`"):
        read_sweep(path)


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_bytes(b'title = "\xe9"\n')
    with pytest.raises(InfexError, match=r"sweep\.toml: .*utf-8"):
        read_sweep(path)


def test_a_label_does_not_hide_another_object(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    keys = []
    for name in ("small", "square"):
        path.write_text(GOOD.replace("players:small", f"players:{name}"))
        keys.append({task.key for task in read_sweep(path).tasks() if task.problem.label == "small ones"})
    assert len(keys[0]) == len(keys[1]) == 10
    assert not keys[0] & keys[1]
