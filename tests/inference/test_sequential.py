"""SequentialTest: bets against a forecast, row by row and by batch."""

from __future__ import annotations

import json
import math
from itertools import pairwise, product

import numpy as np
import pytest
from helpers.cases import for_each
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof import InputError, SequentialTest
from rainproof.inference import sequential as bets


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = np.where(
        rng.random(n) < 0.2, rng.choice([0.5, 0.25, 0.0625, 1e-12, 1 - 1e-9], n), rng.random(n)
    )
    return (rng.random(n) < p).astype(int), p


def range_bets(sample, *, dependent=True):
    return bets.RangeSums.of(sample).bets(dependent=dependent)


def recalibrated(k, p):
    """The k-th recalibration of one prediction, from what the bet says of itself."""
    one = bets.bet(k)
    inside = one.low <= p < one.high or (one.high == 1 and p >= one.low)
    if not inside:
        return p
    odds = one.slope * math.log(p / (1 - p)) + one.shift
    return 1 / (1 + math.exp(-odds)) if odds > -700 else math.exp(odds)


def test_there_are_35_maps_and_8_shifts_in_each_of_31_cells():
    said = {bets.bet(k) for k in range(bets.COUNT)}
    assert bets.COUNT == 35 + 8 * 31
    # The shifts by 0.8 of all predictions occur among the maps too.
    assert len(said) == bets.COUNT - 2
    assert {one.high - one.low for one in said} == {1, 1 / 2, 1 / 4, 1 / 8, 1 / 16}


def test_the_wealth_is_the_mean_of_products_of_ratios():
    y, p = rows(60)
    wealth = np.ones(bets.COUNT)
    test = SequentialTest().update(y, p)
    for t, (outcome, x) in enumerate(zip(y.tolist(), p.tolist(), strict=True)):
        q = np.array([recalibrated(k, x) for k in range(bets.COUNT)])
        wealth *= q / x if outcome else (1 - q) / (1 - x)
        assert test.log_wealth[t] == pytest.approx(math.log(wealth.mean()), rel=1e-6, abs=1e-6)
    assert test.e_value == pytest.approx(wealth.mean(), rel=1e-6)
    assert test.p_value == pytest.approx(min(1, math.exp(-test.log_wealth.max())))


def row_factors(p, y):
    """What one row multiplies the wealth of each bet by."""
    test = SequentialTest().update([y], [p])
    return np.exp(test._log_worth)


def test_no_bet_on_a_row_gains_in_expectation():
    for p in (1e-300, 1e-70, 1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9):
        assert_allclose(p * row_factors(p, 1) + (1 - p) * row_factors(p, 0), 1, rtol=1e-9)


def slow_logs(y, p):
    """The definition in logarithms, for predictions inside (0, 1): of each bet after each row."""
    y, odds = np.asarray(y)[:, None], np.log(p)[:, None] - np.log1p(-p)[:, None]
    said = [bets.bet(k) for k in range(bets.COUNT)]
    slope, shift, low, high = (
        np.array([getattr(one, name) for one in said]) for name in ("slope", "shift", "low", "high")
    )
    inside = (p[:, None] >= low) & ((p[:, None] < high) | (high == 1))
    new = slope * odds + shift
    factor = np.logaddexp(0, odds) - np.logaddexp(0, new) + y * (new - odds)
    return np.cumsum(np.where(inside, factor, 0), axis=0)


