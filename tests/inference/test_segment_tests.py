"""Many segments at once: q-values by their definition, false alarms as rare as promised, small
segments not judged.
"""

from __future__ import annotations

import datetime
import json
import pickle

import numpy as np
import pytest
from helpers.cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

import rainproof
from rainproof.core.digests import stream_for
from rainproof.core.segments import Segments
from rainproof.inference import segments as module
from rainproof.inference.calibration_tests import redrawn
from rainproof.inference.resampling import as_resampler
from rainproof.inference.segments import adjusted
from rainproof.inference.statistics import as_statistic, sequential_p_value

rng = np.random.default_rng(64)
N, K = 4000, 12
P = rng.random(N)
S = rng.integers(0, K, N)
S[:60] = K  # a segment of 60 rows
Y = (rng.random(N) < np.where((S == 3) | (S == K), P**6, P)).astype(int)
SEGMENTS = rainproof.scan({"p": P, "y": Y, "s": S}, by="s", grid=1024)


def slowly(p, method):
    """The smallest alpha at which the step-up procedure finds each: by trying all that matter."""
    kept = sorted(value for value in p if not np.isnan(value))
    price = len(kept) * (1 if method == "bh" else sum(1 / i for i in range(1, len(kept) + 1)))
    alphas = sorted({value * price / rank for value in kept for rank in range(1, len(kept) + 1)})

    def cut(alpha):
        """The largest p-value that is below its line; all up to it are found."""
        near = alpha * (1 + 1e-12)
        return max(
            (value for rank, value in enumerate(kept, 1) if value <= rank * near / price),
            default=-1,
        )

    return [
        np.nan if np.isnan(value) else min(1, next(a for a in alphas if value <= cut(a)))
        for value in p
    ]


@pytest.mark.parametrize("method", ["bh", "by"])
@given(
    p=st.lists(
        st.sampled_from([0.001, 0.01, 0.02, 0.5, 1.0, np.nan]) | st.floats(1e-6, 1), max_size=8
    )
)
def test_q_values_by_the_definition(method, p):
    found = adjusted(np.array(p, float), method)
    np.testing.assert_allclose(found, slowly(p, method), rtol=1e-9)
    kept = ~np.isnan(np.array(p, float))
    if kept.any():
        np.testing.assert_allclose(
            found[kept], false_discovery_control(np.array(p)[kept], method=method), rtol=1e-12
        )


def test_false_alarms_are_as_rare_as_promised():
    """All calibrated: finding anything is a false alarm. Then half of them off: the share of false
    ones is kept.
    """
    draws = np.random.default_rng(1).random((2000, 40))
    alarms = np.mean([(adjusted(p, "bh") <= 0.1).any() for p in draws])
    assert alarms <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 2000)
    draws[:, :20] **= 12
    shares = []
    for p in draws:
        found = adjusted(p, "bh") <= 0.1
        shares.append(found[20:].sum() / max(1, found.sum()))
    assert np.mean(shares) <= 0.1


def test_the_segment_that_is_off_is_found():
    result = rainproof.inference.segment_tests(SEGMENTS, rng=1, n_resamples=479)
    assert result.found == [3]
    assert result.small == [K]
    assert result.segments == tuple(range(K + 1))
    assert (result.by, result.seed, result.n_resamples, result.min_rows) == (("s",), 1, 479, 100)
    np.testing.assert_array_equal(result.n, np.bincount(S))
    np.testing.assert_array_equal(
        result.value, list(SEGMENTS.map(rainproof.soft_binned_cdl).values())
    )
    assert np.isnan(result.p_value[K])
    assert np.isnan(result.q_value[K])
    assert result.p_value[3] == 1 / 480
    assert result.q_value[3] == pytest.approx(0.025)
    assert result.warnings == ()


