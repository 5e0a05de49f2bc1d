"""The formulas of the paper, each with its equation, for numbers or for arrays, which broadcast.

alpha = log(det V/det V_0) is called log_det_ratio, beta radius, lambda penalty, sigma noise, S bound,
Delta gap. Arms are no longer than 1, and V_0 = lambda I. Where the paper slips, the formula is the
right one, and its docstring says so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, whole
from infex.models.posterior import SAMPLINGS

Numbers = float | Floats


def radius(
    log_det_ratio: Numbers,
    *,
    delta: Numbers,
    noise: Numbers = 1.0,
    bound: Numbers = 1.0,
    penalty: Numbers = 1.0,
) -> Any:
    """beta = sigma sqrt(alpha + 2 log(1/delta)) + sqrt(lambda) S (Abbasi-Yadkori et al., 2011).

    `log_det_ratio` is alpha; `noise`, `bound` and `penalty` are sigma, S and lambda.

    >>> round(float(radius(0.0, delta=1e-4)), 6)
    5.291932
    """
    alpha, doubt = np.asarray(log_det_ratio, float), np.log(np.asarray(delta, float))
    root = np.sqrt(np.asarray(penalty, float))
    return np.asarray(noise, float) * np.sqrt(alpha - 2.0 * doubt) + root * np.asarray(bound, float)


def volume_bound(rounds: Numbers, dim: Numbers, penalty: Numbers = 1.0) -> Any:
    """alpha_T <= d log(1 + T/(d lambda)), for any arms.

    `rounds` is T, `dim` is d, and `penalty` is lambda.

    >>> round(float(volume_bound(10_000, 10)), 4)
    69.0875
    """
    dims = np.asarray(dim, float)
    return (dims * np.log1p(np.asarray(rounds, float) / (dims * np.asarray(penalty, float))))[()]


def volume_bound_by_pulls(
    rounds: Numbers, worse: Numbers, dim: Numbers, *, length: Numbers = 1.0, penalty: Numbers = 1.0
) -> Any:
    """alpha_T <= log(1 + (N_opt |x*|^2 + N_sub)/lambda) + (d-1) log(1 + N_sub/((d-1) lambda)).

    `worse` is N_sub, the rounds in which another arm than the best was played, and `length` is
    |x*|. With a length of 1 it is the paper's lemma; its proof has |x*| where |x*|^2 belongs, and
    for d = 1 the second term is 0.

    `dim` is d, and `penalty` is lambda.
    """
    worse, penalty, rest = np.asarray(worse, float), np.asarray(penalty, float), np.asarray(dim, float) - 1.0
    square = np.square(np.asarray(length, float))
    first = np.log1p(((np.asarray(rounds, float) - worse) * square + worse) / penalty)
    second = rest * np.log1p(worse / (np.maximum(rest, 1.0) * penalty))
    return (first + second)[()]


def volume_bound_by_regret(
    rounds: Numbers, regret: Numbers, gap: Numbers, dim: Numbers, *, penalty: Numbers = 1.0
) -> Any:
    """alpha_T <= log(1 + T/lambda) + (d-1) log(1 + N/((d-1) lambda)) with N = min(R/Delta, T).

    A worse arm costs at least Delta, so that it was played at most R/Delta times.

    `rounds` is T, `regret` is R, `gap` is Delta, `dim` is d, and `penalty` is lambda.
    """
    worse = np.minimum(np.asarray(regret, float) / np.asarray(gap, float), np.asarray(rounds, float))
    return volume_bound_by_pulls(rounds, worse, dim, penalty=penalty)


def potential_bound(log_det_ratio: Numbers, penalty: Numbers = 1.0) -> Any:
    """sum of |X_t|^2 in V_{t-1}^-1 <= c alpha_T, c = max(2, u/log(1 + u)) with u = 1/lambda.

    The elliptical potential. For lambda >= 1 it is the paper's 2 alpha_T; for less, squared widths
    reach 1/lambda, and u/log(1 + u) is the largest ratio of a squared width s to log(1 + s).

    `log_det_ratio` is alpha_T, and `penalty` is lambda.
    """
    most = 1.0 / np.asarray(penalty, float)
    return (np.maximum(2.0, most / np.log1p(most)) * np.asarray(log_det_ratio, float))[()]


def best_width_bound(optimal: Numbers, *, length: Numbers = 1.0, penalty: Numbers = 1.0) -> Any:
    """|x*|^2 in V^-1 <= |x*|^2/(lambda + N_opt |x*|^2), which for |x*| <= 1 is at most 1/(lambda + N_opt).

    The paper's last step needs |x*| <= 1: x* = 2 e_1, lambda = 1 and N_opt = 3 give 0.3077 > 0.25.

    `optimal` is N_opt, `length` is |x*|, and `penalty` is lambda.
    """
    square = np.square(np.asarray(length, float))
    return (square / (np.asarray(penalty, float) + np.asarray(optimal, float) * square))[()]


def exceeding_chance(dim: int, sampling: str = "gaussian") -> float:
    """p = P(u'eta >= 1) for a unit vector u: of N(0, I), or of the sphere of radius sqrt(d).

    On the sphere u'eta is sqrt(d) cos(phi), where phi has a density like sin(phi)^(d-2).

    `dim` is d, and `sampling` is "gaussian" or "spherical".

    >>> round(exceeding_chance(10), 6), round(exceeding_chance(2, "spherical"), 6)
    (0.158655, 0.25)
    """
    dim = whole("dim", dim, least=1)
    if one_of("sampling", sampling, SAMPLINGS) == "gaussian":
        return 0.5 * math.erfc(math.sqrt(0.5))
    return 0.5 if dim == 1 else _cap(dim - 2, math.acos(1.0 / math.sqrt(dim)))


def _cap(power: int, angle: float) -> float:
    """The share of [0, angle] in the integral of sin^power over [0, pi], by its recurrence."""
    share, whole_integral = (angle / math.pi, math.pi) if power % 2 == 0 else (math.sin(angle / 2) ** 2, 2.0)
    for n in range(2 + power % 2, power + 1, 2):
        whole_integral *= (n - 1) / n
        share -= math.cos(angle) * math.sin(angle) ** (n - 1) / (n * whole_integral)
    return share


def sample_factor(rounds: Numbers, dim: Numbers, delta: Numbers, arms: Numbers | None = None) -> Any:
    """gamma_t/beta_t = min(sqrt(c d log(2 c' d t^2/delta)), sqrt(c log(2 c' K t^2/delta))), c = c' = 2.

    How far a sample of LinTS strays, in radii; without K (`arms`) only the first of the two.

    `rounds` is t, and `dim` is d.
    """
    dims = np.asarray(dim, float)
    doubt = 2.0 * np.log(np.asarray(rounds, float)) - np.log(np.asarray(delta, float))
    strays = 2.0 * dims * (np.log(4.0 * dims) + doubt)
    if arms is not None:
        count = math.log(4 * arms) if isinstance(arms, int) else np.log(4.0 * np.asarray(arms, float))
        strays = np.minimum(strays, 2.0 * (count + doubt))
    return np.sqrt(strays)[()]


def linucb_regret(log_det_ratio: Numbers, radius: Numbers, gap: Numbers) -> Any:
    """R_LinUCB(T) <= 8 alpha_T beta_T^2/Delta.

    From reg_t <= 2 beta |X_t| in V^-1, reg_t <= reg_t^2/Delta and the elliptical potential
    (Abbasi-Yadkori et al., 2011, Theorem 5). For lambda >= 1.

    `log_det_ratio` is alpha_T, `radius` is beta_T, and `gap` is Delta.
    """
    return (
        8.0 * np.asarray(log_det_ratio, float) * np.square(np.asarray(radius, float)) / np.asarray(gap, float)
    )[()]


def lints_regret(
    log_det_ratio: Numbers, radius: Numbers, gap: Numbers, *, factor: Numbers, chance: float, delta: Numbers
) -> Any:
    """R_LinTS(T) <= (4/Delta) ((32 gamma^2/p^2 + (beta + gamma)^2) alpha + (16 gamma^2/p^2) log(1/delta)).

    `factor` is gamma/beta and `chance` is p. The paper's Theorem 2, whose proof has beta where
    beta + gamma is needed. For lambda >= 1.

    `log_det_ratio` is alpha, `radius` is beta, and `gap` is Delta.
    """
    factors, radii = np.asarray(factor, float), np.asarray(radius, float)
    stray, both = np.square(factors * radii), np.square((1.0 + factors) * radii)
    inner = (32.0 * stray / chance**2 + both) * np.asarray(log_det_ratio, float)
    inner = inner - 16.0 * stray / chance**2 * np.log(np.asarray(delta, float))
    return (4.0 / np.asarray(gap, float) * inner)[()]


def greedy_regret(log_det_ratio: Numbers, radius: Numbers, rounds: Numbers, gap: Numbers) -> Any:
    """G(T) = (4 alpha_T + 16 log T) beta_T^2/Delta: greedy rounds after tau_0 + tau_1.

    The second part of the paper's proposition, for lambda >= 1.

    `log_det_ratio` is alpha_T, `radius` is beta_T, and `gap` is Delta.
    """
    weight = 4.0 * np.asarray(log_det_ratio, float) + 16.0 * np.log(np.asarray(rounds, float))
    return (weight * np.square(np.asarray(radius, float)) / np.asarray(gap, float))[()]
