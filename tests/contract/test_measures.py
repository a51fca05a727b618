"""What every measure of the catalogue must keep to: one suite, run on each."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import refuses
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.measures.catalogue import CATALOGUE

# Small linear programs say as much about the contract as large ones, and sooner.
QUICKLY = {"lower_distance_to_calibration": {"grid": 16}}
MEASURES = [
    replace(m, options={**m.options, **QUICKLY.get(m.name, {})}) for m in CATALOGUE.values()
]
close = {"abs": 1e-12}


@given(samples(weighted=False), st.data())
def test_a_weight_is_a_repetition(sample, data):
    y, p, _ = sample
    times = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(p), max_size=len(p))))
    for measure in MEASURES:
        assert measure(y, p, sample_weight=times) == pytest.approx(
            measure(np.repeat(y, times), np.repeat(p, times)), **close
        )


@given(samples(weighted=True))
def test_a_weight_of_zero_is_a_removal(sample):
    y, p, w = sample
    w[1::2] = 0
    for measure in MEASURES:
        assert measure(y, p, sample_weight=w) == pytest.approx(
            measure(y[w > 0], p[w > 0], sample_weight=w[w > 0]), **close
        )


@given(samples(weighted=True), st.sampled_from([1e-100, 0.1, 3.0, 1e100]))
def test_the_scale_of_weights_does_not_matter(sample, scale):
    y, p, w = sample
    for measure in MEASURES:
        assert measure(y, p, sample_weight=w * scale) == pytest.approx(
            measure(y, p, sample_weight=w), **close
        )


@given(samples())
def test_equal_weights_are_no_weights(sample):
    y, p, _ = sample
    for measure in MEASURES:
        assert measure(y, p, sample_weight=np.full(len(p), 0.3)) == pytest.approx(
            measure(y, p), **close
        )


@given(samples(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(sample, random):
    y, p, w = sample
    order = list(range(len(p)))
    random.shuffle(order)
    for measure in MEASURES:
        moved = measure(y[order], p[order], sample_weight=None if w is None else w[order])
        assert moved == pytest.approx(measure(y, p, sample_weight=w), **close)


@given(samples())
def test_arrays_and_samples_give_the_same(sample):
    y, p, w = sample
    for measure in MEASURES:
        assert measure(rainproof.Sample(y, p, sample_weight=w)) == measure(y, p, sample_weight=w)


def test_containers_give_the_same():
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.125, 0.3, 0.3, 0.9, 1.0])
    w = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    for measure in MEASURES:
        expected = measure(y, p, sample_weight=w)
        for container in (list, tuple, pd.Series):
            columns = container(y), container(p)
            assert measure(*columns, sample_weight=container(w)) == expected, measure.name


def test_labels_of_any_kind_give_the_same():
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.125, 0.3, 0.3, 0.9, 1.0])
    for measure in MEASURES:
        expected = measure(y, p)
        for labels in (y.astype(bool), y.astype(np.float32), y.astype(np.uint8), y.tolist()):
            assert measure(labels, p) == expected, measure.name
        assert measure(np.where(y, "rain", "dry"), p, pos_label="rain") == expected, measure.name


@given(samples())
def test_the_answer_is_a_float_in_range_and_the_input_stays(sample):
    y, p, w = sample
    copies = y.copy(), p.copy(), None if w is None else w.copy()
    for measure in MEASURES:
        value = measure(y, p, sample_weight=w)
        assert type(value) is float
        assert measure.range[0] <= value <= measure.range[1]
        for before, after in zip(copies, sample, strict=True):
            np.testing.assert_array_equal(before, after)


BAD_ROWS = [
    ([0, 1], [0.1, np.nan], None, "y_prob must not contain NaN"),
    ([0, 1], [0.1, 1.1], None, r"y_prob must lie in \[0, 1\]"),
    ([0, 3], [0.1, 0.1], None, "y_true must be 0 or 1"),
    ([0, 1, 1], [0.1, 0.1], None, "must have the same length"),
    ([0, 1], [0.1, 0.1], [1, -1], "sample_weight must be finite and not negative"),
    ([0, 1], [0.1, 0.1], [0, 0], "sample_weight must not be zero for every row"),
    ([], [], None, "must not be empty"),
]


def test_bad_input_is_refused():
    for measure in MEASURES:
        for y, p, w, message in BAD_ROWS:
            assert refuses(message, measure, y, p, sample_weight=w), (measure.name, message)


def test_options_are_keyword_only_and_misspelt_ones_refused():
    for measure in MEASURES:
        parameters = inspect.signature(measure.function).parameters.values()
        positional = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        assert positional == ["y_true", "y_prob"], measure.name
        with pytest.raises(TypeError, match="sample_weigth"):
            measure([0, 1], [0.1, 0.9], sample_weigth=[1, 1])


def test_one_row():
    for measure in MEASURES:
        low, high = measure.range
        for p in (0.0, 1.0, 1e-12, 5e-324, 1 - 2**-53, 0.5):
            for y in (0, 1):
                assert low <= measure([y], [p]) <= high, (measure.name, y, p)
