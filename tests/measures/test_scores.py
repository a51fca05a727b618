"""Brier and log score against their definitions, and what a decomposition must keep to."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.isotonic_oracle import row_fit
from helpers.seeds import for_seeds
from helpers.strategies import powers, samples
from hypothesis import assume, given
from hypothesis import strategies as st

import rainproof

rules = st.sampled_from(["brier", "log"])
functions = {"brier": rainproof.measures.brier_score, "log": rainproof.measures.log_score}


# --- oracles ------------------------------------------------------------------------------------


def ones(p, w):
    return np.ones(len(p)) if w is None else w


def loss(rule, p, y):
    """One row, from the definition; p may be a fraction."""
    if rule == "brier":
        return (Fraction(p) - int(y)) ** 2
    chance = Fraction(p) if y else 1 - Fraction(p)
    if chance == 0:
        return math.inf
    return (
        -math.log1p(-float(1 - chance))
        if chance > 0.5
        else math.log(chance.denominator) - math.log(chance.numerator)
    )


def mean_loss(rule, y, p, w):
    total = sum(map(Fraction, w))
    rows = [
        (float(Fraction(wt) / total), loss(rule, pt, yt))
        for yt, pt, wt in zip(y, p, w, strict=True)
        if wt
    ]
    return math.fsum(share * float(value) for share, value in rows)


def decomposition(rule, y, p, w):
    """score, reliability, resolution, uncertainty."""
    rate = sum(Fraction(wt) * int(yt) for yt, wt in zip(y, w, strict=True)) / sum(map(Fraction, w))
    of_p, of_h, of_mean = (mean_loss(rule, y, f, w) for f in (p, row_fit(y, p, w), [rate] * len(p)))
    return of_p, of_p - of_h, of_mean - of_h, of_mean


def parts(result):
    return result.score, result.reliability, result.resolution, result.uncertainty


# --- the definitions ----------------------------------------------------------------------------


@given(samples(), rules)
def test_a_score_is_its_definition(sample, rule):
    y, p, w = sample
    assert functions[rule](y, p, sample_weight=w) == pytest.approx(
        mean_loss(rule, y, p, ones(p, w)), rel=1e-14
    )


@given(samples(max_size=12), rules)
def test_a_decomposition_is_its_definition(sample, rule):
    y, p, w = sample
    result = rainproof.measures.score_decomposition(y, p, sample_weight=w, score=rule)
    assert parts(result) == pytest.approx(
        decomposition(rule, y, p, ones(p, w)), abs=1e-14, rel=1e-14
    )


@for_seeds(200)
def test_a_decomposition_is_its_definition_on_random_samples(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    p = [rng.random(n), np.round(rng.random(n), 1), rng.beta(0.3, 0.4, n)][seed % 3]
    y = (rng.random(n) < p**1.5).astype(int)
    w = rng.choice([1.0, 2.0, 0.1, 0.0, 1e4], n) + (np.arange(n) == 0) if seed % 2 else None
    for rule in ("brier", "log"):
        result = rainproof.measures.score_decomposition(y, p, sample_weight=w, score=rule)
        assert parts(result) == pytest.approx(
            decomposition(rule, y, p, ones(p, w)), abs=1e-14, rel=1e-14
        )


def test_scores_by_hand():
    y, p, w = [0, 1, 1], [0.5, 0.25, 1.0], [1, 2, 5]
    assert rainproof.measures.brier_score(y, p, sample_weight=w) == (1 * 0.25 + 2 * 0.5625 + 0) / 8
    assert rainproof.measures.log_score(y, p, sample_weight=w) == pytest.approx(
        (math.log(2) + 2 * math.log(4)) / 8, rel=1e-15
    )


def test_decompositions_by_hand():
    """Frequencies 1/2, 0, 3/4 at 0.2, 0.4, 0.9: the first two pool to 1/4, and 1/2 of all rows are
    events.

    Weights 2, 2, 4. Brier: score (0.04 + 0.64 + 2 * 0.16 + 3 * 0.01 + 0.81) / 8 = 0.23; of the fit
    3/16; of the mean 1/4. Log: the fit has entropy H(1/4) on either side.
    """
    y, p = [1, 0, 0, 0, 1, 1, 1, 0], [0.2, 0.2, 0.4, 0.4, 0.9, 0.9, 0.9, 0.9]
    result = rainproof.measures.score_decomposition(y, p)
    assert parts(result) == pytest.approx((0.23, 0.23 - 3 / 16, 1 / 16, 1 / 4), rel=1e-14)
    result = rainproof.measures.score_decomposition(y, p, score="log")
    entropy = math.log(4) - 0.75 * math.log(3)
    of_p = (
        -(math.log(0.2) + math.log(0.8) + 2 * math.log(0.6) + 3 * math.log(0.9) + math.log(0.1)) / 8
    )
    assert parts(result) == pytest.approx(
        (of_p, of_p - entropy, math.log(2) - entropy, math.log(2)), rel=1e-14
    )


@for_each("p", [1e-300, 1e-20, 1e-9, 1e-5, 0.1, 0.49999, 0.5, 0.7, 1 - 2**-53])
def test_small_surprises_keep_their_digits(p):
    assert rainproof.measures.log_score([0], [p]) == pytest.approx(-math.log1p(-p), rel=3e-16)
    assert rainproof.measures.log_score([1], [p]) == pytest.approx(-math.log(p), rel=3e-16)


@for_each("y, p", [(0, 0.0), (1, 1.0)])
def test_certainty_that_comes_true_costs_nothing(y, p):
    for rule, function in functions.items():
        assert str(function([y], [p])) == "0.0"  # not -0.0
        assert parts(rainproof.measures.score_decomposition([y], [p], score=rule)) == (
            0.0,
            0.0,
            0.0,
            0.0,
        )


def test_many_rows_are_more_than_one_block():
    rng = np.random.default_rng(3)
    n = 70_000  # a block has some 30,000
    p, w = rng.random(n), rng.random(n)
    y = rng.random(n) < p
    assert rainproof.measures.brier_score(y, p) == pytest.approx(np.mean((p - y) ** 2), rel=1e-13)
    assert rainproof.measures.brier_score(y, p, sample_weight=w) == pytest.approx(
        np.average((p - y) ** 2, weights=w), rel=1e-13
    )
    surprise = -np.log(np.where(y, p, 1 - p))
    assert rainproof.measures.log_score(y, p, sample_weight=w) == pytest.approx(
        np.average(surprise, weights=w), rel=1e-13
    )


def test_single_precision_is_read_exactly():
    p, w = np.array([0.1, 0.7, 0.3], np.float32), np.array([0.2, 1, 3], np.float32)
    for rule, function in functions.items():
        expected = mean_loss(rule, [0, 1, 1], p.tolist(), w.tolist())
        assert function(np.array([0, 1, 1], np.uint8), p, sample_weight=w) == pytest.approx(
            expected, rel=1e-15
        )


# --- infinite scores ----------------------------------------------------------------------------


@for_each("y, p", [([1, 0, 0, 1], [0.0, 0.2, 0.2, 0.9]), ([0, 1, 1, 0], [0.2, 0.6, 0.4, 1.0])])
def test_false_certainty_is_infinite_and_the_rest_still_known(y, p):
    assert rainproof.measures.log_score(y, p) == math.inf
    result = rainproof.measures.score_decomposition(y, p, score="log")
    assert (result.score, result.reliability) == (math.inf, math.inf)
    assert result.uncertainty == pytest.approx(math.log(2))
    assert 0 < result.resolution < result.uncertainty
    assert (
        rainproof.measures.score_decomposition(y, p).score
        == rainproof.measures.brier_score(y, p)
        < 1
    )


def test_false_certainty_without_weight_does_not_count():
    y, p, w = [1, 0, 1], [0.0, 1.0, 0.5], [0, 0, 2]
    assert rainproof.measures.log_score(y, p, sample_weight=w) == pytest.approx(math.log(2))
    assert rainproof.measures.score_decomposition(
        y, p, sample_weight=w, score="log"
    ).reliability == pytest.approx(math.log(2))


def test_false_certainty_of_hardly_any_weight_counts():
    y, p, w = [1, 0], [1.0, 1.0], [1.0, 1e-30]
    assert rainproof.measures.log_score(y, p, sample_weight=w) == math.inf
    result = rainproof.measures.score_decomposition(y, p, sample_weight=w, score="log")
    assert result.reliability == math.inf
    assert result.resolution == 0
    assert result.uncertainty == pytest.approx(0, abs=1e-15)


# --- what a decomposition keeps to --------------------------------------------------------------


@given(samples(), rules)
def test_parts_add_up_and_none_is_negative(sample, rule):
    y, p, w = sample
    result = rainproof.measures.score_decomposition(y, p, sample_weight=w, score=rule)
    assert min(parts(result)) >= 0
    assert result.resolution <= result.uncertainty
    assert result.score == pytest.approx(
        result.reliability - result.resolution + result.uncertainty, abs=1e-12, rel=1e-14
    )
    assert result.score == pytest.approx(
        functions[rule](y, p, sample_weight=w), abs=1e-14, rel=1e-14
    )
    rate = np.average(y, weights=w)
    entropy = -sum(r * math.log(r) for r in (rate, 1 - rate) if r > 0)
    expected = rate * (1 - rate) if rule == "brier" else entropy
    assert result.uncertainty == pytest.approx(expected, abs=1e-14)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=8), rules)
def test_reliability_is_zero_where_predictions_are_frequencies(counts, rule):
    y = np.concatenate([np.arange(n) < min(k, n) for k, n in counts])
    p = np.concatenate([np.full(n, min(k, n) / n) for k, n in counts])
    assert rainproof.measures.score_decomposition(y, p, score=rule).reliability == 0.0


@given(samples(max_size=12), rules)
def test_reliability_is_not_zero_elsewhere(sample, rule):
    """At least E (p - h)^2, as h is a projection on a convex cone; twice that for the log score
    (Pinsker).
    """
    y, p, w = sample
    fit = row_fit(y, p, ones(p, w))
    gap = np.average([(pt - float(h or 0)) ** 2 for pt, h in zip(p, fit, strict=True)], weights=w)
    result = rainproof.measures.score_decomposition(y, p, sample_weight=w, score=rule)
    assert result.reliability >= gap * (1 if rule == "brier" else 2) - 1e-14


@given(samples(), st.floats(0, 1), rules)
def test_a_constant_forecast_has_no_resolution(sample, p, rule):
    y, _, w = sample
    assert rainproof.measures.score_decomposition(
        y, np.full(len(y), p), sample_weight=w, score=rule
    ).resolution == pytest.approx(0, abs=1e-15)


@given(samples(), rules)
def test_resolution_knows_only_the_order_of_predictions(sample, rule):
    y, p, w = sample
    rank = np.unique(p, return_inverse=True)[1]
    one, other = (
        rainproof.measures.score_decomposition(y, f, sample_weight=w, score=rule)
        for f in (p, ((rank + 1) / (len(p) + 1)) ** 3)
    )
    assert other.resolution == one.resolution
    assert other.uncertainty == one.uncertainty


@given(samples(), rules, st.integers(0, 2**32 - 1))
def test_no_monotone_rule_saves_more_than_reliability(sample, rule, seed):
    y, p, w = sample
    rng = np.random.default_rng(seed)
    rank = np.unique(p, return_inverse=True)[1]
    other = np.sort(rng.beta(0.5, 0.5, len(p)))[rank]
    result = rainproof.measures.score_decomposition(y, p, sample_weight=w, score=rule)
    assume(math.isfinite(result.score))
    assert functions[rule](y, other, sample_weight=w) >= result.score - result.reliability - 1e-14


@given(samples(), rules)
def test_what_happens_and_what_does_not_are_alike(sample, rule):
    """Dyadic predictions, so that 1 - p is exact."""
    y, p, w = sample
    p = np.round(p * 64) / 64
    one = rainproof.measures.score_decomposition(y, p, sample_weight=w, score=rule)
    other = rainproof.measures.score_decomposition(1 - y, 1 - p, sample_weight=w, score=rule)
    assert parts(other) == pytest.approx(parts(one), abs=1e-14)


def test_chance_alone_gives_reliability_that_shrinks_like_the_power_two_thirds():
    """Sixty-four times the rows: a sixteenth of the value, and as much too high a resolution."""
    rng = np.random.default_rng(11)
    means = []
    for rows in (250, 16_000):
        values = []
        for _ in range(60):
            p = rng.random(rows)
            result = rainproof.measures.score_decomposition(rng.random(rows) < p, p)
            values.append((result.reliability, result.resolution - 1 / 12))
        means.append(np.mean(values, axis=0))
    few, many = means
    assert 11 < few[0] / many[0] < 22
    assert few[0] == pytest.approx(few[1], rel=0.25)


# --- compressed samples -------------------------------------------------------------------------


@given(samples(), powers)
def test_brier_score_of_a_compressed_sample_loses_the_variance_inside_cells(sample, m):
    y, p, w = sample
    rows = rainproof.Sample(y, p, sample_weight=w)
    lost = rainproof.measures.brier_score(rows) - rainproof.measures.brier_score(rows.compress(m))
    assert -1e-14 <= lost <= 1 / (4 * m**2) + 1e-14


def test_the_bound_for_the_brier_score_is_tight():
    rows = rainproof.Sample([1, 1], [0.25, 0.5 - 2**-40])
    lost = rainproof.measures.brier_score(rows) - rainproof.measures.brier_score(rows.compress(4))
    assert lost == pytest.approx(1 / 64, abs=1e-11)


@given(samples(), powers)
def test_log_score_of_a_compressed_sample(sample, m):
    y, p, w = sample
    cell = np.floor(m * p)
    # in cells, the lowest probability given to what happened
    foot = np.where(y == 1, cell, m - 1 - cell)
    kept = (foot > 0) | (p == 1)
    assume(kept.all())
    rows = rainproof.Sample(y, p, sample_weight=w)
    fine, coarse = (
        rainproof.measures.log_score(rows),
        rainproof.measures.log_score(rows.compress(m)),
    )
    assume(math.isfinite(fine))
    bound = np.average(1 / (8 * np.maximum(foot, 1.0) ** 2), weights=w)
    assert -1e-13 <= fine - coarse <= bound + 1e-13


@given(samples(), powers, st.sampled_from([0.01, 0.1, 0.3]))
def test_log_score_of_a_compressed_sample_away_from_the_ends(sample, m, least):
    y, p, w = sample
    rows = rainproof.Sample(y, least + (1 - 2 * least) * p, sample_weight=w)
    small = rows.compress(m)
    assert (
        -1e-13
        <= rainproof.measures.log_score(rows) - rainproof.measures.log_score(small)
        <= 1 / (8 * (m * least) ** 2) + 1e-13
    )
    fine, coarse = (rainproof.measures.score_decomposition(s, score="log") for s in (rows, small))
    assert abs(fine.score - coarse.score) <= 1 / (m * least) + 1e-13


def test_log_score_of_a_compressed_sample_has_no_bound_at_the_ends():
    rows = rainproof.Sample([1, 1], [0.0, 0.4])
    assert rainproof.measures.log_score(rows) == math.inf
    assert rainproof.measures.log_score(rows.compress(2)) == pytest.approx(-math.log(0.2))
    rows = rainproof.Sample([0, 0], [0.6, 1 - 2**-50])
    assert rainproof.measures.log_score(rows) > 16
    assert rainproof.measures.log_score(rows.compress(2)) == pytest.approx(-math.log(0.2))


@given(samples(), powers, rules)
def test_decomposition_of_a_compressed_sample(sample, m, rule):
    y, p, w = sample
    rows = rainproof.Sample(y, p, sample_weight=w)
    fine, coarse = (
        rainproof.measures.score_decomposition(s, score=rule) for s in (rows, rows.compress(m))
    )
    heaviest = np.bincount(np.floor(m * p).astype(int), w).max() / rows.total_weight
    lost = fine.resolution - coarse.resolution
    assert -1e-13 <= lost <= heaviest / (3 if rule == "brier" else 1) + 1e-13
    assert coarse.uncertainty == pytest.approx(fine.uncertainty, abs=1e-13)
    if rule == "brier":
        assert abs(coarse.score - fine.score) <= 1 / (2 * m) + 1 / (4 * m**2) + 1e-14


# --- the result ---------------------------------------------------------------------------------


def test_the_result_shows_itself_in_a_line_a_table_and_json():
    result = rainproof.measures.score_decomposition(
        [0, 1, 1], [0.25, 0.5, 0.5], sample_weight=[2, 1, 1]
    )
    assert repr(result) == (
        "ScoreDecomposition(score=0.15625, reliability=0.15625, resolution=0.25, uncertainty=0.25, "
        "rule='brier', n=3)"
    )
    assert json.loads(json.dumps(result.to_dict())) == {
        "result": "score_decomposition",
        "measure": "brier_score",
        "rule": "brier",
        "method": "isotonic",
        "score": 0.15625,
        "reliability": 0.15625,
        "resolution": 0.25,
        "uncertainty": 0.25,
        "n": 3,
    }
    assert "<tr><th>score</th><td>0.1562</td></tr>" in result._repr_html_()
    with pytest.raises(dataclasses.FrozenInstanceError, match="score"):
        result.score = 0.0


def test_what_is_infinite_is_none_in_json():
    data = rainproof.measures.score_decomposition([1, 0], [0.0, 0.5], score="log").to_dict()
    json.dumps(data, allow_nan=False)
    assert (data["measure"], data["score"], data["reliability"]) == ("log_score", None, None)
    assert data["resolution"] == 0.0


@for_each("score", ["Brier", "squared", None, ["log"]])
def test_another_score_is_refused(score):
    with pytest.raises(rainproof.InputError) as caught:
        rainproof.measures.score_decomposition([0, 1], [0.1, 0.9], score=score)
    assert str(caught.value) == f"score must be 'brier' or 'log'; it is {score!r}"


@for_each("score", [rainproof.measures.brier_score, rainproof.measures.log_score])
def test_the_order_of_rows_does_not_show(score):
    """Not in the last bit, and the value is the exact mean of the rows' losses, rounded once."""
    rng = np.random.default_rng(11)
    p = np.r_[rng.random(3000), 1e-9, 1 - 2**-53, 5e-324]
    y, w = rng.random(len(p)) < p, rng.random(len(p)) * 10.0 ** rng.integers(-9, 9, len(p))
    for weight in (None, w):
        value = score(y, p, sample_weight=weight)
        for _ in range(20):
            order = rng.permutation(len(p))
            assert (
                score(y[order], p[order], sample_weight=None if weight is None else weight[order])
                == value
            )
    loss = np.square(p - y) if score is rainproof.measures.brier_score else None
    if loss is not None:
        exact = sum(map(Fraction, (loss * w).tolist())) / sum(map(Fraction, w.tolist()))
        assert score(y, p, sample_weight=w) == float(exact)
