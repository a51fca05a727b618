"""The choice of grid: exact losses, the paper's bound, and where it looks."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from helpers import soft_binned_oracle
from helpers.cases import for_each
from helpers.regret_oracle import exact_loss
from helpers.strategies import samples
from hypothesis import given
from numpy.testing import assert_allclose

import rainproof
from rainproof import choose_grid


def forecasts(seed, n):
    rng = np.random.default_rng(seed)
    p = rng.beta(3, 3, n)
    return rng.random(n) < p, p


@given(samples(max_size=6))
def test_losses_and_bounds_are_the_definitions(sample):
    y, p, w = sample
    weights = [1.0] * len(p) if w is None else [float(x) for x in w]
    choice = choose_grid(y, p, sample_weight=w, max_grid=16)
    assert choice.grids.tolist() == [2, 4, 8, 16]
    for m, loss, bound in zip(choice.grids.tolist(), choice.losses, choice.bounds, strict=True):
        pi, s = soft_binned_oracle.rounded(y, p, weights, m)
        some = [j for j in range(m + 1) if pi[j]]
        columns = (
            [soft_binned_oracle.Fraction(j, m) for j in some],
            [pi[j] for j in some],
            [s[j] for j in some],
        )
        table = (np.array(column, dtype=object) for column in columns)
        assert loss == pytest.approx(float(exact_loss(*table, "all")), abs=1e-12)
        assert bound == pytest.approx(
            min(1, float(2 * soft_binned_oracle.loss(y, p, weights, m)) + 2 / m), abs=1e-12
        )
        assert loss <= bound + 1e-12
    assert choice.loss == choice.losses[choice.grids == choice.grid][0]
    assert choice.loss == pytest.approx(choice.losses.min(), abs=1e-12)
    assert np.all(choice.losses[choice.grids < choice.grid] > choice.loss)


def test_the_exact_loss_is_far_below_the_bound():
    """What makes it worth computing: several times smaller on a forecaster who is right."""
    y, p = forecasts(0, 8886)
    choice = choose_grid(y, p)
    at = choice.grids == 32
    assert choice.losses[at] < choice.bounds[at] / 4
    assert choice.loss < choice.bounds.min() / 2


def test_the_loss_falls_then_climbs_to_that_of_the_rows():
    y, p = forecasts(1, 2000)
    choice = choose_grid(y, p, max_grid=2**20)
    assert 2 < choice.grid < 1024
    assert choice.losses[-1] == pytest.approx(
        rainproof.measures.calibration_decision_loss(y, p), abs=0.01
    )
    assert choice.losses[-1] > 10 * choice.loss


@for_each(
    "n, finest", [(1, 64), (256, 64), (257, 128), (10_000, 512), (16_384, 512), (16_385, 1024)]
)
def test_how_far_it_looks(n, finest):
    y, p = forecasts(2, n)
    assert choose_grid(y, p).grids[-1] == finest
    assert choose_grid(y, p, sample_weight=np.full(n, 0.25)).grids[-1] == finest
    assert finest >= min(64, 4 * math.sqrt(n))


def test_uneven_weights_count_as_fewer_rows():
    y, p = forecasts(2, 2000)
    weight = np.where(np.arange(2000) < 200, 1.0, 1e-6)
    assert choose_grid(y, p, sample_weight=weight).grids[-1] == 64
    assert choose_grid(y, p).grids[-1] == 256


def test_equal_losses_go_to_the_coarsest_grid():
    choice = choose_grid([1, 0, 0, 0, 1, 1, 1, 0, 0], [0.25] * 4 + [0.75] * 4 + [0.0])
    assert (choice.grid, choice.loss, choice.bound) == (4, 0, 0.5)


def test_a_compressed_sample_gives_the_same_answer():
    y, p = forecasts(3, 5000)
    rows, cells = choose_grid(y, p), choose_grid(rainproof.Sample(y, p).compress(2**12))
    assert cells.grid == rows.grid
    assert_allclose(cells.losses, rows.losses, atol=1e-14)
    assert choose_grid(rainproof.Sample(y, p).compress(16)).grids.tolist() == [2, 4, 8, 16]


def test_how_it_prints():
    """On 1/2: 1/6 at 0 always, 1/2 at 1/2 one time in three: R(0) = R(1/2) = 1/6. On 1/4: R(1/4) =
    R(1/2) = 1/3.
    """
    choice = choose_grid(["no", "yes", "yes"], [0.5, 0.25, 1.0], pos_label="yes", max_grid=4)
    assert repr(choice) == "GridChoice(grid=2, loss=0.333333, bound=1, n=3)"
    assert str(choice) == (
        "    grid      loss     bound\n"
        "       2    0.3333    1.0000  <- best\n"
        "       4    0.6667    1.0000"
    )  # fmt: skip
    assert choice._repr_html_().count("best") == 1
    data = json.loads(json.dumps(choice.to_dict()))
    assert data["losses"] == choice.losses.tolist()
    assert data["bounds"] == choice.bounds.tolist()
    assert (data["grid"], data["grids"], data["n"]) == (2, [2, 4], 3)
    assert not any(array.flags.writeable for array in (choice.losses, choice.bounds, choice.grids))


@for_each(
    "largest, message",
    [
        (100, "max_grid must be a power of two from 2 to 1,048,576; it is 100"),
        (128, "max_grid must not exceed 64, the grid of the compressed sample; it is 128"),
    ],
)
def test_bad_grids_are_told_what_is_wrong(largest, message):
    with pytest.raises(rainproof.InputError) as caught:
        choose_grid(rainproof.Sample([0, 1], [0.25, 0.5]).compress(64), max_grid=largest)
    assert str(caught.value) == message


@for_each("loss, grid", [(0.0, 2), (5e-13, 2), (2e-11, 4)])
def test_the_coarsest_of_grids_that_are_equal_up_to_rounding(loss, grid):
    """Calibrated rows at 1/2, and a few at 1/4: on the grid 1/2 those lose a share of their weight,
    else nothing.
    """

    def found(weight):
        w = np.array([0.75 * weight, 0.25 * weight, 0.5, 0.5])
        return choose_grid([0, 1, 0, 1], [0.25, 0.25, 0.5, 0.5], sample_weight=w, max_grid=8)

    share = found(1.0).losses[0] * 2  # of the weight at 1/4, which is then half of all
    choice = found(loss / share)
    assert choice.grid == grid
    assert choice.losses[0] - choice.losses[1] == pytest.approx(loss, rel=0.2, abs=1e-16)
