"""What the page says at the top of a study: segments, winners, lift, and the policy in words."""

import contextlib
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex.errors import InvalidSetting, NotReady, OtherSettings
from infex.policies import Greedy, Uniform, catching_up, doubtful, ledger
from infex.service import segments
from infex.service.history import History
from infex.service.overview import winners_of
from infex.service.words import holdout_in_words, policy_in_words, rules_in_words
from infex.study.settings import Rules
from infex.study.study import Study
from tests.service.running import PRICING, running
from tests.service.test_history import read_all
from tests.study.studies import Clock, shop, url_in
from tests.waiting import until

VISITOR = infex.features.table({"age": (20, 100)}, {"land": ["FR", "DE"]}, missing="flag", unseen="flag")
DRINKS = infex.features.disjoint(["tea", "juice", "water"], context=VISITOR)


def visited(study: Study, count: int, lands: list[Any], seed: int = 1) -> list[tuple[str, Any, str, float]]:
    """Land, age, arm and reward of decisions, each of a unit of its own."""
    draw, rows = random.Random(seed), []
    for number in range(count):
        land, age = draw.choice(lands), draw.randint(20, 100)
        key = f"{seed}-{number}"
        decision = study.ask(key, context={"age": age, "land": land}, unit=f"u{key}", durable=False)
        reward = round(draw.random(), 3)
        study.tell(key, reward, durable=False)
        rows.append((land, age, str(decision.label), reward))
    study.flush()
    return rows


