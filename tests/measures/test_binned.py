"""Binned calibration error against its definition, scikit-learn's bins and its relations."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ece_oracle as oracle
from helpers.cases import for_each
from helpers.seeds import for_seeds
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

import rainproof
from rainproof.measures import (
    binned_calibration_error,
    calibration_decision_loss,
    expected_calibration_error,
)

bins = st.one_of(st.integers(1, 40), st.sampled_from([10, 15, 16, 20]))
powers = st.integers(1, 20).map(lambda k: 2**k)


@given(samples(), bins)
def test_uniform_bins(sample, m):
    y, p, w = sample
    got = binned_calibration_error(y, p, sample_weight=w, n_bins=m)
    assert got == pytest.approx(float(oracle.binned(y, p, m, w)), abs=1e-14)


@given(samples(), bins)
def test_rounded_down(sample, m):
    y, p, w = sample
    got = binned_calibration_error(y, p, sample_weight=w, n_bins=m, form="rounded")
    assert got == pytest.approx(float(oracle.rounded(y, p, m, w)), abs=1e-14)


@given(samples(), bins)
def test_quantile_bins(sample, m):
    y, p, w = sample
    got = binned_calibration_error(y, p, sample_weight=w, n_bins=m, strategy="quantile")
    edges = oracle.quantile_edges(y, p, m, w)
    assert len(edges) == m - 1
    assert got == pytest.approx(float(oracle.by_edges(y, p, edges, w)), abs=1e-14)


def from_curve(y, p, m, strategy):
    """The same number from scikit-learn's curve, weighted by the rows in its bins."""
    true, mean = calibration_curve(y, p, n_bins=m, strategy=strategy)
    inner = np.linspace(0, 1, m + 1)[1:-1]
    edges = inner if strategy == "uniform" else np.percentile(p, inner * 100)
    rows = np.bincount(np.searchsorted(edges, p), minlength=m)
    return float((rows[rows > 0] * np.abs(true - mean)).sum()) / len(p)


@for_seeds(30)
def test_the_bins_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(20, 500)), int(rng.choice([1, 2, 5, 10, 15, 16, 33]))
    p = rng.random(n) if seed % 2 else rng.integers(0, 11, n) / 10
    y = rng.permutation(np.arange(n) % 3 == 0).astype(int)
    if seed % 2 == 0:
        m = [1, 5, 10][seed % 3]  # where linspace has the doubles k/m or ones just above
    assert binned_calibration_error(y, p, n_bins=m) == pytest.approx(
        from_curve(y, p, m, "uniform"), abs=1e-13
    )


@for_each("m", [1, 2, 3, 5, 15])
@for_each("each", [1, 2, 7, 40])
def test_the_quantiles_are_those_of_scikit_learn_where_bins_can_be_equal(m, each):
    rng = np.random.default_rng([m, each])
    p = rng.random(m * each)
    y = np.concatenate([[0, 1], rng.random(m * each) < p**2])[: m * each].astype(int)
    if len(set(y)) > 1:
        expected = from_curve(y, p, m, "quantile")
        assert binned_calibration_error(y, p, n_bins=m, strategy="quantile") == pytest.approx(
            expected, abs=1e-13
        )


def test_by_hand():
    """Bins [0, 1/2] and (1/2, 1]: biases of -.1 + .7 - .5 - .3 = -.2 and of .2 + 0 = .2."""
    y, p = [0, 1, 0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8, 0.3, 1.0]
    assert binned_calibration_error(y, p, n_bins=2) == pytest.approx((0.2 + 0.2) / 6, abs=1e-15)
    # Rounded down to 0, 1/2 and 1: one event among .1, .3, .3; one among .5, .8, where one is
    # predicted; one at 1.
    assert binned_calibration_error(y, p, n_bins=2, form="rounded") == pytest.approx(
        2 * (1 + 0 + 0) / 6, abs=1e-15
    )
    # Thirds by weight: {.1, .3, .3} has a share of 1/2 and holds the first third; {.5} ends the
    # second.
    got = binned_calibration_error(y, p, n_bins=3, strategy="quantile")
    assert got == pytest.approx((abs(1 - 0.7) + 0.5 + abs(2 - 1.8)) / 6, abs=1e-15)


def test_one_belongs_to_the_last_bin():
    """Where software with a bin of its own for 1 gives 0.525."""
    assert binned_calibration_error([1, 0], [0.95, 1]) == 0.475
    assert binned_calibration_error([1, 0], [0.95, 1], n_bins=1) == 0.475
    # Rounded down 1 stays 1: 2 (|1 - 14/15| + 1) / 2.
    assert binned_calibration_error([1, 0], [0.95, 1], form="rounded") == pytest.approx(1 / 15 + 1)


@for_each("m", [3, 7, 10, 15, 49])
def test_which_bin_an_edge_belongs_to(m):
    """A prediction k/m with a bias joins those below it (mean), or those above (rounded)."""
    for k in range(1, m):
        edge, beside = k / m, 0.3 / m
        y, p = np.array([1, 0, 0]), np.array([edge, edge - beside, edge + beside])
        joined = abs((1 - edge) - (edge - beside)) + (edge + beside)
        assert binned_calibration_error(y, p, n_bins=m) == pytest.approx(joined / 3, abs=1e-14)
        joined = (k - 1) / m + abs(1 - 2 * edge)
        assert binned_calibration_error(y, p, n_bins=m, form="rounded") == pytest.approx(
            2 * joined / 3, abs=1e-14
        )


