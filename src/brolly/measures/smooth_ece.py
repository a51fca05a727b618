"""Smooth ECE: the calibration error of predictions blurred by just as much as they are wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brolly.core.arrays import Floats
from brolly.core.grid.cells import LARGEST_GRID
from brolly.core.sample.sample import Sample, as_sample
from brolly.errors import InputError
from brolly.measures.expected import residuals

_FIRST_GRID = 1 << 10
_FINEST_OUTPUT = 1 << 22
_SMALLEST = 5e-6  # widths below are not looked at: the kernel would fall between the cells of the finest grid
_FEW_ROWS = 1 << 14  # more are not sorted
_BEND = 4 * math.exp(-0.5) / math.sqrt(2 * math.pi)  # the integral of |second derivative| of a unit Gaussian
_SLOPE = math.sqrt(2 / math.pi)  # and of |first derivative|


def smooth_ece(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    tolerance: float = 1e-5,
) -> float:
    r"""Smooth ECE (Blasiok and Nakkiran): ECE without bins, by a Gaussian kernel of a width that finds itself.

    Blur the predictions and compare them with the frequencies around them: the more blur, the smaller
    the difference. Smooth ECE is the width of blur at which both are equal, so it needs no choice of bins and
    changes little when predictions do. Whoever adds noise of that width to the predictions before acting on
    them gives up at most twice this share of what is at stake, whatever the decision.

    Not to be confused with smCE, the supremum over Lipschitz functions: here that is
    `smooth_calibration_error`, a name that some packages give to smooth ECE.

    Between 0 and 1; 0 is perfect.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.
    tolerance : float
        How far the answer may be from the exact value, from 1e-9 to 0.1.

    Returns
    -------
    float
        Smooth ECE of the sample; 0 where it is below half the `tolerance`, or below 5e-6, or where ECE, which
        it never exceeds, is within the `tolerance` of 0.

    Notes
    -----
    .. math:: r_s(t) = \mathbb{E}[(y - p)\, K_s(t, p)], \qquad \mathrm{smECE}_s = \int_0^1 |r_s(t)|\, dt, \qquad
        \mathrm{smECE} = s^* \ \text{with}\ \mathrm{smECE}_{s^*} = s^*,

    where :math:`K_s(t, p)` is the density at t of p plus Gaussian noise of standard deviation s, reflected at
    0 and 1. As more blur never adds error, :math:`\mathrm{smECE}_s` does not grow with s, and the fixed
    point lies between s and :math:`\mathrm{smECE}_s` for every s: bisection.

    The kernel is diagonal in cosines: :math:`r_s(t) = a_0 + 2 \sum_k a_k e^{-(\pi k s)^2/2} \cos \pi k t` with
    :math:`a_k = \mathbb{E}[(y - p) \cos \pi k p]`. Rows are split between the two nearest points of a grid
    :math:`j/g`, in shares that keep their mean: with the soft-binned sums :math:`\pi_j, s_j` of
    `soft_binned_cdl` the residuals on the grid are :math:`s_j - \pi_j j/g`. A fast Fourier transform gives the
    :math:`a_k`, and another one :math:`r_s`: O(n + g log g), and many rows are not sorted.

    *Error.* The split replaces :math:`(q - p) K_s(t, p)` by its linear interpolation between grid points.
    The second derivative of a Gaussian integrates to 0.968/s^2, the first to 0.798/s, so it moves
    :math:`\mathrm{smECE}_s`, and with it the fixed point, by at most

    .. math:: \frac{1}{8 g^2} \Bigl( 0.968\,\frac{e + 1/g}{s^2} + \frac{1.6}{s} \Bigr), \qquad e = \mathrm{ECE},

    or :math:`e = \mathbb{E}|y - p| \ge \mathrm{ECE}` where rows are not sorted. The grid is refined until this is
    half of `tolerance`; the integral and the bisection share the other half. The midpoint rule with step h is off
    by at most :math:`h^2/4 \cdot \int |r_s''|`: a zero of :math:`r_s` adds :math:`2 |r_s'|` to the variation of the
    slope of :math:`|r_s|`, and between two zeros :math:`r_s''` makes up for it. In practice the error
    is far below the bound, as residuals have both signs. The grid stops at g = 2^20, where the bound is
    1.1e-13/s^2 + 1.8e-13/s: less is not to be had, and for values below 1.5e-4 that can be more than
    the default tolerance; but the error is never more than 1e-4 then.

    *Compression.* The sums above are those that `Sample.compress(m)` keeps, so the value is that of
    the rows on the grid g = m. It is within `tolerance` of exact if that grid is fine enough, else within
    the bound above at g = m, taken at the larger of the two values; solved for the distance between them, that
    is :math:`(8 m^2)^{-1/3} + 1/m` at most.

    With d the lower distance to calibration, :math:`d/1.8 \le \mathrm{smECE} \le 1.6 \sqrt d`: the noise moves
    predictions by 0.798 s on average and leaves them with ECE s; and with a calibrated :math:`p'` near p,
    :math:`\mathrm{smECE}_s \le d + 0.798\,d/s`. Also smECE <= ECE. On T rows of a perfectly calibrated
    forecaster it is about :math:`T^{-1/3}`.

    References
    ----------
    Blasiok, Nakkiran (2024), "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing", ICLR,
    arXiv:2309.12236. Table 1 of arXiv:2605.17749.

    Examples
    --------
    >>> import brolly
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> round(brolly.smooth_ece(y, p), 4)
    0.1065
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    if isinstance(tolerance, bool) or not isinstance(tolerance, float | int) or not 1e-9 <= tolerance <= 0.1:
        raise InputError(f"tolerance must be a number from 1e-9 to 0.1; it is {tolerance!r}")
    error = _pointwise_error(sample)
    if error <= tolerance:
        return 0.0  # smooth ECE is at most ECE
    finest = sample.grid or LARGEST_GRID
    g = min(_FIRST_GRID, finest)
    while (s := _fixed_point(_cosines(sample, g), error, tolerance, final=g == finest)) is None:
        g = min(4 * g, finest)
    return s


