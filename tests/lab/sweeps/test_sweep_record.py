"""A sweep as data: what `sweep.json` holds plays the same runs again."""

import functools
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import Choice, Greedy, Infex, LinUCB, every
from infex.errors import InfexError
from infex.lab import Sweep, environments
from infex.lab.fingerprint import commit, versions
from infex.lab.reports.page import bibtex
from infex.lab.sweep import read_sweep, sweep_in, sweep_of, sweep_record
from infex.schedules import from_count
from tests.lab.sweeps import players


@dataclass(frozen=True)
class Tuned:
    """A policy with settings of many kinds."""

    shape: tuple[int, ...]
    weights: Any
    names: Any
    limit: float

    def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
        return Choice(0)


def drawn(seed: int, arms: int) -> Any:
    return environments.gaussian(dim=2, arms=arms, seed=seed)


def half(t: int) -> int:
    return t // 2


TUNED = Tuned((1, 2), np.array([[0.1, 1e-300]]), {"a": [1, None], "b": (True,)}, float("inf"))
SWEEPS: dict[str, dict[str, Any]] = {
    "text": {
        "environments": ["gaussian(dim=2, arms=4)", "tests.lab.sweeps.players:small"],
        "policies": ["LinUCB(delta=0.01)", "Infex(tests.lab.sweeps.players:middle, every(5))"],
        "bases": ["LinUCB"],
        "schedules": ["every(3)", "stretched(1)"],
        "data": ["shared", "own"],
        "delta": 0.05,
        "penalty": 0.1 + 0.2,
        "seeds": [7, 3],
        "title": "Mine",
    },
    "objects": {
        "environments": [
            environments.gaussian(dim=2, arms=3, seed=1),
            players.small,
            functools.partial(drawn, arms=3),
        ],
        "policies": [
            LinUCB(scale=0.1),
            Infex(LinUCB(), every(5), data="own"),
            Infex(players.middle, every(2)),
        ],
        "delta": None,
    },
    "lists": {
        "environments": {"mine": players.square, "drawn": "gaussian(dim=[2, 3], arms=4)"},
        "policies": {"ours": LinUCB(scale=0.1), "text": "LinUCB(scale=[0.2, 0.5])"},
        "horizon": [50, 60],
        "penalty": [1.0, 0.5],
        "delta": [0.1, "1/T"],
        "estimator": [None, infex.models.Discounted(rate=0.9)],
    },
    "strange": {
        "environments": [players.square],
        "policies": [TUNED, players.Middle(), Infex(Greedy(), from_count(half))],
        "seeds": range(2),
    },
}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_comes_back_from_json_with_the_same_runs(name: str) -> None:
    sweep = Sweep(**{"horizon": 50, "seeds": 2} | SWEEPS[name])
    text = json.dumps(sweep_record(sweep), allow_nan=False)
    again = sweep_of(json.loads(text))
    assert [task.key for task in again.tasks()] == [task.key for task in sweep.tasks()]
    assert again.about() == sweep.about()
    assert (again.title, again.penalty, again.seeds) == (sweep.title, sweep.penalty, sweep.seeds)


def test_a_sweep_from_a_file_comes_back_too(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        'policies = ["LinUCB", "Greedy"]\nhorizon = 40\nseeds = 2\n'
        '[[environments]]\nkind = "gaussian"\ndim = [2, 3]\narms = 4\n'
        '[[environments]]\nkind = "object"\nobject = "tests.lab.sweeps.players:small"\nlabel = "mine"\n'
    )
    sweep = read_sweep(path)
    again = sweep_of(json.loads(json.dumps(sweep_record(sweep))))
    assert [task.key for task in again.tasks()] == [task.key for task in sweep.tasks()]
    assert [each.label for each in again.problems][-1] == "mine"


def test_a_sweep_of_some_alone_keeps_their_runs() -> None:
    whole = Sweep(**{"horizon": 50} | SWEEPS["text"])
    names = [whole.players[2].label, whole.players[0].label, whole.problems[1].label]
    some = sweep_of(
        json.loads(json.dumps(sweep_record(Sweep(**{"horizon": 50, "only": names} | SWEEPS["text"]))))
    )
    assert [each.label for each in some.players] == [names[1], names[0]]
    assert [each.label for each in some.problems] == names[2:]
    assert {task.key for task in some.tasks()} <= {task.key for task in whole.tasks()}
    assert len(some.tasks()) == 4
    with pytest.raises(
        InfexError, match=r"only names 'LinUBC' \(did you mean LinUCB\?\), which is not in the sweep"
    ):
        Sweep(environments=[players.square], policies=["LinUCB"], only=["LinUBC"])
    with pytest.raises(InfexError, match="only must be a list of names, got 'LinUCB'"):
        Sweep(environments=[players.square], policies=["LinUCB"], only="LinUCB")


def test_the_settings_of_a_users_object_come_back_as_they_were() -> None:
    (policy, *_) = sweep_of(sweep_record(Sweep(**SWEEPS["strange"]))).policies
    assert (policy.shape, policy.names, policy.limit) == (TUNED.shape, TUNED.names, TUNED.limit)
    np.testing.assert_array_equal(policy.weights, TUNED.weights)
    assert policy.weights.dtype == float