@for_each("kind", ["usual", "rare", "nearly sure", "far beyond doubles"])
def test_the_kernel_is_the_definition_also_where_wealth_leaves_all_doubles(kind):
    rng = np.random.default_rng(5)
    u = rng.random(2000)
    p = {
        "usual": u,
        "rare": u**20,
        "nearly sure": np.minimum(1 - u**15, 1 - 2.0**-53),
        "far beyond doubles": np.where(rng.random(2000) < 0.1, 1e-250, u),
    }[kind]
    y = rng.random(2000) < np.where(np.arange(2000) < 1000, 0.5, p)  # wrong, and then right
    each = slow_logs(y, p)
    top = each.max(axis=1)
    expected = top + np.log(np.exp(each - top[:, None]).mean(axis=1))
    test = SequentialTest().update(y, p)
    assert_allclose(test.log_wealth, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(test._log_worth, each[-1], rtol=1e-9, atol=1e-9)


@for_each("grid", [None, 8, 1024])
def test_no_bet_on_a_batch_gains_in_expectation_and_none_can_lose_all(grid):
    """All outcomes of six rows, each by its probability: independent, and all by one coin."""
    p = np.array([0.02, 0.25, 0.5, 0.55, 0.9, 0.99])
    weight = np.array([1.0, 2, 1, 1, 5, 1])
    total, least = np.zeros(bets.COUNT), np.inf
    for y in product((0, 1), repeat=6):
        sample = rainproof.Sample(np.array(y), p, sample_weight=weight)
        factor = np.exp(range_bets(sample if grid is None else sample.compress(grid)))
        total += factor * np.prod(np.where(y, p, 1 - p))
        least = min(least, factor.min())
    assert_allclose(total, 1, rtol=1e-9)
    assert least >= 1 / 16 - 1e-9
    together = np.zeros(bets.COUNT)
    edges = np.concatenate([[0], p, [1]])
    for low, high in pairwise(edges):  # one uniform number u for all: y = u < p
        sample = rainproof.Sample((p >= high).astype(int), p, sample_weight=weight)
        together += (high - low) * np.exp(
            range_bets(sample if grid is None else sample.compress(grid))
        )
    assert_allclose(together, 1, rtol=1e-9)


def number(slope, shift, low=0, high=1):
    """The number of a bet."""
    wanted = bets.Bet(slope=slope, shift=shift, low=low, high=high)
    return next(k for k in range(bets.COUNT) if bets.bet(k) == wanted)


@for_each("shift, share", [(0.2, 1 / 8), (0.4, 1 / 4), (0.8, 1 / 2), (1.6, 15 / 16)])
def test_a_batch_by_hand(shift, share):
    """All predictions 1/4, too low by a shift everywhere: the larger the shift, the more of what
    can be lost is bet.
    """
    factors = np.exp(range_bets(rainproof.Sample([1, 1, 1, 1, 0, 0, 0, 0], np.full(8, 0.25))))
    gain, loss = (0.5 - 0.25) / 0.25, (0.25 - 0.5) / 0.75
    assert factors[number(1, shift, 0.25, 0.5)] == pytest.approx(1 + share * gain)
    assert factors[number(1, -shift, 0.25, 0.5)] == pytest.approx(1 + share * loss)
    assert factors[number(1, shift, 0.5, 0.75)] == 1
    assert factors[number(2.5, -0.8)] == pytest.approx(1 + loss / 2)


@for_each("shift", [0.2, 0.4, 0.8, 1.6])
def test_a_shift_by_hand(shift):
    """The odds of an event at 1/2 are 1; the bet says that they are exp(shift)."""
    factors = np.array([row_factors(0.5, 1), row_factors(0.5, 0)])
    independent = np.exp(range_bets(rainproof.Sample([1, 0], [0.5, 0.5]), dependent=False))
    for s in (shift, -shift):
        q = np.exp(s) / (1 + np.exp(s))
        assert factors[:, number(1, s)] == pytest.approx([q / 0.5, (1 - q) / 0.5])
        assert independent[number(1, s)] == pytest.approx(q * (1 - q) / 0.25)


def test_a_test_rejects_at_its_own_p_value():
    test = SequentialTest().update([1] * 30, [0.3] * 30)
    assert test.p_value < 0.05
    assert test.rejects(test.p_value)
    assert not test.rejects(0.999 * test.p_value)


def test_pieces_do_not_matter():
    y, p = rows()
    whole = SequentialTest().update(y, p)
    pieces = SequentialTest()
    for part in np.array_split(np.arange(300), 11):
        pieces.update(y[part], p[part])
    rows_alone = SequentialTest()
    for outcome, x in zip(y.tolist(), p.tolist(), strict=True):
        rows_alone.update([outcome], [x])
    for test in (pieces, rows_alone):
        assert_array_equal(test.log_wealth, whole.log_wealth)
        assert (test.n, test.p_value, test.bet) == (whole.n, whole.p_value, whole.bet)


def test_a_sample_is_a_batch_and_stored_ones_give_the_same():
    y, p = rows()
    one = SequentialTest().update(y, p, batch=True).update(y, p, batch=True)
    two = SequentialTest().update(rainproof.Sample(y, p)).update(rainproof.Sample(y, p).compress())
    assert_array_equal(one.log_wealth, two.log_wealth)
    assert one.n == two.n == 600
    coarse = SequentialTest().update(rainproof.Sample(y, p).compress(256))
    assert coarse.log_wealth[0] == pytest.approx(one.log_wealth[0], abs=0.05)


def test_what_is_impossible_ends_it():
    test = SequentialTest().update([0, 1, 1], [0.0, 0.0, 0.5])
    assert_array_equal(np.isinf(test.log_wealth), [False, True, True])
    assert (test.e_value, test.p_value) == (math.inf, 0)
    assert "An event happened where the prediction was 0" in str(test)
    assert json.loads(json.dumps(test.to_dict()))["e_value"] is None
    assert test.bet is not None
    assert test.bet.shift > 0  # of the bets on what is possible: an event at 0.5
    test.update([0], [0.5]).update([0, 1], [0.25, 0.5], batch=True)
    assert_array_equal(np.isinf(test.log_wealth), [False, True, True, True, True])
    assert SequentialTest().update([1], [0.0]).to_dict()["bet"] is None
    assert SequentialTest().update([0, 1], [0.0, 1.0]).e_value == 1


def test_few_calibrated_forecasts_are_rejected_and_a_bad_one_soon():
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(30):
        p = rng.random(1000)
        alarms += SequentialTest().update(rng.random(1000) < p, p).rejects(0.1)
    assert alarms <= 8  # 9 of 30 have a chance of 0.2% if each had 10%
    p = rng.random(1000)
    bad = SequentialTest().update(rng.random(1000) < 0.25 + p / 2, p)
    assert bad.rejects(0.001)
    assert "too extreme" in str(bad)
    assert "not calibrated" in str(bad)


def test_it_prints_what_it_knows():
    test = SequentialTest()
    assert (test.e_value, test.p_value, test.bet, test.n) == (1.0, 1.0, None, 0)
    assert "No bet against the forecast won anything" in str(test)
    test.update([1] * 30, [0.3] * 30)
    assert test.bet.shift > 0
    assert "too low" in str(test)
    assert str(bets.Bet(slope=1.25, shift=0.3, low=0, high=1)) == (
        "predictions are not extreme enough (log odds times 1.25) and too low (log odds +0.3)"
    )
    assert (
        str(bets.Bet(slope=1, shift=-0.2, low=0.5, high=0.75))
        == "predictions between 0.5 and 0.75 are too high (log odds -0.2)"
    )
    assert str(bets.Bet(slope=1, shift=0, low=0, high=1)) == "predictions are right"
    assert repr(test).startswith("SequentialTest(n=30, e_value=")
    test.update([1] * 3000, [0.3] * 3000)
    assert test.e_value == math.inf
    assert "10^" in str(test)
    assert not test.log_wealth.flags.writeable


def test_bad_input():
    test = SequentialTest()
    with pytest.raises(InputError, match="y_prob is required"):
        test.update([0, 1])
    with pytest.raises(InputError, match="batch must be True or False"):
        test.update([0], [0.5], batch=1)
    with pytest.raises(InputError, match=r"y_prob must lie in \[0, 1\]"):
        test.update([0], [1.5])
    with pytest.raises(InputError, match="alpha must be"):
        test.rejects(0)
    assert test.n == 0
