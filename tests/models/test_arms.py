from typing import Any

import numpy as np
import pytest

import infex
from infex import features
from infex.arrays import columns_of
from infex.errors import InvalidArms, InvalidSetting, UnknownArm


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ([[np.nan, 0.0]], "arms must be finite; feature 0 of arm 0 is nan"),
        ([[0.0, 1.0], [np.inf, 0.0]], "arms must be finite; feature 0 of arm 1 is inf"),
        ([[0.6, 0.9]], "no longer than 1 .* arm 0 has a length of 1.08167"),
        ([0.1, 0.2], r"shape \(K, d\), a row of features for each, got \(2,\)"),
        (np.zeros((0, 3)), r"at least one row and one feature, got the shape \(0, 3\)"),
        (np.zeros((3, 0)), r"at least one row and one feature, got the shape \(3, 0\)"),
        ([[1.0], [0.5, 0.5]], r"array of numbers, got a list with float, in rows of \[1, 2\]"),
        ("arms", "array of numbers, got a str"),
        ([["a", "b"]], "array of numbers, got a list with str"),
        ([{"age": 45}], "array of numbers, got a list with dict"),
        ([[True, False]], "array of numbers"),
        ([[1j]], "array of numbers"),
        ([["0.1", "0.2"]], "array of numbers"),
        ([[10**400]], "array of numbers"),
        (None, "array of numbers, got None|shape"),
    ],
)
def test_bad_arms_are_refused_with_what_is_wrong(arms: Any, message: str) -> None:
    with pytest.raises(InvalidArms, match=message):
        columns_of(arms)


def test_the_number_of_features_must_agree() -> None:
    with pytest.raises(InvalidArms, match="arms must have 3 features each, got 2"):
        columns_of([[0.1, 0.2]], dim=3)


def test_rescaling_cuts_long_arms_alone() -> None:
    columns = columns_of([[3.0, 4.0], [0.3, 0.4], [1e200, 0.0], [1e308, -1e308]], rescale=True)
    expected = [[0.6, 0.8], [0.3, 0.4], [1.0, 0.0], [np.sqrt(0.5), -np.sqrt(0.5)]]
    np.testing.assert_allclose(columns.T, expected)


def test_rescaling_does_not_mend_what_is_not_finite() -> None:
    with pytest.raises(InvalidArms, match="finite"):
        columns_of([[np.inf, 0.0]], rescale=True)


def test_a_users_array_is_copied() -> None:
    arms = np.array([[0.5, 0.5]])
    columns = columns_of(arms)
    arms[0, 0] = 9.0
    assert columns[0, 0] == 0.5


def test_lengths_of_one_up_to_rounding_are_welcome() -> None:
    rows = np.random.default_rng(0).standard_normal((500, 7))
    columns_of(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.mark.parametrize("arm", [-1, 3, 50, 1.0, True, "tea", np.zeros(2)])
@pytest.mark.parametrize("read", ["estimate", "width"])
def test_what_is_read_of_an_arm_that_is_not_there_is_refused(read: str, arm: Any) -> None:
    bandit = infex.Bandit(np.eye(3), infex.LinUCB())
    bandit.tell(bandit.ask(), 0.4)
    assert getattr(bandit.posterior(), read)(np.int64(2)) == getattr(bandit.posterior(), f"{read}s")[2]
    with pytest.raises(UnknownArm, match="arm must be"):
        getattr(bandit.posterior(), read)(arm)
    with pytest.raises(UnknownArm, match="arm must be"):
        bandit.posterior().optimistic(arm, 1.0)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (7,), (3, 2)])
@pytest.mark.parametrize("settings", [{"arms": np.eye(6)}, {"features": features.disjoint(3, context_dim=2)}])
def test_scores_under_a_parameter_of_another_shape_are_refused(settings: Any, shape: Any) -> None:
    bandit = infex.Bandit(policy=infex.LinUCB(), **settings)
    posterior = bandit.posterior(**({} if "arms" in settings else {"context": [0.6, 0.8]}))
    assert len(posterior.scores(np.ones(6))) == len(posterior)
    with pytest.raises(InvalidSetting, match=r"theta must have the shape \(6,\)"):
        posterior.scores(np.ones(shape))
