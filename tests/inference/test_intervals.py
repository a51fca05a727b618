"""Intervals: what each method promises, and where its ends come from."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from benchmarks.studies import coverage
from rainproof.inference.intervals import (
    METHODS,
    Estimated,
    basic_ends,
    inversion_ends,
    percentile_ends,
    where_observed,
)
from rainproof.inference.populations import PopulationPath
from rainproof.inference.resampling import as_resampler
from rainproof.inference.statistics import as_statistic

MEASURES = ["soft_binned_cdl", "cutoff_calibration_error", "expected_calibration_error"]


def rows(n=600, seed=0, slope=1.0, decimals=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n) if decimals is None else rng.random(n).round(decimals)
    return (rng.random(n) < 0.5 + slope * (p - 0.5)).astype(int), p


@pytest.mark.filterwarnings("ignore:expected_calibration_error compares:rainproof.FewRowsWarning")
@for_each("measure", MEASURES)
def test_a_calibrated_forecaster_gets_an_interval_from_0(measure):
    found = rainproof.confidence_interval(*rows(seed=1), measure=measure, n_resamples=59, rng=0)
    assert found.method == "inversion"
    assert found.low == pytest.approx(0.0, abs=1e-12)
    assert found.corrected < found.estimate
    assert found.bias == found.estimate - found.corrected


@pytest.mark.filterwarnings("ignore:expected_calibration_error compares:rainproof.FewRowsWarning")
@for_each("measure", MEASURES)
def test_a_bad_forecaster_does_not(measure):
    y, p = rows(2000, slope=0.3)
    found = rainproof.confidence_interval(y, p, measure=measure, n_resamples=59, rng=0)
    truth = rainproof.list_measures()[measure](
        np.repeat([0, 1], len(p)),
        np.tile(p, 2),
        sample_weight=np.concatenate([0.65 - 0.3 * p, 0.35 + 0.3 * p]),
    )
    assert 0 < found.low < truth < found.high


def test_levels_are_nested_and_come_from_the_same_draws():
    found = rainproof.confidence_interval(*rows(slope=0.6), n_resamples=59, rng=0)
    wide, narrow = found.at(0.99), found.at(0.5)
    assert wide.low <= found.low <= narrow.low <= narrow.high <= found.high <= wide.high
    again = rainproof.confidence_interval(
        *rows(slope=0.6), n_resamples=59, rng=0, confidence_level=0.5
    )
    assert (again.low, again.high) == (narrow.low, narrow.high)
    assert narrow.confidence_level == 0.5


def test_percentile_and_basic_are_the_textbook_ones():
    y, p = rows(200)
    found = {
        method: rainproof.confidence_interval(
            y, p, measure="brier_score", method=method, n_resamples=99, rng=1, confidence_level=0.9
        )
        for method in ("percentile", "basic")
    }
    one, other = found["percentile"], found["basic"]
    assert one.corrected == other.corrected
    assert one.corrected == pytest.approx(one.estimate, abs=0.2 * (one.high - one.low))
    assert one.low + other.high == pytest.approx(2 * one.estimate)
    assert one.high + other.low == pytest.approx(2 * one.estimate)
    assert (
        rainproof.confidence_interval(y, p, measure="brier_score", n_resamples=99, rng=1).method
        == "percentile"
    )
    spread = np.std((y - p) ** 2) / np.sqrt(200)
    assert one.high - one.low == pytest.approx(2 * 1.645 * spread, rel=0.3)


@for_each("measure", ["soft_binned_cdl", "cutoff_calibration_error", "brier_score"])
def test_compressed_and_row_level_intervals_agree(measure):
    y, p = rows(3000, slope=0.6, decimals=3)
    sample = rainproof.Sample(y, p)
    a = rainproof.confidence_interval(sample, measure=measure, n_resamples=299, rng=0)
    b = rainproof.confidence_interval(
        sample.compress(4096), measure=measure, n_resamples=299, rng=1
    )
    width = a.high - a.low
    assert a.estimate == pytest.approx(b.estimate, abs=1e-3)
    assert a.low == pytest.approx(b.low, abs=0.2 * width)
    assert a.high == pytest.approx(b.high, abs=0.2 * width)


def test_weighted_intervals_agree_with_compressed_ones():
    y, p = rows(2000, slope=0.6, decimals=2)
    sample = rainproof.Sample(y, p, sample_weight=np.random.default_rng(5).exponential(size=2000))
    a, b = (
        rainproof.confidence_interval(s, measure="smooth_calibration_error", n_resamples=199, rng=0)
        for s in (sample, sample.compress(4096))
    )
    width = a.high - a.low
    assert a.low == pytest.approx(b.low, abs=0.25 * width)
    assert a.high == pytest.approx(b.high, abs=0.25 * width)


@for_each("measure", ["brier_score", "cutoff_calibration_error"])
def test_clusters_widen_the_interval(measure):
    """Each row eight times tells no more than once."""
    y, p = rows(200, slope=0.5)
    groups = np.tile(np.arange(200), 8)
    many = np.tile(y, 8), np.tile(p, 8)
    options = {"measure": measure, "n_resamples": 199, "rng": 0}
    once = rainproof.confidence_interval(y, p, **options)
    grouped = rainproof.confidence_interval(*many, groups=groups, **options)
    naive = rainproof.confidence_interval(*many, **options)
    assert grouped.method == once.method
    assert grouped.high - grouped.low == pytest.approx(once.high - once.low, rel=0.25)
    assert naive.high - naive.low < 0.6 * (grouped.high - grouped.low)


def test_independent_rows_in_clusters_cost_little():
    y, p = rows(600, slope=0.5)
    options = {"measure": "cutoff_calibration_error", "n_resamples": 199, "rng": 0}
    alone = rainproof.confidence_interval(y, p, **options)
    pairs = rainproof.confidence_interval(y, p, groups=np.arange(600) // 2, **options)
    assert pairs.high - pairs.low == pytest.approx(alone.high - alone.low, rel=0.25)


def test_samples_of_clusters_have_the_correlation_of_the_sample():
    """Clusters of four equal rows have the correlation 1, and 0 once their outcomes are dealt
    anew.
    """
    rng = np.random.default_rng(0)
    p, groups = np.repeat(rng.random(300), 4), np.repeat(np.arange(300), 4)
    equal = np.repeat(rng.random(300) < p[::4], 4).astype(int)
    found = []
    for y in (equal, (rng.random(1200) < p).astype(int)):
        sample = rainproof.Sample(y, p, groups=groups)
        atoms = as_resampler(sample)
        path = PopulationPath(sample, atoms, as_statistic("brier_score"))
        found.append(path.correlation)
    assert found[0] > 0.9
    assert found[1] < 0.15


def test_a_perfect_sample_still_has_an_upper_end():
    y, p = np.tile([0, 1], 50), np.full(100, 0.5)
    found = rainproof.confidence_interval(
        y, p, measure="expected_calibration_error", n_resamples=99, rng=0
    )
    assert found.low == 0.0
    certain = rainproof.confidence_interval([0, 1] * 20, [0.0, 1.0] * 20, n_resamples=19, rng=0)
    assert certain.low == certain.corrected == 0.0


def test_the_methods_by_hand():
    draws = np.arange(1.0, 101.0)
    assert percentile_ends(draws, 0.9) == (5.0, 95.0)
    assert basic_ends(50.0, draws, 1.0, 0.9) == (5.0, 95.0)
    assert basic_ends(50.0, draws, 0.5, 0.9) == (27.5, 72.5)
    path = np.array([0.0, 1.0, 2.0]), np.array([[1.0], [2.0], [5.0]])
    assert inversion_ends(3.0, *path, 0.9) == pytest.approx((4 / 3, 4 / 3))
    assert inversion_ends(0.5, *path, 0.9) == (0.0, 0.0)
    assert where_observed(9.0, *path, 0.5) == 2.0


def test_values_that_samples_share_end_at_the_outer_population():
    """Where two populations in a row show the same value most often, an end between them is the
    outer one.
    """
    values = np.arange(5.0)
    draws = np.array([[1.0], [2.0], [2.0], [2.0], [3.0]])
    assert inversion_ends(2.0, values, draws, 0.9) == (0.0, 4.0)
    assert inversion_ends(1.0, values, draws, 0.9) == (0.0, 1.0)


def test_the_path_goes_on_until_samples_have_more_than_was_observed():
    """The upper end is inside the path, whatever the seed of the pilot: here the first population
    was once too near.
    """
    y, p = rows(3000, slope=0.6, decimals=3)
    ends = [
        rainproof.confidence_interval(y, p, measure="cutoff_calibration_error", rng=k)
        for k in range(4)
    ]
    width = ends[0].high - ends[0].low
    assert max(x.high for x in ends) - min(x.high for x in ends) < 0.2 * width
    assert all(x.at(0.999).high > x.high + 0.1 * width for x in ends)


def path_of(sample, measure="cutoff_calibration_error"):
    atoms = as_resampler(sample)
    statistic = as_statistic(measure)
    return atoms, PopulationPath(sample, atoms, statistic)


def test_the_path_leads_from_calibrated_through_the_estimated_bias():
    y, p = rows(20_000, slope=0.5)
    atoms, path = path_of(rainproof.Sample(y, p))
    assert (path.rate(0.0) == atoms.prob).all()
    assert path.rate(1.0) - atoms.prob == pytest.approx(0.5 * (0.5 - atoms.prob), abs=0.06)
    y, p = rows(5000, slope=0.5, decimals=1)
    atoms, path = path_of(rainproof.Sample(y, p, sample_weight=np.full(5000, 0.1)))
    assert path.rate(1.0) - atoms.prob == pytest.approx(0.5 * (0.5 - atoms.prob), abs=0.08)


def test_beyond_the_estimate_the_path_moves_where_the_measure_grows():
    """One region is off: it alone gets worse, and biases that are noise are shrunk to nothing."""
    rng = np.random.default_rng(3)
    p = rng.random(4000)
    y = (rng.random(4000) < np.where((p > 0.5) & (p < 0.625), p - 0.3, p)).astype(int)
    atoms, path = path_of(rainproof.Sample(y, p), "smooth_calibration_error")
    off = path.rate(1.0) - atoms.prob
    region = (atoms.prob > 0.5) & (atoms.prob < 0.625)
    assert off[region].mean() == pytest.approx(-0.27, abs=0.06)
    assert np.median(np.abs(off[(atoms.prob < 0.4) | (atoms.prob > 0.75)])) < 0.01
    further = path.rate(2.0) - path.rate(1.0)
    assert further[region].mean() < 0
    assert path.value(2.0) > path.value(1.5) > path.value(1.0) > path.value(0.5)


@for_each(
    "population, measure, n",
    [
        ("three predictions", "smooth_calibration_error", 400),
        ("one region", "smooth_calibration_error", 400),
    ],
)
def test_intervals_hold_where_one_bias_is_large(population, measure, n):
    """40 samples at 95%: scaling the whole estimated bias up covers 84 to 87%, and the upper end is
    too low.
    """
    case = coverage.cases()[population]
    truth = rainproof.list_measures()[measure](case.sample)
    samples = [rainproof.Sample(*case.draw(n, np.random.default_rng(k))) for k in range(40)]
    held = [
        coverage.held(sample, measure, truth, np.random.default_rng(k))[-1]
        for k, sample in enumerate(samples)
    ]
    assert sum(held) >= 36


def test_a_method_is_one_entry_of_the_table(monkeypatch):
    def draw(stream):
        return [stream.random()]

    def ends(confidence_level):
        return -1.0, confidence_level

    def wide(resampling):
        assert resampling.sample.n == resampling.atoms.n == 100
        assert resampling.statistic.name == "soft_binned_cdl"
        assert resampling.draw(draw).shape == (199, 1)
        return Estimated(0.25, ends)

    monkeypatch.setitem(METHODS, "wide", wide)
    found = rainproof.confidence_interval(*rows(100), method="wide", confidence_level=0.4)
    assert (found.low, found.high, found.corrected, found.method) == (0.0, 0.4, 0.25, "wide")


def test_the_result_says_it_all():
    found = rainproof.confidence_interval(*rows(300, slope=0.5), n_resamples=39, rng=4)
    said = json.loads(json.dumps(found.to_dict()))
    assert (
        said["confidence_level"],
        said["method"],
        said["n"],
        said["seed"],
        said["warnings"],
    ) == (
        0.95,
        "inversion",
        300,
        4,
        [],
    )
    assert repr(found).startswith("ConfidenceInterval(low=0")
    assert str(found).startswith("soft_binned_cdl is between 0")
    assert "in the population, with 95% confidence (inversion).\nThe sample has 0." in str(found)
    assert "with 99.9% confidence" in str(found.at(0.999))
    assert "<p>" in found._repr_html_()
    assert "array" not in repr(found)


def test_a_function_has_an_interval_too():
    found = rainproof.confidence_interval(
        *rows(100),
        measure=lambda sample: 1 - sample.event_rate,
        method="percentile",
        n_resamples=39,
        rng=0,
    )
    assert found.low < found.estimate < found.high
    assert found.measure == "<lambda>"


def test_few_rows_are_warned_of():
    message = "12 rows are few to resample: the interval can be far from its level"
    with pytest.warns(rainproof.FewRowsWarning, match=f"^{message}$"):
        found = rainproof.confidence_interval(
            [0, 1, 1] * 4, [0.2, 0.5, 0.7] * 4, n_resamples=19, rng=0
        )
    assert found.warnings == (message,)
    assert str(found).endswith(f"Note: {message}.")
    rare = np.r_[np.ones(19), np.zeros(181)]
    message = "19 events are few to resample: the interval can be far from its level"
    with pytest.warns(rainproof.FewRowsWarning, match=f"^{message}$"):
        rainproof.confidence_interval(rare, np.full(200, 0.1), n_resamples=19, rng=0)
    with pytest.warns(rainproof.FewRowsWarning, match="^19 non-events are few to resample"):
        rainproof.confidence_interval(1 - rare, np.full(200, 0.9), n_resamples=19, rng=0)
    assert (
        rainproof.confidence_interval(
            rare, np.full(200, 0.1), measure="brier_score", rng=0
        ).warnings
        == ()
    )
    with pytest.warns(
        rainproof.FewRowsWarning,
        match="^expected_calibration_error compares each distinct prediction",
    ):
        rainproof.confidence_interval(
            *rows(200), measure="expected_calibration_error", n_resamples=19, rng=0
        )
    ties = rainproof.confidence_interval(
        *rows(400, decimals=1), measure="expected_calibration_error", n_resamples=19, rng=0
    )
    assert ties.warnings == ()


@for_each(
    "n, groups, message",
    [
        (1, None, "^1 row is too few to resample: the interval is the whole range of the measure$"),
        (
            9,
            None,
            "^9 rows are too few to resample: the interval is the whole range of the measure$",
        ),
        (27, np.arange(27) // 9, "^3 groups are too few to resample"),
    ],
)
def test_so_few_rows_claim_nothing(n, groups, message):
    y, p = rows(n)
    for measure, limits in (("soft_binned_cdl", (0.0, 0.5)), ("brier_score", (0.0, 1.0))):
        with pytest.warns(rainproof.FewRowsWarning, match=message):
            found = rainproof.confidence_interval(y, p, groups=groups, measure=measure, rng=0)
        assert (found.low, found.high) == (found.at(0.5).low, found.at(0.5).high) == limits
        assert found.corrected == found.estimate == rainproof.list_measures()[measure](y, p)


def test_numbers_that_json_has_not_are_none():
    found = rainproof.confidence_interval([0, 1] * 50, [1.0, 0.5] * 50, measure="log_score", rng=0)
    told = found.to_dict()
    assert told["estimate"] is told["high"] is None
    json.dumps(told, allow_nan=False)


def test_levels_close_to_1_get_as_many_draws_as_their_tails_need():
    options = {"measure": "brier_score", "rng": 0}
    assert rainproof.confidence_interval(*rows(50), **options).n_resamples == 199
    assert (
        rainproof.confidence_interval(*rows(50), confidence_level=0.995, **options).n_resamples
        == 399
    )
    assert (
        rainproof.confidence_interval(
            *rows(50), confidence_level=0.995, n_resamples=99, **options
        ).n_resamples
        == 99
    )


@for_each(
    "options, message",
    [
        (
            {"confidence_level": 95},
            "level must be a number between 0 and 1, both excluded; it is 95",
        ),
        (
            {"method": "bca"},
            "method must be one of auto, inversion, percentile, basic; it is 'bca'",
        ),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.confidence_interval([0, 1], [0.1, 0.8], **options)


@for_each("kind", ["rows", "ties", "weights", "cells"])
def test_a_measure_may_calculate_with_outcomes_of_either_sign(kind):
    y, p = rows(seed=5, decimals=1 if kind == "ties" else None)
    sample = rainproof.Sample(
        y, p, sample_weight=np.arange(1.0, 601.0) if kind == "weights" else None
    )
    sample = sample.compress(2**12) if kind == "cells" else sample
    bounds = []
    # 2 y - 1 was 255 where outcomes have no sign
    for signed in (lambda y: 2 * y - 1, lambda y: 2.0 * y - 1):

        def measure(sample, signed=signed):
            return abs(
                float(
                    np.average(
                        signed(sample.y_true) - (2 * sample.y_prob - 1),
                        weights=sample.sample_weight,
                    )
                )
            )

        found = rainproof.confidence_interval(sample, measure=measure, n_resamples=39, rng=0)
        bounds.append((found.estimate, found.low, found.high))
    assert bounds[0] == bounds[1]
    assert bounds[0][2] < 1
