"""How studies of a service begin: with a log, as apprentices, and with units that keep their arms."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import infex
from infex.cli.main import main
from infex.errors import NotReady
from infex.logs import Log, write
from infex.service.schemas import ServiceLimits
from infex.study.study import Study
from infex.study.warm_start import warm_start_of
from tests.service.running import Running, running
from tests.study.studies import ARMS, replayed

DRINKS: dict[str, Any] = {
    "name": "drinks", "policy": "Infex(LinUCB, every(5))", "arms": ARMS, "labels": ["tea", "juice", "mate"],
}  # fmt: skip
STUDY = "/v1/studies/drinks"


def last_month(rows: int = 60) -> Log:
    rng = np.random.default_rng(1)
    units = np.array([f"customer-{n}" for n in rng.integers(5, size=rows)])
    labels = ("mate", "tea", "juice")
    return Log(arm=rng.integers(3, size=rows), reward=rng.normal(size=rows), labels=labels, unit=units)


def theta_of(log: Log, without: str = "") -> Any:
    """The ridge estimate by the normal equations."""
    gram, sums = np.eye(2), np.zeros(2)
    assert log.unit is not None
    for n in range(len(log)):
        if log.unit[n] != without:
            x = np.array(ARMS[DRINKS["labels"].index(log.label(int(log.arm[n])))])
            gram += np.outer(x, x)
            sums += log.reward[n] * x
    return np.linalg.solve(gram, sums)


def client_of(call: Running) -> infex.Client:
    return infex.Client(f"http://127.0.0.1:{call.port}", fallback=False)


def learnt(folder: Path) -> Any:
    """What the study on disk has learnt, which replay gives again."""
    with Study.open(f"sqlite:///{folder}/shop.db", "drinks") as study:
        assert replayed(study) == study.digest()
        return study.bandit().theta


def test_a_study_learns_from_a_log_over_http_and_is_erased_from_like_the_rest(tmp_path: Path) -> None:
    log = last_month()
    write(log, tmp_path / "log.parquet")
    content = (tmp_path / "log.parquet").read_bytes()
    with running(tmp_path) as call:
        assert call("POST", "/v1/studies", DRINKS).status == 201
        for _ in range(2):  # the same again changes nothing
            found = call("POST", f"{STUDY}/log", content)
            assert (found.status, found.json) == (200, {"rows": 60})
        assert call("POST", f"{STUDY}/erasures", {"unit": "customer-3"}).json["erased"] > 0
        assert call("POST", f"{STUDY}/decisions", {"key": "first"}).json["round"] == 1
    np.testing.assert_allclose(learnt(tmp_path), theta_of(log, without="customer-3"), rtol=1e-12)


def test_both_clients_and_the_command_line_send_a_log(tmp_path: Path) -> None:
    log, settings = last_month(), {word: value for word, value in DRINKS.items() if word != "name"}
    write(log, tmp_path / "log.parquet")
    (tmp_path / "drinks.json").write_text(json.dumps(settings))
    with running(tmp_path) as call, client_of(call) as client:
        client.open("drinks", learn_from=log, **settings)
        words = ["study", "open", f"http://127.0.0.1:{call.port}", "drinks", "--settings"]
        words += [str(tmp_path / "drinks.json"), "--learn-from", str(tmp_path / "log.parquet")]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        assert client.study("drinks").learn_from(tmp_path / "log.parquet") == 60
        assert client.study("drinks").ask("first").t == 1
    np.testing.assert_allclose(learnt(tmp_path), theta_of(log), rtol=1e-12)


@pytest.mark.parametrize(
    ("content", "status", "error"),
    [
        (b"", 422, "InvalidLog"),
        (b"PAR1 and no more", 422, "InvalidLog"),
        (b"arm,reward\nwine,1\n", 422, "InvalidLog"),
        (b"arm,reward\ntea,nan\n", 422, "InvalidLog"),
        (b"x" * 5000, 413, "TooLarge"),
    ],
)
def test_a_file_that_is_no_log_of_the_study_is_refused_and_nothing_is_learnt(
    tmp_path: Path, content: bytes, status: int, error: str
) -> None:
    with running(tmp_path, ServiceLimits(log=4000)) as call:
        call("POST", "/v1/studies", DRINKS)
        refused = call("POST", f"{STUDY}/log", content)
        assert (refused.status, refused.json["error"]) == (status, error)
        assert str(tmp_path).encode() not in refused.body
        assert b"infex-" not in refused.body, "the name of a temporary folder"
        assert call("POST", f"{STUDY}/decisions", {"key": "first"}).status == 200
        late = call("POST", f"{STUDY}/log", b"arm,reward\ntea,1\n")
        assert (late.status, late.json["error"]) == (422, "InvalidSetting")
        assert "before its first decision" in late.json["message"]
    assert learnt(tmp_path).tolist() == [0.0, 0.0]


def test_nothing_is_decided_while_a_log_is_learnt_from_in_part(tmp_path: Path) -> None:
    settings = {word: value for word, value in DRINKS.items() if word not in ("name", "policy")}
    policy = infex.Infex(infex.LinUCB(), infex.every(5))
    with Study.open(f"sqlite:///{tmp_path}/shop.db", "drinks", policy=policy, **settings) as study:
        named, rows = warm_start_of(last_month(), study.bandit())
        study.learn_rows(named, 0, rows[:20])
        with pytest.raises(NotReady):
            study.ask("early")
    with running(tmp_path) as call, client_of(call) as client:
        refused = call("POST", f"{STUDY}/decisions", {"key": "early"})
        assert (refused.status, refused.json["error"]) == (503, "NotReady")
        assert "20 of 60" in refused.json["message"]
        assert client.study("drinks").learn_from(last_month()) == 60
        assert call("POST", f"{STUDY}/decisions", {"key": "early"}).status == 200


def test_an_apprentice_says_what_it_would_have_done_until_it_goes_live(tmp_path: Path) -> None:
    with running(tmp_path) as call, client_of(call) as client:
        call("POST", "/v1/studies", DRINKS | {"apprentice": True})
        refused = call("POST", f"{STUDY}/decisions", {"key": "a"})
        assert (refused.status, refused.json["field"]) == (422, "played")
        for n in range(20):
            found = call("POST", f"{STUDY}/decisions", {"key": f"k{n}", "played": ["tea", "mate"][n % 2]})
            assert found.json["label"] == ["tea", "mate"][n % 2]
            assert (found.json["reason"], found.json["round"]) == ("apprentice", 0)
            call("POST", f"{STUDY}/rewards", {"key": f"k{n}", "reward": float(n % 2)})
        assert found.json["greedy"] == 2
        figures = client.study("drinks").metrics()
        assert figures["apprentice"]["decisions"] == 20
        (day,) = figures["days"].values()
        assert 0.4 <= day["agreement"] <= 0.6
        assert day["estimated_gain"] > 0.2
        client.study("drinks").amend(apprentice=False, reason="it agrees often enough")
        refused = call("POST", f"{STUDY}/decisions", {"key": "b", "played": "tea"})
        assert (refused.status, refused.json["field"]) == (422, "played")
        assert call("POST", f"{STUDY}/decisions", {"key": "b"}).json["round"] == 1


def test_a_unit_keeps_its_arm_over_http(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        for sticky in ("for ever", -1, 0):
            refused = call("POST", "/v1/studies", DRINKS | {"sticky": sticky})
            assert (refused.status, refused.json["field"]) == (422, "sticky")
        call("POST", "/v1/studies", DRINKS | {"sticky": "30 days"})
        asked = [{"key": f"k{n}", "unit": f"customer-{n % 7}"} for n in range(70)]
        answers = [call("POST", f"{STUDY}/decisions", row).json for row in asked]
        labels = {n: {each["label"] for each in answers[n::7]} for n in range(7)}
        assert {len(each) for each in labels.values()} == {1}
        assert [each["reason"] == "sticky" for each in answers] == [False] * 7 + [True] * 63
        assert {each["propensity"] for each in answers[7:]} == {1.0}
