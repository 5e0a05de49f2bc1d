import subprocess
import sys

import numpy as np
import pytest

from infex import InfexError
from infex.lab import stream
from infex.streams import Rounds, place


def test_a_stream_depends_on_its_seed_and_name_alone() -> None:
    first = stream(3, "noise", 1).random(5)
    stream(3, "noise", 2).random(5)
    np.testing.assert_array_equal(stream(3, "noise", 1).random(5), first)
    for other in (stream(4, "noise", 1), stream(3, "noise", 2), stream(3, "noise1"), stream(3, "noise", "1")):
        assert not np.array_equal(other.random(5), first)


def test_numpy_integers_name_the_same_stream_as_plain_ones() -> None:
    three, five = np.array([3, 5])
    assert stream(three, "a", five).random() == stream(3, "a", 5).random()


def test_names_of_numpy_text_and_of_fractions() -> None:
    assert stream(1, np.str_("a")).random() == stream(1, "a").random()
    with pytest.raises(InfexError, match=r"part of a name must be a whole number, got 2\.5"):
        stream(1, 2.5)


def test_a_seed_that_is_not_a_whole_number_is_refused() -> None:
    with pytest.raises(InfexError, match=r"seed must be a whole number, got 1\.5"):
        stream(1.5, "a")


def test_a_round_draws_the_same_whatever_was_drawn_before() -> None:
    rounds = Rounds(5, "bandit")
    expected = rounds.at(9).standard_normal(4)
    rounds.at(8).random(1000)
    rounds.at(9).integers(10, dtype=np.uint32)  # leaves half a word in the buffer
    np.testing.assert_array_equal(rounds.at(9).standard_normal(4), expected)
    np.testing.assert_array_equal(Rounds(5, "bandit").at(9).standard_normal(4), expected)
    assert not np.array_equal(rounds.at(10).standard_normal(4), expected)


def test_rounds_are_those_of_a_philox_whose_counter_is_the_round() -> None:
    rounds = Rounds(5, "bandit")
    key = rounds.at(1).bit_generator.state["state"]["key"]
    fresh = np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 77, 0, 0], dtype=np.uint64)))
    np.testing.assert_array_equal(rounds.at(77).random(20), fresh.random(20))


def test_places_are_spread_evenly() -> None:
    counts = np.bincount([place(1, "x", block, size=5) for block in range(5000)], minlength=5)
    assert counts.size == 5
    assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(1000 * 0.8))


def test_another_process_draws_the_same() -> None:
    program = (
        "from infex.streams import *; print(float(stream(7, 'a', 2).random()), place(7, 'b', size=10**9))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == [str(float(stream(7, "a", 2).random())), str(place(7, "b", size=10**9))]


def test_uniforms_of_neighbouring_streams_are_uniform_and_unrelated() -> None:
    draws = np.array([stream(seed, "noise").random(200) for seed in range(200)])
    assert abs(draws.mean() - 0.5) < 5 * np.sqrt(1 / 12 / draws.size)
    assert np.abs(np.corrcoef(draws)[np.triu_indices(200, 1)]).max() < 6 / np.sqrt(200)


def test_streams_have_children_of_their_own() -> None:
    one, two = (stream(3, "a").spawn(2) for _ in range(2))
    assert one[0].random() == two[0].random()
    parent = stream(3, "a")
    first, second = parent.spawn(1)[0], parent.spawn(1)[0]
    assert len({parent.random(), first.random(), second.random()}) == 3
