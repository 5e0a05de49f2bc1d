"""What crosses from Python into the core: whatever is given, a call works or raises an error with a name.

`CALLS` has a good call for each public function and method. One or two of its arguments are replaced by
something hostile, and then all that the object says is read. Memory is not touched beyond its arrays,
which `make sanitize` sees: it runs this on cores with AddressSanitizer and with checked indices.
"""

import ast
import contextlib
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infex.core
from infex.core import (
    bank,
    choosing,
    controls,
    design,
    drawing,
    estimators,
    evaluation,
    fixed_arms,
    general,
    hybrid,
    laws,
    models,
    pending,
    posterior,
    ridge,
    runs,
)
from infex.errors import InfexError, StalePosterior

EXAMPLES = 1500
REFUSALS = (
    ValueError, TypeError, IndexError, AttributeError, BufferError, OverflowError, MemoryError,
    np.exceptions.ComplexWarning, InfexError,
)  # fmt: skip

D, K, C, S, N, T = 3, 4, 2, 2, 5, 12  # features, arms, features of an arm and shared ones, rewards, rounds


def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def numbers(*shape: int) -> Any:
    return rng().uniform(-0.5, 0.5, size=shape)


def whole(*shape: int) -> Any:
    return np.zeros(shape, dtype=np.int64)


