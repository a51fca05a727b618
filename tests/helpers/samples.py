"""Samples that must be the same, whatever they were read from."""

from __future__ import annotations

import numpy as np


def assert_same(sample, expected):
    """Assert that two samples have the same rows, bit for bit, or the same cells."""
    assert repr(sample) == repr(expected)
    for name in ("y_true", "y_prob", "sample_weight", "counts"):
        np.testing.assert_array_equal(getattr(sample, name), getattr(expected, name), strict=True)
