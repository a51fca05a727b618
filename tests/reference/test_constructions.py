"""The paper's constructions, as exact cases: Example 2, Lemma 8.2, and both appendices with epsilon
swept.

Each is a finite distribution, so a few weighted rows are the distribution itself, not a draw from
it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.optimize import linprog

import rainproof
from paper.constructions import Distribution, coins, cutoff_gap, regret_of_guessing, smooth_gap


def weighted_rows(at, weight, frequency):
    """Rows (y, p, w) of the distribution with these predictions, weights and event frequencies."""
    sample = Distribution.of(at, weight, frequency).sample()
    return sample.y_true, sample.y_prob, sample.sample_weight


def loss(y, p, w, swaps="all"):
    return rainproof.measures.calibration_decision_loss(y, p, sample_weight=w, swaps=swaps)


def smce(at, weight, frequency):
    """sup E[(y - p) w(p)] over 1-Lipschitz w into [-1, 1], by linear programming over w at the
    predictions.
    """
    at = np.asarray(at, float)
    bias = np.asarray(weight) * (np.asarray(frequency) - at)
    step = np.diff(np.eye(len(at)), axis=0)
    rows, gaps = np.vstack([step, -step]), np.tile(np.diff(at), 2)
    found = linprog(
        -bias, A_ub=rows if len(rows) else None, b_ub=gaps if len(gaps) else None, bounds=(-1, 1)
    )
    return -found.fun


def cutoff(at, weight, frequency):
    """sup over intervals of |E[(y - p) 1{a <= p <= b}]|, interval by interval."""
    bias = np.asarray(weight) * (np.asarray(frequency) - np.asarray(at))
    return max(
        abs(math.fsum(bias[a:b])) for a in range(len(bias)) for b in range(a + 1, len(bias) + 1)
    )


# --- Example 2: CDL of a calibrated forecaster does not shrink
# ----------------------------------------


@for_each("n", [1, 10, 1_000, 100_000])
def test_example_2(n):
    """p uniform on [1/3, 2/3], y ~ Ber(p), all predictions distinct: swap each for its outcome, and
    1/9 is lost.
    """
    rng = np.random.default_rng(n)
    p = rng.uniform(1 / 3, 2 / 3, n)
    y = rng.random(n) < p
    assert len(np.unique(p)) == n
    quadratic = np.mean((p - y) ** 2)  # the swap regret of U = 1 - (a - y)^2
    assert 1 / 9 <= quadratic <= rainproof.measures.calibration_decision_loss(y, p)


def test_example_2_in_the_limit():
    """As rows go to infinity R(mu) goes to 3/2 (mu (1 - mu) - 1/9) on [1/3, 2/3], to mu/2 below and
    (1 - mu)/2 above.

    R(mu) = (1 - mu) Pr[y = 1, p <= mu] + mu Pr[y = 0, p > mu], and both integrals of 3p and 3(1 -
    p) are plain. It is concave, so CDL goes to 2 R(1/2) = 5/12; an average of bounded rows, so the
    error is of order n^-1/2.
    """
    rng = np.random.default_rng(2)
    n = 200_000
    p = rng.uniform(1 / 3, 2 / 3, n)
    y = rng.random(n) < p
    assert rainproof.measures.calibration_decision_loss(y, p) == pytest.approx(
        5 / 12, abs=5 / math.sqrt(n)
    )
    assert rainproof.measures.calibration_decision_loss(y, p, swaps="monotone") < 5 / math.sqrt(n)


# --- Lemma 8.2: no measure can do better than T^-1/2
# --------------------------------------------------


@for_each("rows", [1, 3, 6, 25, 400])
def test_lower_bound(rows):
    """T fair coins forecast at 1/2: CDL is |2q - 1|, and every response has regret 0.2 T^-1/2 in a
    third of the cases.

    Whoever answers 0 with probability x >= 1/2 loses x (2q - 1) when q > 1/2; by symmetry so does x
    <= 1/2.
    """
    chance, lead = coins(rows)
    values = [loss([0, 1], [0.5, 0.5], [rows - heads, heads]) for heads in range(rows + 1)]
    np.testing.assert_allclose(values, np.abs(lead), atol=1e-15)
    for x in np.linspace(0, 1, 101):
        regret = regret_of_guessing(lead, x)
        assert chance[regret >= 0.2 / math.sqrt(rows)].sum() >= 1 / 3 - 1e-12


@for_each("rows, likely", [(2, 1 / 4), (4, 5 / 16)])
def test_lower_bound_fails_for_two_and_four_rows(rows, likely):
    """The lemma says a third for every T. Whoever always answers 1 loses something only if tails
    win: less often.
    """
    chance, lead = coins(rows)
    assert chance[regret_of_guessing(lead, 0.0) > 0].sum() == likely


# --- Appendix A: smCE against swap regret
# -------------------------------------------------------------

EPSILONS = [0.12, 0.04, 1e-2, 1e-4, 1e-6, 1e-10]


@for_each("eps", EPSILONS)
def test_appendix_a(eps):
    """Both distributions have smCE = eps (with c = 1); trusting the first costs sqrt(eps)."""
    root = math.sqrt(eps)
    high = 0.5 + root
    first, second = ((dist.at, dist.weight, dist.frequency) for dist in smooth_gap(eps))
    assert smce(*first) == pytest.approx(eps, abs=1e-9)
    assert smce(*second) == pytest.approx(eps, abs=1e-9)
    # First: 1/2 (1/2 - mu) on [1/2 - root, 1/2) and 1/2 (mu - 1/2) on [1/2, 1/2 + root): root/2 at
    # both ends, and a level chord between them. A constant does all that can be done. Second: one
    # prediction, off by eps.
    for swaps in ("all", "monotone", "constant"):
        assert loss(*weighted_rows(*first), swaps) == pytest.approx(root, rel=1e-9)
        assert loss(*weighted_rows(*second), swaps) == pytest.approx(
            eps / high, rel=1e-4 if eps < 1e-8 else 1e-9
        )


@for_each("eps", EPSILONS)
def test_appendix_a_no_response_escapes(eps):
    """Whatever action follows 1/2 - sqrt(eps), one of the two distributions costs at least (3/14)
    sqrt(eps).

    Task: (1 - root) 1{a = 0, y = 0} + 1{a = 1, y = 1}. On the first, action 0 loses root/2 against
    action 1, on half the rows; on the second action 1 loses 3/2 root + eps - root eps >= 3/2 root
    against action 0. A response that takes 1 with probability x loses (1 - x) root/4 or at least x
    (3/2) root, whichever is more: least at x = 1/7.
    """
    root = math.sqrt(eps)

    def regret_of_action(action, q):
        earned = [(1 - root) * (1 - q), q]
        return max(earned) - earned[action]

    x = np.linspace(0, 1, 1401)
    # with 1/2 + sqrt(eps) answered best, by action 1
    first = (1 - x) * 0.5 * regret_of_action(0, 0.5)
    second = x * regret_of_action(1, 0.5 - root - eps)
    assert regret_of_action(0, 0.5) == pytest.approx(root / 2, rel=1e-9)
    assert regret_of_action(1, 0.5 - root - eps) == pytest.approx(
        1.5 * root + eps - root * eps, rel=1e-9
    )
    assert np.maximum(first, second).min() >= 3 / 14 * root * (1 - 1e-9)


# --- Appendix B: cutoff against swap regret
# -----------------------------------------------------------


def alternating(eps):
    """m, and the table of `cutoff_gap`."""
    m, dist = cutoff_gap(eps)
    return m, dist.at, dist.weight, dist.frequency


@for_each("eps", [1e-2, 1e-3, 1e-4, 1e-6, 1e-7])
def test_appendix_b(eps):
    """Neighbours cancel in the cutoff error, which is eps; in the swaps they do not, and the regret
    is eps^(2/3).

    The task of the theorem, 1 - (a - y)^2, has swap regret E (p - q)^2 = 3 m eps / 9, at most CDL.
    CDL itself: at mu = 1/2 the even points below it and the odd ones above have regrets p - 1/6 and
    5/6 - p, 1/4 on average, m/4 of them on each side, so 2 R(1/2) is 2 (3 eps) (m/2) / 4 = 3/4 m
    eps but for the few points at the ends of each sum.
    """
    m, *table = alternating(eps)
    value = loss(*weighted_rows(*table))
    assert cutoff(*table) == pytest.approx(eps, rel=1e-9)
    assert m * eps / 3 <= value <= 2 * m * eps  # the theorem's task; twice the ECE, which is m eps
    assert value == pytest.approx(0.75 * m * eps, abs=3 * eps)
    # all that the cutoff error promises
    assert loss(*weighted_rows(*table), "monotone") <= 2 * eps * (1 + 1e-9)


def test_appendix_b_has_the_power_two_thirds():
    epsilons = np.array([1e-3, 1e-6, 1e-9, 1e-12])
    values = [loss(*weighted_rows(*alternating(eps)[1:])) for eps in epsilons]
    slopes = np.diff(np.log(values)) / np.diff(np.log(epsilons))
    assert slopes == pytest.approx([2 / 3] * 3, abs=0.02)