def test_options_have_their_effect():
    one = rainproof.inference.segment_tests(SEGMENTS, rng=1, n_resamples=239)
    again = rainproof.inference.segment_tests(SEGMENTS, rng=1, n_resamples=239)
    np.testing.assert_array_equal(one.p_value, again.p_value)
    assert (
        rainproof.inference.segment_tests(SEGMENTS, rng=2, n_resamples=239).p_value != one.p_value
    ).any()
    every = rainproof.inference.segment_tests(SEGMENTS, rng=1, min_rows=10, n_resamples=479)
    assert every.small == []
    assert every.found == [3, K]
    calls = []
    by = rainproof.inference.segment_tests(
        SEGMENTS,
        rng=1,
        method="by",
        measure="brier_score",
        n_resamples=799,
        progress=lambda *c: calls.append(c),
    )
    assert by.measure == "brier_score"
    assert calls == [(i + 1, K + 1) for i in range(K + 1)]
    np.testing.assert_allclose(by.q_value, adjusted(by.p_value, "by"))
    strict = rainproof.inference.segment_tests(SEGMENTS, rng=1, fdr=0.0249, n_resamples=481)
    assert strict.found == [3]


def test_too_few_draws_are_said():
    message = (
        "with n_resamples=99 one segment alone among 12 could not be found: that takes "
        "n_resamples=239 or more"
    )
    with pytest.warns(rainproof.RainproofWarning, match=f"^{message}$"):
        result = rainproof.inference.segment_tests(SEGMENTS, rng=1, n_resamples=99)
    assert result.warnings == (message,)
    assert rainproof.inference.segment_tests(SEGMENTS, rng=1, n_resamples=239).warnings == ()


