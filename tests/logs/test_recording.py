"""A bandit writes its log as it decides; what was written survives whatever happens to the process."""

import copy
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import infex
from infex import Bandit, Greedy, Infex, LinTS, LinUCB, Softened, every, features, jittered
from infex.checks import settings_by_name
from infex.errors import InvalidLog, InvalidReward, InvalidSetting, StoreFailed, StoreInUse
from infex.logs import Log, is_own_log
from infex.logs.recorded import FILE_START, frames, read_recorded
from infex.models import Logistic
from infex.models.posterior import Posterior
from infex.policies import Uniform
from infex.policies.infex import base_propensities

SOFT = Infex(Softened(LinUCB(), 0.2), jittered(5, seed=3))


def offers(rng: np.random.Generator, arms: int, dim: int = 3) -> np.ndarray:
    rows = rng.normal(size=(arms, dim))
    return np.asarray(rows / (1.01 * np.linalg.norm(rows, axis=1).max()))


def logged(
    path: Path, make: Callable[..., Bandit], asks: list[dict[str, object]]
) -> tuple[Log, list[infex.Decision]]:
    """A log, and the decisions of the same bandit without one; some rewards come late, some never."""
    plain, writing = make(), make(log=path)
    rng, taken, late = np.random.default_rng(7), [], []
    for t, asked in enumerate(asks):
        ours, theirs = writing.ask(**asked), plain.ask(**asked)
        assert ours[1:] == theirs[1:]
        taken.append(ours)
        late.append((ours, theirs))
        if t % 3 == 2:
            for mine, yours in late[::-2]:
                reward = float(rng.normal())
                writing.tell(mine, reward)
                plain.tell(yours, reward)
            late = []
    assert writing.digest() == plain.digest()
    return read_recorded(path), taken


