"""SCDL against its definition, and the lemmas of the paper as properties."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from helpers import soft_binned_oracle
from helpers.cases import for_each
from helpers.seeds import for_seeds
from helpers.strategies import AWKWARD, powers, samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof.core._fixed_loss import worst_threshold
from rainproof.measures.scdl import TIE

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
roundings = st.sampled_from(["soft", "hard"])


def loss(y, p, m, w=None, rounding="soft"):
    """SCDL_m on one grid, by the production path."""
    sample = rainproof.Sample(y, p, sample_weight=w)
    rounded = sample.on_grid(m, rounding)
    return (
        worst_threshold(rounded.index, rounded.weight, rounded.positive, m)[0] / sample.total_weight
    )


def ones(p, w):
    return np.ones(len(p)) if w is None else w


# --- the definition -----------------------------------------------------------------------------


@given(samples(), powers, roundings)
def test_loss_on_a_grid_is_its_definition(sample, m, rounding):
    y, p, w = sample
    assert loss(y, p, m, w, rounding) == pytest.approx(
        float(soft_binned_oracle.loss(y, p, ones(p, w), m, rounding)), abs=1e-14
    )


@given(samples(max_size=12), roundings)
def test_scdl_is_its_definition(sample, rounding):
    y, p, w = sample
    got = rainproof.soft_binned_cdl(y, p, sample_weight=w, rounding=rounding)
    if got > 1 / 64:
        expected = soft_binned_oracle.scdl(y, p, w, rounding, largest=128)
        # a loss that is nearly 1/m is 1/m
        tied = math.frexp(got)[0] == 0.5 and (1 - TIE) * got <= expected <= got
        assert tied or got == pytest.approx(expected, abs=1e-14)
    else:  # the oracle is O(m^2): check instead that no small grid has an answer
        assert soft_binned_oracle.loss(y, p, ones(p, w), 64, rounding) <= 1 / 64


@for_seeds(16)
def test_scdl_is_its_definition_on_larger_samples(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 400))
    p = [
        rng.random(n),
        rng.beta(0.2, 0.2, n),
        np.round(rng.random(n), 1),
        rng.integers(0, 33, n) / 32,
    ][seed % 4]
    y = (
        (rng.random(n) < rng.random()).astype(int)
        if seed % 3
        else (rng.random(n) < p**2).astype(int)
    )
    w = rng.choice([1.0, 2.0, 0.1, 1e6], n) if seed % 2 else None
    for rounding in ("soft", "hard"):
        got = rainproof.soft_binned_cdl(y, p, sample_weight=w, rounding=rounding)
        assert got == pytest.approx(
            soft_binned_oracle.scdl(y, p, w, rounding, largest=128), abs=1e-13
        )


@for_each("p", AWKWARD)
@for_each("y", [0, 1])
@for_each("rounding", ["soft", "hard"])
def test_one_row(p, y, rounding):
    m = 64
    assert loss([y], [p], m, rounding=rounding) == pytest.approx(
        float(soft_binned_oracle.loss([y], [p], [1], m, rounding)), abs=1e-15
    )


@given(samples(), st.integers(7, 49).map(lambda k: 2**k), roundings)
def test_a_fine_grid_is_the_definition_on_its_occupied_bins(sample, m, rounding):
    """Where the O(m^2) oracle cannot go: its sums over occupied bins only, at the thresholds j and
    j - 1.
    """

    y, p, w = sample
    w = ones(p, w)
    total, bins = sum(map(Fraction, w)), {}
    for yt, pt, wt in zip(y, p, w, strict=True):
        low = math.floor(Fraction(pt) * m)
        up = Fraction(pt) * m - low if rounding == "soft" else Fraction(0)
        for j, share in ((low, 1 - up), (low + 1, up)):
            pi, s = bins.get(j, (Fraction(0), Fraction(0)))
            bins[j] = pi + share * Fraction(wt) / total, s + share * Fraction(wt) / total * int(yt)
    expected = max(
        sum(
            max(s - pi * Fraction(i + 1, m), 0) if j <= i else max(pi * Fraction(i, m) - s, 0)
            for j, (pi, s) in bins.items()
        )
        for i in {i for j in bins for i in (j, j - 1) if i >= 0}
    )
    assert loss(y, p, m, w, rounding) == pytest.approx(float(expected), abs=1e-14)


# --- the lemmas ---------------------------------------------------------------------------------


@given(samples(), powers, roundings)
def test_loss_grows_with_the_grid(sample, m, rounding):
    """Lemma 3.2, and the same argument for hard rounding."""
    y, p, w = sample
    assert loss(y, p, 2 * m, w, rounding) >= loss(y, p, m, w, rounding) - 1e-15


@given(samples(), powers)
def test_halving(sample, m):
    """The identity inside Lemma 3.2: coarse bins are fine ones plus half their neighbours."""
    y, p, w = sample
    rows = rainproof.Sample(y, p, sample_weight=w)

    def dense(grid):
        rounded = rows.on_grid(grid)
        out = np.zeros((2, grid + 1))
        out[0, rounded.index], out[1, rounded.index] = rounded.weight, rounded.positive
        return out

    fine = np.pad(dense(2 * m), ((0, 0), (1, 1)))
    halved = fine[:, 1:-1:2] + (fine[:, 0:-2:2] + fine[:, 2::2]) / 2
    assert_allclose(dense(m), halved, rtol=1e-12, atol=1e-14 * ones(p, w).sum())


@given(samples(), roundings)
def test_value_lies_where_the_lemma_says(sample, rounding):
    """Lemma 3.3: SCDL in [1/m*, 2/m*), and SCDL_{2m*} >= SCDL; m* infinite exactly when it is 0."""
    y, p, w = sample
    prof = rainproof.measures.soft_binned_profile(y, p, sample_weight=w, rounding=rounding)
    at = dict(zip(prof.grids.tolist(), prof.losses.tolist(), strict=True))
    assert prof.value == rainproof.soft_binned_cdl(y, p, sample_weight=w, rounding=rounding)
    if math.isinf(prof.m_star):
        assert prof.value == 0
        assert prof.losses.max() < 2.0**-49
        return
    assert 1 / prof.m_star <= prof.value < 2 / prof.m_star
    assert prof.value == max(at[prof.m_star], 1 / prof.m_star)
    assert at[2 * prof.m_star] >= prof.value - 1e-15
    for m in prof.grids.tolist():
        assert (at.get(2 * m, at[m]) >= 1 / m) <= (m >= prof.m_star)


@given(samples(), powers)
def test_rounding_twice_is_rounding_once(sample, m):
    """Lemma 4.1: SCDL_m(D_m) = SCDL_m(D)."""
    y, p, w = sample
    rounded = rainproof.Sample(y, p, sample_weight=w).on_grid(m)
    grid = np.repeat(rounded.index / m, 2)
    outcome = np.tile([0, 1], len(rounded.index))
    weight = np.stack(
        [np.maximum(rounded.weight - rounded.positive, 0), rounded.positive], axis=1
    ).ravel()
    assert loss(outcome, grid, m, weight) == pytest.approx(loss(y, p, m, w), abs=1e-14)


@given(samples(), powers, st.integers(0, 2**32 - 1))
def test_soft_rounding_is_continuous(sample, m, seed):
    """Lemma 5.2 with its constant: a move of p by d moves sum |pi_j - pi'_j| by at most 2 m d."""
    y, p, w = sample
    rng = np.random.default_rng(seed)
    moved = np.clip(p + rng.uniform(-1, 1, len(p)) * 10.0 ** rng.uniform(-12, 0), 0, 1)
    distance = np.average(np.abs(moved - p), weights=ones(p, w))
    assert abs(loss(y, p, m, w) - loss(y, moved, m, w)) <= 4 * m * distance + 1e-14


