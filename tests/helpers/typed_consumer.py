# pyright: strict
"""What a user who checks types writes with rainproof; tests/test_release.py has mypy and pyright
read it, strictly.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import rainproof

y: list[int] = [0, 0, 1, 0, 1, 1, 0, 1]
p: NDArray[np.float64] = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])

assert_type(rainproof.__version__, str)
assert_type(rainproof.soft_binned_cdl(y, p, sample_weight=np.ones(8)), float)
assert_type(rainproof.measures.soft_binned_profile(y, p), rainproof.results.SoftBinnedProfile)
assert_type(rainproof.measure_all(y, p)["brier_score"], float)
assert_type(rainproof.list_measures()["smooth_ece"], rainproof.measures.Measure)

task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=5)
assert_type(task, rainproof.decisions.FiniteTask)
assert_type(rainproof.swap_regret(y, p, task), rainproof.results.SwapRegret)
assert_type(rainproof.regret_curve(y, p, grid=4).worst, rainproof.results.WorstThreshold)
assert_type(rainproof.RoundingPolicy(task, grid=4), rainproof.RoundingPolicy)

bound = rainproof.guarantee(y, p, confidence_level=0.9)
assert_type(bound.bound, float)
assert_type(rainproof.calibration_test(y, p, rng=np.random.default_rng(0)).p_value, float)
assert_type(rainproof.sample_size(0.05).minimum, int)


def assess(path: Path) -> str:
    """Read a file, by segment and as a whole, and write the report."""
    sample = rainproof.scan(path, "p", "y")
    assert_type(sample, rainproof.Sample)
    assert_type(rainproof.scan(path, "p", "y", by="city"), rainproof.io.Segments)
    result = rainproof.assess(sample, task=task, rng=0)
    assert_type(result, rainproof.results.Assessment)
    assert_type(result.verdict.headline, str)
    if result.recalibrator is not None:
        assert_type(result.recalibrator.predict(p), NDArray[np.float64])
    try:
        return result.to_html(path.with_suffix(".html"))
    except rainproof.InputError as error:
        return str(error)
