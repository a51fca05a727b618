"""The lower distance against the full coupling program, and its place among the measures."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import rainproof
from rainproof.measures._least_flow import least_flow


def by_couplings(y, p, w, places):
    """inf E|p - p'| over all joint distributions of (row, p') with p' at `places`, calibrated at
    each.
    """
    w = np.ones(len(p)) if w is None else np.asarray(w)
    w = w / w.sum()
    n, k = len(p), len(places)
    cost = np.abs(np.subtract.outer(p, places)).ravel()
    rows = np.kron(np.eye(n), np.ones(k))  # each row's mass goes somewhere
    # sum of (y - p') at each place is 0
    bias = np.concatenate([np.diag(yt - places) for yt in y], axis=1)
    program = linprog(
        cost, A_eq=np.vstack([rows, bias]), b_eq=np.concatenate([w, np.zeros(k)]), method="highs"
    )
    return program.fun


@for_seeds(120)
def test_on_the_grid_it_is_the_full_program(seed):
    rng = np.random.default_rng(seed)
    g = int(rng.choice([2, 4, 8, 16]))
    n = int(rng.integers(1, 12))
    p, y = rng.integers(0, g + 1, n) / g, rng.integers(0, 2, n)
    w = rng.choice([1.0, 2.0, 0.3], n) if seed % 2 else None
    got = rainproof.measures.lower_distance_to_calibration(y, p, sample_weight=w, grid=g)
    assert got == pytest.approx(by_couplings(y, p, w, np.arange(g + 1) / g), abs=1e-8)


@for_seeds(40)
def test_off_the_grid_it_keeps_to_its_bound(seed):
    rng = np.random.default_rng(seed)
    n, g, fine = int(rng.integers(1, 7)), int(rng.choice([4, 8, 16])), 240
    p, y = rng.random(n), rng.integers(0, 2, n)
    exact = by_couplings(y, p, None, np.linspace(0, 1, fine + 1))  # at most 1/(2 fine) too large
    value = rainproof.measures.lower_distance_to_calibration(y, p, grid=g)
    assert exact - 1 / (2 * fine) - 1 / (2 * g) - 1e-8 <= value <= exact + 1 / g + 1e-8


@given(samples(max_size=15))
def test_within_a_factor_of_two_of_smce(sample):
    """distCal/2 <= smCE <= 2 distCal, with the grid's error on either side."""
    y, p, w = sample
    distance = rainproof.measures.lower_distance_to_calibration(y, p, sample_weight=w, grid=64)
    smce = rainproof.measures.smooth_calibration_error(y, p, sample_weight=w)
    assert (distance - 1 / 64) / 2 - 1e-8 <= smce <= 2 * (distance + 1 / 128) + 1e-8


@given(samples(max_size=15))
def test_the_same_seen_from_the_other_side_and_when_compressed(sample):
    y, p, w = sample
    value = rainproof.measures.lower_distance_to_calibration(y, p, sample_weight=w, grid=32)
    other = rainproof.measures.lower_distance_to_calibration(1 - y, 1 - p, sample_weight=w, grid=32)
    small = rainproof.measures.lower_distance_to_calibration(
        rainproof.Sample(y, p, sample_weight=w).compress(32), grid=32
    )
    assert other == pytest.approx(value, abs=1e-8)
    assert small == pytest.approx(value, abs=1e-8)


def test_by_hand():
    """All predictions 1/2, a quarter of the events missing: they all move by 1/4, and no less will
    do.
    """
    assert rainproof.measures.lower_distance_to_calibration(
        [0, 1, 1, 1], [0.5] * 4
    ) == pytest.approx(0.25, abs=1e-9)
    assert rainproof.measures.lower_distance_to_calibration([0, 1], [0.5] * 2) == 0.0
    assert rainproof.measures.lower_distance_to_calibration([1], [0.0]) == pytest.approx(
        1.0, abs=1e-9
    )


def test_refining_the_grid_converges():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = rng.random(200) < p**2
    values = {
        g: rainproof.measures.lower_distance_to_calibration(y, p, grid=g)
        for g in (16, 64, 256, 1024)
    }
    for g in (16, 64, 256):
        assert abs(values[g] - values[1024]) <= 1 / g + 1 / 1024


@for_each("grid", [0, 1, 3, 2**14, 2.0, True, "8"])
def test_the_grid_is_a_power_of_two(grid):
    message = f"grid must be a power of two from 2 to 8,192; it is {grid!r}"
    with pytest.raises(rainproof.InputError, match=re.escape(message)):
        rainproof.measures.lower_distance_to_calibration([0, 1], [0.2, 0.7], grid=grid)


