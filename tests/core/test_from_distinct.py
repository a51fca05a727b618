"""A sample from pooled rows is the sample of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.strategies import samples
from hypothesis import given

import rainproof
from rainproof.core.sample import Sample
from rainproof.measures.catalogue import CATALOGUE

QUICK = [name for name in CATALOGUE if name != "lower_distance_to_calibration"]


@given(samples(weighted=False))
def test_every_measure_is_the_same(sample):
    y, p, _ = sample
    made = Sample(y, p)
    pooled = Sample.from_distinct(made.distinct(), made.n)
    for name in QUICK:
        slack = 3e-4 if name == "smooth_ece" else 1e-12
        assert CATALOGUE[name](pooled) == pytest.approx(CATALOGUE[name](made), abs=slack), name
    assert (pooled.n, pooled.grid, pooled.event_rate) == (
        made.n,
        None,
        pytest.approx(made.event_rate),
    )
    assert pooled.total_weight == made.total_weight
    assert pooled.effective_n == made.n


@given(samples(weighted=False))
def test_rows_that_need_no_pooling(sample):
    y, p, _ = sample
    p, first = np.unique(p, return_index=True)
    made = Sample(np.asarray(y)[first], p)
    pooled = Sample.from_distinct(made.distinct(), made.n, made.y_true.astype(np.uint8))
    for name in QUICK:
        assert CATALOGUE[name](pooled) == pytest.approx(CATALOGUE[name](made), abs=1e-12), name
    assert (pooled.n, pooled.sample_weight) == (made.n, None)


def test_it_can_be_compressed_and_shown():
    made = rainproof.Sample([0, 1, 1], [0.25, 0.25, 0.75])
    pooled = Sample.from_distinct(made.distinct(), 3)
    assert repr(pooled).startswith("Sample(n=3, events=2")
    np.testing.assert_array_equal(pooled.compress(8).distinct().prob, [0.25, 0.75])