def test_what_no_file_can_hold_is_named() -> None:
    class Inner:
        def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
            return Choice(0)

    sweep = Sweep(environments=[players.square], policies=["Greedy", Inner()], horizon=5, seeds=1)
    kept = json.loads(json.dumps(sweep_record(sweep)))
    with pytest.raises(InfexError, match=r"policies\[1\] was an object of .*Inner, which no file can hold"):
        sweep_of(kept)
    with pytest.raises(InfexError, match=r"environments\[0\] was an object of builtins:function"):
        sweep_of(sweep_record(Sweep(environments=[lambda seed: players.square], policies=["Greedy"])))


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ([1], r"a sweep must be a mapping of its settings, got \[1\]"),
        (
            {"format": 1, "policies": [{"kind": "made", "by": f"{__name__}:Tuned", "settings": {"old": 1}}]},
            r"policies\[0\]: .*:Tuned cannot be made of {'old': 1}: .*unexpected keyword",
        ),
        ({"format": 9}, "format 9 of a sweep is not known here, only 1"),
        ({"format": 1, "environments": [], "colour": 1}, "a sweep has no setting colour"),
        (
            {"format": 1, "environments": [{"kind": "odd"}]},
            r"environments\[0\] is nothing that a sweep holds",
        ),
        ({"format": 1, "environments": []}, "an empty sweep: 0 environments"),
        ({"format": 1, "environments": [{"kind": "reference", "reference": "no.such:thing"}]}, "cannot load"),
    ],
)
def test_a_record_that_is_none_is_refused(kept: Any, words: str) -> None:
    with pytest.raises(InfexError, match=words):
        sweep_of(kept)


def test_an_unfinished_folder_knows_its_sweep(tmp_path: Path) -> None:
    sweep = Sweep(
        environments=["gaussian(dim=2, arms=3)"], policies=["Greedy", "LinUCB"], horizon=30, seeds=3
    )

    def stop(done: int, total: int, failed: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep.run(workers=1, out=tmp_path / "a", progress=stop)
    with pytest.raises(InfexError, match=r"is unfinished: .* or infex lab run "):
        infex.lab.Results.load(tmp_path / "a")
    found = sweep_in(tmp_path / "a").run(workers=1, out=tmp_path / "a")
    assert found.about["earlier"] > 0
    assert found.diff(sweep.run(workers=1)).agrees
    for text in ("{}", "[]", "no json"):
        (tmp_path / "a" / "sweep.json").write_text(text)
        with pytest.raises(InfexError, match=r"sweep\.json holds no sweep to be played again"):
            sweep_in(tmp_path / "a")


def test_the_sweep_of_a_finished_folder_stays_until_another_is_finished(tmp_path: Path) -> None:
    first = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=["Greedy"], horizon=30, seeds=2)
    first.run(workers=1, out=tmp_path / "a")

    def stop(done: int, total: int, failed: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Sweep(environments=["gaussian(dim=2, arms=3)"], policies=["LinUCB"], horizon=30, seeds=2).run(
            workers=1, out=tmp_path / "a", progress=stop
        )
    assert [each.label for each in sweep_in(tmp_path / "a").players] == ["Greedy"]


def test_progress_is_a_bar_a_function_or_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=["Greedy"], horizon=30, seeds=2)
    sweep.run(workers=1, progress=True)
    assert "2/2" in capsys.readouterr().err
    sweep.run(workers=1, progress=False)
    assert capsys.readouterr().err == ""
    told: list[tuple[int, ...]] = []
    sweep.run(workers=1, progress=lambda *counts: told.append(counts))
    assert told[-1] == (2, 2, 0)
    with pytest.raises(InfexError, match="progress must be True, or a function"):
        sweep.run(workers=1, progress="yes")


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(
        ["git", "-C", str(folder), *names, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_commit_is_that_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert commit() == ""
    git(tmp_path, "init", "-q")
    assert commit() == "", "no commit yet"
    (tmp_path / "a.py").write_text("a = 1\n")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-q", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "new.txt").write_text("results, say")
    assert commit() == head
    (tmp_path / "a.py").write_text("a = 2\n")
    assert commit() == f"{head}, with changes"
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=["Greedy"], horizon=30, seeds=1)
    assert sweep.about()["commit"] == f"{head}, with changes"
    assert f"played at commit {head[:12]}}}" in bibtex(sweep.about())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() == "", "no git at all"


def test_versions_are_of_what_is_installed() -> None:
    found = versions(("infex", "numpy", "no-such-package"))
    assert list(found) == ["infex", "numpy", "python"]
    assert found["numpy"] == np.__version__


def test_an_entry_holds_nothing_that_breaks_bibtex() -> None:
    odd = bibtex({"versions": {"infex": "1}{\\"}, "commit": "}} \\evil"})
    assert "evil" not in odd
    assert "\\" not in odd
    assert odd.count("{") == odd.count("}")
    assert "played at" not in bibtex({})


def test_the_citation_file_says_what_the_package_says() -> None:
    text = (Path(infex.__file__).parent.parent / "CITATION.cff").read_text()
    assert f"version: {infex.__version__}\n" in text
    entry = bibtex({"versions": versions()})
    for words in ("Infrequent Exploration in Linear Bandits", "2510.26000", "Harin", "Min-hwan"):
        assert words in text
        assert words in entry
    assert "infex: linear bandits that explore only when they are told to" in text
    assert "infex: linear bandits that explore only when they are told to" in entry
