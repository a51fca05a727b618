"""CDL and U-calibration against linear programs over all bounded tasks, and the theorems about
them.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from helpers import soft_binned_oracle
from helpers.cases import for_each
from helpers.regret_oracle import (
    by_menus,
    by_thresholds,
    exact_curve,
    exact_loss,
    exact_pooled,
    pooled,
)
from helpers.seeds import for_seeds
from helpers.strategies import AWKWARD, powers, samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.core.curve import SwapCurve
from rainproof.measures import calibration_decision_loss, u_calibration_error

SWAPS = ("all", "monotone", "constant")
every_class = for_each("swaps", SWAPS)
classes = st.sampled_from(SWAPS)


def losses(y, p, w=None):
    return [calibration_decision_loss(y, p, sample_weight=w, swaps=swaps) for swaps in SWAPS]


def ones(p, w):
    return np.ones(len(p)) if w is None else w


def random_rows(rng, kind):
    """A few rows: ties, grid points and the ends, outcomes with and without regard to p, weighted
    or not.
    """
    n = int(rng.integers(1, 13))
    near_ends = np.round(rng.beta(0.3, 0.3, n), 6)  # the solver takes coefficients below 1e-9 for 0
    p = [rng.random(n), rng.integers(0, 11, n) / 10, rng.integers(0, 5, n) / 4, near_ends][kind % 4]
    y = rng.integers(0, 2, n) if kind % 3 else (rng.random(n) < p).astype(int)
    return y, p, rng.choice([0.1, 1.0, 2.0, 5.5], n) if kind % 5 else None


# --- the definition: linear programs over all tasks
# ------------------------------------------------


@every_class
@for_seeds(5)
def test_the_loss_is_the_largest_regret_of_any_menu_of_payoffs(swaps, seed):
    rng = np.random.default_rng(seed)
    for kind in range(20):
        y, p, w = random_rows(rng, kind)
        got = calibration_decision_loss(y, p, sample_weight=w, swaps=swaps)
        assert got == pytest.approx(by_menus(y, p, w, swaps), abs=1e-12)


@every_class
@for_seeds(5)
def test_the_loss_is_the_largest_mixture_of_thresholds(swaps, seed):
    rng = np.random.default_rng(100 + seed)
    for kind in range(20):
        y, p, w = random_rows(rng, kind)
        got = calibration_decision_loss(y, p, sample_weight=w, swaps=swaps)
        assert got == pytest.approx(by_thresholds(y, p, w, swaps), abs=1e-12)


@given(samples(max_size=8), classes)
def test_the_loss_is_the_highest_chord_in_fractions(sample, swaps):
    """The same program with its vertices enumerated, where doubles would blur it: 1e-12, denormals,
    heavy weights.
    """
    y, p, w = sample
    got = calibration_decision_loss(y, p, sample_weight=w, swaps=swaps)
    assert got == pytest.approx(float(exact_loss(*exact_pooled(y, p, w), swaps)), abs=1e-14)


@given(samples())
def test_u_calibration_is_the_loss_of_constant_swaps(sample):
    y, p, w = sample
    assert u_calibration_error(y, p, sample_weight=w) == losses(y, p, w)[2]


def test_u_calibration_takes_any_labels():
    y, p, w = ["wet", "dry", "wet"], [0.3, 0.9, 0.9], [1.0, 2.0, 3.0]
    assert u_calibration_error(y, p, sample_weight=w, pos_label="wet") == u_calibration_error(
        [1, 0, 1], p, sample_weight=w
    )


@for_each("p", AWKWARD)
@for_each("events", range(5))
def test_one_prediction(p, events):
    """All mass at p with frequency q: |q - p| / max(p, 1 - p), whatever the swaps.

    For q > p the curve is q - mu on [p, q): its envelope is the tent over (p, q - p), which at 1/2
    has (q - p)/2 times 1/(1 - p) or 1/p, whichever side 1/2 lies.
    """
    y = np.arange(4) < events
    expected = abs(events / 4 - p) / max(p, 1 - p)
    assert losses(y, [p] * 4) == pytest.approx([expected] * 3, abs=1e-15)


def test_by_hand():
    """Half the weight at 1/4, always 1; half at 3/4, always 0. See the curve at 1/2.

    All swaps: (1 - mu)/2 + mu/2 = 1/2 on [1/4, 3/4), so CDL = 1: everything is at stake. Monotone
    or constant swaps send both to 1/2: (1 - mu)/2 on [1/4, 1/2) and mu/2 on [1/2, 3/4), 3/8 at both
    ends, so 3/4.
    """
    assert losses([1, 1, 0, 0], [0.25, 0.25, 0.75, 0.75]) == [1.0, 0.75, 0.75]


def test_by_hand_where_the_classes_differ():
    """Frequencies 1, 0, 1 at 1/8, 1/4 and 7/8, weights 1/4, 1/4, 1/2.

    Monotone: 1/8 and 1/4 become 1/2, 7/8 becomes 1. R at 1/8 is 1/4 (7/8); on [1/4, 1/2) it is 1/4
    (1 - mu) - 1/4 mu; on [7/8, 1) 1/2 (1 - mu): 7/32, 1/8 and 1/16 at 1/8, 1/4 and 7/8. The chord
    from 1/8 to 7/8 has (7/32 + 1/16)/2 = 9/64 at 1/2, the one from 1/8 to 1 has 7/32 (4/7) = 1/8:
    so 9/32. Constant: all become 3/4. R = 7/32 at 1/8, 1/8 at 1/4, falls to 0 at 1/2 and is
    negative after, until on [3/4, 7/8) it is 1/2 (mu - 1) < 0 and on [7/8, 1) 0: the chord from 1/8
    to 1, so 1/4. All: 1/8 goes to 1, 1/4 to 0, 7/8 to 1. R is mu/4 above 0 until 1/8, there 1/4
    (7/8) + 1/32 = 1/4 just after, 1/4 up to 1/4, 1/4 (1 - mu) up to 7/8, then 3/4 (1 - mu): 3/32 at
    7/8. From 1/4 to 7/8: 1/4 (3/5) + 3/32 (2/5) = 3/16, so 3/8.
    """
    y, p, w = [1, 0, 1], [1 / 8, 1 / 4, 7 / 8], [1, 1, 2]
    assert losses(y, p, w) == pytest.approx([3 / 8, 9 / 32, 1 / 4], abs=1e-16)


@every_class
def test_perfect_calibration_is_exactly_zero(swaps):
    y = np.concatenate([np.arange(n) < k for n, k in [(5, 1), (10, 3), (3, 2), (7, 7), (4, 0)]])
    p = np.repeat([1 / 5, 3 / 10, 2 / 3, 1.0, 0.0], [5, 10, 3, 7, 4])
    assert calibration_decision_loss(y, p, swaps=swaps) == 0.0
    assert calibration_decision_loss(y, p, sample_weight=np.full(len(p), 4.0), swaps=swaps) == 0.0


def test_rounding_does_not_exceed_one():
    """All is lost: each side of 1/2 is always wrong. With these weights the sums come to
    1.0000000000000002.
    """
    assert calibration_decision_loss([1, 0], [0.1, 0.7], sample_weight=[13, 31]) == 1.0


def test_swaps_are_checked():
    with pytest.raises(
        rainproof.InputError, match=r"^swaps must be 'all', 'monotone' or 'constant'; it is 'any'$"
    ):
        calibration_decision_loss([0, 1], [0.2, 0.7], swaps="any")


# --- the worst task
# ---------------------------------------------------------------------------------


@given(samples(max_size=8))
def test_the_worst_task_attains_the_loss(sample):
    """Spec section 3: three actions; its regret by enumeration of the swaps, predictions told
    apart.
    """
    y, p, w = sample
    at, weight, events = pooled(y, p, w)
    mass = np.array([weight - events, events])
    for swaps, value in zip(SWAPS, losses(y, p, w), strict=True):
        chord = SwapCurve.from_table(
            rainproof.Sample(y, p, sample_weight=w).distinct(), swaps
        ).chord
        a, share = chord.mu_a, chord.share
        payoff = np.array([[1, 0], [1 - 2 * share * a, 2 * share * (1 - a)], [0, 1]])
        assert payoff.min() >= -1e-15
        assert payoff.max() <= 1 + 1e-15
        passed = [
            at >= mu if above else at > mu
            for mu, above in ((a, chord.above_a), (chord.mu_b, chord.above_b))
        ]
        taken = passed[0].astype(int) + passed[1]
        believed = payoff @ [1 - at, at]
        # a best response
        assert np.all(believed[taken, np.arange(len(at))] >= believed.max(axis=0) - 1e-15)
        earned = payoff @ mass  # what each action would earn on each prediction
        if swaps == "all":
            best = earned.max(axis=0).sum()
        elif swaps == "constant":
            best = max(earned.sum(axis=1).max(), earned[taken, np.arange(len(at))].sum())
        else:
            cuts = ((i, j) for i, j in product(range(len(at) + 1), repeat=2) if i <= j)
            best = max(
                earned[0, :i].sum() + earned[1, i:j].sum() + earned[2, j:].sum() for i, j in cuts
            )
        assert best - earned[taken, np.arange(len(at))].sum() == pytest.approx(value, abs=1e-13)


# --- the theorems
# -----------------------------------------------------------------------------------


@given(samples())
def test_fewer_swaps_lose_less(sample):
    y, p, w = sample
    for larger, smaller in pairwise(losses(y, p, w)):
        assert smaller <= larger + 1e-15


@given(samples(max_size=12), classes)
def test_twice_the_largest_threshold_regret_is_a_bound(sample, swaps):
    """Lemma 2.2: sup R <= CDL <= 2 sup R; its argument holds for every class of swaps."""
    y, p, w = sample
    highest = float(max(value for _, value in exact_curve(*exact_pooled(y, p, w), swaps)))
    got = calibration_decision_loss(y, p, sample_weight=w, swaps=swaps)
    assert highest - 1e-15 <= got <= 2 * highest + 1e-15


@given(samples())
def test_ece_and_cdl(sample):
    """Lemma 2.1: ECE^2 <= CDL <= 2 ECE."""
    y, p, w = sample
    at, weight, events = pooled(y, p, w)
    ece = np.abs(events - weight * at).sum()
    assert ece**2 - 1e-14 <= calibration_decision_loss(y, p, sample_weight=w) <= 2 * ece + 1e-14


@given(samples())
def test_cutoff_bounds_monotone_swaps(sample):
    """A monotone swap at mu moves an interval of predictions next to mu: E[(y - mu) 1_I] <= |E[(y -
    p) 1_I]|.
    """
    y, p, w = sample
    at, weight, events = pooled(y, p, w)
    bias = np.concatenate([[0], np.cumsum(events - weight * at)])
    assert losses(y, p, w)[1] <= 2 * (bias.max() - bias.min()) + 1e-14


@given(samples(), powers)
def test_scdl_is_at_most_cdl(sample, m):
    """Lemma 3.4."""
    y, p, w = sample
    value = calibration_decision_loss(y, p, sample_weight=w)
    assert float(soft_binned_oracle.loss(y, p, ones(p, w), m)) <= value + 1e-14
    assert rainproof.soft_binned_cdl(y, p, sample_weight=w) <= value + 1e-14


@given(samples(max_size=12), powers)
def test_the_loss_of_the_rounded_response(sample, m):
    """Lemma 4.3: CDL(D_m) <= 2 SCDL_m + 2/m."""
    y, p, w = sample
    value = 2 * rainproof.Sample(y, p, sample_weight=w).on_grid(m).curve().chord.value
    assert value <= 2 * float(soft_binned_oracle.loss(y, p, ones(p, w), m)) + 2 / m + 1e-14


# --- compression
# ------------------------------------------------------------------------------------


def shared_cell(p, w, m):
    """The largest share of the weight in a cell with more than one distinct prediction."""
    p, w = np.asarray(p), ones(p, w)
    p, w = p[w > 0], w[w > 0]
    cell = np.floor(p * m)
    shares = [w[cell == c].sum() / w.sum() for c in set(cell) if len(set(p[cell == c])) > 1]
    return max(shares, default=0.0)


@given(samples(), powers, classes)
def test_compression_moves_the_loss_within_its_bounds(sample, m, swaps):
    y, p, w = sample
    rows = rainproof.Sample(y, p, sample_weight=w)
    before = calibration_decision_loss(rows, swaps=swaps)
    after = calibration_decision_loss(rows.compress(m), swaps=swaps)
    assert after <= before + (2 + 2 * before) / m + 1e-14
    if swaps != "all":
        cut = shared_cell(p, w, m) * {"constant": 0.5, "monotone": 1.0}[swaps]
        assert before <= after + (2 + 2 * after) / m + cut + 1e-14
    else:
        hard = float(soft_binned_oracle.loss(y, p, ones(p, w), m, "hard"))
        assert hard - 1e-14 <= after <= 2 * hard + 4 / m + 1e-14


@every_class
def test_compression_changes_nothing_where_cells_hold_one_prediction(swaps):
    rng = np.random.default_rng(5)
    p = rng.choice(np.arange(17) / 16, 300)
    rows = rainproof.Sample(rng.random(300) < p**2, p, sample_weight=rng.random(300))
    assert calibration_decision_loss(rows.compress(16), swaps=swaps) == pytest.approx(
        calibration_decision_loss(rows, swaps=swaps), abs=1e-15
    )


def test_what_compression_cannot_keep():
    """All swaps tell apart what a cell pools; monotone swaps too, as far as the weight of one cell
    goes.
    """
    p = 0.5 + np.arange(200) / 2**20  # all in one cell of 2**10
    alternating = rainproof.Sample(np.arange(200) % 2, p)
    assert calibration_decision_loss(alternating) > 0.49
    assert calibration_decision_loss(alternating.compress(2**10)) < 4 / 2**10
    rising = rainproof.Sample(np.arange(200) >= 100, p)
    assert calibration_decision_loss(rising, swaps="monotone") > 0.49
    assert calibration_decision_loss(rising.compress(2**10), swaps="monotone") < 4 / 2**10


def test_compression_of_many_rows():
    """With predictions all over [0, 1] cells are light, and the smaller classes hardly notice."""
    rng = np.random.default_rng(8)
    p = rng.random(20_000)
    rows = rainproof.Sample(rng.random(20_000) < 0.2 + 0.5 * p, p)
    small = rows.compress(2**8)
    for swaps in ("monotone", "constant"):
        before, after = (calibration_decision_loss(s, swaps=swaps) for s in (rows, small))
        assert abs(before - after) < 5 / 2**8
    assert calibration_decision_loss(rows) - calibration_decision_loss(small) > 0.1
