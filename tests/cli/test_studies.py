"""`infex study`: studies from the command line, beside the process that has them open."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import infex
from infex import features
from infex.cli.main import main
from infex.errors import DamagedJournal
from infex.service.auth import TokenFile
from infex.study.journal import BEGINNING, Draft, linked
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from tests.service.serving_here import served, serving
from tests.stateful import Counting
from tests.study.studies import ARMS, POLICY, entries_of, replayed, shop, url_in

VISITOR = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]})


def run(*words: str | Path, code: int = 0) -> Any:
    """The JSON that a command of studies prints."""
    found = CliRunner().invoke(main, ["study", *map(str, words), "--json"], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return json.loads(found.output)


def words_of(*words: str | Path, code: int = 0) -> str:
    found = CliRunner().invoke(main, ["study", *map(str, words)], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return found.output


def filled(folder: Path, **settings: Any) -> Study:
    """A study with thirty decisions, of which some are told, corrected and erased."""
    settings = settings or {"features": features.disjoint(["tea", "juice"], context=VISITOR), "holdout": 0.2}
    study = shop(folder, **settings)
    for n in range(30):
        context = {"age": 20 + n, "country": "FR"} if "features" in settings else None
        study.ask(f"k{n}", context=context, unit=f"u{n % 6}", durable=False)
        if n % 4:
            study.tell(f"k{n}", n % 3 / 2, durable=False)
    study.correct("k1", 0.25)
    study.amend(policy=infex.Infex(infex.LinUCB(), infex.every(4)), reason="more of it")
    study.ask("last", context={"age": 30, "country": "DE"} if "features" in settings else None)
    return study


def test_what_reads_works_beside_a_live_study(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    with filled(tmp_path) as study:
        (row,) = run("list", url)
        assert (row["name"], row["entries"]) == ("shop", study.metrics()["entries"])
        found = run("show", url, "shop")
        assert found["settings"]["seed"] == 7
        assert [each["reason"] for each in found["amendments"]] == ["more of it"]
        verdict = run("verify", url, "shop", "--checkpoint", found["checkpoint"])
        assert verdict["entry"] is None
        assert verdict["proven"] == verdict["decisions"] == 31
        assert run("metrics", url, "shop")["states"] == study.metrics()["states"]
        assert run("explain", url, "shop", "last")["proven"] is True
        assert "proven" in words_of("explain", url, "shop", "last")
        assert "holds: " in words_of("verify", url, "shop")
        assert "shop: " in words_of("list", url)
        assert "checkpoint" in words_of("show", url, "shop")
        assert "decisions: " in words_of("metrics", url, "shop")


def test_contexts_and_units_are_shown_if_they_are_asked_for(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    with filled(tmp_path):
        plain = json.dumps(run("log", url, "shop")) + json.dumps(run("explain", url, "shop", "k5"))
        assert "country" not in plain.replace("country=", "")
        assert "u5" not in plain
        assert "FR" not in json.dumps(run("log", url, "shop")) + words_of("log", url, "shop")
        (first, second) = run("log", url, "shop", "--key", "k5", "--contents")
        assert (first["kind"] in ("decision", "held"), second["kind"]) == (True, "reward")
        assert first["content"]["request"]["context"] == {"age": 25, "country": "FR"}
        assert first["unit"] == "u5"
        assert len(run("log", url, "shop", "--last", "3")) == 3


def test_amend_and_forget_write(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    filled(tmp_path).close()
    run("amend", url, "shop", "--policy", "Infex(LinUCB, every(9))", "--reason", "less of it")
    assert run("forget", url, "shop", "u1", "--reason", "asked for it")["erased"] > 5
    assert "0 entries" in words_of("forget", url, "shop", "u1")
    verdict = run("verify", url, "shop")
    assert verdict["entry"] is None
    assert verdict["unproven"] > 0
    with shop(tmp_path) as study:
        assert replayed(study) == study.digest()
        assert infex.Infex(infex.LinUCB(delta=0.01), infex.every(9)) == study.policy
        refused = words_of("amend", url, "shop", "--policy", "Greedy", "--reason", "", code=2)
        assert "is open already in this process" in refused


def test_correct_puts_a_reward_right(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    filled(tmp_path).close()
    assert run("correct", url, "shop", "k5", "-0.25", "--reason", "the goods came back") == {
        "key": "k5",
        "reward": -0.25,
        "state": "corrected",
    }
    assert run("explain", url, "shop", "k5")["reward"] == -0.25
    entries = run("log", url, "shop", "--key", "k5", "--contents")
    assert entries[-1]["content"]["reason"] == "the goods came back"
    assert "k5: the reward is 0.5 (corrected)" in words_of("correct", url, "shop", "k5", "0.5")
    assert run("explain", url, "shop", "k5")["reward"] == 0.5
    assert "'nobody'" in words_of("correct", url, "shop", "nobody", "0.5", code=2)
    with shop(tmp_path) as study:
        assert replayed(study) == study.digest()
        refused = words_of("correct", url, "shop", "k5", "1.0", code=2)
        assert "is open already in this process" in refused


def test_a_backup_of_a_live_study_is_restored_elsewhere(tmp_path: Path) -> None:
    url, copy, new = url_in(tmp_path), tmp_path / "copy.db", f"sqlite:///{tmp_path}/new.db"
    with filled(tmp_path) as study:
        assert run("backup", url, copy)["studies"] == ["shop"]
        before = study.digest()
        study.ask("after", context={"age": 30, "country": "DE"})
    assert run("restore", copy, new)["studies"] == ["shop"]
    assert "already" in words_of("restore", copy, new, code=2)
    with Study.open(new, "shop") as again:
        assert again.digest() == before
    assert "already" in words_of("backup", url, copy, code=2)


@pytest.mark.parametrize(
    ("policy", "entry", "why"),
    [
        (
            Counting(),
            2,
            "Counting decides entry 2 otherwise when it is asked twice: its `choose` must",
        ),
        (infex.Infex(Counting(), infex.every(2)), 4, "decides entry 4 otherwise when it is asked twice"),
        (Counting(each=5), 6, "entry 6 was not decided so: Counting(each=5) is code of yours"),
    ],
    ids=["alone", "base", "seldom"],
)
def test_verify_names_a_policy_that_changes_when_it_is_asked(
    tmp_path: Path, policy: Any, entry: int, why: str
) -> None:
    with shop(tmp_path, arms=np.eye(3), policy=policy) as study:
        for n in range(10):
            study.tell(study.ask(f"k{n}").id, 0.5)
    found = run("verify", url_in(tmp_path), "shop", code=1)
    assert found["entry"] == entry
    assert why in found["why"]


def test_verify_names_the_first_entry_that_does_not_fit(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    with filled(tmp_path) as study:
        kept = run("show", url, "shop")["checkpoint"]
        entries = entries_of(study)
    drafts = [Draft(each.kind, each.key, each.unit or "", each.at, each.content or b"") for each in entries]
    places = [place for place, draft in enumerate(drafts) if draft.kind == "decision"]
    forged = list(drafts)
    changed = (
        forged[places[7]].content.replace(b'"explored":true', b"").replace(b'"estimate":', b'"estimate":1')
    )
    forged[places[7]] = forged[places[7]]._replace(content=changed)
    store = SQLiteStore(tmp_path / "shop.db")
    store.append("forged", linked(forged, BEGINNING), BEGINNING)
    store.append("cut", entries[:-2], BEGINNING)
    store.close()
    found = run("verify", url, "forged", code=1)
    assert (found["entry"], found["why"]) == (places[7] + 1, f"entry {places[7] + 1} was not decided so")
    assert "before the checkpoint" in run("verify", url, "cut", "--checkpoint", kept, code=1)["why"]
    assert (
        "not that of the checkpoint"
        in run("verify", url, "forged", "--checkpoint", f"3:{'00' * 32}", code=1)["why"]
    )
    assert run("verify", url, "shop", "--checkpoint", kept)["entry"] is None
    assert "a checkpoint must be a number" in words_of("verify", url, "shop", "--checkpoint", "x", code=2)
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("update entries set content = x'00' where study = 1 and number = 5")
    assert run("verify", url, "shop", code=1)["entry"] == 5
    assert "content of entry 5" in words_of("verify", url, "shop", code=1)


def test_a_study_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "there is no file" in words_of("list", url_in(tmp_path), code=2)
    shop(tmp_path).close()
    assert "there is no study 'x'" in words_of("show", url_in(tmp_path), "x", code=2)


def test_export_writes_the_schema_of_logs(tmp_path: Path) -> None:
    url, file = url_in(tmp_path), tmp_path / "log.parquet"
    with filled(tmp_path) as study:
        count = run("export", url, "shop", "--out", file)["rows"]
        table = pq.read_table(file)
        rows = table.to_pylist()
        assert count == len(rows) == study.metrics()["decisions"]
        for row in rows:
            found = study.explain(row["id"], contents=True, prove=False)
            decision = found.decision
            assert decision is not None
            held = decision.reason == "held out"
            assert row["held_out"] == held
            assert (row["arm"], row["label"]) == (decision.arm, decision.label)
            assert held or row["round"] == decision.t
            assert (row["reward"], row["unit"], row["explored"]) == (
                found.reward,
                found.unit,
                decision.explored,
            )
            assert (row["propensity"], row["greedy"]) == (decision.propensity, decision.greedy)
            assert row["explore_probability"] == (None if held else decision.explore_probability)
            assert row["time"] == found.at
            assert found.request is not None
            np.testing.assert_array_equal(row["context"], VISITOR.encode(found.request["context"]).vector)
        said = json.loads(table.schema.metadata[b"infex"])
        assert infex.from_record(said["features"]) == study.bandit().features
        assert [row["round"] for row in rows] == list(range(1, len(rows) + 1))
        assert rows[-1]["policy"] == "Infex(LinUCB(delta=0.01), every(4))"


@pytest.mark.parametrize("kind", ["fixed", "changing", "moved"])
def test_export_says_what_was_on_offer(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "log.parquet"
    sets = np.random.default_rng(1).uniform(-0.5, 0.5, (6, 3, 2)).tolist()
    settings: dict[str, Any] = {"dim": 2} if kind == "changing" else {"arms": ARMS}
    arms = [ARMS] * 3 + [ARMS[1:]] * 3 if kind == "moved" else [ARMS] * 6
    with shop(tmp_path, **settings) as study:
        played = []
        for n in range(6):
            decision = study.ask(f"k{n}", arms=sets[n] if kind == "changing" else None)
            played.append((sets if kind == "changing" else arms)[n][decision.arm])
            if kind == "moved" and n == 2:
                study.remove_arms([0])
        run("export", url_in(tmp_path), "shop", "--out", file)
    table = pq.read_table(file)
    said = json.loads(table.schema.metadata[b"infex"])
    if kind == "changing":
        assert table["arms"].to_pylist() == sets
        return
    assert "arms" not in table.column_names
    assert said["arms"] == (ARMS if kind == "fixed" else [*ARMS[1:], ARMS[0]])  # all there ever were
    assert [said["arms"][arm] for arm in table["arm"].to_pylist()] == played
    if kind == "moved":
        assert (
            table["offered"].to_pylist()
            == [[True] * len(ARMS)] * 3 + [[True] * (len(ARMS) - 1) + [False]] * 3
        )


def cut(folder: Path, name: str, entries: int) -> tuple[int, int]:
    """Deletes the last entries of a study; how many there were, and how many are left."""
    connection = sqlite3.connect(folder / "shop.db")
    (study,) = connection.execute("select id from studies where name = ?", (name,)).fetchone()
    last = "select max(number) from entries where study = ?"
    (before,) = connection.execute(last, (study,)).fetchone()
    connection.execute("delete from entries where study = ? and number > ?", (study, before - entries))
    connection.commit()
    connection.close()
    return before, before - entries


@pytest.mark.parametrize("some", [1, 10, 40])
def test_entries_that_are_missing_at_the_end_are_noticed_by_the_snapshot_beside_them(
    tmp_path: Path, some: int
) -> None:
    filled(tmp_path).close()
    before, left = cut(tmp_path, "shop", some)
    said = f"ends at entry {left}, and a snapshot of entry {before} is kept beside it"
    with pytest.raises(DamagedJournal, match=said):
        infex.Study.open(url_in(tmp_path), "shop")
    verdict = run("verify", url_in(tmp_path), "shop", code=1)
    assert verdict["entry"] == left + 1
    assert said in verdict["why"]
    new = f"sqlite:///{tmp_path}/new.db"  # what the message says to do
    run("restore", tmp_path / "shop.db", new)
    with infex.Study.open(new, "shop") as study:
        assert study.metrics()["entries"] == left


def test_a_journal_that_lost_all_of_its_entries_is_not_begun_anew(tmp_path: Path) -> None:
    with filled(tmp_path) as study:
        count = study.metrics()["entries"]
    cut(tmp_path, "shop", count)
    with pytest.raises(DamagedJournal, match="ends at entry 0"):
        infex.Study.open(url_in(tmp_path), "shop", arms=ARMS, policy=POLICY)


def test_verify_notices_a_journal_that_went_on_otherwise_than_the_snapshot_beside_it(tmp_path: Path) -> None:
    filled(tmp_path).close()
    before, _ = cut(tmp_path, "shop", 3)
    store = SQLiteStore(tmp_path / "shop.db")
    drafts = [Draft("amendment", "", "", 0, b'{"v":1,"what":"pending","to":"narrow","reason":""}')] * 3
    end = store.end("shop")
    store.append("shop", linked(drafts, end), end)
    store.close()
    verdict = run("verify", url_in(tmp_path), "shop", code=1)
    assert verdict["why"] == f"entry {before} is not the one of which a snapshot is kept"


def test_journals_that_are_whole_are_opened_whatever_snapshots_there_are(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    filled(tmp_path).close()
    shop(tmp_path, "short").close()  # another study in the same database, with fewer entries
    with infex.Study.open(url, "shop") as study:
        study.forget("u1")  # erased entries keep their places
    run("backup", url, tmp_path / "copy.db")
    with infex.Study.open(url, "shop") as study:
        study.ask_many([f"more{n}" for n in range(20)], contexts=[{"age": 30, "country": "DE"}] * 20)
    run("restore", tmp_path / "copy.db", f"sqlite:///{tmp_path}/new.db")  # without snapshots
    without = sqlite3.connect(tmp_path / "copy.db")
    without.execute("delete from snapshots")
    without.commit()
    without.close()
    for place in (url, f"sqlite:///{tmp_path}/copy.db", f"sqlite:///{tmp_path}/new.db"):
        for name in ("shop", "short"):
            assert run("verify", place, name)["entry"] is None
            infex.Study.open(place, name).close()


SETTINGS = {
    "policy": "Infex(LinUCB, every(3))",
    "features": infex.to_record(features.disjoint(["tea", "juice"], context=VISITOR)),
    "seed": 7,
    "holdout": 0.2,
}
OPERATIONS: list[list[str]] = [
    ["correct", "SHOP", "k1", "-0.25", "--reason", "the goods came back"],
    ["correct", "SHOP", "k1", "-0.25"],
    ["add-arms", "SHOP", "mate", '"7"', "--reason", "new", "--key", "spring"],
    ["add-arms", "SHOP", "mate", '"7"', "--reason", "new", "--key", "spring"],
    ["remove-arms", "SHOP", "juice", '"7"', "--reason", "sold out"],
    ["extend", "SHOP", "--number", "visits", "0", "10", "--category", "country", "IT", "--reason", "known"],
    ["amend", "SHOP", "--policy", "Infex(LinTS, every(2))", "--allowed", "[true, false]", "--reason", "more"],
    ["amend", "SHOP", "--pending", "ignore", "--freeze", "--reason", "from here"],
    ["pause", "SHOP", "--reason", "a holiday"],
    ["resume", "SHOP", "--reason", "over"],
    ["lift", "SHOP"],
    ["forget", "SHOP", "u2", "--reason", "asked for it"],
    ["explain", "SHOP", "k3", "--contents"],
    ["explain", "SHOP", "k4"],
    ["verify", "SHOP"],
    ["export", "SHOP", "--out", "OUT"],
    ["metrics", "SHOP"],
    ["archive", "SHOP", "--keep", "20"],
]
REFUSED: list[list[str]] = [
    ["correct", "SHOP", "nobody", "1"],
    ["remove-arms", "SHOP", "beer", "--reason", "r"],
    ["remove-arms", "SHOP", "tea", "mate", "--reason", "r"],
    ["add-arms", "SHOP", "tea", "--reason", "r"],
    ["add-arms", "SHOP", "x", "--rows", "[[0.5]]", "--reason", "r"],
    ["extend", "SHOP", "--more", "1", "--reason", "r"],
    ["pause", "SHOP", "--reason", "other", "--key", "spring"],
    ["verify", "SHOP", "--checkpoint", "x"],
    ["explain", "SHOP", "nobody"],
]
DIFFERENT = ("at", "told_at", "file", "checkpoint", "entries", "digest", "delay", "days", "pending_by_age")


def same_everywhere(found: dict[str, Any]) -> dict[str, Any]:
    """What does not hold a time or a path."""
    return {word: value for word, value in found.items() if word not in DIFFERENT}


def operate(url: str, folder: Path) -> list[Any]:
    """What the commands print of a study at a URL."""

    def said(words: list[str]) -> list[str]:
        places = {"SHOP": [url, "shop"], "OUT": [str(folder / "out.parquet")]}
        return [part for word in words for part in places.get(word, [word])]

    file = folder / "settings.json"
    file.write_text(json.dumps(SETTINGS))
    assert run(*said(["open", "SHOP", "--settings", str(file)])) == {"study": "shop", "entries": 1}
    opened: Any = infex.Client(url) if url.startswith("http") else None
    study = opened.study("shop") if opened else Study.open(url, "shop")
    for n in range(12):
        study.ask(f"k{n}", context={"age": 20 + n, "country": "FR"}, unit=f"u{n % 4}")
        study.tell(f"k{n}", n % 3 / 2)
    (opened or study).close()
    found = [run(*said(words)) for words in OPERATIONS]
    return [*found, *(words_of(*said(words), code=2).splitlines()[-1] for words in REFUSED)]


def test_commands_do_the_same_through_a_service_and_on_a_database(tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    with served(tmp_path) as url:
        there = operate(url, tmp_path)
    here = operate(f"sqlite:///{tmp_path}/alone/shop.db", tmp_path / "alone")
    for words, ours, theirs in zip([*OPERATIONS, *REFUSED], here, there, strict=True):
        if isinstance(ours, str):
            assert theirs == ours, words
            continue
        if words[0] == "metrics":  # a service has some figures of its own beside these
            theirs = {word: theirs[word] for word in ours}
        assert same_everywhere(theirs) == same_everywhere(ours), words
    databases = (f"sqlite:///{folder}/shop.db" for folder in (tmp_path, tmp_path / "alone"))
    with Study.open(next(databases), "shop") as one, Study.open(next(databases), "shop") as other:
        assert one.bandit().digest() == other.bandit().digest()
        assert replayed(one) == one.digest()


def test_arms_without_labels_and_arms_with_features_come_and_go(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    shop(tmp_path).close()
    assert run("add-arms", url, "shop", "--rows", "[[0.5, 0.5], [0.1, 0.2]]", "--reason", "r")["added"] == 2
    run("remove-arms", url, "shop", "0", "4", "--reason", "r")
    shop(tmp_path, "counted", features=features.disjoint(2, context_dim=2)).close()
    assert run("add-arms", url, "counted", "--count", "3", "--reason", "r")["added"] == 3
    assert "must be JSON" in words_of("add-arms", url, "shop", "--rows", "x", "--reason", "r", code=2)
    with Study.open(url, "shop") as study:
        np.testing.assert_array_equal(study.bandit().arms, [*ARMS[1:], [0.5, 0.5]])
    with Study.open(url, "counted") as study:
        assert len(study.estimates(context=[0.6, 0.8])) == 5


def test_a_token_is_an_option_or_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(tmp_path).close()
    tokens = TokenFile(tmp_path / "shop.db.tokens")
    reads, changes = tokens.make(["read"]), tokens.make(["admin"])
    with served(tmp_path) as url:
        assert "no valid token" in words_of("metrics", url, "shop", code=2)
        assert run("metrics", url, "shop", "--token", reads)["decisions"] == 0
        monkeypatch.setenv("INFEX_TOKEN", changes)
        assert run("pause", url, "shop", "--reason", "r") == {"study": "shop", "paused": True}
        refused = " ".join(words_of("metrics", url, "shop", code=2).split())
        assert "the token does not allow this; expected: a token with read" in refused


def test_a_database_that_a_service_has_open_is_named_with_the_way_through_it(tmp_path: Path) -> None:
    shop(tmp_path).close()
    with serving(tmp_path) as (url, process):
        assert run("forget", url, "shop", "ann") == {"erased": 0}  # which waits until the study is open
        refused = " ".join(words_of("forget", url_in(tmp_path), "shop", "ann", code=2).split())
        assert f"is open in process {process.pid} on" in refused
        assert "if that is a service, say its http:// address in place of the file" in refused


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "must have an object of JSON"),
        ("{", "must be JSON"),
        ('{"policy": "Greedy", "arm": [[1.0]]}', "unknown field `arm`"),
        ('{"policy": "Greedy", "arms": "many"}', "arms"),
        ('{"policy": "No", "arms": [[1.0]]}', "unknown name 'No'"),
        ('{"arms": [[1.0]]}', "policy"),
    ],
)
def test_settings_that_cannot_be_begin_no_study(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(content)
    assert words in " ".join(words_of("open", url_in(tmp_path), "shop", "--settings", file, code=2).split())
    assert infex.studies(url_in(tmp_path)) == []


def test_a_policy_for_a_service_is_never_loaded_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "was_run"
    (tmp_path / "own_rules.py").write_text(f"open({str(mark)!r}, 'w').close()\ndef Mine(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    shop(tmp_path).close()
    with served(tmp_path) as url:
        for policy in ("own_rules:Mine()", "own_rules:Mine", "Infex(own_rules:Mine('a:b'), every(3))"):
            refused = words_of("amend", url, "shop", "--policy", policy, "--reason", "r", code=2)
            assert "own_rules:Mine is not a policy of infex" in " ".join(refused.split())
        run("amend", url, "shop", "--policy", "Infex(LinTS, every(9))", "--reason", "r")
        (change,) = run("show", url_in(tmp_path), "shop")["amendments"]
        assert change["to"]["record"]["schedule"]["m"] == 9
    assert not mark.exists()


def test_an_apprentice_goes_live(tmp_path: Path) -> None:
    shop(tmp_path, apprentice=True).close()
    with served(tmp_path) as url:
        words = ("--apprentice", "false", "--reason", "it agrees")
        assert run("amend", url, "shop", *words) == {"study": "shop", "changed": ["apprentice"]}
    with shop(tmp_path) as study:
        assert study.ask("k1").t == 1


def test_lift_says_what_the_study_gains_or_why_it_cannot(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    shop(tmp_path).close()
    assert "Nobody is held out" in words_of("lift", url, "shop")
    with shop(tmp_path, "held", holdout=0.5) as study:
        for n in range(40):
            study.ask(f"k{n}", unit=f"u{n}")
            study.tell(f"k{n}", n % 3 / 2)
        found, lift = run("lift", url, "held"), study.lift()
        assert found == lift._asdict()
        assert f"{lift.difference:+.4g} a decision" in words_of("lift", url, "held")


def test_explain_prints_context_unit_and_the_estimate_as_it_was(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    with filled(tmp_path) as study:
        decision = study.explain("k23", prove=False).decision
        assert decision is not None
        own = f"estimate when it was decided: {decision.estimate:.4g} ({decision.low:.4g}"
        shown = words_of("explain", url, "shop", "k23", "--contents")
        assert '"country": "FR"' in shown
        assert "unit: u5" in shown
        assert own in shown
        assert "erased" not in shown
        assert "FR" not in words_of("explain", url, "shop", "k23").replace("country=FR", "")
        study.forget("u1")
        shown = words_of("explain", url, "shop", "k23")
        assert own in shown
        assert "not the estimates that it was decided on" in shown


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    shop(tmp_path).close()
    settings = tmp_path / "settings.json"
    settings.write_text('{"policy": "Greedy", "dim": 2}')
    nowhere = tmp_path / "nowhere" / "x.parquet"
    with served(tmp_path) as url:
        for place in (url, url_in(tmp_path)):
            said = words_of("export", place, "shop", "--out", nowhere, code=2)
            assert "no such folder" in " ".join(said.split())
        said = words_of("open", url, "x", "--settings", settings, "--learn-from", nowhere, code=2)
        assert "No such file" in " ".join(said.split())
        said = words_of("open", url, "x", "--settings", tmp_path / "no.json", code=2)
        assert "No such file" in " ".join(said.split())
    settings.write_bytes(b"\xff\xfe\xff")
    assert "must be JSON" in words_of("open", url_in(tmp_path), "x", "--settings", settings, code=2)


PRICES = {
    "policy": "Infex(LinUCB, every(3))",
    "features": infex.to_record(features.disjoint(["9.99", "10", "14.99"], context=VISITOR)),
}
PAST = "price,profit,customer,age,country\n9.99,0.5,ann,30,FR\n10,1,ben,40,DE\n10,0.25,ann,50,FR\n"


def test_columns_of_a_log_are_named_and_labels_may_look_like_numbers(tmp_path: Path) -> None:
    settings, log, other = (tmp_path / name for name in ("settings.json", "log.csv", "other.csv"))
    settings.write_text(json.dumps(PRICES))
    log.write_text(PAST)
    other.write_text(PAST.replace("\n9.99,", "\n8,"))
    (tmp_path / "alone").mkdir()
    told = infex.Bandit(features=features.disjoint(["9.99", "10", "14.99"], context=VISITOR), policy=POLICY)
    rows = [{"age": 30, "country": "FR"}, {"age": 40, "country": "DE"}, {"age": 50, "country": "FR"}]
    told.learn(rows, ["9.99", "10", "10"], [0.5, 1.0, 0.25])
    names = ("--arm", "price", "--reward", "profit", "--unit", "customer")
    with served(tmp_path) as served_at:
        for url in (served_at, f"sqlite:///{tmp_path}/alone/shop.db"):
            begin = ("open", url, "shop", "--settings", settings, "--learn-from")
            refused = " ".join(words_of(*begin, log, code=2).split())
            assert "none is called 'arm': name the one it is; there are price, profit" in refused
            assert "'8'" in words_of(*begin, other, *names, code=2)
            for _ in range(2):  # the same again changes nothing
                assert run(*begin, log, *names)["entries"] == 5
            assert run("forget", url, "shop", "nobody") == {"erased": 0}
    for folder in (tmp_path, tmp_path / "alone"):
        with Study.open(f"sqlite:///{folder}/shop.db", "shop") as study:
            np.testing.assert_allclose(study.bandit().theta, told.theta, rtol=1e-12)
            assert study.forget("ann") == 2