def test_p_values_are_those_of_the_sequential_test():
    """Segments in order, and a stream of random numbers for every 32 of them."""
    draw = np.random.default_rng(2)
    p = draw.random((40, 100))
    y = (draw.random((40, 100)) < p).astype(int)
    segments = {k: rainproof.Sample(y[k], p[k]) for k in range(40)}
    found = rainproof.inference.segment_tests(segments, rng=5, n_resamples=1999)
    streams = stream_for(5, *segments.values()).spawn(2)
    expected = [
        sequential_p_value(as_resampler(segments[k]), 1999, streams[k // 32]) for k in range(40)
    ]
    assert found.p_value.tolist() == expected
    assert len(set(expected)) > 20
    default = rainproof.inference.segment_tests({k: segments[k] for k in range(3)}, rng=5)
    assert default.n_resamples == 999
    three = rainproof.inference.segment_tests({k: segments[k] for k in range(3)}, fdr=0.001, rng=5)
    assert three.n_resamples == 2 * 2999  # one of three needs 2999


def test_the_mean_of_calibrated_forecasters_is_drawn_when_it_is_asked_for():
    """From random numbers of its own; the rows are those of the call, and are not pickled."""
    draw = np.random.default_rng(3)
    p = draw.random(300)
    y = (draw.random(300) < p).astype(int)
    samples = {"a": rainproof.Sample(y, p), "b": SEGMENTS[1], "few": SEGMENTS[K]}
    kept = {"a": rainproof.Sample(y.copy(), p.copy()), "b": SEGMENTS[1]}
    found = rainproof.inference.segment_tests(samples, rng=1)
    again = pickle.loads(pickle.dumps(rainproof.inference.segment_tests(samples, rng=1)))
    stream = stream_for(1, *samples.values()).spawn(2)[1]
    p[:], y[:] = 0.5, 0
    samples["b"] = samples["few"]
    means = [
        redrawn(sample, [as_statistic("soft_binned_cdl")], 199, stream)[1].mean()
        for sample in kept.values()
    ]
    np.testing.assert_array_equal(found.null_mean, [*means, np.nan])
    np.testing.assert_array_equal(again.null_mean, found.null_mean)
    assert not again.null_mean.flags.writeable
    assert again.to_dict() == found.to_dict()
    assert again._draw is None  # which has the rows


@pytest.mark.filterwarnings(
    "ignore:with n_resamples=99 one segment alone:rainproof.RainproofWarning"
)
def test_intervals_of_the_smallest_p_values_miss_no_more_often_than_promised():
    """60 calibrated segments: those shown are the worst, and at the plain level more would exclude
    0, their value.
    """
    draw = np.random.default_rng(0)
    p = draw.integers(1, 8, (60, 100)) / 8
    y = (draw.random((60, 100)) < p).astype(int)
    segments = {k: rainproof.Sample(y[k], p[k]) for k in range(60)}
    options = {"measure": "cutoff_calibration_error", "n_resamples": 99, "rng": 0}
    found = rainproof.inference.segment_tests(segments, fdr=0.1, intervals=6, **options)
    assert found.interval_level == pytest.approx(1 - 0.1 * 6 / 60)
    shown = ~np.isnan(found.low)
    assert set(np.flatnonzero(shown)) == set(np.argsort(found.p_value, kind="stable")[:6])
    assert (found.low[shown] <= found.high[shown]).all()
    plain = [
        rainproof.confidence_interval(segments[k], confidence_level=0.9, **options)
        for k in np.flatnonzero(shown)
    ]
    assert (found.low[shown] > 0).sum() <= 1 < sum(interval.low > 0 for interval in plain)


def test_grids_too_coarse_for_the_mean_are_counted():
    coarse = {"a": rainproof.Sample([0, 1] * 200, [0.25, 0.75] * 200).compress(8), "b": SEGMENTS[1]}
    result = rainproof.inference.segment_tests(coarse, rng=1)
    assert result.by == ("segment",)
    message = "1 of null_mean come with a warning, the first: SCDL redrawn from cells is about "
    with pytest.warns(rainproof.ResolutionWarning, match=f"^{message}"):
        assert (result.null_mean > 0).all()
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith(message)
    assert rainproof.inference.segment_tests(coarse, measure="brier_score", rng=1).warnings == ()


def test_words_and_json(monkeypatch):
    day = datetime.date(2026, 5, 17)
    samples = {("a", day): SEGMENTS[3], ("b", None): SEGMENTS[1], ("c", day): SEGMENTS[K]}
    result = rainproof.inference.segment_tests(
        Segments.from_samples(samples, by=["x", "day"]), rng=1, n_resamples=999
    )
    assert (
        repr(result)
        == "SegmentTests(fdr=0.05, method='bh', min_rows=100, measure='soft_binned_cdl')"
    )
    lines = str(result).splitlines()
    assert lines[0] == (
        "1 of 2 segments tested are not calibrated (false discovery rate 5%); 1 have too few "
        "rows to be tested."
    )
    assert lines[1].split() == ["x,", "day", "rows", "soft_binned_cdl", "p", "q"]
    assert lines[2].startswith("a, 2026-05-17")
    assert lines[2].endswith("0.001  0.002  not calibrated")
    assert lines[4].endswith("-      -  few rows")
    assert result._repr_html_().startswith("<p>1 of 2")
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert found["segments"][0]["segment"] == ["a", "2026-05-17"]
    assert found["segments"][2]["p_value"] is None
    assert (found["n"], found["seed"]) == (int(result.n.sum()), 1)
    monkeypatch.setattr(module, "_SEGMENTS_SHOWN", 1)
    assert str(result).splitlines()[-1] == "and 2 more"
    assert found["segments"][0]["low"] is found["interval_level"] is None
    for array in (
        result.n,
        result.value,
        result.null_mean,
        result.p_value,
        result.q_value,
        result.low,
        result.high,
    ):
        assert not array.flags.writeable


@for_each(
    "options, message",
    [
        ({"fdr": 1}, r"^fdr must be a number between 0 and 1, both excluded; it is 1$"),
        ({"method": "holm"}, r"^method must be 'bh' or 'by'; it is 'holm'$"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.inference.segment_tests(SEGMENTS, **options)


def test_a_segment_with_groups_is_refused_wherever_it_stands():
    sample = rainproof.Sample([0, 1] * 100, [0.3, 0.7] * 100)
    grouped = rainproof.Sample([0, 1] * 100, [0.3, 0.7] * 100, groups=np.arange(200) // 2)
    with pytest.raises(rainproof.InputError, match="segment_tests takes no groups"):
        rainproof.inference.segment_tests({"a": sample, "b": grouped})
