# pyright: strict
"""What somebody who checks types writes with brolly; tests/test_release.py has mypy and pyright read it, strictly."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import brolly

y: list[int] = [0, 0, 1, 0, 1, 1, 0, 1]
p: NDArray[np.float64] = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])

assert_type(brolly.__version__, str)
assert_type(brolly.soft_binned_cdl(y, p, sample_weight=np.ones(8)), float)
assert_type(brolly.soft_binned_profile(y, p), brolly.SoftBinnedProfile)
assert_type(brolly.measure_all(y, p)["brier_score"], float)
assert_type(brolly.list_measures()["smooth_ece"], brolly.Measure)

task = brolly.DecisionTask.from_costs(false_positive=1, false_negative=5)
assert_type(task, brolly.FiniteTask)
assert_type(brolly.swap_regret(y, p, task), brolly.SwapRegret)
assert_type(brolly.regret_curve(y, p, grid=4).worst, brolly.WorstThreshold)
assert_type(brolly.RoundingPolicy(task, grid=4), brolly.RoundingPolicy)

bound = brolly.guarantee(y, p, confidence_level=0.9)
assert_type(bound.bound, float)
assert_type(brolly.calibration_test(y, p, rng=np.random.default_rng(0)).p_value, float)
assert_type(brolly.sample_size(0.05).minimum, int)


def assess(path: Path) -> str:
    """Read a file, by segment and as a whole, and write the report."""
    sample = brolly.scan(path, "p", "y")
    assert_type(sample, brolly.Sample)
    assert_type(brolly.scan(path, "p", "y", by="city"), brolly.Segments)
    result = brolly.assess(sample, task=task, rng=0)
    assert_type(result, brolly.Assessment)
    assert_type(result.verdict.headline, str)
    if result.recalibrator is not None:
        assert_type(result.recalibrator.predict(p), NDArray[np.float64])
    try:
        return result.to_html(path.with_suffix(".html"))
    except brolly.InputError as error:
        return str(error)