def test_ties_are_never_split_and_weights_do_not_round():
    """Ten equal predictions fill two of three bins; a third of thirty rows of 0.1 is ten rows."""
    y = np.arange(15) % 2
    p = np.concatenate([np.full(10, 0.4), np.linspace(0.5, 0.9, 5)])
    together = abs(y[:10].sum() - 4) + abs((y[10:] - p[10:]).sum())
    assert binned_calibration_error(y, p, n_bins=3, strategy="quantile") == pytest.approx(
        together / 15, abs=1e-14
    )
    rng = np.random.default_rng(3)
    p, y = rng.random(30), rng.integers(0, 2, 30)
    plain = binned_calibration_error(y, p, n_bins=3, strategy="quantile")
    for weight in (0.1, 0.3, 1e-7, 3e11):
        got = binned_calibration_error(
            y, p, sample_weight=np.full(30, weight), n_bins=3, strategy="quantile"
        )
        assert got == pytest.approx(plain, abs=1e-14)


@given(samples(), bins, st.sampled_from(["uniform", "quantile"]))
def test_relations(sample, m, strategy):
    """|E[y - p]| <= mean form <= ECE, and a refinement of the bins never lowers it."""
    y, p, w = sample
    value = binned_calibration_error(y, p, sample_weight=w, n_bins=m, strategy=strategy)
    assert abs(np.average(y - p, weights=w)) <= value + 1e-14
    assert value <= expected_calibration_error(y, p, sample_weight=w) + 1e-14
    rounded = binned_calibration_error(y, p, sample_weight=w, n_bins=m, form="rounded")
    # Both forms have the same bins but for their edges: rounding moves predictions by less than
    # 1/m.
    assert 0 <= rounded <= 2 * np.average(np.abs(y - p), weights=w) + 2 / m + 1e-14


@given(samples(), bins)
def test_what_it_promises(sample, m):
    """CDL of predictions rounded down, and of those replaced by the mean of their bin."""
    y, p, w = sample
    down = (np.searchsorted(np.arange(m + 1) / m, p, side="right") - 1) / m
    rounded = binned_calibration_error(y, p, sample_weight=w, n_bins=m, form="rounded")
    assert calibration_decision_loss(y, down, sample_weight=w) <= rounded + 1e-12
    at = np.searchsorted(np.arange(1, m) / m, p)
    w = np.ones(len(p)) if w is None else w
    mean = np.bincount(at, w * p) / np.maximum(np.bincount(at, w), 1e-300)
    value = binned_calibration_error(y, p, sample_weight=w, n_bins=m)
    assert (
        calibration_decision_loss(y, np.clip(mean[at], 0, 1), sample_weight=w) <= 2 * value + 1e-12
    )


@given(samples(), st.integers(1, 5).map(lambda k: 2**k))
def test_finer_bins_show_no_less(sample, m):
    y, p, w = sample
    coarse, fine = (binned_calibration_error(y, p, sample_weight=w, n_bins=k) for k in (m, 2 * m))
    assert coarse <= fine + 1e-14


def cut_weight(p, w, m, edges, strictly=False):
    """The share of the weight in cells [c/m, (c+1)/m) that hold an edge (inside, if `strictly`)."""
    w = np.ones(len(p)) if w is None else w
    edges = np.asarray(edges, float)
    if strictly:
        edges = edges[edges * m != np.floor(edges * m)]
    return w[np.isin(np.floor(p * m), np.floor(edges * m))].sum() / w.sum()


@given(samples(), bins, powers)
def test_compression(sample, m, cells):
    y, p, w = sample
    whole = rainproof.Sample(y, p, sample_weight=w)
    small = whole.compress(cells)
    inner = np.arange(1, m) / m
    quantiles = [float(edge) for edge in oracle.quantile_edges(y, p, m, w)]
    for options, bound in (
        ({}, 2 * cut_weight(p, w, cells, inner)),
        ({"strategy": "quantile"}, 2 * cut_weight(p, w, cells, quantiles)),
        ({"form": "rounded"}, 4 * cut_weight(p, w, cells, inner, strictly=True)),
    ):
        one, two = (binned_calibration_error(s, n_bins=m, **options) for s in (whole, small))
        assert abs(one - two) <= bound + 1e-13


@given(samples(), st.integers(1, 5).map(lambda k: 2**k), st.integers(5, 12).map(lambda k: 2**k))
def test_compression_keeps_what_is_rounded_to_a_power_of_two(sample, m, cells):
    y, p, w = sample
    whole = rainproof.Sample(y, p, sample_weight=w)
    one, two = (
        binned_calibration_error(s, n_bins=m, form="rounded")
        for s in (whole, whole.compress(cells))
    )
    assert one == pytest.approx(two, abs=1e-13)


@for_each(
    "options, message",
    [
        ({"n_bins": 0}, "n_bins must be an integer from 1 to 1,048,576; it is 0"),
        ({"n_bins": 2.0}, "n_bins must be an integer from 1 to 1,048,576; it is 2.0"),
        ({"n_bins": True}, "n_bins must be an integer from 1 to 1,048,576; it is True"),
        ({"n_bins": 2**20 + 1}, "n_bins must be an integer from 1 to 1,048,576; it is 1048577"),
        ({"strategy": "kmeans"}, "strategy must be 'uniform' or 'quantile'; it is 'kmeans'"),
        ({"form": "max"}, "form must be 'mean' or 'rounded'; it is 'max'"),
        (
            {"form": "rounded", "strategy": "quantile"},
            "form must be 'mean' with strategy='quantile': "
            "predictions are rounded to a uniform grid",
        ),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(rainproof.InputError, match=f"^{message}$"):
        binned_calibration_error([0, 1], [0.1, 0.9], **options)
