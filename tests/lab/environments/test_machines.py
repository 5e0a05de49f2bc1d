"""A seed gives the same problem on every machine, whatever its BLAS does."""

import hashlib
import os
import subprocess
import sys

PROGRAM = """
import hashlib
import numpy as np
from infex.lab import environments as e

problems = [
    make(dim=dim, arms=arms, seed=seed)
    for make in (e.gaussian, e.near_ties, e.collinear, e.misspecified, e.changing)
    for dim, arms, seed in ((2, 7, 1), (10, 40, 2), (33, 60, 3))
] + [e.sphere(dim=11, arms=30, seed=4, gap=0.2), e.gaussian(dim=9, arms=12, seed=5, moves=e.steps(every=5))]
problems += [e.kernel(arms=arms, seed=6) for arms in (3, 80)]
digest = hashlib.sha256()
for problem in problems:
    digest.update(str(problem.key).encode())
    for part in problem.stretches(0, 40):
        digest.update(np.ascontiguousarray(part.means).tobytes())
print(digest.hexdigest())
"""


def digest_with(kernels: str) -> str:
    """The digest of many problems, drawn in a process whose OpenBLAS uses the kernels of some processor."""
    environment = os.environ | {"OPENBLAS_CORETYPE": kernels}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert len(done.stdout.strip()) == hashlib.sha256().digest_size * 2
    return done.stdout


def test_a_problem_does_not_depend_on_the_kernels_of_blas() -> None:
    assert digest_with("Prescott") == digest_with("Haswell")
