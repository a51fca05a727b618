"""The regret curve for users: its outline, its worst task, its units."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.decision_oracle import mixture_weights
from helpers.strategies import powers, probabilities, samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof import DecisionTask, regret_curve, swap_regret
from rainproof.core.curve import SwapCurve

SWAPS = ("all", "monotone", "constant")
classes = st.sampled_from(SWAPS)
every_class = for_each("swaps", SWAPS)
Y, P = [1, 1, 0, 0], [0.2, 0.6, 0.6, 0.6]


@given(samples(), classes)
def test_the_loss_is_cdl(sample, swaps):
    y, p, w = sample
    curve = regret_curve(y, p, swaps=swaps, sample_weight=w)
    assert curve.loss == rainproof.measures.calibration_decision_loss(
        y, p, swaps=swaps, sample_weight=w
    )
    assert curve.worst.regret - 1e-15 <= curve.loss <= 2 * curve.worst.regret + 1e-15
    assert curve.worst.regret == pytest.approx(curve.regret.max(), abs=1e-15)
    assert curve(curve.worst.threshold) == pytest.approx(curve.worst.regret, abs=1e-15)


@given(samples())
def test_the_worst_task_loses_the_whole_loss(sample):
    y, p, w = sample
    curve = regret_curve(y, p, sample_weight=w)
    task = curve.worst_task
    assert (task is None) == (curve.loss <= 2e-15)
    if task is not None:
        assert task.scale == pytest.approx(1, abs=1e-12)
        assert np.all((task.matrix >= -1e-12) & (task.matrix <= 1 + 1e-12))
        assert not task.dominated
        r = swap_regret(y, p, task, per="prediction", sample_weight=w)
        assert r.value == pytest.approx(curve.loss, abs=1e-9)
        assert DecisionTask.from_dict(json.loads(json.dumps(task.to_dict()))) == task


@given(samples(max_size=12), powers)
def test_the_worst_task_on_a_grid(sample, m):
    """It loses the loss on the rounded rows: here as weighted rows, made by hand."""
    y, p, w = sample
    w = np.ones(len(p)) if w is None else w
    low = np.floor(p * m)
    up = p * m - low
    rounded = np.concatenate([low, np.minimum(low + 1, m)]) / m
    weights = np.concatenate([w * (1 - up), w * up])
    curve = regret_curve(y, p, grid=m, sample_weight=w)
    assert curve.loss == pytest.approx(
        rainproof.measures.calibration_decision_loss(np.tile(y, 2), rounded, sample_weight=weights),
        abs=1e-12,
    )
    if curve.loss > 1e-9:
        r = swap_regret(
            np.tile(y, 2), rounded, curve.worst_task, per="prediction", sample_weight=weights
        )
        assert r.value == pytest.approx(curve.loss, abs=1e-9)


@every_class
@for_each("seed", range(4))
def test_the_worst_task_by_its_mixture_for_every_class(swaps, seed):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(400), 2)
    y = rng.random(400) < 0.3 + 0.2 * p
    curve, core = (
        regret_curve(y, p, swaps=swaps),
        SwapCurve.from_table(rainproof.Sample(y, p).distinct(), swaps),
    )
    weight, threshold = mixture_weights(curve.worst_task), np.array(curve.worst_task.thresholds)
    assert weight @ core.points(threshold)[1] == pytest.approx(curve.loss, abs=1e-12)


@given(samples(max_size=10), classes, st.lists(probabilities, min_size=1, max_size=6))
def test_the_outline_is_the_curve(sample, swaps, asked):
    """Straight lines between the points give the curve everywhere, for constant swaps too."""
    y, p, w = sample
    curve = regret_curve(y, p, swaps=swaps, sample_weight=w)
    assert (curve.threshold[0], curve.threshold[-1]) == (0, 1)
    assert np.all(np.diff(curve.threshold) >= 0)
    for mu in (x for x in asked if x not in curve.threshold):
        right = int(np.searchsorted(curve.threshold, mu))
        (a, b), (low, high) = (
            curve.threshold[right - 1 : right + 1],
            curve.regret[right - 1 : right + 1],
        )
        assert curve(mu) == pytest.approx(low + (high - low) * (mu - a) / (b - a), abs=1e-12)


def test_constant_swaps_have_a_kink_where_they_stop_paying():
    """1/3 at 0.2 comes true, 2/3 at 0.8 half the time; 2/3 do overall.

    R = (1 - mu)/3 on [0.2, 2/3); then, as the constant stays put, (mu - 1/2) 2/3 up to 0.8. With
    one more row at 0.2 that comes to nothing, the constant 1/2 acts below it: R = max(0, (1 - 2
    mu)/4) on [0.2, 0.5).
    """
    assert_allclose(
        regret_curve([1, 1, 0], [0.2, 0.8, 0.8], swaps="constant")([0.4, 0.7]), [0.2, 0.4 / 3]
    )
    curve = regret_curve(
        [1, 0, 0, 1, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.8, 0.8, 0.8, 0.8, 0.8], swaps="constant"
    )
    # below 5/8 the constant acts, which adds the rows at 0.2: gain 1/8 - mu 3/8, until mu = 1/3
    # from 5/8 on it does not, which saves those at 0.8: gain mu 5/8 - 4/8, from mu = 0.8 on, where
    # nobody acts
    assert_allclose(curve.threshold, [0, 0.2, 0.2, 1 / 3, 5 / 8, 5 / 8, 0.8, 0.8, 1])
    assert_allclose(curve.regret, [0, 0, 0.05, 0, 0, 0, 0, 0, 0], atol=1e-16)
    assert curve(0.3) == pytest.approx(1 / 8 - 0.3 * 3 / 8)


def test_by_hand():
    """The example of tests/core/test_regret.py: l = 1/4 of 0.2 and 3/4 of 0.6, R = 0.2 and 0.3."""
    curve = regret_curve(Y, P)
    assert_allclose(curve.threshold, [0, 0.2, 0.2, 1 / 3, 1 / 3, 0.6, 0.6, 1])
    assert_allclose(curve.regret, [0, 0, 0.2, 1 / 6, 1 / 6, 0.3, 0.1, 0], atol=1e-16)
    assert_allclose(curve.net_benefit, [0, 0, 0.25, 0.25, 0.25, 0.75, 0.25, 0.25], atol=1e-15)
    assert curve.worst == pytest.approx((0.6, 0.3))
    assert curve.loss == pytest.approx(0.55)
    task = curve.worst_task
    assert_allclose(task.payoffs, [(1, 0), (0.9, 0.4), (0, 1)])
    # 0.2 itself must count as below, 0.6 as above
    assert task.thresholds == (math.nextafter(0.2, 1), 0.6)
    assert str(curve) == (
        "No decision loses more than 55.00% of what is at stake by acting on these predictions "
        "(4 rows, all swaps).\n"
        "Largest loss: a decision among 3 actions with thresholds 0.2 and 0.6."
    )
    assert str(task) == (
        "3 actions, 1 at stake: 'below' below 0.2, 'between' from 0.2, 'above' from 0.6."
    )
    assert (
        repr(task)
        == "DecisionTask(actions=('below', 'between', 'above'), thresholds=(0.2, 0.6), scale=1)"
    )
    assert curve._repr_html_().count("<p>") == 2


@for_each(
    "y, p, payoffs, threshold",
    [
        ([0, 0], [0.5, 0.5], [(1, 0), (0, 1)], 0.5),  # the envelope rests on 1/2 itself
        ([1, 1], [0.5, 0.5], [(1, 0), (0, 1)], math.nextafter(0.5, 1)),
        # the chord starts at (0, 0), where nothing is lost
        ([0], [0.75], [(1, 2 / 3), (0, 1)], 0.75),
        ([1], [0.25], [(1, 0), (2 / 3, 1)], math.nextafter(0.25, 1)),  # ... or ends at (1, 0)
        ([1], [0.0], [(1, 0), (1, 1)], 5e-324),  # 'never' came true: whoever believed it
        ([0], [1.0], [(1, 1), (0, 1)], 1.0),
    ],
)
def test_two_actions_where_one_threshold_is_worst(y, p, payoffs, threshold):
    curve = regret_curve(y, p)
    task = curve.worst_task
    assert_allclose(task.payoffs, payoffs, atol=1e-15)
    assert task.thresholds == (threshold,)
    assert task.actions == ("below", "above")
    assert swap_regret(y, p, task, per="prediction").value == pytest.approx(curve.loss, abs=1e-12)
    assert "Largest loss: a decision with threshold " in str(curve)


@every_class
def test_no_decision_loses_anything(swaps):
    curve = regret_curve([1, 0, 0, 0, 0, 1, 1, 1, 1, 0], [0.2] * 5 + [0.8] * 5, swaps=swaps)
    assert curve.worst_task is None
    assert (curve.loss, curve.worst.regret) == pytest.approx((0, 0), abs=1e-15)
    assert curve.net_benefit.max() == pytest.approx(0, abs=1e-15)
    assert (
        str(curve)
        == f"No decision loses anything by acting on these predictions (10 rows, {swaps} swaps)."
    )
    assert curve.to_dict()["worst_task"] is None


def test_the_words_for_one_row_on_a_grid():
    curve = regret_curve([1], [1.0], grid=8)
    assert str(curve) == (
        "No decision loses anything by acting on these predictions rounded to 1/8 "
        "(1 row, all swaps)."
    )
    assert repr(curve) == "RegretCurve(loss=0, worst=(0, 0), swaps='all', grid=8, n=1)"


def test_net_benefit_is_what_decision_curves_count():
    """TP/n - FP/n mu/(1-mu), of acting on q less that of acting on p; at mu = 1 the limit from the
    left.
    """
    rng = np.random.default_rng(7)
    p = np.round(rng.random(200), 1)
    y = rng.random(200) < p**2
    q = np.array([y[p == x].mean() for x in p])
    curve = regret_curve(y, p)
    for mu, lost in zip(curve.threshold, curve.net_benefit, strict=True):
        if mu < 1 and mu not in p and mu not in q:
            benefit = [
                np.mean(y & (f > mu)) - np.mean(~y & (f > mu)) * mu / (1 - mu) for f in (q, p)
            ]
            assert lost == pytest.approx(benefit[0] - benefit[1], abs=1e-12)
    near = regret_curve([1, 1, 0], [0.5, 0.25, 0.75])
    assert near.net_benefit[-1] == pytest.approx(near(1 - 1e-9) / 1e-9) == pytest.approx(2 / 3)
    assert regret_curve([0, 1], [1.0, 1.0]).net_benefit[-1] == math.inf
    assert not near.net_benefit.flags.writeable


def test_calling_it():
    curve = regret_curve(Y, P)
    assert curve(0.6) == pytest.approx(0.3)
    assert_allclose(curve([[0.1, 0.2]]), [[0, 0.2]])
    message = r"^threshold must lie in \[0, 1\]; 1 value does not, the first is threshold = 2\.0$"
    with pytest.raises(rainproof.InputError, match=message):
        curve(2)


def test_results_are_read_only_and_json():
    curve = regret_curve(Y, P, grid=4, swaps="monotone", sample_weight=[1, 2, 3, 4])
    assert not curve.threshold.flags.writeable
    assert not curve.regret.flags.writeable
    data = json.loads(json.dumps(curve.to_dict()))
    assert_array_equal(data["threshold"], curve.threshold)
    assert (data["grid"], data["swaps"], data["n"], data["loss"]) == (4, "monotone", 4, curve.loss)
    assert data["worst"] == {"threshold": curve.worst.threshold, "regret": curve.worst.regret}
    assert repr(curve).startswith("RegretCurve(loss=")
    assert "grid=4, n=4)" in repr(curve)


@for_each("m", [2, 16, 64])
def test_a_compressed_sample_gives_the_same_curve_on_a_grid(m):
    rng = np.random.default_rng(8)
    p = rng.random(2000)
    sample = rainproof.Sample(rng.random(2000) < p**2, p)
    rows, cells = regret_curve(sample, grid=m), regret_curve(sample.compress(64), grid=m)
    assert cells.loss == pytest.approx(rows.loss, abs=1e-14)
    assert_allclose(cells(np.linspace(0, 1, 33)), rows(np.linspace(0, 1, 33)), atol=1e-14)


@for_each(
    "options, message",
    [
        ({"grid": 128}, "grid must not exceed 64, the grid of the compressed sample; it is 128"),
        ({"grid": 3}, "grid must be a power of two from 2 to 1,048,576; it is 3"),
        ({"swaps": "some"}, "swaps must be 'all', 'monotone' or 'constant'; it is 'some'"),
        (
            {"sample_weight": [1, 2]},
            "a Sample holds predictions, weights and labels already: pass it alone",
        ),
    ],
)
def test_bad_calls_are_told_what_is_wrong(options, message):
    with pytest.raises(rainproof.InputError) as caught:
        regret_curve(rainproof.Sample([0, 1], [0.25, 0.5]).compress(64), **options)
    assert str(caught.value) == message


def test_labels():
    assert regret_curve(["a", "a", "b", "b"], P, pos_label="a").loss == regret_curve(Y, P).loss


def test_thresholds_are_read_as_numbers():
    curve = regret_curve([1, 0, 1], [0.25, 0.5, 0.75])
    assert curve(Fraction(1, 4)) == curve(0.25)
    with pytest.raises(rainproof.InputError, match="threshold must hold numbers; it holds strings"):
        curve("0.25")