def _pointwise_error(sample: Sample) -> float:
    """ECE; where that would take a long sort, or is lost by compression, its upper bound E|y - p|."""
    if sample.grid is None and sample.n < _FEW_ROWS:
        return float(np.abs(residuals(sample._distinct_table())).sum()) / sample.total_weight
    sums = sample._cell_sums(1)
    said = ((sums.slot >> 1) * sums.weight + sums.rise) / sums.m
    return float(np.where(sums.slot & 1, sums.weight - said, said).sum()) / sample.total_weight


def _split_error(g: int, s: float, error: float) -> float:
    """How far splitting the rows between the points of the grid 1/g can move smECE_s."""
    return (_BEND * (error + 1 / g) / s**2 + 2 * _SLOPE / s) / (8 * g**2)


def _cosines(sample: Sample, g: int) -> Floats:
    """a_0 ... a_g of the residuals on the grid 1/g."""
    if sample.grid is None and g > sample._grids()[-2]:  # one more pass costs less than the transform, or than sorting
        sample = sample.compress(g)
    rounded = sample._on_grid(g).rounded
    residual = np.zeros(g + 1)
    residual[rounded.index] = (rounded.positive - rounded.index / g * rounded.weight) / sample.total_weight
    return np.fft.rfft(residual, 2 * g).real


def _fixed_point(cosines: Floats, error: float, tolerance: float, *, final: bool) -> float | None:
    """The s with smECE_s = s, 0 if it is too small to look for; None if it is so small that a finer grid is due.

    The bracket is halved until it has a fiftieth of the tolerance; then the line through the last two
    errors is followed to where it meets s.
    """
    g = len(cosines) - 1
    floor = low = max(tolerance / 2, _SMALLEST)
    high = s = after = error
    while high - low > tolerance / 50:
        if not final and _split_error(g, high, error) > tolerance / 2:
            return None
        last, before = s, after
        s = (low + high) / 2
        after = _smoothed_error(cosines, s, tolerance)
        low, high = max(low, min(s, after)), min(high, max(s, after))
    if low == floor:
        return 0.0
    slope = min(0.0, (after - before) / (s - last))
    return min(max(low, s + (after - s) / (1 - slope)), high)


def _smoothed_error(cosines: Floats, s: float, tolerance: float) -> float:
    """smECE_s: the mean of |r_s| over midpoints, as many as make it exact to a quarter of the tolerance."""
    k = np.arange(math.ceil(3 / s) + 1)  # past these e^{-(pi k s)^2/2} < 1e-19
    g = len(cosines) - 1
    folded = k % (2 * g)
    a = cosines[np.minimum(folded, 2 * g - folded)] * np.exp(-0.5 * (np.pi * s * k) ** 2)
    bend = math.sqrt(2 * float(((np.pi * k) ** 4 * a**2).sum()))  # the L2 norm of r_s'', at least its L1 norm
    points = max(2 * len(k), math.ceil(math.sqrt(bend / tolerance)))
    points = min(_FINEST_OUTPUT, 1 << math.ceil(math.log2(points)))
    # Turned by half a step, the transform gives r_s at (4 i + 1) / (2 points): every midpoint, folded at 1.
    r = np.fft.irfft(a * np.exp(0.5j * np.pi / points * k), points)
    return float(np.abs(r).sum())
