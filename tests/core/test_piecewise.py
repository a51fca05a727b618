"""A map of straight pieces stays in [0, 1], keeps order to the last bit, and is read back as it was
written.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from helpers.cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from rainproof.core.piecewise import UNIT, PiecewiseMap
from rainproof.errors import InputError

PROBABILITIES = st.floats(0, 1)


def exactly(found, p):
    """The map at one prediction, by its definition, in fractions."""
    piece = max(k for k, edge in enumerate(found.edges[:-1]) if edge <= p)
    return Fraction(found.start[piece]) + (Fraction(p) - Fraction(found.edges[piece])) * Fraction(
        found.slope[piece]
    )


def neighbours(edges):
    """Predictions at the edges and next to them, on both sides."""
    near = np.concatenate(
        [edges, np.nextafter(edges, 0), np.nextafter(edges, 1), [1e-12, 5e-324, 1 / 3]]
    )
    return np.unique(np.clip(near, 0, 1))


@given(st.lists(st.tuples(PROBABILITIES, PROBABILITIES, PROBABILITIES), min_size=1, max_size=8))
def test_values_are_those_of_the_definition_and_stay_inside(pieces):
    inner = np.sort([edge for edge, _, _ in pieces[1:]])
    edges = np.concatenate([[0.0], inner, [1.0]])
    found = PiecewiseMap.from_ends(
        edges, np.array([a for _, a, _ in pieces]), np.array([b for _, _, b in pieces])
    )
    p = neighbours(found.edges)
    value = found(p)
    assert ((value >= 0) & (value <= 1)).all()
    for x, v in zip(p.tolist(), value.tolist(), strict=True):
        assert v == pytest.approx(float(exactly(found, x)), rel=1e-15, abs=1e-16)


@given(st.lists(st.tuples(PROBABILITIES, PROBABILITIES), min_size=1, max_size=8))
def test_a_rising_map_rises_to_the_last_bit(points):
    edges = np.concatenate([[0.0], np.sort([x for x, _ in points]), [1.0]])
    value = np.sort([y for _, y in points])
    found = PiecewiseMap.from_ends(edges, np.append(value[:1], value), np.append(value, value[-1:]))
    assert found.rises
    assert (np.diff(found(neighbours(found.edges))) >= 0).all()


def test_pieces_meet_their_ends():
    rng = np.random.default_rng(0)
    edges = np.concatenate([[0.0], np.sort(rng.random(50)), [1.0]])
    start, end = rng.random((2, 51))
    found = PiecewiseMap.from_ends(edges, start, end)
    np.testing.assert_allclose(found(found.edges[:-1]), start, atol=1e-15)
    np.testing.assert_allclose(found(np.nextafter(found.edges[1:], 0)), end, atol=2e-9)


def test_a_steep_piece_is_a_jump():
    found = PiecewiseMap.from_ends(
        np.array([0, 0.5, 0.5 + 2.0**-40, 1]), np.array([0, 0.1, 0.9]), np.array([0.1, 0.9, 1])
    )
    assert found.rises
    assert found([0.5 + 2.0**-40])[0] == pytest.approx(0.9)


@for_each("near", [1 - 2.0**-45, 1 - 2.0**-51, 0.5, 0.0])
def test_a_jump_at_1_is_one(near):
    """Naive Bayes says 1 in a fifth of its rows: their value is that of these rows, not of those
    just below.
    """
    steep = PiecewiseMap.from_ends(
        np.array([0.0, near, 1.0, 1.0]), np.array([0.1, 0.1, 0.4]), np.array([0.1, 0.4, 0.4])
    )
    assert steep(np.array([1.0]))[0] == pytest.approx(0.4)
    level = PiecewiseMap.from_ends(
        np.array([0.0, near, 1.0, 1.0]), np.array([0.1, 0.1, 0.4]), np.array([0.1, 0.1, 0.4])
    )
    assert level(np.array([0.0, near, 1 - 2.0**-51, 1.0])) == pytest.approx([0.1, 0.1, 0.1, 0.4])
    assert level.rises


def test_steps():
    found = PiecewiseMap.steps(np.array([0.25, 0.5]), np.array([0.1, 0.9, 0.3]))
    assert found([0, 0.2499, 0.25, 0.4999, 0.5, 1]).tolist() == pytest.approx(
        [0.1, 0.1, 0.9, 0.9, 0.3, 0.3], abs=1e-15
    )
    assert not found.rises


@for_each("power", [0.2, 1.0, 3.0])
def test_a_table_is_as_near_as_it_promises(power):
    def function(p):
        return np.clip(p, 1e-9, 1 - 1e-9) ** power

    found = PiecewiseMap.tabulate(function, (), 1e-6, 1 - 1e-6)
    p = 1 / (1 + np.exp(-np.linspace(-13.8, 13.8, 20_001)))
    wanted = function(p)
    assert (np.abs(found(p) - wanted) <= 0.0015 * np.minimum(wanted, 1 - wanted) + 2e-12).all()
    assert len(found.start) < 500


def test_a_table_keeps_jumps():
    steps = PiecewiseMap.steps(np.array([0.3, 0.6]), np.array([0.2, 0.8, 0.4]))
    found = PiecewiseMap.tabulate(lambda p: steps(p) / 2, steps.edges, 0.1, 0.9)
    p = neighbours(steps.edges)
    np.testing.assert_allclose(found(p), steps(p) / 2, atol=1e-12)


def test_a_table_of_a_wild_function_ends():
    def wild(p):
        return np.where(np.abs(p - 0.5) < 1e-4, (np.sin(1e9 * p) + 1) / 2, 0.5)

    found = PiecewiseMap.tabulate(wild, (), 0.4, 0.6)
    assert ((found([0.4, 0.5, 0.6]) >= 0) & (found([0.4, 0.5, 0.6]) <= 1)).all()


def test_it_is_read_back_as_it_was_written():
    found = PiecewiseMap.tabulate(lambda p: p**2, (), 0.01, 0.99)
    again = PiecewiseMap.from_dict(json.loads(json.dumps(found.to_dict())))
    p = neighbours(found.edges)
    assert (again(p) == found(p)).all()


GOOD = {"edges": [0.0, 0.5, 1.0], "start": [0.0, 0.5], "slope": [1.0, 0.5]}
DAMAGED = {
    "a key is missing": (
        {"edges": GOOD["edges"], "start": GOOD["start"]},
        "must have 'edges', 'start' and 'slope'",
    ),
    "no object": ([], "must have 'edges'"),
    "too few": (GOOD | {"slope": [1.0]}, "one 'start' and one 'slope' for each piece"),
    "no pieces": (
        {"edges": [0.0], "start": [], "slope": []},
        "one 'start' and one 'slope' for each piece",
    ),
    "text": (GOOD | {"start": [0.0, "0.5"]}, "'start' must be a list of numbers"),
    "true": (GOOD | {"start": [0.0, True]}, "'start' must be a list of numbers"),
    "no list": (GOOD | {"start": 0.0}, "'start' must be a list of numbers"),
    "infinite": (GOOD | {"slope": [1.0, float("inf")]}, "'slope' must be finite"),
    "a huge integer": (GOOD | {"slope": [1.0, 10**400]}, "at most 2\\*\\*22 in size"),
    "order": (GOOD | {"edges": [0.0, 1.5, 1.0]}, "increase from 0 to 1"),
    "outside": (GOOD | {"slope": [1.0, 2.0]}, "lie in \\[0, 1\\]"),
    "fine": (GOOD | {"edges": [0.0, 1e-20, 1.0]}, "multiples of 2\\*\\*-52"),
    "a range of one": (
        GOOD | {"fitted_range": [0.1]},
        "'fitted_range' must be null or two numbers",
    ),
    "a range backwards": (
        GOOD | {"fitted_range": [0.5, 0.1]},
        "'fitted_range' must be null or two numbers",
    ),
    "a range beyond 1": (
        GOOD | {"fitted_range": [0.5, 1.5]},
        "'fitted_range' must be null or two numbers",
    ),
    "fine slope": (GOOD | {"slope": [1.0, 2.0**-31]}, "multiples of 2\\*\\*-30"),
}


@for_each("data, message", DAMAGED.values())
def test_damage_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        PiecewiseMap.from_dict(data)


def test_predictions_are_checked():
    with pytest.raises(
        InputError, match=r"p must lie in \[0, 1\]; 1 value does not, the first is p\[1\] = 1.5"
    ):
        PiecewiseMap.from_dict(GOOD)([0.5, 1.5])
    assert UNIT == 2**52
