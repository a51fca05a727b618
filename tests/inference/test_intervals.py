"""Intervals: what each method promises, and where its ends come from."""

from __future__ import annotations

import json

import numpy as np
import pytest

import brolly
from brolly.inference.interval_methods import Basic, Inversion, Percentile, residual_curve
from brolly.inference.resampling_units import as_atoms

MEASURES = ["soft_binned_cdl", "cutoff_calibration_error", "expected_calibration_error"]


def rows(n=600, seed=0, slope=1.0, decimals=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n) if decimals is None else rng.random(n).round(decimals)
    return (rng.random(n) < 0.5 + slope * (p - 0.5)).astype(int), p


@pytest.mark.parametrize("measure", MEASURES)
def test_a_calibrated_forecaster_gets_an_interval_from_0(measure):
    found = brolly.confidence_interval(*rows(seed=1), measure=measure, n_resamples=59, rng=0)
    assert found.method == "inversion"
    assert found.low == pytest.approx(0.0, abs=1e-12)
    assert found.corrected < found.estimate
    assert found.bias == found.estimate - found.corrected


@pytest.mark.parametrize("measure", MEASURES)
def test_a_bad_forecaster_does_not(measure):
    y, p = rows(2000, slope=0.3)
    found = brolly.confidence_interval(y, p, measure=measure, n_resamples=59, rng=0)
    truth = brolly.list_measures()[measure](
        np.repeat([0, 1], len(p)), np.tile(p, 2), sample_weight=np.concatenate([0.65 - 0.3 * p, 0.35 + 0.3 * p])
    )
    assert 0 < found.low < truth < found.high


def test_levels_are_nested_and_come_from_the_same_draws():
    found = brolly.confidence_interval(*rows(slope=0.6), n_resamples=59, rng=0)
    wide, narrow = found.at(0.99), found.at(0.5)
    assert wide.low <= found.low <= narrow.low <= narrow.high <= found.high <= wide.high
    again = brolly.confidence_interval(*rows(slope=0.6), n_resamples=59, rng=0, confidence_level=0.5)
    assert (again.low, again.high) == (narrow.low, narrow.high)
    assert narrow.confidence_level == 0.5


def test_percentile_and_basic_are_the_textbook_ones():
    y, p = rows(200)
    found = {
        method: brolly.confidence_interval(
            y, p, measure="brier_score", method=method, n_resamples=99, rng=1, confidence_level=0.9
        )
        for method in ("percentile", "basic")
    }
    one, other = found["percentile"], found["basic"]
    assert one.low + other.high == pytest.approx(2 * one.estimate)
    assert one.high + other.low == pytest.approx(2 * one.estimate)
    assert brolly.confidence_interval(y, p, measure="brier_score", n_resamples=99, rng=1).method == "percentile"
    spread = np.std((y - p) ** 2) / np.sqrt(200)
    assert one.high - one.low == pytest.approx(2 * 1.645 * spread, rel=0.3)


@pytest.mark.parametrize("measure", ["soft_binned_cdl", "cutoff_calibration_error", "brier_score"])
def test_compressed_and_row_level_intervals_agree(measure):
    y, p = rows(3000, slope=0.6, decimals=3)
    sample = brolly.Sample(y, p)
    a = brolly.confidence_interval(sample, measure=measure, n_resamples=299, rng=0)
    b = brolly.confidence_interval(sample.compress(4096), measure=measure, n_resamples=299, rng=1)
    width = a.high - a.low
    assert a.estimate == pytest.approx(b.estimate, abs=1e-3)
    assert a.low == pytest.approx(b.low, abs=0.2 * width)
    assert a.high == pytest.approx(b.high, abs=0.2 * width)


def test_weighted_intervals_agree_with_compressed_ones():
    y, p = rows(2000, slope=0.6, decimals=2)
    sample = brolly.Sample(y, p, sample_weight=np.random.default_rng(5).exponential(size=2000))
    a, b = (
        brolly.confidence_interval(s, measure="smooth_calibration_error", n_resamples=199, rng=0)
        for s in (sample, sample.compress(4096))
    )
    width = a.high - a.low
    assert a.low == pytest.approx(b.low, abs=0.25 * width)
    assert a.high == pytest.approx(b.high, abs=0.25 * width)


def test_clusters_widen_the_interval():
    """Each row eight times tells no more than once."""
    y, p = rows(200, slope=0.5)
    groups = np.tile(np.arange(200), 8)
    many = np.tile(y, 8), np.tile(p, 8)
    options = {"measure": "brier_score", "n_resamples": 199, "rng": 0}
    once = brolly.confidence_interval(y, p, **options)
    grouped = brolly.confidence_interval(*many, groups=groups, method="percentile", **options)
    naive = brolly.confidence_interval(*many, **options)
    assert grouped.high - grouped.low == pytest.approx(once.high - once.low, rel=0.25)
    assert naive.high - naive.low < 0.6 * (grouped.high - grouped.low)
    assert brolly.confidence_interval(*many, groups=groups, n_resamples=19, rng=0).method == "subsampling"


