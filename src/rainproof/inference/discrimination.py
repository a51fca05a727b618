"""Discrimination: how well a forecast tells rows with the event from those without, with an interval."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from rainproof.core.sample.sample import Sample, as_sample
from rainproof.errors import InputError
from rainproof.inference.influence import Entries, IntervalEstimate
from rainproof.inference.resampling import check_share


def discrimination(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> IntervalEstimate:
    r"""Compute the area under the ROC curve (AUROC, C-statistic) with a confidence interval.

    It is the probability that a row with the event has a higher prediction than a row without it; ties count half.
    1 is perfect, 0.5 says nothing. It does not change if all predictions are mapped by a rising function, so it says
    nothing about calibration.

    Explained in docs/clinical.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`. Both must occur.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups must be
        independent.
    confidence_level : float
        The level of the interval.

    Returns
    -------
    IntervalEstimate
        `value`, `low`, `high`.

    Notes
    -----
    With :math:`A_i` the share of rows of the other outcome that row i is on the right side of, the variance is that of
    the mean of :math:`A_i` among events plus that among the others (DeLong), or the same summed over groups. The
    interval is symmetric on the logit scale: an approximation for many rows. Where all rows are on the right side (or
    all on the wrong one) the variance would be 0; then the interval is the exact one for as many independent pairs as
    can be formed. O(n log n). A compressed sample counts predictions of one cell as ties.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), doi:10.2307/2531595. Obuchowski (1997), doi:10.2307/2533958 (groups). Pepe
    (2003), "The Statistical Evaluation of Medical Tests", section 5.2.3 (the logit scale).

    Examples
    --------
    >>> import rainproof
    >>> print(rainproof.discrimination([0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]))
    0.75 (0.262 to 0.962)
    """
    level = check_share(confidence_level, "confidence_level")
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    entries = Entries.of(sample, groups)
    found = auroc_estimate(sample, entries, level)
    if found is None:
        outcome = int(sample.event_rate > 0)
        raise InputError(f"y_true must have both outcomes; all rows with weight have {outcome}")
    return found


def auroc(sample: Sample) -> float | None:
    """The area under the ROC curve; None if all outcomes are the same."""
    negative, positive = sample._distinct_table().negative, sample._distinct_table().positive
    total = float(negative.sum() * positive.sum())
    if not total:
        return None
    others, events = np.flatnonzero(negative), np.flatnonzero(positive)
    if others[-1] < events[0] or events[-1] < others[0]:  # exactly: sums of weights are so up to rounding
        return float(others[-1] < events[0])
    return min(float(positive @ (negative.cumsum() - negative / 2)) / total, 1.0)


def auroc_estimate(sample: Sample, entries: Entries, confidence_level: float) -> IntervalEstimate | None:
    """The area under the ROC curve with its interval; None if all outcomes are the same."""
    area, table, event = auroc(sample), sample._distinct_table(), entries.event
    if area is None:
        return None
    count = entries.effective(~event), entries.effective(event)
    if area in (0.0, 1.0):
        low = ((1 - confidence_level) / 2) ** (1 / _independent_pairs(entries, min(count)))
        ends = (low, 1.0) if area else (0.0, 1 - low)
        return IntervalEstimate(value=area, low=ends[0], high=ends[1], confidence_level=confidence_level)
    negative, positive = table.negative / table.negative.sum(), table.positive / table.positive.sum()
    below, above = np.cumsum(negative) - negative / 2, np.cumsum(positive[::-1])[::-1] - positive / 2
    at = np.minimum(np.searchsorted(table.prob, entries.prob), len(table.prob) - 1)  # rows of weight 0 may be absent
    side = np.where(event, below[at], above[at])  # the share of the other outcome that a row is on the right side of
    share = 1 - sample.event_rate, sample.event_rate
    scale = [math.sqrt(max(n, 2.0) / (max(n, 2.0) - 1)) / part for n, part in zip(count, share, strict=True)]
    error = entries.standard_error((side - area) * np.where(event, scale[1], scale[0]))
    return IntervalEstimate.on_scale(area, error / (area * (1 - area)), confidence_level, logit, expit)


def _independent_pairs(entries: Entries, rows: float) -> float:
    """How many pairs of a row with the event and one without can be formed that share no group."""
    if entries.group is None:
        return max(rows, 1.0)
    some = entries.share > 0
    sides = [len(np.unique(entries.group[some & (entries.event == outcome)])) for outcome in (False, True)]
    return max(min(*sides, len(np.unique(entries.group[some])) // 2), 1)
