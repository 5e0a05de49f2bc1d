"""Loops over arms, built for each kind of processor that this machine can play: a NaN score is skipped."""

import ctypes
import math
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CORE = Path(__file__).parents[2] / "infex" / "core"
FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]
CPU = Path("/proc/cpuinfo")
KINDS = [
    "default",
    *(kind for kind in ("avx2", "avx512f") if CPU.exists() and f" {kind} " in CPU.read_text()),
]


@pytest.fixture(scope="module", params=KINDS)
def loops(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    target = [] if request.param == "default" else [f"-m{request.param}"]
    path = tmp_path_factory.mktemp("loops") / f"{request.param}.so"
    command = [
        *compiler,
        *FLAGS,
        *target,
        "-DLOOP=",
        "-shared",
        "-fPIC",
        str(CORE / "loops.c"),
        "-lm",
        "-o",
        str(path),
    ]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(path))
    for name in ("best", "best_upper", "tied_arm", "tied_count"):
        getattr(library, name).restype = ctypes.c_int64
    library.largest.restype = ctypes.c_double
    return library


def at(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def size(value: int) -> ctypes.c_int64:
    return ctypes.c_int64(value)


def scores_with_nan(seed: int) -> np.ndarray:
    """Some numbers, some of them equal, and NaN anywhere: first, last, next to the best."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 5, size=int(rng.integers(1, 70))).astype(float)
    scores[rng.random(scores.size) < rng.choice([0.05, 0.5, 0.95])] = math.nan
    if rng.random() < 0.3:
        scores[rng.integers(scores.size)] = rng.choice([-math.inf, math.inf])
    return scores


@pytest.mark.parametrize("seed", range(150))
def test_the_best_score_is_that_of_the_numbers(loops: Any, seed: int) -> None:
    scores = scores_with_nan(seed)
    count, numbers = size(scores.size), scores[~np.isnan(scores)]
    top = max(numbers, default=-math.inf)
    tied = [k for k, score in enumerate(scores) if score == top]
    assert loops.largest(at(scores), count) == top
    assert loops.best(at(scores), count) == (tied[0] if tied else -1)
    assert loops.tied_count(at(scores), count) == len(tied)
    for place in range(len(tied)):
        assert loops.tied_arm(at(scores), count, size(place)) == tied[place]
    assert loops.tied_arm(at(scores), count, size(len(tied))) == -1


@pytest.mark.parametrize("seed", range(60))
def test_the_best_upper_bound_is_that_of_the_numbers(loops: Any, seed: int) -> None:
    scores = scores_with_nan(seed)
    scores[np.isinf(scores)] = 0.0
    rng = np.random.default_rng(seed)
    count, beta = scores.size, float(rng.choice([0.0, 1.0, 30.0]))
    squares, along = rng.random(count), np.zeros(count)
    bounds = scores + beta * np.sqrt(squares)
    work, places = np.empty(count), np.empty(count, dtype=np.int64)
    numbers = bounds[~np.isnan(bounds)]
    expected = (
        int(np.flatnonzero(bounds >= numbers.max() - 1e-12 * (1 + abs(numbers.max())))[0])
        if numbers.size
        else -1
    )
    zero = ctypes.c_double(0.0)
    for guess in {0, count // 2, count - 1}:
        found = loops.best_upper(
            at(scores), at(squares), at(along), size(count), zero, zero, ctypes.c_double(beta), size(guess),
            at(work), at(places),
        )  # fmt: skip
        assert found == expected


@pytest.mark.parametrize("seed", range(60))
def test_the_interval_of_the_greedy_arm_is_that_of_the_numbers(loops: Any, seed: int) -> None:
    scores = scores_with_nan(seed)
    scores[~np.isfinite(scores)] = math.nan
    rng = np.random.default_rng(seed)
    along = rng.normal(size=scores.size)
    arm = int(rng.integers(scores.size))
    scores[arm], along[arm] = 10.0, 1.0
    known = ~np.isnan(scores)
    ends = []
    for some, place in ((scores, arm), (scores[known], int(known[:arm].sum()))):
        low, high = ctypes.c_double(), ctypes.c_double()
        values, slopes = (
            np.ascontiguousarray(some),
            np.ascontiguousarray(along if some is scores else along[known]),
        )
        loops.greedy_interval(
            at(values), at(slopes), size(values.size), size(place), ctypes.byref(low), ctypes.byref(high)
        )
        ends.append((low.value, high.value))
    assert ends[0] == ends[1]
