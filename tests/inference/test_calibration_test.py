"""The exact test: p-values counted by hand, and validity by enumeration."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.digests import stream_for
from rainproof.inference.calibration_tests import quick_test
from rainproof.inference.resampling import Resampler, as_resampler
from rainproof.inference.statistics import Combined, as_test_statistic, with_fewer_cells
from rainproof.measures.catalogue import CATALOGUE

QUICK = [name for name in CATALOGUE if name != "lower_distance_to_calibration"]


@for_each("name", ["combined", *QUICK])
def test_the_null_is_that_of_all_outcomes(name):
    """Four rows have 16 outcomes: the exact upper tail of each statistic, against the share of
    draws in it.
    """
    p, y = np.array([0.2, 0.5, 0.5, 0.9]), np.array([1, 0, 1, 1])
    statistic = as_test_statistic(name).function

    def measure(outcome, p):
        return statistic(rainproof.Sample(outcome, p))

    value, tail = measure(y, p), 0.0
    for outcome in itertools.product([0, 1], repeat=4):
        outcome = np.array(outcome)
        if name == "log_score" or measure(outcome, p) >= value - 1e-9:
            worse = measure(outcome, p) >= value - 1e-9
            tail += worse * float(np.prod(np.where(outcome, p, 1 - p)))
    test = rainproof.calibration_test(y, p, statistic=name, n_resamples=1000, rng=1)
    assert test.p_value == pytest.approx(tail, abs=4 * np.sqrt(0.25 / 1000))
    assert (test.statistic, test.measure, test.value) == (
        name,
        "soft_binned_cdl",
        rainproof.soft_binned_cdl(y, p),
    )


@for_each("n", [1, 2, 20, 300])
def test_the_size_is_at_most_alpha(n):
    """P(p-value <= alpha) <= alpha; here the share of 150 calibrated samples, within its Monte
    Carlo error.
    """
    rng = np.random.default_rng(n)
    p = rng.random(n)
    rejected = np.zeros(2)
    for k in range(150):
        y = (rng.random(n) < p).astype(int)
        test = rainproof.calibration_test(y, p, n_resamples=39, rng=k)
        rejected += [test.rejects(0.1), test.rejects(0.025)]
    assert (rejected / 150 <= np.array([0.1, 0.025]) + 3 * np.sqrt([0.09 / 150, 0.025 / 150])).all()


def test_certain_predictions_that_come_true_are_never_rejected():
    test = rainproof.calibration_test([0, 1, 1], [0.0, 1.0, 1.0], n_resamples=19, rng=0)
    assert test.p_value == 1.0
    assert test.value == test.null_mean == 0.0


def test_a_certain_prediction_that_fails_is_impossible_under_calibration():
    assert rainproof.calibration_test([1, 1], [0.0, 1.0], n_resamples=99, rng=0).p_value == 0.01
    y, p = [0, 1, 0, 1, 1], [0.2, 0.6, 0.3, 0.9, 0.0]
    assert rainproof.calibration_test(y, p, n_resamples=99, rng=0).p_value == 0.01


def test_a_statistic_that_is_nan_is_no_evidence():
    def sometimes(sample):
        return float("nan") if sample.event_rate > 0.5 else 1.0

    y, p = [0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4]
    assert (
        rainproof.calibration_test(
            y, p, statistic=lambda _: float("nan"), n_resamples=19, rng=0
        ).p_value
        == 1.0
    )
    assert (
        rainproof.calibration_test(y, p, statistic=sometimes, n_resamples=19, rng=0).p_value == 1.0
    )
    assert (
        rainproof.calibration_test(
            [0, 0, 0, 1], p, statistic=sometimes, n_resamples=19, rng=0
        ).p_value
        == 1.0
    )


@for_each(
    "name",
    ["soft_binned_cdl", "cutoff_calibration_error", "smooth_calibration_error", "brier_score"],
)
@for_each("weighted", [False, True])
def test_compressed_and_row_level_nulls_agree(name, weighted):
    rng = np.random.default_rng(5)
    n = 3000
    p = (rng.random(n) ** 2).round(3)
    y = (rng.random(n) < p).astype(int)
    w = rng.exponential(size=n) if weighted else None
    sample = rainproof.Sample(y, p, sample_weight=w)
    a = rainproof.calibration_test(sample, measure=name, n_resamples=800, rng=0)
    b = rainproof.calibration_test(sample.compress(4096), measure=name, n_resamples=800, rng=1)
    spread = a.null.std()
    assert a.null_mean == pytest.approx(b.null_mean, abs=5 * spread / np.sqrt(400))
    for share in (0.1, 0.5, 0.9, 0.95):
        slack = 4 * np.sqrt(2 * share * (1 - share) / 800)  # by rank: tails are of different weight
        low, high = (
            b.null_quantile(max(share - slack, 1e-9)),
            b.null_quantile(min(share + slack, 1 - 1e-9)),
        )
        assert low <= a.null_quantile(share) <= high


def test_the_result_says_it_all():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p**2
    done = []
    test = rainproof.calibration_test(
        y, p, n_resamples=99, rng=3, progress=lambda k, n: done.append((k, n))
    )
    assert 0 < done[0][0] < 99  # by how much depends on the number of threads
    assert done[-1] == (99, 99)
    assert test.rejects()
    assert not test.rejects(0.005)
    assert test.excess == test.value - test.null.mean()
    assert test.null_band == (test.null_quantile(0.025), test.null_quantile(0.975))
    assert (np.diff(test.null) >= 0).all()
    with pytest.raises(ValueError, match="read-only"):
        test.null[0] = 1
    told = json.loads(json.dumps(test.to_dict(), allow_nan=False))
    assert (told["seed"], told["statistic"], told["value"]) == (
        3,
        "combined",
        rainproof.soft_binned_cdl(y, p),
    )
    assert repr(test).startswith(
        "CalibrationTest(p_value=0.01, statistic='combined', measure='soft_binned_cdl', value=0.0"
    )
    assert str(test).startswith(
        "Calibration is rejected at the 5% level (p = 0.01, statistic: combined, 500 "
        "rows).\nsoft_binned_cdl = 0.0"
    )
    assert "<p>" in test._repr_html_()
    calm = rainproof.calibration_test([1], [0.5], n_resamples=19, rng=0)
    assert str(calm).startswith("Calibration is not rejected (p = 1, statistic: combined, 1 row).")
    endless = rainproof.calibration_test(
        [0, 1], [1.0, 0.5], measure="log_score", n_resamples=19, rng=0
    )
    assert endless.to_dict()["value"] is None


def test_one_seed_one_result():
    y, p = [0, 1, 1, 0, 1], [0.1, 0.4, 0.8, 0.6, 0.7]
    one, two = (rainproof.calibration_test(y, p, n_resamples=50, rng=7) for _ in range(2))
    np.testing.assert_array_equal(one.null, two.null)
    made = rainproof.calibration_test(
        y, p, n_resamples=50, rng=stream_for(7, rainproof.Sample(y, p))
    )
    np.testing.assert_array_equal(one.null, made.null)
    assert made.seed is None
    assert rainproof.calibration_test(y, p, n_resamples=50).seed is None


def test_an_interrupt_comes_through():
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rainproof.calibration_test([0, 1], [0.1, 0.8], rng=0, progress=interrupt)


@for_each(
    "options, message",
    [
        ({"n_resamples": 5}, "n_resamples must be an integer from 19 to 10,000,000; it is 5"),
        ({"n_resamples": True}, "n_resamples must be an integer from 19 to 10,000,000; it is True"),
        (
            {"rng": -1},
            "rng must be None, a non-negative integer or a numpy.random.Generator; it is -1",
        ),
        (
            {"statistic": "ece"},
            "statistic must be a function or one of combined, soft_binned_cdl, .*it is 'ece'",
        ),
        (
            {"measure": "combined"},
            "measure must be a function or one of soft_binned_cdl, .*it is 'combined'",
        ),
        (
            {"rng": "x"},
            "rng must be None, a non-negative integer or a numpy.random.Generator; it is 'x'",
        ),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.calibration_test([0, 1], [0.1, 0.8], **options)


def test_levels_that_cannot_be():
    test = rainproof.calibration_test([0, 1], [0.1, 0.8], n_resamples=19, rng=0)
    with pytest.raises(
        rainproof.InputError, match="alpha must be a number between 0 and 1, both excluded; it is 1"
    ):
        test.rejects(1)


def test_cells_too_coarse_to_redraw_scdl_are_warned_of():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    sample = rainproof.Sample((rng.random(2000) < p).astype(int), p)
    with pytest.warns(
        rainproof.ResolutionWarning,
        match="SCDL redrawn from cells is about .*, too small for grid = 64",
    ):
        test = rainproof.calibration_test(sample.compress(64), n_resamples=19, rng=0)
    assert "too small" in test.to_dict()["warnings"][0]
    assert rainproof.calibration_test(sample.compress(2**16), n_resamples=19, rng=0).warnings == ()
    assert (
        rainproof.calibration_test(
            sample.compress(64), measure="smooth_ece", n_resamples=19, rng=0
        ).warnings
        == ()
    )


def alternatives(p):
    """Event probabilities that are wrong in one way each."""
    return {
        "overconfident": p**0.65 / (p**0.65 + (1 - p) ** 0.65),
        "underconfident": p**1.6 / (p**1.6 + (1 - p) ** 1.6),
        "too high": p - 0.45 * p * (1 - p),
        "alternating": np.clip(p + 0.7 * np.sin(20 * np.pi * p) * np.minimum(p, 1 - p), 0, 1),
    }


@for_each("kind", ["overconfident", "underconfident", "too high", "alternating"])
def test_the_default_statistic_finds_errors_of_every_kind(kind):
    """400 rows, 60 samples: scores find none of the second and last, SCDL little of the first
    three.
    """
    p = np.sort(np.random.default_rng(0).random(400))
    atoms = as_resampler(rainproof.Sample(np.zeros(400), p))
    evaluate, rng = Combined(atoms), np.random.default_rng(1)
    coin, wrong = atoms.coin(p), atoms.coin(alternatives(p)[kind])
    critical = np.quantile([evaluate(atoms.redraw(rng, coin)) for _ in range(400)], 0.95)
    found = np.mean([evaluate(atoms.redraw(rng, wrong)) > critical for _ in range(60)])
    assert found > 0.7


@for_each("kind", ["rows", "ties", "weights", "cells", "uneven cells", "certain"])
def test_residuals_along_the_functions_have_variance_1(kind):
    rng = np.random.default_rng(2)
    n = 600
    p = (
        rng.random(n).round(1)
        if kind == "ties"
        else np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), rng.random(n))
    )
    p = p if kind in ("ties", "certain") else rng.random(n)
    w = rng.exponential(size=n) if kind in ("weights", "uneven cells") else None
    sample = rainproof.Sample((rng.random(n) < p).astype(int), p, sample_weight=w)
    atoms = as_resampler(sample.compress(64) if "cells" in kind else sample)
    combined, coin = Combined(atoms), atoms.coin(atoms.prob)
    z = []
    for _ in range(3000):
        residual = atoms.redraw(rng, coin).positive - atoms.weight * atoms.distinct
        z.append(np.add.reduceat(residual, combined.run_start) @ combined._functions)
    z = np.array(z)[:, :6]
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(3000)
    assert np.abs(z.T @ z / 3000 - np.eye(z.shape[1])).max() < 0.15


def test_few_predictions_are_looked_at_in_every_direction():
    """Three predictions, symmetric: the log odds and the first cosine say the same, the next one
    does not.
    """
    p = np.repeat([0.2, 0.5, 0.8], 50)
    atoms = as_resampler(rainproof.Sample(np.zeros(150), p))
    assert Combined(atoms)._functions.shape == (3, 3)
    # up, down, up
    y = np.concatenate([np.arange(50) < 17, np.arange(50) < 14, np.arange(50) < 47]).astype(int)
    assert rainproof.calibration_test(y, p, rng=0).p_value < 0.01


def test_several_statistics_share_their_draws():
    """Each result is that of the statistic alone with the same seed."""
    rng = np.random.default_rng(4)
    p = rng.random(300)
    y = (rng.random(300) < p**1.2).astype(int)
    names = ["combined", "smooth_calibration_error", "brier_score"]
    together = rainproof.calibration_test(y, p, statistic=names, n_resamples=99, rng=7)
    assert list(together) == names
    for name, found in together.items():
        measure = "soft_binned_cdl" if name == "combined" else name
        alone = rainproof.calibration_test(
            y, p, statistic=name, measure=measure, n_resamples=99, rng=7
        )
        assert found.to_dict() == alone.to_dict()
        assert found.null.tolist() == alone.null.tolist()


CELLS = {
    "uniform": (0, 2**16),
    "rare": (0, 3000),
    "narrow": (2**15, 2**15 + 3000),
    "certain": (0, 2**16),
}


def test_functions_of_one_name_are_told_apart():
    rng = np.random.default_rng(9)
    p = rng.random(300)
    sample = rainproof.Sample((rng.random(300) < p**2).astype(int), p)

    def combined(sample):  # as the statistic of rainproof is called
        return rainproof.measures.brier_score(sample)

    bias, nothing = (lambda s: abs(s.event_rate - s.y_prob.mean())), (lambda _: 0.0)
    found = rainproof.calibration_test(
        sample, statistic=bias, measure=nothing, n_resamples=99, rng=0
    )
    assert (found.p_value, found.value, found.null.max()) == (0.01, 0.0, 0.0)
    brier = rainproof.calibration_test(
        sample.compress(2**12), statistic="brier_score", n_resamples=99, rng=0
    )
    assert rainproof.calibration_test(
        sample.compress(2**12), statistic=combined, n_resamples=99, rng=0
    ).p_value == (brier.p_value)
    one = rainproof.calibration_test(
        sample, statistic=["brier_score", rainproof.measures.brier_score], n_resamples=99, rng=0
    )
    assert list(one) == ["brier_score"]
    with pytest.raises(rainproof.InputError, match="statistic must have a different name for each"):
        rainproof.calibration_test(sample, statistic=[bias, nothing])


@for_each("kind", CELLS)
def test_cells_are_pooled_where_the_default_statistic_cannot_tell(kind):
    """Runs and the statistic stay, and the variance of each pool's events is that of its cells to
    1e-6.
    """
    rng, cell = np.random.default_rng(5), np.arange(*CELLS[kind])
    prob = (cell + np.where(cell > 0 if kind == "certain" else True, 0.5, 0.0)) / 2**16
    rows = rng.multinomial(10**7, np.full(len(cell), 1 / len(cell)))
    events = rng.binomial(rows, prob)
    atoms = Resampler(prob, rows, events, None, None)
    fewer = with_fewer_cells(atoms)
    assert len(fewer.prob) < 2400 < len(prob)
    assert (fewer.prob == 0).sum() == (prob == 0).sum()
    pool = np.searchsorted(np.cumsum(fewer.count), np.cumsum(rows) - rows, "right")
    count, happened, mean, variance = (
        np.bincount(pool, x) for x in (rows, events, rows * prob, rows * prob * (1 - prob))
    )
    assert (fewer.count == count).all()
    assert (fewer.events == happened).all()
    np.testing.assert_allclose(fewer.prob, mean / count, rtol=1e-12)
    np.testing.assert_allclose(fewer.count * fewer.prob * (1 - fewer.prob), variance, rtol=1e-6)
    coarse, fine = Combined(fewer), Combined(atoms)
    assert len(coarse.run_start) == len(fine.run_start)
    assert coarse(fewer.observed()) == pytest.approx(fine(atoms.observed()), abs=1e-4)


def test_atoms_that_cannot_be_pooled_are_kept():
    rng = np.random.default_rng(6)
    p = rng.random(20_000)
    uneven, even = rng.exponential(size=20_000), np.full(20_000, 2.0)
    for weight, grid in ((None, None), (uneven, 2**12), (even, 2**12), (None, 64)):
        sample = rainproof.Sample((rng.random(20_000) < p).astype(int), p, sample_weight=weight)
        atoms = as_resampler(sample if grid is None else sample.compress(grid))
        assert with_fewer_cells(atoms) is atoms


@for_each("source", [np.random.PCG64, np.random.Philox, np.random.MT19937])
def test_what_is_drawn_when_asked_for_is_what_would_have_been_drawn(source):
    rng = np.random.default_rng(7)
    p = rng.random(500)
    sample = rainproof.Sample((rng.random(500) < p**1.2).astype(int), p)
    found = quick_test(sample, 99, np.random.Generator(source(3)))
    again = rainproof.calibration_test(sample, n_resamples=99, rng=np.random.Generator(source(3)))
    stored = pickle.loads(pickle.dumps(found))
    for one in (found, stored):
        assert one.to_dict() == again.to_dict()
        assert one.null.tolist() == again.null.tolist()
    assert not found.null.flags.writeable
    assert stored._draw is None  # which has the rows
    many, every = (
        quick_test(sample, 999, np.random.Generator(source(3))),
        rainproof.calibration_test(sample, n_resamples=999, rng=np.random.Generator(source(3))),
    )
    assert (many.p_value, many.n_resamples) == (every.p_value, every.n_resamples)
    assert len(many.null) == 199  # for mean and band; they are among those of all draws
    assert {*many.null} <= {*every.null}
    assert len(quick_test(sample, 999, np.random.Generator(source(3)), 0.998).null) == 999


def test_groups_are_refused_with_the_way_out():
    y, p = np.arange(40) % 2, np.linspace(0.1, 0.9, 40)
    way_out = r"takes no groups: .*; assess\(..., groups=...\) and confidence_interval\(..., groups=...\) allow for"
    with pytest.raises(rainproof.InputError, match=way_out):
        rainproof.calibration_test(y, p, groups=np.arange(40) // 2)