@given(samples(), st.integers(0, 2**32 - 1))
def test_scdl_is_half_holder_continuous(sample, seed):
    """Theorem 5.1: |SCDL(D1)^2 - SCDL(D2)^2| = O(E|p1 - p2|); the constant 16 follows from the one
    above.
    """
    y, p, w = sample
    rng = np.random.default_rng(seed)
    moved = np.clip(p + rng.uniform(-1, 1, len(p)) * 10.0 ** rng.uniform(-12, 0), 0, 1)
    distance = np.average(np.abs(moved - p), weights=ones(p, w))
    one, two = (
        rainproof.soft_binned_cdl(y, p, sample_weight=w),
        rainproof.soft_binned_cdl(y, moved, sample_weight=w),
    )
    assert abs(one**2 - two**2) <= 16 * distance + 1e-14


def test_hard_rounding_is_not_continuous():
    """Half of the predictions of 1/2 moved down by a hair: rounded down they land a whole bin
    lower.
    """
    n = 1000
    y = np.array([0, 1] * (n // 2))
    above, below = np.full(n, 0.5), np.full(n, 0.5 - 1e-12)
    p = np.where(y == 1, above, below)  # calibrated, but for a hair that tells the outcomes apart
    hard = [rainproof.soft_binned_cdl(y, q, rounding="hard") for q in (above, p)]
    soft = [rainproof.soft_binned_cdl(y, q) for q in (above, p)]
    assert hard[0] == 0
    assert hard[1] >= 0.1
    assert soft[0] == 0
    assert soft[1] < 1e-5


# --- special samples ----------------------------------------------------------------------------


def calibrated(prob, rows):
    """Rows at `prob`, of which exactly that share are events."""
    events = round(prob * rows)
    assert events == prob * rows
    return np.arange(rows) < events, np.full(rows, prob)


@for_each("rounding", ["soft", "hard"])
@for_each(
    "levels",
    [
        [(0.5, 2)],
        [(0.1, 10), (0.9, 10)],
        [(k / 10, 1000) for k in range(11)],
        [(k / 7 * 0.875, 8) for k in range(8)],
    ],
)
def test_a_perfectly_calibrated_sample_is_zero(levels, rounding):
    y, p = map(np.concatenate, zip(*(calibrated(*level) for level in levels), strict=True))
    prof = rainproof.measures.soft_binned_profile(y, p, rounding=rounding)
    assert prof.value == 0.0
    assert prof.m_star == math.inf
    assert prof.regret_bound == 0.0
    assert prof.worst_threshold is None
    assert prof.to_dict()["m_star"] is None
    w = np.full(len(y), 0.1)
    assert rainproof.soft_binned_cdl(y, p, sample_weight=w, rounding=rounding) == 0.0


def test_zero_and_one_are_calibrated_when_they_come_true():
    assert rainproof.soft_binned_cdl([0, 1, 0], [0, 1, 0.0]) == 0.0


@for_each("p", [1e-3, 1e-6, 1e-9, 1e-12, 3e-14])
def test_tiny_predictions_that_never_come_true(p):
    """With y = 0 all mass sits at p: SCDL_m tends to p from below, so SCDL lies in (p/4, p]."""
    prof = rainproof.measures.soft_binned_profile([0, 0, 0], [p, p, p])
    assert p / 4 < prof.value <= p
    assert prof.m_star < 4 / p
    mirrored = rainproof.soft_binned_cdl([1, 1, 1], [1 - p] * 3)
    assert mirrored == pytest.approx(prof.value, rel=1.0)


def test_what_doubles_cannot_tell_apart_is_zero():
    assert rainproof.soft_binned_cdl([0], [5e-324]) == 0.0
    assert rainproof.soft_binned_cdl([0], [1e-16]) == 0.0
    assert rainproof.soft_binned_cdl([1], [1 - 2**-53]) == 0.0


def test_the_worst_possible_sample():
    """Always sure, always wrong: nothing can lose more, and SCDL is 1/2 at most."""
    assert rainproof.soft_binned_cdl([0], [1.0]) == 0.5
    assert rainproof.soft_binned_cdl([1], [0.0]) == 0.5
    # by hand: 1/2 (1 - 2/4) + 1/2 (1/4) at m = 4, i = 1
    assert rainproof.soft_binned_cdl([0, 1], [1.0, 0.0]) == 0.375


def test_calibrated_rows_need_one_pass_and_weighted_ones_two():
    rng = np.random.default_rng(1)
    p = rng.random(1 << 20)
    sample = rainproof.Sample(rng.random(1 << 20) < p, p)
    assert rainproof.measures.soft_binned_profile(sample).m_star <= 4096
    assert list(sample.tables.passes) == [8192]
    weighted = rainproof.Sample(sample.y_true, p, sample_weight=np.ones(1 << 20))
    assert rainproof.soft_binned_cdl(weighted) == pytest.approx(
        rainproof.soft_binned_cdl(sample), abs=1e-13
    )
    assert list(weighted.tables.passes) == [4096, 8192]


def test_many_rows_give_the_same_bits_in_any_order_and_on_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(2)
    # small ones have more digits than a cell's offset keeps
    p = 1 / (1 + np.exp(-rng.normal(-6, 3, 700_000)))
    y, order = rng.random(len(p)) < p, rng.permutation(len(p))
    one = rainproof.measures.soft_binned_profile(y, p)
    monkeypatch.setattr("rainproof.core.cells.available_threads", lambda: 1)
    another = rainproof.measures.soft_binned_profile(
        y[order].astype(float), np.repeat(p[order], 2)[::2]
    )
    assert_array_equal(one.losses, another.losses)


def test_many_rows_need_a_second_pass():
    """Many rows of a calibrated forecaster of rare events balance on a grid finer than the first
    pass uses.
    """
    rng = np.random.default_rng(1)
    n = 1 << 20
    p = rng.beta(1, 99, n)
    y = rng.random(n) < p
    prof = rainproof.measures.soft_binned_profile(y, p)
    assert prof.m_star >= 1 << 13
    fine = rainproof.Sample(y, p).compress(1 << 20)
    assert rainproof.soft_binned_cdl(fine) == pytest.approx(prof.value, abs=1e-13)
    assert_allclose(rainproof.measures.soft_binned_profile(fine).losses, prof.losses, atol=1e-13)


def test_many_rows_perfectly_calibrated():
    y, p = map(np.concatenate, zip(*(calibrated(k / 16, 1 << 15) for k in range(17)), strict=True))
    assert rainproof.measures.soft_binned_profile(y, p).m_star == math.inf


@given(samples(), roundings, st.integers(7, 20).map(lambda k: 2**k))
def test_compression_keeps_every_coarser_grid(sample, rounding, m):
    y, p, w = sample
    whole, small = (
        rainproof.Sample(y, p, sample_weight=w),
        rainproof.Sample(y, p, sample_weight=w).compress(m),
    )
    one, two = (
        rainproof.measures.soft_binned_profile(s, rounding=rounding) for s in (whole, small)
    )
    shared = np.intersect1d(one.grids, two.grids)
    shared = shared[shared <= m]
    assert_allclose(
        one.losses[np.isin(one.grids, shared)], two.losses[np.isin(two.grids, shared)], atol=1e-13
    )
    if 2 * one.m_star <= m:
        assert two.value == pytest.approx(one.value, abs=1e-13)
        if two.m_star != one.m_star:  # a tie: SCDL_2m = 1/m to the last bits
            assert one.value * min(one.m_star, two.m_star) == pytest.approx(1, abs=1e-12)
    else:
        assert two.value <= 2 / m + 1e-13
        assert any("below the resolution" in note for note in two.warnings)


def test_below_its_resolution_a_compressed_sample_gives_a_bound():
    """Two outcomes of one cell told apart by a hair: compression cannot see it, and must not say
    that all is well.
    """
    y = np.array([0, 1] * 500)
    p = np.where(y == 1, 0.5001, 0.5005)
    rows, small = (
        rainproof.soft_binned_cdl(y, p),
        rainproof.soft_binned_cdl(rainproof.Sample(y, p).compress(64)),
    )
    assert rows <= small == 1 / 64
    rare = np.arange(100_000) < 2
    profile = rainproof.measures.soft_binned_profile(
        rainproof.Sample(rare, np.full(100_000, 1e-9)).compress()
    )
    assert rainproof.soft_binned_cdl(rare, np.full(100_000, 1e-9)) <= profile.value <= 2 / 2**16
    assert profile.m_star == 2**16
    assert "the number given is an upper bound" in profile.warnings[0]


def test_rare_events_need_no_sort(monkeypatch):
    """Many small predictions have a fine m*: further passes find it."""
    monkeypatch.setattr("rainproof.core.tables.DistinctTable", None)
    rng = np.random.default_rng(3)
    n = 1 << 18  # from so many rows on a further pass is cheaper than sorting
    p = rng.beta(1, 20_000, n)
    prof = rainproof.measures.soft_binned_profile(rng.random(n) < p, p)
    assert prof.m_star > 16 * math.isqrt(n)


# --- the result ---------------------------------------------------------------------------------


def make():
    rng = np.random.default_rng(0)
    p = rng.random(1000)
    return rng.random(1000) < p**2, p


def test_profile_has_every_grid_up_to_twice_m_star():
    prof = rainproof.measures.soft_binned_profile(*make())
    assert_array_equal(prof.grids, 2 ** np.arange(1, len(prof.grids) + 1))
    assert prof.grids[-1] == 2 * prof.m_star
    assert_array_equal(np.diff(prof.losses) >= 0, True)
    at = prof.grids == prof.m_star
    assert prof.regret_bound == 2 * prof.losses[at][0] + 2 / prof.m_star
    assert prof.worst_threshold == (
        prof.thresholds[at][0],
        prof.thresholds[at][0] + 1 / prof.m_star,
    )
    low, high = prof.worst_threshold
    assert 0 <= low < high <= 1


def test_the_worst_threshold_is_where_the_loss_is():
    y, p = make()
    prof = rainproof.measures.soft_binned_profile(y, p)
    pi, s = soft_binned_oracle.rounded(y, p, np.ones(1000), prof.m_star)
    i = round(prof.worst_threshold[0] * prof.m_star)
    at = prof.losses[prof.grids == prof.m_star][0]
    assert float(soft_binned_oracle.fixed_loss(pi, s, prof.m_star, i)) == pytest.approx(
        at, abs=1e-14
    )


@for_each("rounding", ["soft", "hard"])
def test_first_crossing_and_definition_1_1(rounding):
    """SCDL = min(SCDL_m', 2/m') on the first grid m' with SCDL_m' >= 1/m'; both cases occur."""
    rng, cases = np.random.default_rng(5), set()
    for n in (100, 150, 200, 300, 400, 1000):
        for power in (1, 1.5, 3):
            p = rng.random(n)
            y = rng.random(n) < p**power
            prof = rainproof.measures.soft_binned_profile(y, p, rounding=rounding)
            crossed = rainproof.measures.soft_binned_profile(
                y, p, rounding=rounding, rule="first_crossing"
            )
            first = int(np.flatnonzero(prof.losses >= 1 / prof.grids)[0])
            assert crossed.value == prof.losses[first]
            assert prof.value == pytest.approx(min(crossed.value, 2 / prof.grids[first]), abs=1e-15)
            assert crossed.to_dict() == {
                **prof.to_dict(),
                "value": crossed.value,
                "rule": "first_crossing",
            }
            cases.add(int(prof.grids[first] / prof.m_star))
    assert cases == {1, 2}
    assert "rule='first_crossing'" in repr(crossed)


def test_first_crossing_of_a_calibrated_sample_and_below_a_compressed_grid():
    y, p = np.repeat([0, 1], 60), np.full(120, 0.5)
    assert rainproof.measures.soft_binned_profile(y, p, rule="first_crossing").value == 0
    y, p = make()
    with (
        pytest.warns(rainproof.ResolutionWarning),
        pytest.raises(
            rainproof.InputError,
            match=r"^rule='first_crossing' needs a sample compressed to a finer grid than 16$",
        ),
    ):
        rainproof.measures.soft_binned_profile(
            rainproof.Sample(y, p).compress(16), rule="first_crossing"
        )
    with pytest.raises(
        rainproof.InputError, match=r"^rule must be 'balance' or 'first_crossing'; it is 'last'$"
    ):
        rainproof.measures.soft_binned_profile(y, p, rule="last")


def test_profile_prints_and_serialises():
    prof = rainproof.measures.soft_binned_profile(*make())
    shown = f"value={prof.value:.6g}, m_star={prof.m_star}, rounding='soft', rule='balance', n=1000"
    assert repr(prof) == f"SoftBinnedProfile({shown})"
    assert f"<td>{prof.value:.4g}</td>" in prof._repr_html_()
    back = json.loads(json.dumps(prof.to_dict()))
    assert back["value"] == prof.value
    assert back["losses"] == prof.losses.tolist()
    assert back["rounding"] == "soft"
    assert back["regret_bound"] == prof.regret_bound
    assert back["worst_threshold"] == list(prof.worst_threshold)
    with pytest.raises(ValueError, match="read-only"):
        prof.losses[0] = 1


def test_the_bound_is_never_more_than_everything():
    assert rainproof.measures.soft_binned_profile([0], [1.0]).regret_bound == 1.0


@pytest.mark.filterwarnings("error::rainproof.RainproofWarning")
def test_doubt_is_a_typed_warning_and_kept():
    y, p = make()
    assert rainproof.measures.soft_binned_profile(y, p).warnings == ()
    with pytest.warns(rainproof.FewRowsWarning, match="only 99 rows: much of the value"):
        prof = rainproof.measures.soft_binned_profile(y[:99], p[:99])
    assert prof.warnings == ("only 99 rows: much of the value can be due to chance",)
    with pytest.warns(
        rainproof.OneClassWarning,
        match="every outcome is 1: nothing is known about the other outcome",
    ):
        rainproof.measures.soft_binned_profile(np.ones(1000), p)
    with pytest.warns(
        rainproof.ResolutionWarning, match="grid = 16: the number given is an upper bound"
    ):
        rainproof.measures.soft_binned_profile(rainproof.Sample(y, p).compress(16))
    assert rainproof.soft_binned_cdl(y[:3], p[:3]) > 0  # a bare number comes without


@for_each("m", [4, 16, 64])
def test_a_compressed_profile_shows_no_grid_that_its_rows_are_unknown_on(m):
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    y = rng.random(3000) < p  # calibrated: m* is finer than m
    small, rows = (
        rainproof.measures.soft_binned_profile(rainproof.Sample(y, p).compress(m)),
        rainproof.measures.soft_binned_profile(y, p),
    )
    assert small.m_star == small.grids[-1] == m
    assert_allclose(small.losses, rows.losses[: len(small.losses)], atol=1e-15)


def exact_m_star(y, p, w, largest=32):
    """The smallest m = 2, 4, ... with SCDL_2m >= 1/m, in fractions; None if none up to `largest`
    has it.
    """
    grids = (2**k for k in range(1, largest.bit_length()))
    return next(
        (m for m in grids if soft_binned_oracle.loss(y, p, w, 2 * m) >= Fraction(1, m)), None
    )


@for_each("scale", [1, 3, 0.1, 1e-5, 7e8])
def test_a_tie_is_a_tie_whatever_the_weights_are_multiplied_with(scale):
    """Predictions and shares that are multiples of 1/16: the loss is often exactly 1/m."""
    rng, ties = np.random.default_rng(3), 0
    for _ in range(150):
        n = int(rng.integers(1, 5))
        y, p, w = rng.integers(0, 2, n), rng.integers(0, 9, n) / 8, rng.choice([1, 2, 3, 5], n)
        expected = exact_m_star(y, p, w)
        if expected is not None:
            ties += soft_binned_oracle.loss(y, p, w, 2 * expected) == Fraction(1, expected)
            assert (
                rainproof.measures.soft_binned_profile(y, p, sample_weight=w * scale).m_star
                == expected
            )
    assert ties > 5


def test_classes_are_noticed():
    y = [0, 1] * 20
    with pytest.warns(
        rainproof.ClassesWarning,
        match="every prediction is 0 or 1: these are classes, not probabilities",
    ):
        rainproof.measures.soft_binned_profile(rainproof.Sample(y * 3, [0.0, 1.0] * 60))
    with warnings.catch_warnings():
        warnings.simplefilter("error", rainproof.ClassesWarning)
        warnings.simplefilter("ignore", rainproof.FewRowsWarning)
        rainproof.measures.soft_binned_profile(y, [0.0, 1.0] * 19 + [0.5, 1.0])
        rainproof.measures.soft_binned_profile([0, 1], [0.0, 1.0])  # too few to tell


@for_each("short, m_star", [(0.0, 4), (4e-13, 4), (1e-11, 8)])
def test_a_loss_equal_to_the_grid_up_to_rounding_decides_m_star(short, m_star):
    """All predictions are 1/2: SCDL_m = |q - 1/2| - 1/m. With q = 7/8 SCDL_8 is 1/4 and m* is 4, up
    to rounding.
    """
    q = 0.5 + 0.375 * (1 - short)
    with pytest.warns(rainproof.FewRowsWarning):
        found = rainproof.measures.soft_binned_profile([1, 0], [0.5, 0.5], sample_weight=[q, 1 - q])
    assert found.m_star == m_star
