"""Why a decision was taken: recomputed from the journal, with every offer and every feature's share."""

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import features, models
from infex.errors import UnknownDecision
from infex.study import journal
from infex.study.explain import explain
from infex.study.journal import BEGINNING, Draft, Entry, linked
from infex.study.stores.base import reading
from infex.study.stores.sqlite import SQLiteStore
from infex.study.verify import verify
from tests.study.studies import ARMS, POLICY, entries_of, shop, url_in

VISITOR = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]})
PROBLEMS: dict[str, dict[str, Any]] = {
    "fixed arms": {"arms": ARMS, "labels": ["a", "b", "c"]},
    "sampled": {"arms": ARMS, "policy": infex.Infex(infex.LinTS(), infex.jittered(3))},
    "guarded": {"arms": ARMS, "policy": infex.Infex(infex.LinUCB(), infex.guarded(infex.every(2), 0.5))},
    "disjoint": {"features": features.disjoint(["tea", "juice"], context=VISITOR)},
    "hybrid": {"features": features.hybrid(features.interactions(np.eye(2), context=VISITOR))},
    "interactions": {"features": features.interactions(np.eye(2), context=VISITOR)},
    "logistic": {"arms": ARMS, "estimator": models.Logistic()},
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_decision_is_proven_and_its_shares_add_up(tmp_path: Path, name: str) -> None:
    settings = PROBLEMS[name]
    bandit = infex.Bandit(**{"policy": POLICY, "seed": 7, **settings})
    with shop(tmp_path, **settings) as study:
        for n in range(25):
            context = None if "arms" in settings else {"age": 20 + n, "country": ["FR", "DE"][n % 2]}
            seen = bandit.estimates(context=context)
            decision = study.ask(f"k{n}", context=context, unit="ann")
            found = study.explain(f"k{n}", contents=n == 24)
            assert found.proven is True
            assert found.decision == decision == bandit.ask(context=context, id=f"k{n}")
            assert [offer.estimate for offer in found.offers] == seen.estimate.tolist()
            assert [offer.low for offer in found.offers] == seen.low.tolist()
            assert [offer.label for offer in found.offers] == seen.label.tolist()
            total = sum(found.shares.values())
            total = 1 / (1 + np.exp(-total)) if name == "logistic" else total
            assert total == pytest.approx(decision.estimate, abs=1e-12)
            assert found.exploration["done"] == study.metrics()["exploration"]["done"] - decision.explored
            if n % 3:
                study.tell(f"k{n}", n % 2)
                bandit.tell(f"k{n}", n % 2)
        assert found.software == infex.__version__
        assert found.unit == "ann"
        assert json.loads(json.dumps(found.plain()))["decision"]["id"] == "k24"
        if "features" in settings:
            assert found.request == {"context": {"age": 44, "country": "FR"}}
            assert next(iter(found.shares)).startswith("intercept")
        assert study.explain("k3").request is None


def test_an_explanation_names_the_amendment_in_force(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        study.ask("a")
        study.amend(policy=infex.Greedy(), reason="a quiet week")
        study.ask("b")
        assert (study.explain("a").amendment, study.explain("b").amendment) == (0, 3)
        assert study.explain("a").policy.startswith("Infex")
        assert study.explain("b").policy == "Greedy"
        with pytest.raises(UnknownDecision, match="never took a decision 'c'"):
            study.explain("c")


def test_what_rested_on_something_erased_cannot_be_proven(tmp_path: Path) -> None:
    with shop(tmp_path) as study:
        study.ask("a", unit="u")
        study.ask("b", unit="v")
        study.tell("b", 1.0)
        study.ask("c", unit="u")
        study.forget("v")
        study.ask("d", unit="u")
        assert [study.explain(key).proven for key in "abcd"] == [True, None, None, True]
        assert study.explain("b").decision is None
        assert study.explain("b").state == "erased"


def test_a_decision_that_was_not_so_is_not_proven(tmp_path: Path) -> None:
    """A journal written anew by somebody else, with a chain that holds."""
    with shop(tmp_path) as study:
        study.ask_many(["a", "b"])
        drafts = [
            Draft(each.kind, each.key, each.unit or "", each.at, each.content or b"")
            for each in entries_of(study)
        ]
    changed = drafts[2]._replace(content=drafts[2].content.replace(b'"arm":0', b'"arm":1'))
    assert changed != drafts[2]
    with contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store:
        store.append("forged", linked([*drafts[:2], changed], BEGINNING), BEGINNING)
    with reading(url_in(tmp_path), "forged") as forged:
        assert explain(forged, "forged", {}, "a").proven is True
        assert explain(forged, "forged", {}, "b").proven is False
        verdict = verify(forged, "forged", {})
        assert (verdict.entry, verdict.why, verdict.proven) == (3, "entry 3 was not decided so", 1)


def test_intervals_of_a_study_are_the_theorys_at_any_scale(tmp_path: Path) -> None:
    """Nothing was told yet: the half length is |x| (noise sqrt(2 log(1/delta)) + bound)."""
    policy = infex.Infex(infex.LinUCB(noise=3.0, bound=7.0, delta=0.1, scale=0.2), infex.every(2))
    margin = pytest.approx(3.0 * math.sqrt(2 * math.log(10)) + 7.0, rel=1e-12)
    with shop(tmp_path, policy=policy) as study:
        for key in ("a", "b"):
            decision = study.ask(key)
            assert decision.high == -decision.low == margin
        for decision in study.ask_many(["c", "d", "e"]):
            assert decision.high == -decision.low == margin
        why = study.explain("b")
        assert why.proven
        assert [offer.high for offer in why.offers] == [margin] * 3
        assert [-offer.low for offer in why.offers] == [margin] * 3


@pytest.mark.parametrize("look", ["explain", "verify"])
def test_what_is_erased_while_a_journal_is_read_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    with shop(tmp_path) as study:
        for n in range(20):
            study.ask(f"k{n}", unit=f"u{n % 4}")
            study.tell(f"k{n}", 0.1 * n)
        units, read = ["u1"], SQLiteStore.read

        def erasing(store: SQLiteStore, *given: Any) -> Iterator[Entry]:
            for place, entry in enumerate(read(store, *given)):
                if place == 2 and units:
                    study.forget(units.pop())
                yield entry

        monkeypatch.setattr(SQLiteStore, "read", erasing)
        monkeypatch.setattr(journal, "ENTRIES_PER_PAGE", 2)
        if look == "verify":
            assert study.verify().holds
        else:
            assert study.explain("k19").proven is None  # it rests on what was erased
        assert study.verify().holds