def test_subsampling_scales_to_the_whole_sample():
    y, p = rows(1000)
    options = {"measure": "brier_score", "n_resamples": 299, "rng": 0}
    a = brolly.confidence_interval(y, p, method="subsampling", **options)
    b = brolly.confidence_interval(y, p, method="basic", **options)
    assert a.high - a.low == pytest.approx(b.high - b.low, rel=0.2)
    assert a.corrected == pytest.approx(a.estimate, abs=0.01)


def test_a_perfect_sample_still_has_an_upper_end():
    y, p = np.tile([0, 1], 50), np.full(100, 0.5)
    found = brolly.confidence_interval(y, p, measure="expected_calibration_error", n_resamples=99, rng=0)
    assert found.low == 0.0
    certain = brolly.confidence_interval([0, 1] * 20, [0.0, 1.0] * 20, n_resamples=19, rng=0)
    assert certain.low == certain.corrected == 0.0


def test_the_laws_by_hand():
    draws = np.arange(1.0, 101.0)
    assert Percentile(50.0, draws).ends(0.9) == (5.0, 95.0)
    assert Basic(50.0, draws).ends(0.9) == (5.0, 95.0)
    assert Basic(50.0, draws, 0.5).ends(0.9) == (27.5, 72.5)
    assert Percentile(50.0, draws).corrected == 49.5
    assert Basic(50.0, draws, 0.5).corrected == 49.75
    line = Inversion(3.0, np.array([0.0, 1.0, 2.0]), np.array([[1.0], [2.0], [5.0]]))
    assert line.ends(0.9) == pytest.approx((4 / 3, 4 / 3))
    assert Inversion(0.5, line.values, line.draws).ends(0.9) == (0.0, 0.0)
    assert Inversion(9.0, line.values, line.draws).corrected == 2.0


def test_values_that_samples_share_end_at_the_outer_population():
    """Where two populations in a row show the same value most often, an end between them is the outer one."""
    values = np.arange(5.0)
    draws = np.array([[1.0], [2.0], [2.0], [2.0], [3.0]])
    assert Inversion(2.0, values, draws).ends(0.9) == (0.0, 4.0)
    assert Inversion(1.0, values, draws).ends(0.9) == (0.0, 1.0)


def test_the_residual_curve_finds_the_bias():
    y, p = rows(20_000, slope=0.5)
    sample = brolly.Sample(y, p)
    atoms = as_atoms(sample)
    assert residual_curve(sample, atoms) == pytest.approx(0.5 * (0.5 - atoms.prob), abs=0.06)
    y, p = rows(5000, slope=0.5, decimals=1)
    weighted = brolly.Sample(y, p, sample_weight=np.full(5000, 0.1))
    atoms = as_atoms(weighted)
    assert residual_curve(weighted, atoms) == pytest.approx(0.5 * (0.5 - atoms.prob), abs=0.08)


def test_the_result_says_it_all():
    found = brolly.confidence_interval(*rows(300, slope=0.5), n_resamples=39, rng=4)
    said = json.loads(json.dumps(found.to_dict()))
    assert (said["confidence_level"], said["method"], said["n"], said["seed"], said["warnings"]) == (
        0.95,
        "inversion",
        300,
        4,
        [],
    )
    assert repr(found).startswith("ConfidenceInterval(low=0")
    assert "in the population, with 95% confidence (inversion)." in str(found)
    assert "<p>" in found._repr_html_()
    assert "array" not in repr(found)


def test_a_function_has_an_interval_too():
    found = brolly.confidence_interval(
        *rows(100), measure=lambda sample: 1 - sample.event_rate, method="percentile", n_resamples=39, rng=0
    )
    assert found.low < found.estimate < found.high
    assert found.measure == "<lambda>"


def test_few_rows_are_warned_of():
    with pytest.warns(brolly.FewRowsWarning, match="3 rows are few to resample: the interval can be far"):
        found = brolly.confidence_interval([0, 1, 1], [0.2, 0.5, 0.7], n_resamples=19, rng=0)
    assert found.warnings
    with pytest.warns(brolly.FewRowsWarning, match="^1 row is few to resample"):
        brolly.confidence_interval([1], [0.7], n_resamples=19, rng=0)
    with pytest.warns(brolly.FewRowsWarning, match="2 groups are few to resample"):
        brolly.confidence_interval([0, 1, 1], [0.2, 0.5, 0.7], groups=[0, 0, 1], n_resamples=19, rng=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 95}, "level must be a number between 0 and 1, both excluded; it is 95"),
        ({"method": "bca"}, "method must be one of auto, inversion, percentile, basic, subsampling; it is 'bca'"),
        ({"method": "inversion", "groups": [0, 1]}, "method must not be 'inversion' with groups"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(brolly.InputError, match=message):
        brolly.confidence_interval([0, 1], [0.1, 0.8], **options)
