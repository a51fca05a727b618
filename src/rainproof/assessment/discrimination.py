"""Discrimination: how well a forecast separates rows with the event from those without, and whether it is reversed."""

from __future__ import annotations

import math

from rainproof.core.sample.sample import Sample

_LOW = 0.4  # of the area under the ROC curve; noise can be below 1/2, but 1 - p is not far better then
_QUANTILE = 3.09  # of the normal distribution: noise is called reversed once in a thousand times


def is_reversed(sample: Sample, area: float | None, draws: int | None = None) -> bool:
    """Whether higher predictions clearly go with fewer events: an approximate test, for a hint.

    `draws` is the number of groups, if rows depend on each other.
    """
    if area is None or area > _LOW:
        return False
    n = sample.effective_n if draws is None else min(sample.effective_n, draws)
    events = n * sample.event_rate
    error = math.sqrt((n + 1) / (12 * events * (n - events)))  # of Mann-Whitney; ties make it smaller
    return area < 0.5 - _QUANTILE * error
