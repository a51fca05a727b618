"""Each method against a slow fit of the same model, and on rows that could break it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import PiecewiseMap
from rainproof.recalibration.method_names import EVENT_METHODS
from rainproof.recalibration.methods import METHODS, correction


def table(p, y):
    return DistinctTable.from_rows(np.asarray(y, np.uint8), np.asarray(p, np.float64), None)


def draw(n, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 2, n)
    return p, (rng.random(n) < p**power).astype(int)


COLUMNS = {
    "temperature": lambda p: np.stack([np.log(p) - np.log1p(-p)]),
    "logistic": lambda p: np.stack([np.log(p) - np.log1p(-p), np.ones_like(p)]),
    "beta": lambda p: np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)]),
}


def most_likely(name, p, y):
    """The coefficients, by a general minimizer."""
    x = COLUMNS[name](p)
    centre = np.array({"temperature": [1.0], "logistic": [1.0, 0.0], "beta": [1.0, 1.0, 0.0]}[name])

    def cost(beta):
        score = np.where(y == 1, 1, -1) * (beta @ x)
        return np.logaddexp(0, -score).sum() + ((beta - centre) ** 2).sum() / 32

    bounds = [(0, None), (0, None), (None, None)] if name == "beta" else None
    return min(
        (minimize(cost, start, bounds=bounds, tol=1e-13) for start in starts(centre)),
        key=lambda one: one.fun,
    ).x


def starts(centre):
    """Where the minimizer begins: with bounds it stops now and then before the end."""
    return [centre, *np.eye(len(centre))]


@for_each("name", COLUMNS)
def test_logistic_methods_maximise_the_posterior(name):
    p, y = draw(400)
    beta = most_likely(name, p, y)
    np.testing.assert_allclose(
        METHODS[name](table(p, y))(p), expit(beta @ COLUMNS[name](p)), rtol=3e-3
    )


def logit(p):
    return np.log(p) - np.log1p(-p)


def surprise(score, y):
    return np.logaddexp(0, -np.where(y == 1, 1, -1) * score).sum()


def test_an_intercept_is_the_most_likely_shift():
    p, y = draw(400)
    score = logit(p)
    shift = minimize(lambda a: surprise(score + a, y) + a[0] ** 2 / 32, [0.0], tol=1e-13).x
    value = METHODS["intercept"](table(p, y))(p)
    np.testing.assert_allclose(value, expit(score + shift), rtol=3e-3)


PRIORS = {"calibrated_prior": (0.9, 0.25, 0.7), "overconfident_prior": (0.3, 0.2, 1.0)}


@for_each("name", PRIORS)
@for_each("n", [40, 400])
def test_a_line_with_a_prior_is_the_most_likely_one(name, n):
    p, y = draw(n)
    slope, slope_deviation, shift_deviation = PRIORS[name]
    centre = logit(p).mean()
    wider = 1 + n / 300

    def line(beta):
        return centre + beta[1] + beta[0] * (logit(p) - centre)

    def cost(beta):
        far = ((beta[0] - slope) / slope_deviation) ** 2 + (beta[1] / shift_deviation) ** 2
        return surprise(line(beta), y) + far / wider / 2

    beta = minimize(cost, [slope, 0.0], tol=1e-13).x
    np.testing.assert_allclose(METHODS[name](table(p, y))(p), expit(line(beta)), rtol=3e-3)


@for_each("name", PRIORS)
def test_nothing_is_left_of_a_prior_with_many_rows(name):
    p, y = draw(100_000)
    free = METHODS["logistic"](table(p, y))(p)
    np.testing.assert_allclose(METHODS[name](table(p, y))(p), free, atol=0.005)


def ceiling(n, seed):
    """Rows whose event rate stops rising: a slope of the beta map would be negative."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    truth = 0.6 * -np.expm1(-6 * p)
    return p, truth, rng.random(n)


TRUTHS = {
    "a ceiling": ceiling,
    "a floor": lambda n, seed: (lambda p, truth, u: (1 - p, 1 - truth, 1 - u))(*ceiling(n, seed)),
    "a valley": lambda n, seed: (lambda p, _, u: (p, 0.2 + 2 * (p - 0.5) ** 2, u))(
        *ceiling(n, seed)
    ),
    "falling": lambda n, seed: (lambda p, _, u: (p, 1 - p, u))(*ceiling(n, seed)),
}


@for_each("seed", range(3))
@for_each("kind", TRUTHS)
def test_beta_is_the_most_likely_curve_without_negative_slopes(kind, seed):
    p, truth, u = TRUTHS[kind](1900, seed)
    y = u < truth
    beta = most_likely("beta", p, y)
    assert (beta[:2] == 0).any()  # it is about the bounds
    np.testing.assert_allclose(
        METHODS["beta"](table(p, y))(p), expit(beta @ COLUMNS["beta"](p)), rtol=4e-3
    )


@for_each("kind", ["a ceiling", "a floor"])
def test_beta_follows_a_ceiling_where_platt_cannot(kind):
    distance = {"beta": [], "logistic": []}
    for seed in range(20):
        p, truth, u = TRUTHS[kind](1900, seed)
        for name, found in distance.items():
            value = METHODS[name](table(p, u < truth))(p)
            found.append(
                np.mean(
                    truth * np.log(truth / value) + (1 - truth) * np.log((1 - truth) / (1 - value))
                )
            )
    assert np.mean(distance["beta"]) < np.mean(distance["logistic"]) / 2