def places(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def a_ridge() -> ridge.Ridge:
    made = ridge.Ridge(numbers(D, K))
    for turn in range(6):
        made.learn(turn // 3, 1.0)
    return made


def a_bank(arms: int = K, features: int = C) -> bank.RidgeBank:
    made = bank.RidgeBank(arms, features)
    made.update(0, numbers(features), 1.0)
    return made


def a_hybrid() -> hybrid.Hybrid:
    made = hybrid.Hybrid(K, C, S)
    made.update(1, numbers(C + S), 1.0)
    return made


def a_posterior() -> posterior.RidgePosterior:
    return posterior.RidgePosterior(a_ridge())


def a_bank_posterior() -> bank.BankPosterior:
    return bank.BankPosterior(a_bank()).over(numbers(C))


def a_base() -> choosing.Base:
    return choosing.Base(choosing.Kind.LINUCB, choosing.Reads.READS_WIDTHS, delta=0.01)


def fixed_run(**changed: Any) -> dict[str, Any]:
    return {
        "ridge": a_ridge(), "base": a_base(), "means": numbers(K), "gaps": np.abs(numbers(K)),
        "law": runs.Law.GAUSSIAN, "noise": 1.0, "reward_rng": rng(), "rng": rng(), "horizon": T,
        "checkpoints": places(3, T), "own": ridge.Ridge(numbers(D, K)), "always": False, "random_ties": False,
        "record": True,
    } | changed  # fmt: skip


def a_model() -> models.RegressionModel:
    return models.RegressionModel(a_ridge(), changing=True)


def general_run(**changed: Any) -> dict[str, Any]:
    return {
        "model": models.RegressionModel(a_ridge()), "base": a_base(), "law": runs.Law.GAUSSIAN,
        "noises": np.ones(K), "reward_rng": rng(), "rng": rng(), "horizon": T, "checkpoints": places(3, T),
        "explored": models.RegressionModel(ridge.Ridge(numbers(D, K))), "own_clock": True,
        "controls": [a_control()], "spacing": 2, "span": 6, "delays": whole(T), "narrows": True,
        "record": True,
    } | changed  # fmt: skip


def a_waiting_run() -> general.GeneralRun:
    model, more = a_model(), {"delays": None, "narrows": False, "asks": True}
    run = general.GeneralRun(**general_run(law=runs.Law.TABLE, model=model, explored=a_model(), **more))
    ends = places(*range(1, T + 1))
    run.play(1, T, places(2, 5), ends, numbers(T, K), numbers(T, D, K), [places(3)], numbers(T, K))
    return run


def a_control() -> controls.Control:
    return controls.Control(controls.ControlKind.LIMITS, limit=0.5, over=5)


def python_fit(*given: Any) -> float:
    given[-1][:] = 1.0
    return 0.5


def many(features: int) -> tuple[Any, ...]:
    return places(0, 1, 0, 1, 2), places(0, 1, 2, 1, 0), numbers(3, features), numbers(N), np.ones(N)


MIXED = (places(0, -1, 1, -1, 2), places(0, 1, 0, 2, 0), numbers(3, D), numbers(N), np.ones(N))


# Of each public name: what to call, after whatever went before, and good arguments, by position or by name.
CALLS: dict[str, Callable[[], tuple[Callable[..., Any], Any]]] = {
    "ridge.finite_array": lambda: (ridge.finite_array, ("x", numbers(D), (D,))),
    "ridge.add_rewards": lambda: (ridge.add_rewards, (np.zeros((2, D + 1, D)), 1.0, numbers(D), 1.0, 0.5)),
    "ridge.check_sizes": lambda: (ridge.check_sizes, ("x", numbers(D))),
    "ridge.check_factor": lambda: (ridge.check_factor, (numbers(D, D), 1.0)),
    "ridge.check_run": lambda: (ridge.check_run, (np.abs(numbers(9)),)),
    "ridge.Ridge": lambda: (ridge.Ridge, (numbers(D, K), 1.0, np.zeros((2, D + 1, D)), True)),
    "ridge.Ridge.learn": lambda: (a_ridge().learn, (1, 0.5, 1.0)),
    "ridge.Ridge.absorb": lambda: (a_ridge().absorb, (numbers(D), 0.5, 2.0)),
    "ridge.Ridge.learn_many": lambda: (a_ridge().learn_many, MIXED),
    "ridge.Ridge.gather": lambda: (a_ridge().gather, MIXED),
    "ridge.Ridge.revise": lambda: (a_ridge().revise, (numbers(D), 0.5, 0.25, 1.0)),
    "ridge.Ridge.whole_sums": lambda: (a_ridge().whole_sums, ()),
    "ridge.Ridge.restart": lambda: (a_ridge().restart, (np.zeros((2, D + 1, D)), np.zeros((2, K)), 3)),
    "ridge.Ridge.add": lambda: (a_ridge().add, (np.zeros((2, D + 1, D)), np.zeros((2, K)), 3)),
    "ridge.Ridge.arrays": lambda: (a_ridge().arrays, ()),
    "ridge.Ridge.restore": lambda: (a_ridge().restore, (a_ridge().arrays(),)),
    "ridge.Ridge.copy": lambda: (a_ridge().copy, ()),
    "posterior.to_sphere": lambda: (posterior.to_sphere, (numbers(D),)),
    "posterior.probabilities": lambda: (posterior.probabilities, (numbers(D),)),
    "posterior.RidgePosterior": lambda: (posterior.RidgePosterior, (a_ridge(),)),
    "posterior.RidgePosterior.of_solution": lambda: (
        posterior.RidgePosterior.of_solution,
        (numbers(D, K), numbers(D + 1, D), 0.5, 1.0, np.zeros((2, D + 1, D)), 3, np.zeros((2, K)), False),
    ),
    "posterior.RidgePosterior.estimate": lambda: (a_posterior().estimate, (1,)),
    "posterior.RidgePosterior.width": lambda: (a_posterior().width, (1,)),
    "posterior.RidgePosterior.upper": lambda: (a_posterior().upper, (1.0,)),
    "posterior.RidgePosterior.parameter": lambda: (a_posterior().parameter, (1.0, numbers(D))),
    "posterior.RidgePosterior.perturbed": lambda: (a_posterior().perturbed, (1.0, numbers(D))),
    "posterior.RidgePosterior.distances": lambda: (a_posterior().distances, (1,)),
    "posterior.RidgePosterior.scores": lambda: (a_posterior().scores, (numbers(D),)),
    "posterior.RidgePosterior.optimistic": lambda: (a_posterior().optimistic, (1, 1.0)),
    "posterior.RidgePosterior.sums": lambda: (a_posterior().sums, ()),
    "posterior.RidgePosterior.over": lambda: (a_posterior().over, (numbers(D, 2),)),
    "posterior.RidgePosterior.among": lambda: (a_posterior().among, (places(2, 0),)),
    "posterior.RidgePosterior.copy": lambda: (a_posterior().copy, ()),
    "bank.greedy": lambda: (bank.greedy, (numbers(K),)),
    "bank.products": lambda: (bank.products, (numbers(D, K), numbers(D))),
    "bank.RidgeBank": lambda: (bank.RidgeBank, (K, C, 1.0, np.zeros((K, 2, C + 1, C)))),
    "bank.RidgeBank.update": lambda: (a_bank().update, (1, numbers(C), 0.5, 1.0)),
    "bank.RidgeBank.update_many": lambda: (a_bank().update_many, many(C)),
    "bank.RidgeBank.gather": lambda: (a_bank().gather, many(C)),
    "bank.RidgeBank.revise": lambda: (a_bank().revise, (0, numbers(C), 1.0, None, 1.0)),
    "bank.RidgeBank.add": lambda: (
        a_bank().add,
        (np.zeros((2, 2, C + 1, C)), np.zeros((2, 2)), places(1, -1), 3),
    ),
    "bank.RidgeBank.over": lambda: (a_bank().over, (places(2, -1),)),
    "bank.RidgeBank.copy": lambda: (a_bank().copy, ()),
    "bank.RidgeBank.restore": lambda: (
        a_bank().restore,
        (a_bank().sums, a_bank().solved, a_bank().runs, a_bank().counts, 3),
    ),
    "bank.RidgeBank.put": lambda: (
        a_bank().put,
        (1, np.eye(C), numbers(C), 0.5, np.zeros((2, C + 1, C))),
    ),
    "bank.RidgeBank.note": lambda: (a_bank().note, (1, 1.0, 0.5)),
    "bank.RidgeBank.estimates": lambda: (a_bank().estimates, (numbers(C),)),
    "bank.RidgeBank.lengths": lambda: (a_bank().lengths, (numbers(C),)),
    "bank.RidgeBank.radii": lambda: (a_bank().radii, (1.0, 1.0, 0.1)),
    "bank.RidgeBank.deviations": lambda: (a_bank().deviations, (numbers(C), numbers(K, C))),
    "bank.RidgeBank.optimistic": lambda: (a_bank().optimistic, (1, numbers(C), 1.0)),
    "bank.RidgeBank.narrowed": lambda: (a_bank().narrowed, (whole(K, 2, C, C) + 1,)),
    "bank.BankPosterior": lambda: (bank.BankPosterior, (a_bank(), 3, False)),
    "bank.BankPosterior.over": lambda: (a_bank_posterior().over, (numbers(C),)),
    "bank.BankPosterior.among": lambda: (a_bank_posterior().among, (places(2, 0),)),
    "bank.BankPosterior.narrowed": lambda: (a_bank_posterior().narrowed, (whole(K, 2, C, C) + 1,)),
    "bank.BankPosterior.copy": lambda: (a_bank_posterior().copy, ()),
    "bank.BankPosterior.ridges": lambda: (a_bank_posterior().ridges, ()),
    "bank.BankPosterior.estimate": lambda: (a_bank_posterior().estimate, (1,)),
    "bank.BankPosterior.width": lambda: (a_bank_posterior().width, (1,)),
    "bank.BankPosterior.radii": lambda: (a_bank_posterior().radii, (1.0, 1.0, 0.1)),
    "bank.BankPosterior.upper": lambda: (a_bank_posterior().upper, (np.ones(K),)),
    "bank.BankPosterior.perturbed": lambda: (a_bank_posterior().perturbed, (np.ones(K), numbers(K, C))),
    "bank.BankPosterior.scores": lambda: (a_bank_posterior().scores, (numbers(K, C),)),
    "bank.BankPosterior.optimistic": lambda: (a_bank_posterior().optimistic, (1, 1.0)),
    "hybrid.Hybrid": lambda: (hybrid.Hybrid, (K, C, S, 1.0)),
    "hybrid.Hybrid.update": lambda: (a_hybrid().update, (1, numbers(C + S), 0.5, 1.0)),
    "hybrid.Hybrid.update_many": lambda: (a_hybrid().update_many, many(C + S)),
    "hybrid.Hybrid.gather": lambda: (a_hybrid().gather, many(C + S)),
    "hybrid.Hybrid.revise": lambda: (a_hybrid().revise, (1, numbers(C + S), 1.0, 0.5, 1.0)),
    "hybrid.Hybrid.add": lambda: (
        a_hybrid().add,
        (
            np.zeros((2, 2, C + 1, C)),
            np.zeros((2, 2)),
            np.zeros((2, 2, C, S)),
            np.zeros((2, S + 1, S)),
            places(1, -1),
            3,
            3,
            0.0,
        ),
    ),
    "hybrid.Hybrid.over": lambda: (a_hybrid().over, (places(2, -1),)),
    "hybrid.Hybrid.copy": lambda: (a_hybrid().copy, ()),
    "hybrid.Hybrid.restore": lambda: (
        a_hybrid().restore,
        (
            a_bank(),
            a_bank(1, S),
            np.zeros((K, C, S)),
            np.zeros((K, 2, C, S)),
            np.zeros((2, S + 1, S)),
            0.0,
            3,
        ),
    ),
    "hybrid.Hybrid.estimates": lambda: (a_hybrid().estimates, (numbers(C), numbers(K, S))),
    "hybrid.Hybrid.widths": lambda: (a_hybrid().widths, (numbers(C), numbers(K, S))),
    "hybrid.Hybrid.deviations": lambda: (
        a_hybrid().deviations,
        (numbers(C), numbers(K, S), 1.0, numbers(K * C + S)),
    ),
    "hybrid.Hybrid.untold": lambda: (a_hybrid().untold, (numbers(C), numbers(K, S))),
    "hybrid.Hybrid.narrowed": lambda: (
        a_hybrid().narrowed,
        (whole(K, 2, C, C) + 1, whole(K, 2, C, S) + 1, whole(2, S, S) + 1),
    ),
    "pending.Pending": lambda: (pending.Pending, (D, K)),
    "pending.Pending.add_rows": lambda: (
        pending.Pending(D).add_rows,
        (numbers(2, D), np.ones(2), places(1, 2)),
    ),
    "pending.Pending.narrowed": lambda: (pending.Pending(D).narrowed, (a_posterior(),)),
    "pending.Pending.copy": lambda: (pending.Pending(D).copy, ()),
    "pending.Pending.whole_numbers": lambda: (pending.Pending(D).whole_numbers, ()),
    "pending.expect_in_bank": lambda: (
        pending.expect_in_bank,
        (whole(K, 2, C, C), places(0, -1), places(0, 1), numbers(2, C), np.ones(2), 1),
    ),
    "pending.expect_in_hybrid": lambda: (
        pending.expect_in_hybrid,
        (
            whole(K, 2, C, C),
            whole(K, 2, C, S),
            whole(2, S, S),
            places(0, -1),
            places(0, 1),
            numbers(2, C + S),
            np.ones(2),
            1,
        ),
    ),
    "estimators.solve_ridge": lambda: (
        estimators.solve_ridge,
        (np.zeros((2, D + 1, D)), 1.0, np.zeros((D + 1, D))),
    ),
    "estimators.block_estimates": lambda: (
        estimators.block_estimates,
        (
            numbers(5, D),
            places(0, 4, 2),
            numbers(3),
            np.ones(3, dtype=bool),
            places(0, 2),
            np.ones(2, dtype=bool),
            1.0,
        ),
    ),
    "estimators.fade_sums": lambda: (estimators.fade_sums, (np.zeros((2, D + 1, D)), 1.0, 0.9)),
    "estimators.solve_discounted": lambda: (
        estimators.solve_discounted,
        (np.zeros((2, D + 1, D)), np.zeros((2, D + 1, D)), 1.0, np.zeros((D + 1, D))),
    ),
    "estimators.least_squares": lambda: (estimators.least_squares, (np.eye(D), numbers(D))),
    "estimators.lasso": lambda: (estimators.lasso, (np.eye(D), numbers(D), 0.1, numbers(D))),
    "estimators.solve_logistic": lambda: (
        estimators.solve_logistic,
        (numbers(2, D), np.ones(2), np.ones(2), 1.0, numbers(D), np.zeros((D + 1, D))),
    ),
    "estimators.update_logistic": lambda: (
        estimators.update_logistic,
        (numbers(D), 1.0, 1.0, np.eye(D + 1, D), np.zeros(estimators.LOGISTIC_PROGRESS)),
    ),
    "estimators.logistic_fit_is_due": lambda: (
        estimators.logistic_fit_is_due,
        (5, 300.0, 1.0, np.zeros(estimators.LOGISTIC_PROGRESS)),
    ),
    "estimators.begin_logistic_progress": lambda: (
        estimators.begin_logistic_progress,
        (np.zeros(estimators.LOGISTIC_PROGRESS), 5.0),
    ),
    "estimators.Fit": lambda: (estimators.Fit, ()),
    "estimators.Fit.update": lambda: (
        estimators.WeightedFit(D, 1.0).update,
        (numbers(D), 1.0, 1.0, np.zeros((D + 1, D))),
    ),
    "estimators.Fit.restore": lambda: (
        estimators.WindowedFit(D, 1.0, 3).restore,
        (estimators.WindowedFit(D, 1.0, 3).memory,),
    ),
    "estimators.WeightedFit": lambda: (estimators.WeightedFit, (D, 1.0)),
    "estimators.WindowedFit": lambda: (estimators.WindowedFit, (D, 1.0, 5, 3)),
    "estimators.DiscountedFit": lambda: (estimators.DiscountedFit, (D, 1.0, 0.9)),
    "estimators.LassoFit": lambda: (estimators.LassoFit, (D, 1.0, 0.1)),
    "estimators.LogisticFit": lambda: (estimators.LogisticFit, (D, 1.0, 4)),
    "estimators.PythonFit": lambda: (estimators.PythonFit, (D, 1.0, python_fit, 4)),
    "choosing.Base": lambda: (
        choosing.Base,
        {"kind": choosing.Kind.LINTS, "reads": choosing.Reads.READS_WIDTHS, "delta": 0.1, "rate": 0.5},
    ),
    "choosing.confidence_radius": lambda: (choosing.confidence_radius, (2.0, 1.0, 1.0, 1.0, 0.1, True)),
    "design.optimal_shares": lambda: (design.optimal_shares, (numbers(D, K), np.full(K, 0.5), 0.01)),
    "design.spanning_arms": lambda: (design.spanning_arms, (numbers(D, K),)),
    "laws.minimum_divergence": lambda: (
        laws.minimum_divergence,
        (numbers(K), np.abs(numbers(K)), numbers(D, K), 1, 0.5),
    ),
    "laws.information_directed": lambda: (
        laws.information_directed,
        (numbers(K), numbers(K), np.abs(numbers(K)), numbers(K), 1),
    ),
    "laws.least_ratio": lambda: (laws.least_ratio, (np.abs(numbers(K)), np.abs(numbers(K)))),
    "laws.inverse_gap": lambda: (laws.inverse_gap, (np.abs(numbers(K)), numbers(D, K), 1)),
    "posterior.RidgePosterior.sampled_maxima": lambda: (
        a_posterior().sampled_maxima,
        (1.0, numbers(4, D)),
    ),
    "posterior.RidgePosterior.covariances": lambda: (a_posterior().covariances, (1,)),
    "choosing.largest_expected_improvement": lambda: (
        choosing.largest_expected_improvement,
        (numbers(K), numbers(K), 1.0),
    ),
    "choosing.divergence_indices": lambda: (choosing.divergence_indices, (numbers(K), numbers(K))),
    "choosing.smallest_eigenvalue": lambda: (choosing.smallest_eigenvalue, (np.eye(D),)),
    "choosing.best_arm": lambda: (choosing.best_arm, (numbers(K),)),
    "choosing.tied_arms": lambda: (choosing.tied_arms, (numbers(K),)),
    "runs.Outcome": lambda: (runs.Outcome, ()),
    "bank.BankPosterior.design_row": lambda: (bank.BankPosterior(a_bank()).over(numbers(C)).design_row, (1,)),
    "bank.block_diagonal": lambda: (bank.block_diagonal, ([numbers(C, C), numbers(C, C)],)),
    "posterior.RidgePosterior.design_row": lambda: (a_posterior().design_row, (1, numbers(D))),
    "posterior.likelihood_radius": lambda: (posterior.likelihood_radius, (5, 3, 1.0, 0.1)),
    "posterior.RidgePosterior.radii": lambda: (a_posterior().radii, (1.0, 1.0, 0.1)),
    "posterior.radius_of": lambda: (posterior.radius_of, (0.5, 1)),
    "fixed_arms.FixedArmsRun": lambda: (played(fixed_arms.FixedArmsRun, T, places(2, 5)), fixed_run()),
    "fixed_arms.FixedArmsRun.play": lambda: (fixed_arms.FixedArmsRun(**fixed_run()).play, (T, places(2, 5))),
    "controls.Control": lambda: (
        controls.Control,
        {"kind": controls.ControlKind.LIMITS, "limit": 0.5, "over": 5, "delta": 0.1},
    ),
    "models.fading_strength": lambda: (models.fading_strength, (1.0, 1.0, 1.0, 5.0, 3.0)),
    "models.least_estimate": lambda: (models.least_estimate, (1.0, 0.5)),
    "models.Model": lambda: (models.Model, ()),
    "models.SharedModel": lambda: (models.SharedModel, ()),
    "models.RegressionModel": lambda: (
        models.RegressionModel,
        {"ridge": a_ridge(), "changing": False, "fit": estimators.WeightedFit(D, 1.0), "weights": np.ones(K)},
    ),
    "models.LassoModel": lambda: (
        models.LassoModel,
        {"ridge": a_ridge(), "strength": 0.1, "screen": models.LassoModel(a_ridge()), "keep": 0.5},
    ),
    "models.DisjointModel": lambda: (models.DisjointModel, (a_bank(),)),
    "general.GeneralRun": lambda: (
        played(general.GeneralRun, 1, T, places(2, 5), places(T), numbers(1, K), None, [places(3)]),
        general_run(),
    ),
    "general.GeneralRun.play": lambda: (
        general.GeneralRun(**general_run(law=runs.Law.TABLE, model=a_model(), explored=a_model())).play,
        {
            "first": 1,
            "last": T,
            "exploring": places(2, 5),
            "ends": places(*range(1, T + 1)),
            "means": numbers(T, K),
            "offers": numbers(T, D, K),
            "pauses": [places(3)],
            "rewards": numbers(T, K),
        },
    ),
    "general.GeneralRun.play_arm": lambda: (a_waiting_run().play_arm, (1, True, numbers(D))),
    "general.contexts": lambda: (
        played(
            general.GeneralRun, 1, T, places(2, 5), places(*range(1, T + 1)), numbers(T, K), numbers(T, C)
        ),
        general_run(
            model=models.DisjointModel(a_bank()),
            explored=None,
            own_clock=False,
            controls=(),
            delays=None,
            narrows=False,
        ),
    ),
    "drawing.draw_arms": lambda: (drawing.draw_arms, (numbers(2, D, K), 3, rng())),
    "drawing.shift_arms": lambda: (drawing.shift_arms, (numbers(2, D, K), 3, numbers(D), 0.1)),
    "drawing.random_walk": lambda: (drawing.random_walk, (numbers(D), 1.0, 0.1, 4, False, rng())),
    "evaluation.mean_features": lambda: (evaluation.mean_features, (numbers(N, K, D), numbers(N, K))),
    "evaluation.add_to_blocks": lambda: (
        evaluation.add_to_blocks,
        (numbers(3, D), places(0, -1, 1), np.zeros((2, D))),
    ),
    "evaluation.best_in_rows": lambda: (evaluation.best_in_rows, (numbers(N, K),)),
    "evaluation.law_faults": lambda: (evaluation.law_faults, (numbers(N, K), 1e-9)),
    "evaluation.law_gaps": lambda: (evaluation.law_gaps, (numbers(N, K), numbers(N, K), np.zeros(K))),
}


def played(kind: Callable[..., Any], *rounds: Any) -> Callable[..., Any]:
    """Makes a run and plays it."""

    def make(**given: Any) -> Any:
        made = kind(**given)
        made.play(*rounds)
        return made

    return make


def public_calls() -> Iterator[str]:
    """Every function, class and method in the stubs of the core; properties are read of every object."""
    enums = {"IntEnum"}
    for stub in (Path(infex.__file__).parent / "core").glob("*.pyi"):
        for node in ast.parse(stub.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                yield f"{stub.stem}.{node.name}"
            elif isinstance(node, ast.ClassDef) and not enums & {ast.unparse(base) for base in node.bases}:
                yield f"{stub.stem}.{node.name}"
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name != "__init__":
                        marks = {ast.unparse(mark) for mark in part.decorator_list}
                        if "property" not in marks:
                            yield f"{stub.stem}.{node.name}.{part.name}"


def test_every_public_call_is_tried() -> None:
    assert sorted(set(CALLS) - {"general.contexts"}) == sorted(public_calls())


def arguments(given: Any) -> tuple[list[Any], dict[str, Any]]:
    return ([], dict(given)) if isinstance(given, dict) else (list(given), {})


@pytest.mark.parametrize("name", CALLS)
def test_good_calls_work(name: str) -> None:
    call, given = CALLS[name]()
    positional, named = arguments(given)
    read(call(*positional, **named))


HUGE = np.broadcast_to(0.0, (2**45,))  # of no memory, but larger than any
NUMBERS: tuple[float, ...] = (
    0,
    1,
    -1,
    2,
    7,
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
    2**64,
    0.5,
    -0.0,
    1e-320,
    1e308,
    np.nan,
    np.inf,
    -np.inf,
)
OTHERS: tuple[Any, ...] = (
    None,
    "x",
    b"x",
    (),
    [],
    {},
    [[1.0], [1.0, 2.0]],
    object(),
    1j,
    True,
    np.float32(1.5),
    lambda *given: 1.0,
)


@st.composite
def hostile(draw: Any, good: Any) -> Any:
    """Something else in the place of a good argument."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from([*NUMBERS, *OTHERS, HUGE, numbers(2, 2), whole(3)]))
    if isinstance(good, dict):
        return draw(hostile_arrays(good))
    if not isinstance(good, np.ndarray):
        objects = [
            a_ridge(),
            a_bank(),
            a_bank(2, 1),
            a_base(),
            a_posterior(),
            rng(),
            np.random.RandomState(1),
            ridge.Ridge(np.zeros((D, 0))),
            a_hybrid(),
            a_model(),
            models.Model(),
            models.SharedModel(),
            models.DisjointModel(a_bank()),
            posterior.RidgePosterior.__new__(posterior.RidgePosterior),
            bank.BankPosterior.__new__(bank.BankPosterior),
        ]
        return draw(st.sampled_from([*NUMBERS] if isinstance(good, float | int) else [*objects, *OTHERS]))
    return draw(hostile_array(good))


@st.composite
def hostile_array(draw: Any, good: Any) -> Any:
    """An array of another shape, layout, kind or other numbers."""
    array, axis = np.array(good), draw(st.integers(0, max(good.ndim - 1, 0)))
    way = draw(st.integers(0, 11))
    if way == 0 and array.ndim:
        return np.take(array, range(array.shape[axis] - 1), axis=axis)
    if way == 1 and array.ndim:
        return np.concatenate([array, array], axis=axis)
    if way == 2 and array.ndim:
        return np.take(array, [], axis=axis)
    if way == 3:
        return array[None] if draw(st.booleans()) else array[()]
    if way == 4:
        return np.asfortranarray(array) if draw(st.booleans()) else array.T
    if way == 5 and array.ndim:
        return np.repeat(array, 2, axis=axis)[(slice(None),) * axis + (slice(None, None, -2),)]
    if way == 6:
        return array.astype(
            draw(st.sampled_from(["f4", "i4", "i8", "u1", "f8", ">f8", ">i8", "c16", "O", "U3", "?"]))
        )
    if way == 7:
        array.flags.writeable = False
        return array
    if way == 8:
        return np.broadcast_to(array.reshape(-1)[:1], (2**45,)) if array.size else HUGE
    if way == 9:
        return array.tolist()
    if array.size and array.dtype.kind in "fi":
        values = [
            each
            for each in NUMBERS
            if array.dtype.kind == "f" or (isinstance(each, int) and -(2**63) <= each < 2**63)
        ]
        array.reshape(-1)[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from(values))
    return array


@st.composite
def hostile_arrays(draw: Any, good: Any) -> Any:
    """A dictionary of arrays, as from a file, with one that is missing, or not what it should be."""
    name = draw(st.sampled_from(sorted(good)))
    if draw(st.integers(0, 3)) == 0:
        return {key: array for key, array in good.items() if key != name}
    return good | {name: draw(hostile_array(np.asarray(good[name])))}


def read(made: Any, deeper: bool = True) -> None:
    """Reads all that an object of the core says."""
    if not type(made).__module__.startswith("infex.core"):
        return
    for name in dir(made):
        if name.startswith("_"):
            continue
        try:
            value = getattr(made, name)
            if name in ("arrays", "whole_sums", "copy", "whole_numbers", "sums", "ridges") and callable(
                value
            ):
                value = value()
            elif name in ("learn", "estimate", "width") and callable(value):
                value = value(0, 1.0) if name == "learn" else value(0)
            if isinstance(value, np.ndarray):
                value.tobytes()
            elif deeper:
                read(value, deeper=False)
        except (*REFUSALS, NotImplementedError):
            pass


@given(data=st.data(), name=st.sampled_from(sorted(CALLS)))
@settings(max_examples=EXAMPLES, deadline=None)
def test_whatever_is_given_a_call_works_or_is_refused_by_name(data: Any, name: str) -> None:
    call, given = CALLS[name]()
    positional, named = arguments(given)
    values: Any = positional or named
    keys = sorted(named) if named else list(range(len(positional)))
    for key in (
        data.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2, unique=True)) if keys else ()
    ):
        values[key] = data.draw(hostile(values[key]))
    owner = getattr(call, "__self__", None)
    try:
        with np.errstate(all="ignore"):
            read(call(*positional, **named))
    except REFUSALS:
        pass
    with np.errstate(all="ignore"):
        read(owner)


@pytest.mark.parametrize("kind", [posterior.RidgePosterior, bank.BankPosterior])
def test_a_posterior_that_was_never_made_says_nothing(kind: Any) -> None:
    """As one of a subclass that forgets `super().__init__`."""
    empty = kind.__new__(kind)
    read(empty)
    assert empty.count == 0
    with pytest.raises(REFUSALS):
        empty.estimate(0)


def test_a_posterior_reads_one_ridge_alone() -> None:
    """Its estimates were of so many arms as the first ridge has, and read up to those of the second."""
    says = posterior.RidgePosterior(ridge.Ridge(numbers(D, 2)))
    assert says.estimates.size == 2
    with pytest.raises(TypeError, match="once"):
        says.__init__(ridge.Ridge(numbers(D, 1000)))  # type: ignore[misc]
    assert says.count == 2


def test_nothing_is_read_of_what_has_learnt_since() -> None:
    model, arms = a_ridge(), a_bank()
    for says, learn in (
        (posterior.RidgePosterior(model), lambda: model.absorb(numbers(D), 1.0)),
        (bank.BankPosterior(arms).over(numbers(C)), lambda: arms.update(0, numbers(C), 1.0)),
    ):
        others = [says, says.among([1, 0])]
        learn()
        for each in others:
            for name in ("estimates", "widths", "greedy", "log_det_ratio", "counts"):
                with pytest.raises(StalePosterior):
                    getattr(each, name)
            read(each)


def test_an_estimator_in_python_may_call_whatever_it_likes() -> None:
    """It may learn, restore or play once more while it is asked, and memory stays whole."""
    calls: list[float] = []
    ready: list[bool] = []

    def fit(x: Any, reward: float, weight: float, penalty: float, memory: Any, solved: Any) -> float:
        calls.append(reward)
        solved[:] = np.eye(D + 1, D)
        if ready and len(calls) % 3 == 1:
            inner.update(np.ones(D), 1.0, 1.0, np.zeros((D + 1, D)))
            inner.restore(np.zeros(4))
            learns.learn(0, 1.0)
            for again in (
                lambda: run.play(1, T, places(2), places(T), numbers(1, K)),
                lambda: run.play(7, T, places(8), places(T), numbers(1, K)),
                lambda: run.play_arm(1, False, numbers(D)),
            ):
                with contextlib.suppress(*REFUSALS):
                    again()
        return 0.5

    inner, learns = estimators.PythonFit(D, 1.0, fit, 4), a_ridge()
    model = models.RegressionModel(learns, fit=inner)
    run = general.GeneralRun(
        **general_run(model=model, explored=None, own_clock=False, delays=None, controls=(), narrows=False)
    )
    ready.append(True)
    with contextlib.suppress(*REFUSALS):
        run.play(1, 6, places(2, 5), places(T), numbers(1, K))
    read(run)
    read(learns)
    assert calls


def test_runs_over_no_arm_are_refused() -> None:
    none = ridge.Ridge(np.zeros((D, 0)))
    given = general_run(
        model=models.RegressionModel(none), explored=None, noises=[], delays=None, controls=()
    )
    with pytest.raises(ValueError, match="an arm"):
        general.GeneralRun(**given)
    with pytest.raises(ValueError, match="an arm"):
        fixed_arms.FixedArmsRun(**fixed_run(ridge=none, own=None, means=[], gaps=[]))


@pytest.mark.parametrize(
    "made", [a_ridge(), a_bank(), a_hybrid(), pending.Pending(D, K)], ids=lambda made: type(made).__name__
)
def test_what_is_unpickled_is_checked_as_what_is_made(made: Any) -> None:
    function, given = made.__reduce__()
    read(function(*given))
    for place in range(len(given)):
        for bad in (*OTHERS, *NUMBERS, np.zeros(1), np.full((K, 2, C + 1, C), np.nan)):
            changed = [*given[:place], bad, *given[place + 1 :]]
            with contextlib.suppress(*REFUSALS):
                read(function(*changed))
    read(pickle.loads(pickle.dumps(made)))
