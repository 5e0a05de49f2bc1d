"""The uniform policy."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.core.choosing import Kind, Reads
from infex.linear import Posterior
from infex.policies.choice import Choice, explored
from infex.policies.form import BaseForm, Form


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Plays an arm drawn uniformly.

    >>> from infex import Bandit, Uniform
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], Uniform()).ask().propensity
    0.5
    """

    def compiled(self) -> Form:
        """Uniform in every round."""
        return Form(BaseForm(Kind.UNIFORM, Reads.READS_NOTHING))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """Any arm."""
        return explored(int(rng.integers(len(posterior))), 1.0 / len(posterior))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1/K for every arm."""
        return 1.0 / len(posterior)