@for_each("name", COLUMNS)
def test_a_formula_continues_where_no_rows_were(name):
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.6, 2000)
    y = rng.random(2000) < p**1.5
    found = METHODS[name](table(p, y))
    far = 1 / (1 + np.exp(-np.linspace(-20, 20, 41)))
    score = most_likely(name, p, y) @ COLUMNS[name](far)
    value = found(far)
    np.testing.assert_allclose(value, expit(score), rtol=0.1, atol=1e-12)
    np.testing.assert_allclose(1 - value, expit(-score), rtol=0.1, atol=1e-12)
    assert found.rises
    assert 0 < found([0.0])[0] <= value[0]
    assert value[-1] <= found([1.0])[0] < 1


@for_each("name", ["isotonic", "bins_8"])
def test_straight_pieces_end_at_their_ends(name):
    p, y = draw(2000)
    found = METHODS[name](table(0.1 + 0.5 * p, y))
    assert np.ptp(found([0.0, 1e-9, 0.1])) == 0
    assert np.ptp(found([1.0, 0.9, 0.6])) == 0


def test_zeros_and_ones_count_like_half_way_to_the_next_prediction():
    p, y = draw(2000)
    p = np.round(0.1 + 0.8 * p, 2)
    half = p.min() / 2, (1 + p.max()) / 2
    ends = np.append(p, half), np.append(p, [0.0, 1.0])
    y = np.append(y, [1, 0])
    apart, exact = (METHODS["logistic"](table(one, y)) for one in ends)
    np.testing.assert_allclose(exact(p), apart(p), rtol=2e-3)
    np.testing.assert_allclose(exact([0.0, 1.0]), apart(half), rtol=2e-3)


def test_isotonic_agrees_at_the_centres_of_its_blocks():
    p, y = draw(500)
    reference = IsotonicRegression().fit(p, y)
    value = reference.predict(p)
    found = METHODS["isotonic"](table(p, y))
    for level in np.unique(value)[1:-1]:
        centre = p[value == level].mean()
        assert found([centre])[0] == pytest.approx(level, abs=1e-6)
    assert found.rises
    assert 0 < found([0.0])[0] < found([1.0])[0] < 1


def test_isotonic_keeps_the_order_within_its_range():
    p, y = draw(2000)
    found = METHODS["isotonic"](table(p, y))
    inside = np.linspace(found.edges[1], found.edges[-2], 10_000)
    assert (np.diff(found(inside)) > 0).all()


@for_each("n_bins", [8, 32, 128])
def test_bins_hold_equal_numbers_of_rows(n_bins):
    p, y = draw(1280)
    found = METHODS[f"bins_{n_bins}"](table(p, y))
    at = np.searchsorted(found.edges[1:-1], p, side="right")
    assert len(found.start) == n_bins
    assert np.ptp(np.bincount(at)) <= 1
    rate = (y.sum() + 0.5) / (len(y) + 1)
    expected = (np.bincount(at, y) + rate) / (np.bincount(at) + 1)
    np.testing.assert_allclose(found.start, expected, atol=1e-15)


def test_constant_and_none():
    p, y = draw(99)
    assert METHODS["constant"](table(p, y))([0, 1]).tolist() == pytest.approx(
        [(y.sum() + 0.5) / 100] * 2
    )
    assert (METHODS["none"](table(p, y))(p) == p).all()


ROWS = {
    "one row": ([0.3], [1]),
    "one class": ([0.1, 0.5, 0.9], [0, 0, 0]),
    "all events": ([0.1, 0.5, 0.9], [1, 1, 1]),
    "a constant": ([0.4] * 9, [0, 1] * 4 + [0]),
    "separable": (np.linspace(0.1, 0.9, 50), np.linspace(0.1, 0.9, 50) > 0.5),
    "zeros and ones": ([0.0, 0.0, 1.0, 1.0], [0, 1, 0, 1]),
    "tiny": ([1e-300, 1e-12, 1e-9, 0.5, 1 - 1e-16], [0, 1, 0, 1, 0]),
    "inverted": (np.linspace(0, 1, 40), np.linspace(0, 1, 40) < 0.5),
    "neighbours": ([0.5, np.nextafter(0.5, 1), 0.5 + 1e-15, 0.6], [0, 1, 1, 1]),
}


@for_each("rows", ROWS.values())
@for_each("name", METHODS)
def test_no_rows_break_a_method(name, rows):
    found = METHODS[name](table(*rows))
    value = found(np.concatenate([np.linspace(0, 1, 101), [1e-300, 1e-12, 1 - 1e-16]]))
    assert ((value >= 0) & (value <= 1)).all()
    if name != "none":
        assert ((value > 0) & (value < 1)).all()  # no infinite log score


def test_every_method_has_its_name_in_the_list_of_names():
    assert tuple(METHODS) == EVENT_METHODS


def test_beta_stays_monotone():
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    y = rng.random(3000) < 0.2 + 2 * (p - 0.5) ** 2  # a valley
    value = METHODS["beta"](table(p, y))(np.linspace(0, 1, 1001))
    assert (np.diff(value) >= 0).all()


def test_a_correction_of_few_rows_changes_little_and_of_many_much():
    whole = PiecewiseMap.from_ends(np.array([0.0, 1.0]), np.zeros(1), np.ones(1))
    p, y = draw(20_000, power=2.0)
    few = correction(whole, table(p[:10], y[:10]))
    many = correction(whole, table(p, y))
    assert np.abs(few(p) - p).max() < 0.1
    assert np.abs(many(p) - p**2).mean() < 0.02
    assert np.abs(p - p**2).mean() > 0.1
