"""How much memory a model of 200 arms with 20 features takes, each in a process of its own."""

import multiprocessing
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.peers.disjoint_learners import LEARNERS

DIM, ARMS, ROUNDS = 20, 200, 300
PAGE = 4096


def memory_table() -> dict[str, float]:
    """Megabytes that the process grew by, after what a small model loads."""
    found = {}
    for name in LEARNERS:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(target=_measure, args=(name, theirs))
        process.start()
        found[name] = float(ours.recv())
        process.join()
    return found


def _measure(name: str, answer: Connection) -> None:
    _serve(name, 2, 2)
    before = _megabytes()
    model = _serve(name, ARMS, DIM)
    answer.send(_megabytes() - before)
    del model


def _serve(name: str, arms: int, dim: int) -> object:
    learner = LEARNERS[name](arms, dim)
    for context in np.random.default_rng(1).random((ROUNDS, dim)) / np.sqrt(dim):
        learner.learn(context, learner.choose(context), 1.0)
    return learner


def _megabytes() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE / 2**20
