"""The ways to recalibrate, each fitted to predictions and events and applied to new predictions.

Those of other packages are called as the comparison of packages calls them, with their defaults.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.race.contestants import BY_NAME
from benchmarks.studies.real_data.models import Floats, Ints

Map = Callable[[Ints, Floats, Floats], Floats]
"""Fits to events and predictions, and maps new predictions."""

ORIGINAL = "original"
RAINPROOF = "rainproof"
PLATT = "Platt on the log odds"
CUT_OFF = "empirical cut-off"
"""Acts from the prediction on from which acting costs least on the rows that recalibrate."""
PROBCAL = "probcal selector"

_CLIPPED = 1e-6  # nearer to 0 or 1, log odds would outweigh all others


def log_odds(p: Floats) -> Floats:
    """Return the log odds of predictions, clipped."""
    inside = np.clip(p, _CLIPPED, 1 - _CLIPPED)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _original(y: Ints, p: Floats, new: Floats) -> Floats:  # noqa: ARG001
    return new


def _rainproof(y: Ints, p: Floats, new: Floats) -> Floats:
    from rainproof import Recalibrator

    return Recalibrator(rng=0).fit(p, y).predict(new)


def _platt(y: Ints, p: Floats, new: Floats) -> Floats:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6, max_iter=500).fit(log_odds(p)[:, np.newaxis], y)
    return np.asarray(model.predict_proba(log_odds(new)[:, np.newaxis])[:, 1])


def _isotonic(y: Ints, p: Floats, new: Floats) -> Floats:
    from sklearn.isotonic import IsotonicRegression

    return np.asarray(IsotonicRegression(out_of_bounds="clip").fit(p, y).predict(new))


def _temperature(y: Ints, p: Floats, new: Floats) -> Floats:
    from scipy.optimize import minimize_scalar
    from scipy.special import expit

    sign = 2 * y - 1
    score = log_odds(p)

    def loss(log_slope: float) -> float:
        return float(np.logaddexp(0, -sign * np.exp(log_slope) * score).sum())

    log_slope = minimize_scalar(loss, bounds=(-5, 5), method="bounded").x
    return np.asarray(expit(np.exp(log_slope) * log_odds(new)))


def _of_package(package: str, name: str) -> Map:
    def fitted(y: Ints, p: Floats, new: Floats) -> Floats:
        return BY_NAME[package].maps[name](y, p, new)  # type: ignore[arg-type]

    return fitted


MAPS: dict[str, Map] = {
    ORIGINAL: _original,
    RAINPROOF: _rainproof,
    PLATT: _platt,
    "beta": _of_package("betacal", "BetaCalibration"),
    "isotonic": _isotonic,
    "Venn-Abers": _of_package("venn-abers", "VennAbers"),
    "temperature": _temperature,
}
"""The ways to recalibrate, by name; that of probcal takes longer and is run by itself."""

SLOW_MAPS: dict[str, Map] = {PROBCAL: _of_package("probcal", "CalibratorSelector")}


def cut_off(y: Ints, p: Floats, miss: float) -> float:
    """Return the prediction from which acting costs least on the rows themselves; 2 for never."""
    order = np.argsort(p, kind="stable")
    ordered = p[order]
    gain = np.where(y[order] == 1, miss, -1.0)
    above = np.append(np.cumsum(gain[::-1])[::-1], 0.0)
    first = np.append(np.flatnonzero(np.diff(ordered, prepend=-1.0)), len(p))
    best = int(np.argmax(above[first]))
    return float(np.append(ordered, 2.0)[first[best]])
