"""Scores and decompositions against model-diagnostics and scikit-learn (see
make_score_values.py).
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from helpers.cases import for_each

import rainproof

SAMPLES = json.loads(Path(__file__).with_name("score_values.json").read_text())["samples"]


def test_samples_have_ties_and_some_an_infinite_score():
    assert len(SAMPLES) == 40
    assert sum(len(set(sample["p"])) < len(sample["p"]) for sample in SAMPLES) > 30
    assert sum(math.isinf(sample["model_diagnostics"]["log"][0]) for sample in SAMPLES) >= 3


@for_each("rule", ["brier", "log"])
@for_each("sample", SAMPLES)
def test_published_software_agrees(sample, rule):
    y, p, w = (sample[name] for name in "ypw")
    result = rainproof.measures.score_decomposition(y, p, sample_weight=w, score=rule)
    parts = [result.score, result.reliability, result.resolution, result.uncertainty]
    assert parts == pytest.approx(sample["model_diagnostics"][rule], abs=1e-13)
    function = {"brier": rainproof.measures.brier_score, "log": rainproof.measures.log_score}[rule]
    assert function(y, p, sample_weight=w) == pytest.approx(sample["sklearn"][rule], abs=1e-13)
