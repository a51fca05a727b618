"""Logistic regression, against SciPy's minimizer and scikit-learn."""

from __future__ import annotations

import numpy as np
from helpers.cases import for_each
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rainproof.fits.logistic import NormalPrior, fit_logistic, fit_logistic_with_prior

WEAK = NormalPrior(mean=np.array([1.0, 0.0]), precision=1 / 16)


def rows(n=200, seed=0, slope=0.7, shift=-0.5):
    """Columns (log odds and ones), and weights without and with the event."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 2, n)
    event = rng.random(n) < expit(slope * odds + shift)
    weight = rng.exponential(size=n)
    return np.stack([odds, np.ones(n)]), weight * ~event, weight * event


def minimized(x, negative, positive, *, offset=0.0, mean=0.0, precision=0.0):
    """Minus the log posterior, minimized with its derivatives."""

    def loss(beta):
        score = beta @ x + offset
        likelihood = negative @ np.logaddexp(0, score) + positive @ np.logaddexp(0, -score)
        return likelihood + precision / 2 * np.sum((beta - mean) ** 2)

    def slope(beta):
        rate = expit(beta @ x + offset)
        return x @ (negative * rate - positive * (1 - rate)) + precision * (beta - mean)

    def curvature(beta):
        rate = expit(beta @ x + offset)
        weight = (negative + positive) * rate * (1 - rate)
        return (x * weight) @ x.T + precision * np.eye(len(x))

    options = {"gtol": 1e-10}
    return minimize(
        loss, np.zeros(len(x)), jac=slope, hess=curvature, method="trust-exact", options=options
    ).x


CASES = {
    "weights": rows(),
    "rare events": rows(n=2000, shift=-6.0),
    "a slope below 0": rows(slope=-1.3),
    "tiny weights": (rows()[0], 1e-6 * rows()[1], 1e-6 * rows()[2]),
    "shares of outcomes": (rows()[0], np.full(200, 0.3), np.linspace(0.1, 0.9, 200)),
    "huge log odds": (rows()[0] * np.array([[300.0], [1.0]]), *rows()[1:]),
}


@for_each("case", CASES)
def test_coefficients_are_the_most_likely_ones(case):
    x, negative, positive = CASES[case]
    scale = 1 / (negative.sum() + positive.sum())
    found = fit_logistic(x, negative, positive)
    assert_allclose(found, minimized(x, negative * scale, positive * scale), rtol=1e-6)
    rate = expit(found @ x)
    residuals = x @ (positive - (negative + positive) * rate)  # are 0 at the maximum
    assert np.abs(residuals).max() < 1e-12 * np.abs(x @ (negative + positive)).max()


def test_it_is_scikit_learns_without_a_penalty():
    x, negative, positive = rows()
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000)
    model.fit(x[:1].T, positive > 0, sample_weight=negative + positive)
    assert_allclose(fit_logistic(x, negative, positive), [*model.coef_[0], *model.intercept_], 1e-5)


def test_an_offset_is_added_to_the_log_odds():
    x, negative, positive = rows()
    offset = x[0]
    found = fit_logistic(x[1:], negative, positive, offset=offset)
    assert_allclose(found, minimized(x[1:], negative, positive, offset=offset), rtol=1e-6)
    mean_rate = (negative + positive) @ expit(found[0] + offset)
    assert_allclose(mean_rate, positive.sum(), rtol=1e-14)


def test_where_it_starts_does_not_matter():
    x, negative, positive = rows()
    found = fit_logistic(x, negative, positive)
    for start in ([9.0, -4.0], [-20.0, 20.0]):
        other = fit_logistic(x, negative, positive, start=np.array(start))
        assert_allclose(other, found, rtol=1e-13)


def test_rows_count_as_often_as_they_weigh():
    x, negative, positive = rows()
    found = fit_logistic(x, negative, positive)
    twice = [np.repeat(part, 2, axis=-1) for part in (x, negative / 2, positive / 2)]
    assert_allclose(fit_logistic(*twice), found, rtol=1e-12)
    with_nothing = [np.append(x, [[50.0], [1.0]], axis=1), np.append(negative, 0), None]
    with_nothing[2] = np.append(positive, 0)
    assert_allclose(fit_logistic(*with_nothing), found, rtol=1e-12)


def test_there_is_no_maximum_where_columns_separate_outcomes():
    """Whether by far or by a hair, wholly or but for a tie, or because there is one outcome."""
    odds = np.array([-2.0, -1.0, 1.0, 2.0])
    for scale in (1e-3, 1.0, 10.0, 100.0):
        x = np.stack([scale * odds, np.ones(4)])
        for event in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1], [0.0, 0.5, 1, 1], [1, 1, 1, 1]):
            positive = np.array(event, float)
            assert fit_logistic(x, 1 - positive, positive) is None
            assert fit_logistic(x, 3e-5 * (1 - positive), 3e-5 * positive) is None
        overlapping = np.array([0.0, 1.0, 0.0, 1.0])
        found = fit_logistic(x, 1 - overlapping, overlapping)
        if scale == 1e-3:  # it is beyond what can be told from separation
            assert found is None
        else:
            assert found is not None


def test_there_is_no_maximum_where_columns_depend_on_each_other():
    _, negative, positive = rows()
    assert fit_logistic(np.ones((2, 200)), negative, positive) is None
    near = np.ones((2, 200))
    near[0, 0] += 1e-15
    assert fit_logistic(near, negative, positive) is None


def test_coefficients_that_are_too_far_from_0_are_none():
    x, negative, positive = rows()
    ones = x[1:]
    assert_allclose(fit_logistic(ones, negative, positive, offset=np.full(200, -25.0))[0], 25, 0.1)
    for far in (-40.0, -690.0, -744.0, -800.0, 690.0):
        assert fit_logistic(ones, negative, positive, offset=np.full(200, far)) is None


@for_each("case", CASES)
def test_with_a_prior_coefficients_are_the_most_likely_ones(case):
    x, negative, positive = CASES[case]
    for prior in (WEAK, NormalPrior(np.array([0.5, 2.0]), precision=4.0)):
        (found,) = fit_logistic_with_prior(x, negative[np.newaxis], positive[np.newaxis], prior)
        expected = minimized(x, negative, positive, mean=prior.mean, precision=prior.precision)
        assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_with_a_prior_it_is_scikit_learns_with_a_penalty():
    x, negative, positive = rows()
    model = LogisticRegression(C=1 / 3, fit_intercept=False, tol=1e-12, max_iter=1000)
    model.fit(x.T, positive > 0, sample_weight=negative + positive)
    prior = NormalPrior(np.zeros(2), precision=3.0)
    found = fit_logistic_with_prior(x, negative[np.newaxis], positive[np.newaxis], prior)
    assert_allclose(found, model.coef_, rtol=1e-5)


def test_with_a_prior_there_is_always_a_maximum():
    """Outcomes are separated, or all alike; weights are zero, or enormous."""
    odds = np.array([-700.0, -1.0, 1.0, 700.0])
    x = np.stack([odds, np.ones(4)])
    for event in ([0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]):
        for weight in (0.0, 1e-9, 1.0, 1e9):
            positive = weight * np.array(event, float)
            negative = weight - positive
            (found,) = fit_logistic_with_prior(x, negative[None], positive[None], WEAK)
            rate = expit(found @ x)
            slope = x @ ((negative + positive) * rate - positive) + (found - WEAK.mean) / 16
            assert np.abs(slope).max() <= 1e-4 * (1 + 700 * weight)
    nothing = np.zeros((1, 4))
    assert_allclose(fit_logistic_with_prior(x, nothing, nothing, WEAK), WEAK.mean[np.newaxis])


def test_several_tables_are_fitted_each_by_itself():
    tables = [rows(seed=seed, slope=slope) for seed, slope in enumerate((0.2, 1.0, -2.0))]
    x = tables[0][0]
    negative = np.stack([table[1] for table in tables])
    positive = np.stack([table[2] for table in tables])
    alone = [
        fit_logistic_with_prior(x, negative[[k]], positive[[k]], WEAK)[0]
        for k in range(len(tables))
    ]
    found = fit_logistic_with_prior(x, negative, positive, WEAK)
    assert_allclose(found, alone, rtol=1e-4)  # a fit stops when it gains hardly anything


def test_a_far_away_start_is_no_trouble():
    """Newton's method diverges from there, unless its steps are shortened."""
    x, negative, positive = rows()
    prior = NormalPrior(np.array([60.0, -60.0]), precision=1e-3)
    (found,) = fit_logistic_with_prior(x, negative[np.newaxis], positive[np.newaxis], prior)
    assert_allclose(found, fit_logistic(x, negative, positive), atol=0.05)