def by_value(rows: list[tuple[str, Any, str, float]]) -> dict[str, dict[str, list[float]]]:
    """Rewards by land and arm, the slow way."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for land, _, arm, reward in rows:
        found[land][arm].append(reward)
    return found


def test_segments_are_counts_and_means_by_the_values_of_each_column(tmp_path: Path) -> None:
    with shop(tmp_path, features=DRINKS) as study, closing(tmp_path) as history:
        rows = visited(study, 400, ["FR", "DE"])
        read_all(history)
        found = history.plain()["segments"]
        assert set(found) == {"age", "land"}
        for land, arms in by_value(rows).items():
            told = [reward for rewards in arms.values() for reward in rewards]
            shown = found["land"][land]
            assert (shown["decisions"], shown["rewards"]) == (len(told), len(told))
            assert shown["mean"] == pytest.approx(np.mean(told))
            for arm, rewards in arms.items():
                assert shown["arms"][arm]["decisions"] == len(rewards)
                mean = np.mean(rewards) if len(rewards) >= 10 else None
                assert shown["arms"][arm]["mean"] == (mean if mean is None else pytest.approx(mean))
        assert set(found["age"]) == {"20 to 40", "40 to 60", "60 to 80", "80 to 100"}
        old = [reward for _, age, _, reward in rows if age >= 80]
        assert found["age"]["80 to 100"]["decisions"] == len(old)


def closing(folder: Path) -> contextlib.closing[History]:
    return contextlib.closing(History(url_in(folder), "shop"))


def test_small_groups_are_joined_and_figures_follow_in_steps(tmp_path: Path) -> None:
    with shop(tmp_path, features=DRINKS) as study, closing(tmp_path) as history:
        visited(study, 30, ["FR"], seed=1)
        visited(study, 9, ["DE"], seed=2)
        visited(study, 4, [None, "somewhere"], seed=3)
        read_all(history)
        shown = history.plain()["segments"]
        assert {land: each["decisions"] for land, each in shown["land"].items()} == {"FR": 30, "other": 13}
        assert not any(0 < each["decisions"] < 10 for values in shown.values() for each in values.values())
        visited(study, 9, ["DE"], seed=4)
        read_all(history)
        assert history.plain()["segments"] == shown, "nobody can tell what a few decisions were about"
        visited(study, 1, ["DE"], seed=5)
        read_all(history)
        assert history.plain()["segments"]["land"]["DE"]["decisions"] == 19
        assert "somewhere" not in json.dumps(history.plain())


def test_segments_know_columns_and_values_that_were_added_later(tmp_path: Path) -> None:
    with shop(tmp_path, features=DRINKS) as study, closing(tmp_path) as history:
        visited(study, 20, ["FR", "IT"], seed=1)  # IT is not among the categories yet
        study.extend(numbers={"visits": (0, 8)}, categories={"land": ["IT"]}, reason="more is known")
        for number in range(40):
            study.ask(f"b{number}", context={"age": 30, "land": "IT", "visits": number % 4})
            study.tell(f"b{number}", 0.5)
        read_all(history)
        found = history.plain()["segments"]
        assert found["land"]["IT"]["decisions"] == 40
        counts = {visits: (each["decisions"], each["rewards"]) for visits, each in found["visits"].items()}
        assert counts == {"0 to 2": (20, 20), "2 to 4": (20, 20)}


def test_who_is_forgotten_is_in_no_segment(tmp_path: Path) -> None:
    with shop(tmp_path, features=DRINKS) as study, closing(tmp_path) as history:
        visited(study, 40, ["FR"], seed=1)
        read_all(history)
        study.forget("u1-0")
        read_all(history)
        assert history.plain()["segments"]["land"]["FR"]["decisions"] == 39
        with closing(tmp_path) as fresh:
            read_all(fresh)
            assert fresh.plain() == history.plain()


def test_decisions_that_are_no_rounds_are_counted_as_shown_but_for_those_held_out(tmp_path: Path) -> None:
    with shop(tmp_path, sticky=True, holdout=0.3) as study, closing(tmp_path) as history:
        for number in range(90):
            study.ask(f"k{number}", unit=f"u{number % 20}", durable=False)
            study.tell(f"k{number}", 0.5, durable=False)
        study.flush()
        read_all(history)
        figures, past = study.metrics(), history.plain()
        held, sticky = figures["held_out"]["decisions"], figures["sticky"]
        assert held > 0
        assert sticky > 0
        assert sum(span["held"] for span in past["spans"]) == held
        assert sum(span["held_rewards"] for span in past["spans"]) == held
        assert sum(span["decisions"] for span in past["spans"]) == figures["rounds"] + sticky == 90 - held
        assert sum(arm["rewards"] for arm in past["arms"].values()) == 90 - held
        latest = history.recent()
        assert len(latest) == 90 - held
        assert sum(each.reason == "sticky" for each in latest) == sticky
        assert {each.state for each in latest} == {"rewarded"}
        assert history.per_minute(study.explain("k89", prove=False).at.timestamp()) == 90.0 - held


def test_an_apprentice_has_latest_decisions_and_winners_too(tmp_path: Path) -> None:
    with (
        shop(tmp_path, arms=np.eye(3), labels=["a", "b", "c"], apprentice=True, again="sum") as study,
        closing(tmp_path) as history,
    ):
        for number in range(60):
            arm = number % 3
            study.ask(f"k{number}", played="abc"[arm], durable=False)
            study.tell(f"k{number}", 0.1 * arm + 0.001 * (number % 2), durable=False)
        study.correct("k59", 0.2)
        study.tell("k59", 0.05, part="tip")
        read_all(history)
        assert [each.key for each in history.recent()] == [f"k{n}" for n in reversed(range(60))]
        latest = history.recent()[0]
        assert (latest.arm, latest.reason, latest.explored) == ("c", "apprentice", False)
        assert (latest.state, latest.reward) == ("corrected", 0.25) == (study.state("k59"), 0.25)
        found = winners_of(study, history.requests(200))
        assert found is not None
        assert (found["requests"], found["different"]) == (60, 1)
        assert found["arms"]["c"]["best"] == 60


def test_arms_without_end_take_no_memory_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MOST_ARMS", 3)
    sums = segments.Segments()
    for number in range(20):
        sums.add_decision(f"article {number % 7}", [])
        sums.add_reward(f"article {number % 7}", [], True, 0.5)
    assert {arm: each.decisions for arm, each in sums.arms.items()} == {
        "article 0": 3, "article 1": 3, "article 2": 3, "other arms": 11,
    }  # fmt: skip
    assert sums.arms["other arms"].plain() == {"decisions": 11, "rewards": 11, "mean": 0.5}


def test_without_named_columns_there_are_no_segments(tmp_path: Path) -> None:
    with shop(tmp_path) as study, closing(tmp_path) as history:
        for number in range(20):
            study.ask(f"k{number}")
        read_all(history)
        assert history.plain()["segments"] == {}


def test_an_arm_wins_surely_where_its_interval_lies_above_all_others(tmp_path: Path) -> None:
    with (
        shop(tmp_path, arms=np.eye(3), labels=["a", "b", "c"], policy=Uniform()) as study,
        closing(tmp_path) as history,
    ):
        assert winners_of(study, []) is None
        rng, means = np.random.default_rng(3), {"a": 0.2, "b": 0.8, "c": 0.3}
        for number in range(400):
            decision = study.ask(f"k{number}", durable=False)
            study.tell(f"k{number}", float(rng.normal(means[str(decision.label)], 0.1)), durable=False)
            if number == 3:
                study.flush()
                read_all(history)
                few = winners_of(study, history.requests(200))
        study.flush()
        read_all(history)
        found = winners_of(study, history.requests(200))
        assert few is not None
        assert sum(arm["sure"] for arm in few["arms"].values()) == 0, "too little was seen"
        assert found is not None
        assert (found["requests"], found["different"]) == (200, 1)
        assert (found["arms"]["b"]["best"], found["arms"]["b"]["sure"]) == (200, 200)
        table = study.intervals(1 - 0.05 / 3)
        for label, estimate, low, high in zip(
            table.label, table.estimate, table.low, table.high, strict=True
        ):
            arm = found["arms"][label]
            assert (arm["estimate"], arm["low"], arm["high"]) == (estimate, low, high)


def test_with_contexts_winners_are_shares_of_the_latest_ones_among_what_is_offered(tmp_path: Path) -> None:
    with shop(tmp_path, features=DRINKS) as study, closing(tmp_path) as history:
        visited(study, 120, ["FR", "DE"])
        for number in range(50):
            context = {"age": 20 + number, "land": "FR"}
            study.ask(f"c{number}", context=context, offered=["tea", "water"])
        read_all(history)
        requests = history.requests(50)
        assert {tuple(json.loads(each)["offered"]) for each in requests} == {("tea", "water")}
        found = winners_of(study, requests)
        best: dict[str, int] = defaultdict(int)
        for number in range(50):
            estimates = study.estimates(context={"age": 20 + number, "land": "FR"}).estimate
            best["tea" if estimates[0] >= estimates[2] else "water"] += 1
        assert found is not None
        assert {name: arm["best"] for name, arm in found["arms"].items()} == best
        study.remove_arms(["tea"], reason="sold out")
        gone = winners_of(study, requests)
        assert gone is None, "what was asked does not fit any more"


def test_lift_of_the_journal_is_that_of_the_study_and_ends_when_closed(tmp_path: Path) -> None:
    clock = Clock()
    with shop(tmp_path, clock=clock, holdout=0.5) as study, closing(tmp_path) as history:
        for number in range(60):
            study.ask(f"k{number}", unit=f"u{number % 20}", durable=False)
            study.tell(f"k{number}", 0.1 * (number % 7), durable=False)
        study.forget("u3")
        study.flush()
        assert history.lift(study.summary().rules, clock.now) == study.lift()
        history.close()
        with pytest.raises(NotReady):
            history.lift(study.summary().rules, clock.now)


def test_the_overview_comes_by_itself_and_says_of_when_it_is(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        body = PRICING | {"holdout": 0.5, "wait": "1 day", "default": 0.0, "reward_unit": "EUR"}
        assert call("POST", "/v1/studies", body).status == 201
        batch = [{"key": f"a{n}", "context": [0.6, 0.8], "unit": f"u{n}"} for n in range(40)]
        call("POST", "/v1/studies/pricing/decisions", batch)
        call("POST", "/v1/studies/pricing/rewards", [{"key": f"a{n}", "reward": n / 40} for n in range(40)])
        call.is_read()

        def overview() -> Any:
            return call("GET", "/v1/studies/pricing/past").json["overview"]

        until(lambda: overview()["at"] is not None, "the overview is computed")
        assert overview()["lift"] == call("GET", "/v1/studies/pricing/lift").json
        assert overview()["winners"]["different"] == 1
        study = call("GET", "/v1/studies/pricing").json
        assert study["rules"] == {
            "wait": "1 day", "default": 0.0, "again": "refuse", "holdout": 0.5, "reward_unit": "EUR",
            "holdout_policy": "an arm drawn at random", "sticky": False, "apprentice": False,
            "awaits_log": False,
        }  # fmt: skip
        assert study["figures"]["overview"] == overview()["at"]
        assert study["words"].startswith("Explores on every 3rd decision with LinUCB")


def test_a_unit_of_rewards_is_kept_and_a_long_one_is_refused(tmp_path: Path) -> None:
    shop(tmp_path, reward_unit="EUR").close()
    with shop(tmp_path) as study:
        assert study.summary().rules.reward_unit == "EUR"
    with pytest.raises(OtherSettings, match="reward_unit is 'EUR', not 'USD'"):
        shop(tmp_path, reward_unit="USD")
    with pytest.raises(InvalidSetting, match="reward_unit"):
        shop(tmp_path, name="other", reward_unit="x" * 21)
    with pytest.raises(InvalidSetting, match="reward_unit"):
        shop(tmp_path, name="other", reward_unit=7)


def every_schedule() -> list[tuple[Any, str]]:
    every, until_certain = infex.every(50), infex.until_certain(infex.every(50))
    return [
        (every, "on every 50th decision"),
        (infex.always(), "on every decision"),
        (infex.every(21), "on every 21st decision"),
        (infex.every(112), "on every 112th decision"),
        (infex.every(1000), "on every 1,000th decision"),
        (infex.never(), "never"),
        (infex.jittered(15), "on one of every 15 decisions, drawn at random,"),
        (infex.listed([3, 9]), "on 2 listed decisions"),
        (infex.every(5) | infex.listed([3]), "on every 5th decision and on 1 listed decision"),
        (infex.power(0.5), "ever more rarely (t^0.5 times in t decisions)"),
        (infex.budget(every, 9), "on every 50th decision, at most 9 times in all,"),
        (infex.budget(every, 9, 500), "on every 50th decision, at most 9 times in any 500 decisions,"),
        (
            infex.guarded(every, 100.0, 10_000),
            "on every 50th decision, at most 100 EUR of estimated cost in any 10,000 decisions,",
        ),
        (until_certain, "on every 50th decision, until one arm is surely the best,"),
        (doubtful(every), "on every 50th decision, while another arm may be better,"),
        (ledger(2.5), "when greedy decisions are expected to have lost 2.5 EUR"),
        (
            ledger(2.5, every),
            "on every 50th decision, when greedy decisions are expected to have lost 2.5 EUR,",
        ),
        (infex.paused(every, infex.listed([7])), "on every 50th decision, but for pauses,"),
        (catching_up(every), "on every 50th decision, made up for where a request forbids it,"),
    ]


@pytest.mark.filterwarnings("ignore::infex.errors.SparseExploration")
@pytest.mark.parametrize(("schedule", "words"), every_schedule())
def test_a_policy_is_told_in_words(schedule: Any, words: str) -> None:
    said = policy_in_words(infex.Infex(infex.LinUCB(), schedule), "EUR")
    assert said.startswith(f"Explores {words} with LinUCB")
    assert said.endswith("; otherwise plays the arm with the best estimate.")


class Own:
    """A policy of a user."""

    def choose(self, t: int, posterior: Any, rng: Any) -> Any:
        raise NotImplementedError


def test_who_decides_for_whom_is_told_in_words() -> None:
    assert rules_in_words(Rules()) == ""
    assert rules_in_words(Rules(sticky=True)) == "Whoever got an arm keeps it for good."
    assert rules_in_words(Rules(sticky="30 days")) == "Whoever got an arm keeps it for 30 days."
    assert "decides nothing" in rules_in_words(Rules(apprentice=True))
    assert holdout_in_words(Rules(holdout_policy={"arm": "tea"})) == "always tea"
    assert "frozen" in holdout_in_words(Rules(holdout_policy="greedy"))


def test_policies_without_a_schedule_and_of_users_are_told_too() -> None:
    assert "never explores" in policy_in_words(Greedy())
    assert policy_in_words(infex.LinUCB()).startswith("Every decision is taken by LinUCB")
    assert policy_in_words(Own()) == "Own"
