"""Assessments to show: real ones, of forecasts that are off in a known way."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from functools import cache

import numpy as np

import rainproof

SEGMENTS = ["north", "south <b>&amp;</b>", "east", "<script>alert(1)</script>"]
TASK = rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65)
# intervals of all measures take their time
QUICK = ["soft_binned_cdl", "expected_calibration_error", "brier_score"]
FEW = 40  # rows in the last segment: too few to be judged


def rows(n=3000, seed=4):
    """Outcomes, an overconfident and a calibrated forecast, and a segment for each row."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(1.2, 1.8, n)
    y = rng.random(n) < chance
    log_odds = np.log(chance / (1 - chance))
    segment = np.array(SEGMENTS)[np.where(np.arange(n) < FEW, 3, rng.integers(0, 3, n))]
    bold = 1 / (1 + np.exp(-np.where(segment == "north", 2.5, 1.3) * log_odds))
    return y, bold.round(3), chance.round(3), segment


@contextmanager
def quickly():
    """Do not warn."""
    with warnings.catch_warnings(action="ignore", category=rainproof.RainproofWarning):
        yield


@cache
def single():
    y, bold, _, segment = rows()
    with quickly():
        return rainproof.assess(y, bold, by={"region": segment}, task=TASK, n_resamples=99, rng=0)


@cache
def several():
    y, bold, calm, segment = rows()
    with quickly():
        forecasts = {"bold": (y, bold), "calm": (y, calm)}
        return rainproof.assess_many(
            forecasts, by={"region": segment}, measures=QUICK, n_resamples=99, rng=0
        )


@cache
def rare():
    rng = np.random.default_rng(6)
    chance = 1 / (1 + np.exp(rng.normal(4.5, 1, 4000)))
    with warnings.catch_warnings(action="ignore", category=rainproof.RainproofWarning):
        return rainproof.assess(
            rng.random(4000) < chance, chance, measures=QUICK, n_resamples=19, rng=0
        )
