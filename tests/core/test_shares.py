"""Outcomes that are shares of the event."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from helpers.cases import for_each
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.verdict.summaries import DataSummary

SHARE = st.sampled_from([0.0, 1.0, 0.5, 1e-12, 0.3, 1 - 1e-12])
ROW = st.tuples(
    SHARE, st.sampled_from([0.0, 0.25, 1e-12, 1.0, 0.6]), st.sampled_from([1.0, 0.0, 2.5, 1e6])
)


@given(st.lists(ROW, min_size=1, max_size=12), st.booleans())
def test_parts_from_the_definition(rows, grouped):
    share, p, w = (np.array(column) for column in zip(*rows, strict=True))
    w[0] = 3.0
    given_groups = [f"g{i % 3}" for i in range(len(rows))] if grouped else None
    expected = []
    for i in range(len(rows)):
        for label, part in ((1, share[i]), (0, 1 - share[i])):
            if part:
                expected.append((label, p[i], w[i] * part, i % 3 if grouped else i))
    sample = rainproof.Sample(share, p, sample_weight=w, groups=given_groups, fractional=True)
    found = zip(sample.y_true, sample.y_prob, sample.sample_weight, sample.units.unit, strict=True)
    assert [tuple(row) for row in found] == expected
    assert sample.n == (w > 0).sum()
    assert sample.groups == (
        len({i % 3 for i in range(len(rows)) if w[i] > 0}) if grouped else None
    )
    assert sample.event_rate == pytest.approx(np.average(share, weights=w))
    assert rainproof.measures.brier_score(sample) == pytest.approx(
        np.average(share * (1 - p) ** 2 + (1 - share) * p**2, weights=w)
    )


def test_a_draw_is_one_draw():
    rng = np.random.default_rng(3)
    p = rng.random(500)
    share = np.clip(np.round(2 * p + rng.normal(0, 0.4, 500)) / 2, 0, 1)
    assert 0.2 < (share == 0.5).mean() < 0.8
    sample = rainproof.Sample(share, p, fractional=True)
    one = rainproof.guarantee(sample, grid=16)
    assert (one.n, one.groups, one.effective_n) == (500, None, pytest.approx(500))
    parts = rainproof.Sample(sample.y_true, sample.y_prob, sample_weight=sample.sample_weight)
    assert one.bound > rainproof.guarantee(parts, grid=16).bound  # which counts draws twice
    sure = rainproof.Sample(np.round(p), p, fractional=True)
    expected = rainproof.guarantee(np.round(p), p, grid=16)
    assert rainproof.guarantee(sure, grid=16).bound == pytest.approx(expected.bound, rel=1e-12)


@given(st.lists(ROW, min_size=1, max_size=12))
def test_a_row_that_is_split_counts_once(rows):
    share, p, w = (np.array(column) for column in zip(*rows, strict=True))
    w[0] = 3.0
    sample = rainproof.Sample(share, p, sample_weight=w, fractional=True)
    summary = DataSummary.of(sample)
    assert summary.n == (w > 0).sum() == sample.n
    assert summary.effective_n == pytest.approx(w.sum() ** 2 / (w @ w))


def test_an_assessment_counts_rows_and_not_their_parts():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    share = np.clip(np.round(2 * p + rng.normal(0, 0.4, 400)) / 2, 0, 1)
    sample = rainproof.Sample(share, p, fractional=True)
    assert len(sample.y_true) > 450
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=2)
    a = rainproof.assess(sample, task=task, measures=[], n_resamples=19, rng=0)
    assert (a.summary.n, a.evidence.n, a.guarantee.n, a.task.n, a.recalibrator.n_) == (400,) * 5
    assert (a.clinical.n, a.clinical.groups, a.clinical.net_benefit.n) == (400, None, 400)
    assert (a.summary.weighted, a.summary.effective_n) == (False, pytest.approx(400))
    page = a.to_html()
    assert "400 rows" in page
    assert f"{len(sample.y_true)} rows" not in page


def test_rows_that_were_split_count_once_after_a_copy():
    sample = rainproof.Sample([0.5, 1.0, 0.25], [0.4, 0.7, 0.2], fractional=True)
    for other in (copy.copy(sample), pickle.loads(pickle.dumps(sample))):
        assert DataSummary.of(other) == DataSummary.of(sample)
        assert DataSummary.of(other).n == 3


@for_each(
    "arguments, message",
    [
        (
            ([0.5, 1.5], [0.5, 0.5]),
            r"^y_true must be a share of the event, in \[0, 1\]; 1 value does not, .*\[1\] = 1\.5$",
        ),
        (([np.nan], [0.5]), r"^y_true must be a share .* y_true\[0\] = nan$"),
        (([0.5], [1.5]), r"^y_prob must lie in \[0, 1\]"),
        (([0.5], [0.5, 0.5]), r"^y_true and y_prob must have the same length"),
        (([[0.5, 0.5]], [0.5]), r"^y_true must be one-dimensional"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.Sample(*arguments, fractional=True)
    with pytest.raises(
        rainproof.InputError, match=r"if these are shares .* make a Sample with fractional=True$"
    ):
        rainproof.Sample([0.5, 1], [0.5, 0.5])
