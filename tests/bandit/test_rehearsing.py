"""Rehearsed decisions compile all that decisions need: none that matters waits for it."""

import functools
import subprocess
import sys

import pytest

from infex.bandit.rehearsing import REHEARSALS, rehearse

DECISIONS = """
import gc, tempfile
import numpy as np
from numba.core.dispatcher import Dispatcher
import infex
from infex import estimators, features
from infex.bandit.rehearsing import rehearse

def kernels():
    return {
        (each.py_func.__module__, each.py_func.__qualname__, kinds)
        for each in gc.get_objects() if isinstance(each, Dispatcher) for kinds in each.overloads
    }

rng = np.random.default_rng(5)
shared = features.interactions(rng.uniform(-0.4, 0.4, (4, 3)), context_dim=2)
KINDS = [
    {"arms": rng.uniform(-0.4, 0.4, (5, 3))},
    {"dim": 3},
    {"features": features.disjoint(["a", "b", "c"], context_dim=2)},
    {"features": shared},
    {"features": features.hybrid(shared)},
]

def asked(kind):
    given = rng.uniform(-0.5, 0.5, (6, 3) if "dim" in kind else 2)
    return {} if "arms" in kind else {"arms": given} if "dim" in kind else {"context": given.tolist()}

def live(kind, base, folder, number):
    policy = infex.Infex(base, infex.every(4))
    bandit = infex.Bandit(policy=policy, seed=3, **kind)
    for n in range(30):
        waits = bandit.ask(**asked(kind))
        bandit.tell(bandit.ask(**asked(kind)), 0.3)
        if n % 2:
            bandit.tell(waits, 0.1)
    many = 30 if "arms" in kind else [next(iter(asked(kind).values())) for _ in range(30)]
    bandit.tell_many(bandit.ask_many(many), rng.normal(size=30).clip(-1, 1))
    url = f"sqlite:///{folder}/a.db"
    with infex.Study.open(url, f"study {number}", policy=policy, seed=3, **kind) as study:
        for n in range(30):
            study.ask(f"k{n}", durable=False, **asked(kind))
            if n % 2:
                study.tell(f"k{n}", 0.3, durable=False)
        if "dim" not in kind:
            keys, rows = [f"m{n}" for n in range(30)], [asked(kind).get("context") for _ in range(30)]
            study.ask_many(keys, contexts=None if "arms" in kind else rows)
            study.tell_many(keys, [0.1] * 30)
        study.explain("k3")

rehearse()
before = kernels()
assert before
with tempfile.TemporaryDirectory() as folder:
    number = 0
    for kind in KINDS:
        for base in (infex.LinUCB(), infex.LinTS()):
            number += 1
            live(kind, base, folder, number)
others = estimators.Discounted(), estimators.Windowed(size=4), estimators.Lasso(), estimators.Logistic()
for estimator in others:
    bandit = infex.Bandit(np.eye(3), infex.Infex(infex.LinUCB(), infex.every(3)), estimator=estimator)
    for n in range(12):
        bandit.tell(bandit.ask(), float(n % 2))
print(sorted(f"{module}.{name}" for module, name, _ in kernels() - before))
"""


@pytest.mark.compiled
def test_decisions_need_no_kernel_that_a_rehearsal_does_not() -> None:
    found = subprocess.run([sys.executable, "-c", DECISIONS], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == "[]"


def test_a_rehearsal_takes_decisions_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    for name in list(REHEARSALS):
        monkeypatch.setitem(REHEARSALS, name, functools.partial(taken.append, name))
    rehearse()
    assert taken == list(REHEARSALS)