def test_a_log_is_what_was_decided(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sets = [offers(rng, 3 + t % 2) for t in range(40)]
    log, taken = logged(
        tmp_path / "log", lambda **more: Bandit(dim=3, policy=SOFT, **more), [{"arms": s} for s in sets]
    )
    assert log.offers is not None
    assert log.offered is not None
    assert log.explore_probability is not None
    assert log.explored is not None
    assert [log.offers[t, : len(rows)].tobytes() for t, rows in enumerate(sets)] == [
        s.tobytes() for s in sets
    ]
    assert log.offered.sum(axis=1).tolist() == [len(rows) for rows in sets]
    for name in ("arm", "greedy", "explored", "explore_probability", "base_propensity", "propensity"):
        kept = infex.Decisions(taken).columns()[name]
        assert np.array_equal(vars_of(log, name), kept, equal_nan=True), name
    assert log.others["id"].tolist() == [each.id for each in taken]
    assert 0 < log.rewarded.sum() < len(log)
    assert log.facts.schedule == "jittered(5, seed=3)"
    assert log.facts.period == 5
    assert log.explored.sum() == 8
    blocks = (log.round - 1) // 5
    assert np.bincount(blocks[log.explored]).tolist() == [1] * 8


def vars_of(log: Log, name: str) -> np.ndarray:
    return settings_by_name(log)[name]  # type: ignore[no-any-return]


def test_exploring_rounds_say_the_law_of_every_arm(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    asks = [{"arms": offers(rng, 4)} for _ in range(25)]
    log, _ = logged(tmp_path / "log", lambda **more: Bandit(dim=3, policy=SOFT, **more), asks)
    assert log.base_propensities is not None
    assert log.base_propensity is not None
    assert log.explored is not None
    known = ~np.isnan(log.base_propensities).any(axis=1)
    assert np.array_equal(known, log.explored)
    assert np.array_equal(log.base_propensities[known, log.arm[known]], log.base_propensity[known])
    assert sorted(set(np.round(log.base_propensities[known], 12).ravel().tolist())) == [0.05, 0.85]
    plain, _ = logged(
        tmp_path / "second", lambda **more: Bandit(np.eye(3), Infex(LinUCB(), every(5)), **more), [{}] * 10
    )
    assert plain.base_propensities is not None
    assert plain.base_propensities[[4, 9]].sum(axis=1).tolist() == [1.0, 1.0]
    assert set(plain.base_propensities[[4, 9]].ravel().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("policy", "known"),
    [
        (Uniform(), True),
        (LinUCB(), True),
        (Infex(infex.EpsilonGreedy(), every(2)), True),
        (Infex(Uniform(), every(2)), True),
        (infex.EpsilonGreedy(), True),
        (LinTS(), False),
        (Softened(LinTS()), False),
    ],
)
def test_laws_of_all_arms_add_up_to_one(policy: infex.LinUCB, known: bool) -> None:
    bandit = Bandit(np.eye(4), policy)
    for reward in (0.3, -1.0, 2.0):
        bandit.tell(bandit.ask(), reward)
    posterior: Posterior = bandit.posterior()
    laws = base_propensities(policy, 4, posterior)
    assert (laws is not None) == known
    if laws is not None:
        assert laws.sum() == pytest.approx(1.0, abs=1e-12)


VISITOR = features.table({"age": (20, 80)}, {"country": ["FR", "DE"]})


@pytest.mark.parametrize(
    ("rule", "context"),
    [
        (features.disjoint(["tea", "mate"], 3, longest=2.0), [0.5, 1.0, -1.0]),
        (features.interactions([[1.0, 0.0], [0.6, 0.8]], 3), [0.5, 0.1, -0.7]),
        (features.disjoint(["tea", "mate"], context=VISITOR), {"age": 30, "country": "DE"}),
        (features.joined(lambda context, arm: [context, arm], arms=[0.1, 0.2], dim=2), 0.4),
    ],
)
def test_contexts_are_kept_as_they_were_read(rule: object, context: object, tmp_path: Path) -> None:
    def make(**more: object) -> Bandit:
        return Bandit(features=rule, policy=SOFT, **more)

    log, taken = logged(tmp_path / "log", make, [{"context": context}] * 12)
    if log.features is None:
        assert log.offers is not None
        assert np.array_equal(log.offers[3], rule(context))
    else:
        assert log.context is not None
        given = features.Encoded(log.context[5]) if log.facts.encoded else log.context[5]
        assert np.array_equal(log.features(given), rule(context))
    assert log.arm.tolist() == [each.arm for each in taken]


def test_many_at_once_are_logged_as_one_by_one(tmp_path: Path) -> None:
    def played(path: Path, many: bool) -> Log:
        bandit = Bandit(np.eye(3), SOFT, labels=["a", "b", "c"], log=path)
        for _ in range(4):
            decisions = bandit.ask_many(5) if many else [bandit.ask() for _ in range(5)]
            rewards, weights = np.arange(4) / 4, [1.0, 2.0, 1.0, 0.5]
            bandit.tell_many(decisions[:4], rewards, weights)
        return read_recorded(path)

    one, other = played(tmp_path / "one", True), played(tmp_path / "other", False)
    for name in ("arm", "greedy", "explored", "explore_probability", "base_propensity", "propensity"):
        assert np.array_equal(vars_of(one, name), vars_of(other, name), equal_nan=True)
    assert np.array_equal(one.reward, other.reward, equal_nan=True)
    assert one.others["weight"][:5].tolist() == [1.0, 2.0, 1.0, 0.5, 1.0]
    assert one.labels == ("a", "b", "c")


@pytest.mark.parametrize("m", [1, 3])
def test_a_batch_logs_the_propensities_of_each_round_as_it_was_decided(m: int, tmp_path: Path) -> None:
    """Pending decisions of a batch narrow widths: what is logged of a round is not what its end would say."""
    logs = {}
    for name in ("one by one", "many"):
        path = tmp_path / f"{name}.log"
        bandit = Bandit(np.eye(4), Infex(Softened(LinUCB(), 0.5), every(m)), seed=3, log=path)
        if name == "many":
            bandit.ask_many(30)
        else:
            for _ in range(30):
                bandit.ask()
        logs[name] = infex.evaluation.read(path)
    one, many = logs["one by one"].base_propensities, logs["many"].base_propensities
    assert many is not None
    np.testing.assert_array_equal(many, one)
    assert np.isfinite(many[logs["many"].explored]).all()


def test_arms_that_come_and_go_have_a_place_each(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(3), SOFT, labels=["a", "b", "c"], log=tmp_path / "log")
    bandit.tell(bandit.ask(), 1.0)
    bandit.remove_arms("a")
    late = bandit.ask()
    bandit.policy = Greedy()
    bandit.add_arms([[0.6, 0.0, 0.8]], ["d"])
    bandit.tell(bandit.ask(), 0.5)
    bandit.tell(late, 0.25)
    log = read_recorded(tmp_path / "log")
    assert log.labels == ("b", "c", "d", "a")
    assert log.offered is not None
    assert log.offered.tolist() == [
        [True, True, False, True],
        [True, True, False, False],
        [True, True, True, False],
    ]
    assert log.arms is not None
    assert log.arms[2].tolist() == [0.6, 0.0, 0.8]
    assert log.reward.tolist() == [1.0, 0.25, 0.5]
    assert len(set(log.others["policy"])) == 2
    assert log.others["label"][0] == "a"


def test_a_file_cut_anywhere_has_all_that_was_whole(tmp_path: Path) -> None:
    path, cut = tmp_path / "log", tmp_path / "cut"
    bandit = Bandit(np.eye(2), SOFT, log=path)
    for reward in (0.5, 1.5, 2.5):
        bandit.tell(bandit.ask(), reward)
    data = path.read_bytes()
    ends = [frame.end for frame in frames(data)]
    for size in range(len(FILE_START), len(data)):
        cut.write_bytes(data[:size])
        whole = sum(end <= size for end in ends)
        if whole < 2:
            with pytest.raises(InvalidLog, match="at least one row"):
                read_recorded(cut)
        else:
            log = read_recorded(cut)
            assert (len(log), log.rewarded.sum()) == (whole // 2, (whole - 1) // 2)
            assert np.nan_to_num(log.reward, nan=9.0).tolist() == (
                [0.5, 1.5, 2.5][: (whole - 1) // 2] + [9.0] * (1 - whole % 2)
            )
    cut.write_bytes(data[:-3] + bytes(300))
    assert read_recorded(cut).rewarded.sum() == 2


def test_a_torn_end_is_cut_before_anything_is_added(tmp_path: Path) -> None:
    path = tmp_path / "log"
    first = Bandit(np.eye(2), SOFT, log=path)
    decision = first.ask()
    first.save(tmp_path / "saved")
    first.log_to(None)
    path.write_bytes(path.read_bytes() + b"\x10\x00")
    second = Bandit.load(tmp_path / "saved")
    second.log_to(path)
    second.tell(decision.id, 0.75)
    second.ask()
    log = read_recorded(path)
    assert log.round.tolist() == [1, 2]
    assert log.reward[0] == 0.75
    assert log.stream is not None
    assert len(set(log.stream)) == 2


@pytest.mark.parametrize("place", [40, 300, -60])
def test_damage_that_is_no_torn_end_is_named(place: int, tmp_path: Path) -> None:
    path = tmp_path / "log"
    bandit = Bandit(np.eye(2), SOFT, log=path)
    for _ in range(9):
        bandit.tell(bandit.ask(), 0.5)
    bandit.log_to(None)
    data = bytearray(path.read_bytes())
    data[place] ^= 64
    path.write_bytes(data)
    with pytest.raises(InvalidLog, match="damaged at byte"):
        read_recorded(path)
    with pytest.raises(InvalidLog, match="cannot append"):
        Bandit(np.eye(2), SOFT, log=path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are somebody's notes\n")
    with pytest.raises(InvalidLog):
        Bandit(np.eye(2), SOFT, log=path)
    assert path.read_text() == "these are somebody's notes\n"
    assert not is_own_log(path)
    with pytest.raises(StoreFailed, match="cannot write"):
        Bandit(np.eye(2), SOFT, log=tmp_path / "nowhere" / "log")


def test_two_bandits_never_write_to_one_log(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(2), SOFT, log=tmp_path / "log")
    with pytest.raises(StoreInUse, match=r"or end the other's with log_to\(None\)"):
        Bandit(np.eye(2), SOFT, log=tmp_path / "log")
    other = copy.copy(bandit)
    other.ask()
    bandit.ask()
    assert len(read_recorded(tmp_path / "log")) == 1
    bandit.log_to(None)
    other.log_to(tmp_path / "log")
    other.ask()
    assert len(read_recorded(tmp_path / "log")) == 2


def test_a_process_that_was_forked_off_needs_a_log_of_its_own(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(2), SOFT, log=tmp_path / "log")
    bandit.ask()
    child = os.fork()
    if not child:
        code = 1
        try:
            bandit.ask()
        except StoreInUse:
            bandit.log_to(tmp_path / "own")
            bandit.ask()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (len(read_recorded(tmp_path / "log")), len(read_recorded(tmp_path / "own"))) == (1, 1)


def test_a_reward_that_is_refused_is_not_logged(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(2), SOFT, estimator=Logistic(), log=tmp_path / "log")
    decision, second = bandit.ask(), bandit.ask()
    with pytest.raises(InvalidReward):
        bandit.tell(decision, 7.0)
    with pytest.raises(InvalidReward):
        bandit.tell_many([decision, second], [1.0, 7.0])
    assert not read_recorded(tmp_path / "log").rewarded.any()
    bandit.tell(decision, 1.0)
    assert read_recorded(tmp_path / "log").reward[0] == 1.0


def test_what_cannot_be_written_is_not_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(np.eye(2), SOFT, log=tmp_path / "log")
    bandit.ask()
    before, size = bandit.digest(), (tmp_path / "log").stat().st_size

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        for call in (bandit.ask, lambda: bandit.ask_many(3), lambda: bandit.tell(bandit.pending[0], 1.0)):
            with pytest.raises(StoreFailed, match="No space"):
                call()
    assert (bandit.digest(), (tmp_path / "log").stat().st_size) == (before, size)
    bandit.ask()
    assert len(read_recorded(tmp_path / "log")) == 2


def test_decisions_that_are_entered_are_logged(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(2), SOFT, log=tmp_path / "log")
    bandit.enter(bandit.decide())
    open_arms = Bandit(dim=2, policy=SOFT, log=tmp_path / "other")
    decided = open_arms.decide(np.eye(2))
    with pytest.raises(InvalidSetting, match="use ask"):
        open_arms.enter(decided)
    assert read_recorded(tmp_path / "log").round.tolist() == [1]
    blocks = Bandit(features=features.disjoint(2, 2, longest=2.0), policy=SOFT, log=tmp_path / "third")
    blocks.enter(blocks.decide(context=[1.0, 1.0]))
    blocks.ask(context=[1.0, 1.0])
    log = read_recorded(tmp_path / "third")
    assert log.context is not None
    assert log.context[0].tolist() == log.context[1].tolist() == [1.0, 1.0]


KILLED = """
import sys, numpy as np
from infex import Bandit, Infex, jittered
from infex.policies import Uniform
bandit = Bandit(np.eye(3), Infex(Uniform(), jittered(5)), log=sys.argv[1])
while True:
    decision = bandit.ask()
    print(decision.t, flush=True)
    bandit.tell(decision, decision.t / 8)
"""


def test_what_was_answered_before_a_kill_is_there(tmp_path: Path) -> None:
    path = tmp_path / "log"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    seen = [int(process.stdout.readline()) for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    process.stdout.read()
    process.stdout.close()
    process.wait()
    log = read_recorded(path)
    assert log.round[:50].tolist() == seen
    assert log.reward[:49].tolist() == [t / 8 for t in range(1, 50)]


def test_arms_that_were_not_on_offer_are_said(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(3), SOFT, labels=["a", "b", "c"], log=tmp_path / "log")
    plain = Bandit(np.eye(3), SOFT, labels=["a", "b", "c"])
    for t in range(15):
        offered = None if t % 3 == 0 else ["b", "c"]
        decision, other = (
            bandit.ask(offered=offered, explore=t % 4 > 0),
            plain.ask(offered=offered, explore=t % 4 > 0),
        )
        assert decision[1:] == other[1:]
        bandit.tell(decision, t / 20)
        plain.tell(other, t / 20)
    log = read_recorded(tmp_path / "log")
    assert log.offered is not None
    assert log.offered.tolist() == [[t % 3 == 0, True, True] for t in range(15)]
    given = Bandit(dim=3, policy=SOFT, log=tmp_path / "given")
    given.ask(np.eye(3), offered=[0, 2])
    given.ask(np.eye(3)[:2])
    seen = read_recorded(tmp_path / "given").offered
    assert seen is not None
    assert seen.tolist() == [[True, False, True], [True, True, False]]


def test_a_reward_that_is_told_again_is_the_last_one(tmp_path: Path) -> None:
    bandit = Bandit(np.eye(2), SOFT, remembers=10, rewards=(0, 9), log=tmp_path / "log")
    first, second = bandit.ask(), bandit.ask()
    bandit.tell(first, 1.0, on_duplicate="sum")
    bandit.tell(first, 2.5, on_duplicate="sum")
    bandit.tell_many([second], [4.0])
    bandit.tell(second, 5.0, on_duplicate="replace")
    log = read_recorded(tmp_path / "log")
    assert log.reward.tolist() == [3.5, 5.0]
    assert log.facts.rewards == (0.0, 9.0)
