"""A test of calibration for rows that depend on each other within groups."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logit

from rainproof.core.arrays import Floats
from rainproof.inference.forecasts import Forecasts

_NEAREST = 1e-3  # to 0 and 1 that log odds are told apart: beyond, a few rows would have all the weight
_LEAST = 1e-300  # variance: squares of less are rounded to 0, and a larger one is a weaker bound


def grouped_p_value(rows: Forecasts) -> float:
    r"""Return a p-value of perfect calibration that holds whatever the dependence within groups, at every size.

    Small values speak against calibration: the predictions are too high or too low on average, or too extreme or not
    extreme enough.

    Notes
    -----
    With :math:`f = 1` and with the log odds f of the prediction (clipped, less their mean), let :math:`Z_g` be the sum
    of :math:`w (y - p) f(p)` over a group. If each row has its event with probability p, the :math:`Z_g` have mean 0
    given all predictions, are independent, and by Cauchy and Schwarz their variance is at most the square of the sum of
    :math:`w |f| \sqrt{p (1-p)}`. With V the sum of these and M the largest that a :math:`|Z_g|` can be, Bennett's
    inequality bounds the probability that their sum is as far from 0 as it is by
    :math:`2 \exp(-V/M^2\, h(M |Z| / V))`, with :math:`h(u) = (1 + u) \ln(1 + u) - u`. The p-value is twice the smaller
    of the two bounds.
    """
    p, weight = rows.prob, rows.masses()
    spread = np.sqrt(p * (1 - p))
    odds = logit(np.clip(p, _NEAREST, 1 - _NEAREST))
    share = weight * p * (1 - p)  # of two parts of one row, with its event and without, it is that of the row
    centre = float(share @ odds) / total if (total := float(share.sum())) > 0 else 0.0
    return min(1.0, 2 * min(_bound(rows, f, spread) for f in (np.ones(len(p)), odds - centre)))


def _bound(rows: Forecasts, f: Floats, spread: Floats) -> float:
    """Bennett's bound on the probability of a sum as far from 0, on either side."""
    assert rows.group is not None
    p, scale, group = rows.prob, rows.masses() * np.abs(f), rows.group
    most = float(np.bincount(group, scale * np.maximum(p, 1 - p)).max())
    if most == 0:
        return 1.0
    found = abs(float((rows.masses() * f / most) @ (rows.event - p)))
    variance = float((np.bincount(group, scale / most * spread) ** 2).sum())
    if variance == 0 and (scale[p == 1.0 - rows.event] > 0).any():  # all are certain, and one is wrong
        return 0.0
    variance = max(variance, _LEAST)
    return 2 * math.exp(found - (variance + found) * math.log1p(found / variance))
