"""Time of every measure, compared with sorting the predictions and with other packages."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import rainproof
from benchmarks.data import Data
from benchmarks.timed_functions import BINCOUNT, SMOOTH, Contestant

LP_SIZE = 10**4
SWITCH_SIZE = 10**6


def _argsort(data: Data) -> Any:
    return np.argsort(data.p)


def _measure(name: str, data: Data) -> float:
    return rainproof.list_measures()[name](data.y, data.p)


def _all(data: Data) -> Any:
    return rainproof.measure_all(data.y, data.p)


def _lipschitz_program(data: Data) -> Any:
    """smCE as most would write it: a sparse linear program with a rule for each pair of
    neighbours.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    order = np.argsort(data.p)
    p, residual = data.p[order], (data.y - data.p)[order] / len(data)
    n = len(p)
    steps = sparse.diags([-np.ones(n - 1), np.ones(n - 1)], [0, 1], shape=(n - 1, n))
    rules, gaps = sparse.vstack([steps, -steps]), np.tile(np.diff(p), 2)
    return linprog(-residual, A_ub=rules, b_ub=gaps, bounds=(-1, 1), method="highs")


_IDS: dict[int, Any] = {}  # row ids by number of rows, made once and not within a turn
_POLICY = rainproof.RoundingPolicy(
    rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65), 64
)


def _threshold(data: Data) -> Any:
    return data.p >= 0.35


def _decide(data: Data) -> Any:
    ids = _IDS.setdefault(len(data), np.arange(len(data)))
    return _POLICY.decide_index(data.p, ids)


def _switch(data: Data, *, weighted: bool = False) -> Any:
    weight = data.w if weighted else None
    return rainproof.switch_guarantee(
        data.y, data.p, _recalibrated(data), sample_weight=weight, rng=0
    )


def _as_is(data: Data) -> Any:
    return rainproof.guarantee(data.y, data.p, response="as_is")


def _value(data: Data) -> Any:
    return rainproof.forecast_value(data.y, data.p)


def _recalibrated(data: Data) -> Any:
    """Another forecast for the same rows, made once and not within a turn."""
    return _OTHER.setdefault(len(data), data.p**1.3)


def _round_at_random(data: Data) -> Any:
    scaled = 32 * data.p
    down = np.floor(scaled)
    return (down + (np.random.default_rng(0).random(len(data)) < scaled - down)) / 32


def _online(data: Data) -> Any:
    return rainproof.OnlineRecalibrator(32, rng=0).run(data.p, data.y)


_OTHER: dict[int, Any] = {}
ROUND = Contestant("rounding at random with NumPy", _round_at_random)
ONLINE = Contestant("rainproof OnlineRecalibrator.run", _online)
SWITCH = Contestant("rainproof switch_guarantee", _switch)
SWITCH_WEIGHTED = Contestant(
    "rainproof switch_guarantee, weighted", partial(_switch, weighted=True)
)
AS_IS = Contestant("rainproof guarantee, as_is", _as_is)
VALUE = Contestant("rainproof forecast_value", _value)
THRESHOLD = Contestant("p >= t", _threshold)
DECIDE = Contestant("rainproof decide_index, ids hashed", _decide)
ARGSORT = Contestant("np.argsort(p)", _argsort)
LP = Contestant("smCE as a sparse LP (HiGHS)", _lipschitz_program)
ALL = Contestant("rainproof measure_all", _all)
BY_NAME = {
    name: Contestant(f"rainproof {name}", partial(_measure, name))
    for name in rainproof.list_measures()
}
CONTESTANTS = (
    ARGSORT,
    *BY_NAME.values(),
    ALL,
    BINCOUNT,
    SMOOTH,
    THRESHOLD,
    DECIDE,
    SWITCH,
    SWITCH_WEIGHTED,
    AS_IS,
)
CONTESTANTS += (VALUE, ROUND, ONLINE)
AGAINST_LP = (BY_NAME["smooth_calibration_error"], LP)