def by_flows(negative, positive):
    """The program of two lines as it is written down, by HiGHS."""
    g = len(positive) - 1
    v = np.linspace(0.0, 1.0, g + 1)
    # outflow minus inflow of a point
    edges = sparse.diags([np.ones(g), -np.ones(g)], [0, -1], shape=(g + 1, g))
    both_ways = sparse.hstack([edges, -edges])
    arriving = sparse.vstack([sparse.diags(1 - v), sparse.diags(v)])
    balance = sparse.hstack([arriving, sparse.block_diag([both_ways, both_ways])]).tocsr()
    cost = np.concatenate([np.zeros(g + 1), np.full(4 * g, 1 / g)])
    return linprog(
        cost, A_eq=balance, b_eq=np.concatenate([negative, positive]), method="highs-ds"
    ).fun


def masses(kind, g, rng):
    """(negative, positive) on a grid, of populations that are hard for a solver."""
    k = min({"constant": 1, "three values": 3, "heavy weights": 9}.get(kind, g + 1), g + 1)
    at = rng.choice(g + 1, k, replace=False)
    weight = (
        10 ** rng.uniform(-12, 0, k)
        if kind in ("heavy weights", "calibrated")
        else rng.random(k) + 0.01
    )
    rate = {
        "calibrated": at / g,
        "inverted": 1 - at / g,
        "rare": 1e-9 * rng.random(k),
        "waves": np.clip(at / g + 0.1 * np.sin(at), 0, 1),
    }.get(kind, rng.random(k))
    weight = weight / weight.sum()
    return np.bincount(at, weight * (1 - rate), g + 1), np.bincount(at, weight * rate, g + 1)


@for_each("g", [2, 64, 256])
@for_each(
    "kind",
    [
        "constant",
        "three values",
        "heavy weights",
        "calibrated",
        "inverted",
        "rare",
        "waves",
        "random",
    ],
)
def test_the_solver_against_highs(kind, g):
    negative, positive = masses(kind, g, np.random.default_rng(g))
    lower, upper = least_flow(negative, positive, 1e-10, 200)
    assert lower <= upper <= lower + 1e-10
    assert by_flows(negative, positive) == pytest.approx(lower, abs=1e-8)


@for_seeds(60)
def test_the_bounds_close_on_calibrated_masses(seed):
    """Nothing flows, so that much of the dual solution is free: the hardest case for the
    arithmetic.
    """
    rng = np.random.default_rng(seed)
    negative, positive = masses("calibrated", 2 ** int(rng.integers(2, 10)), rng)
    lower, upper = least_flow(negative, positive, 1e-10, 200)
    assert -1e-10 <= lower <= 1e-12
    assert 0 <= upper <= 1e-10


def test_one_outcome_has_one_way_to_go():
    p = np.array([0.25, 0.5, 0.875])
    assert rainproof.measures.lower_distance_to_calibration([0, 0, 0], p) == pytest.approx(
        p.mean(), abs=1e-15
    )
    assert rainproof.measures.lower_distance_to_calibration([1, 1, 1], p) == pytest.approx(
        1 - p.mean(), abs=1e-15
    )


def test_a_program_that_is_not_solved_is_an_error(monkeypatch):
    monkeypatch.setattr("rainproof.measures.distance._MAX_STEPS", 3)
    with pytest.raises(
        rainproof.RainproofError,
        match=r"the lower distance was not found: it lies between -?0\.\d+ and 0\.",
    ):
        rainproof.measures.lower_distance_to_calibration([0, 1], [0.2, 0.7])


@given(st.integers(1, 6).map(lambda k: 2**k), st.data())
def test_perfectly_calibrated_on_the_grid_is_zero(g, data):
    k = data.draw(st.integers(0, g))
    y = np.arange(g) < k
    assert rainproof.measures.lower_distance_to_calibration(
        y, np.full(g, k / g), grid=g
    ) == pytest.approx(0, abs=1e-9)


def test_a_compression_coarser_than_the_grid_says_so():
    sample = rainproof.Sample([0, 1, 1, 0], [0.1, 0.2, 0.6, 0.9])
    with pytest.warns(
        rainproof.ResolutionWarning,
        match=r"compressed to grid = 8, coarser than 64: .* up to 1/8 more",
    ):
        rainproof.measures.lower_distance_to_calibration(sample.compress(8), grid=64)
    exact = rainproof.measures.lower_distance_to_calibration(sample, grid=64)
    assert rainproof.measures.lower_distance_to_calibration(
        sample.compress(64), grid=64
    ) == pytest.approx(exact, abs=1e-9)
