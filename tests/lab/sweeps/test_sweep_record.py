"""A sweep as data: what `sweep.json` holds plays the same runs again."""

import functools
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import infex
from infex import Choice, Greedy, Infex, LinUCB, every
from infex.cli.main import main
from infex.errors import InfexError
from infex.lab import Results, Sweep, environments
from infex.lab.reports.page import bibtex
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


def again(folder: Path, out: Path) -> Any:
    """`infex run` of a folder, in one process."""
    words = ["lab", "run", str(folder), "--out", str(out), "--workers", "1"]
    return CliRunner().invoke(main, words, catch_exceptions=False)


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration")
@pytest.mark.parametrize("name", SWEEPS)
def test_a_folder_plays_its_sweep_again(name: str, tmp_path: Path) -> None:
    first = Sweep(**{"horizon": 50, "seeds": 2} | SWEEPS[name]).run(workers=1, out=tmp_path / "a")
    found = again(tmp_path / "a", tmp_path / "b")
    assert found.exit_code == 0, found.output
    second = Results.load(tmp_path / "b")
    assert second.diff(first).agrees
    assert second.finals["key"].to_pylist() == first.finals["key"].to_pylist(), "the same code and settings"
    for part in ("title", "penalty", "seeds", "settings", "sweep", "policies", "names"):
        assert second.about[part] == first.about[part]
    more = again(tmp_path / "a", tmp_path / "a")
    assert "0 runs played" in more.stderr


def test_a_sweep_from_a_file_comes_back_too(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        'policies = ["LinUCB", "Greedy"]\nhorizon = 40\nseeds = 2\n'
        '[[environments]]\nkind = "gaussian"\ndim = [2, 3]\narms = 4\n'
        '[[environments]]\nkind = "object"\nobject = "tests.lab.sweeps.players:small"\nlabel = "mine"\n'
    )
    for source, out in ((path, tmp_path / "a"), (tmp_path / "a", tmp_path / "b")):
        assert again(source, out).exit_code == 0
    results = Results.load(tmp_path / "b")
    assert results.diff(tmp_path / "a").agrees
    assert results.cells[-1].environment == "mine"


def test_a_sweep_of_some_alone_keeps_their_runs(tmp_path: Path) -> None:
    whole = Sweep(**{"horizon": 50} | SWEEPS["text"])
    names = [whole.players[2].label, whole.players[0].label, whole.problems[1].label]
    some = Sweep(**{"horizon": 50, "only": names} | SWEEPS["text"])
    some.run(workers=1, out=tmp_path / "a")
    assert again(tmp_path / "a", tmp_path / "b").exit_code == 0
    found = Results.load(tmp_path / "b")
    assert found.policies == [names[1], names[0]]
    assert [cell.environment for cell in found.cells] == names[2:]
    assert {*found.finals["key"].to_pylist()} <= {task.key for task in whole.tasks()}
    assert found.finals.num_rows == 4
    with pytest.raises(
        InfexError, match=r"only names 'LinUBC' \(did you mean LinUCB\?\), which is not in the sweep"
    ):
        Sweep(environments=[players.square], policies=["LinUCB"], only=["LinUBC"])
    with pytest.raises(InfexError, match="only must be a list of names, got 'LinUCB'"):
        Sweep(environments=[players.square], policies=["LinUCB"], only="LinUCB")


def test_what_no_file_can_hold_is_named(tmp_path: Path) -> None:
    class Inner:
        def choose(self, t: int, posterior: Any, rng: Any) -> Choice:
            return Choice(0)

    given: dict[str, Any] = {"horizon": 5, "seeds": 1}
    Sweep(environments=[players.square], policies=["Greedy", Inner()], **given).run(
        workers=1, out=tmp_path / "a"
    )
    said = " ".join(again(tmp_path / "a", tmp_path / "b").output.split())
    assert "policies[1] was an object of " in said
    assert "Inner, which no file can hold" in said
    Sweep(environments=[lambda seed: players.square], policies=["Greedy"], **given).run(
        workers=1, out=tmp_path / "c"
    )
    said = " ".join(again(tmp_path / "c", tmp_path / "d").output.split())
    assert "environments[0] was an object of builtins:function" in said


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ([1], "a sweep must be a mapping of its settings, got [1]"),
        (
            {"format": 1, "policies": [{"kind": "made", "by": f"{__name__}:Tuned", "settings": {"old": 1}}]},
            "Tuned cannot be made of {'old': 1}: ",
        ),
        ({"format": 9}, "format 9 of a sweep is not known here, only 1"),
        ({"format": 1, "environments": [], "colour": 1}, "a sweep has no setting colour"),
        ({"format": 1, "environments": [{"kind": "odd"}]}, "environments[0] is nothing that a sweep holds"),
        ({"format": 1, "environments": []}, "an empty sweep: 0 environments"),
        ({"format": 1, "environments": [{"kind": "reference", "reference": "no.such:thing"}]}, "cannot load"),
    ],
)
def test_a_record_that_is_none_is_refused(kept: Any, words: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps({"sweep": kept}))
    found = again(tmp_path, tmp_path / "out")
    assert found.exit_code == 2
    assert words in " ".join(found.output.split())


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
    assert again(tmp_path / "a", tmp_path / "a").exit_code == 0
    found = Results.load(tmp_path / "a")
    assert found.about["earlier"] > 0
    assert found.diff(sweep.run(workers=1)).agrees
    for text in ("{}", "[]", "no json"):
        (tmp_path / "a" / "sweep.json").write_text(text)
        said = " ".join(again(tmp_path / "a", tmp_path / "a").output.split())
        assert "holds no sweep to be played again" in said


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
    assert again(tmp_path / "a", tmp_path / "b").exit_code == 0
    assert Results.load(tmp_path / "b").policies == ["Greedy"]


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
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=["Greedy"], horizon=30, seeds=1)

    def commit() -> str:
        return str(sweep.about()["commit"])

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
    assert f"played at commit {head[:12]}}}" in bibtex(sweep.about())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() == "", "no git at all"


def test_versions_are_of_what_is_installed() -> None:
    sweep = Sweep(environments=["gaussian(dim=2, arms=3)"], policies=["Greedy"], horizon=30, seeds=1)
    found = sweep.about()["versions"]
    assert {"infex", "numpy", "pyarrow", "python"} <= found.keys()
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
    entry = bibtex({"versions": {"infex": infex.__version__}})
    for words in ("Infrequent Exploration in Linear Bandits", "2510.26000", "Harin", "Min-hwan"):
        assert words in text
        assert words in entry
    assert "infex: linear bandits that explore only when they are told to" in text
    assert "infex: linear bandits that explore only when they are told to" in entry
