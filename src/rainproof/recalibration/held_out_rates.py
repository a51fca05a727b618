"""Event rates in bins of the rows held out: what a picture of the map is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from rainproof.core.arrays import Floats, Frozen, freeze
from rainproof.inference.forecasts import Forecasts

_BINS = 10


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeldOutRates(Frozen):
    """The mean prediction and the event rate in bins of equal weight, with Wilson intervals, each bin by itself.

    Rows of a bin must be independent for the intervals; where rows come in groups, they are not drawn.
    """

    prediction: Floats
    event_rate: Floats
    low: Floats
    high: Floats
    grouped: bool
    overall: float

    def __post_init__(self) -> None:
        freeze(self.prediction, self.event_rate, self.low, self.high)


def held_out_rates(held: Forecasts, confidence_level: float) -> HeldOutRates | None:
    """Pool rows with neighbouring predictions; None without rows."""
    weight = held.masses()
    if not weight.sum() > 0:
        return None
    order = np.argsort(held.prob, kind="stable")
    prob, event, weight = held.prob[order], held.event[order], weight[order]
    weight = weight if held.weight is None else weight / weight.max()  # squares of tiny weights would underflow
    squares = weight if held.weight is None else weight**2
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    first = np.concatenate([[True], np.diff(prob) > 0])  # rows with the same prediction stay together
    middle = middle[first][np.cumsum(first) - 1]
    at = np.unique((middle * _BINS).astype(np.int64), return_inverse=True)[1].reshape(-1)
    total = np.bincount(at, weight)
    some = total > 0
    mean, rate = (np.bincount(at, weight * values)[some] / total[some] for values in (prob, event))
    square = np.maximum(np.bincount(at, squares)[some], np.finfo(float).tiny)
    n = total[some] ** 2 / square  # effective, where weights differ
    z = float(ndtri((1 + confidence_level) / 2))
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    return HeldOutRates(
        prediction=mean,
        event_rate=rate,
        low=np.clip(centre - half, 0, rate),
        high=np.clip(centre + half, rate, 1),
        grouped=held.group is not None,
        overall=float(weight @ event / weight.sum()),
    )
