"""Errors that change little if predictions do: the smooth calibration error and the smooth ECE."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.cells import LARGEST_GRID
from rainproof.core.conversion import is_number
from rainproof.core.sample import Sample
from rainproof.errors import InputError
from rainproof.measures._lipschitz import lipschitz_gain
from rainproof.measures.binned import expected_calibration_error


def smooth_calibration_error(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> float:
    r"""Compute the smooth calibration error (smCE), which is close to the distance to calibration.

    It is within a factor of two of the smallest mean change that would make the predictions
    calibrated (`lower_distance_to_calibration`), it is continuous in the predictions, and chance
    changes it little. But it bounds no loss of those who act on the predictions directly: they can
    lose its square root.

    Not to be confused with the smooth *ECE* of Blasiok and Nakkiran, which some packages call
    ``smooth_calibration_error`` as well: that one is `smooth_ece`.

    Between 0 and 1; 0 is perfect.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).

    Returns
    -------
    float
        smCE of the sample, exact up to rounding.

    Notes
    -----
    .. math:: \mathrm{smCE} = \sup_w \mathrm{E}[(y - p)\, w(p)]

    over the 1-Lipschitz functions :math:`w: [0, 1] \to [-1, 1]`. Exact in O(n log n), by dynamic
    programming over the distinct predictions that keeps the slopes of the value function sorted.

    `Sample.compress` moves it by at most :math:`2/m`: a prediction moves by less than :math:`1/m`,
    which changes :math:`y - p` by that much and, as w is 1-Lipschitz, w(p) as well, and neither
    :math:`|y - p|` nor :math:`|w|` exceeds 1.

    References
    ----------
    Kakade, Foster (2008), "Deterministic calibration and Nash equilibrium",
    doi:10.1016/j.jcss.2007.04.017.
    Blasiok, Gopalan, Hu, Nakkiran (2023), arXiv:2211.16886: distCal/2 <= smCE <= 2 distCal.
    arXiv:2605.17749: Definition 2.3, Table 1, Appendix A (what it does not bound).

    Examples
    --------
    >>> import rainproof
    >>> rainproof.measures.smooth_calibration_error([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5])
    0.25
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    table = sample.distinct()
    # The sum of w (y - p) at each prediction; `binned.residuals` is quicker, and rounds otherwise.
    residual = table.positive * (1 - table.prob) - table.negative * table.prob
    gain = lipschitz_gain(table.prob, residual)
    return min(1.0, gain / sample.total_weight)


_FIRST_GRID = 1 << 10  # grid points that are tried first; four times as many follow
_MAX_MIDPOINTS = 1 << 22  # points that an integral is summed over: at most 32 MB
_MIN_WIDTH = 5e-6  # in probability: narrower kernels are lost between points of the finest grid
_MAX_SORTED_ROWS = 1 << 14  # from so many rows on ECE is replaced by a bound that needs no sort
_LAST_BRACKETS = 50  # in one tolerance: the bracket of the fixed point is narrowed to this width
# Integrals of the absolute first and second derivative of the density of a standard Gaussian.
_GAUSSIAN_SLOPE = math.sqrt(2 / math.pi)
_GAUSSIAN_BEND = 4 * math.exp(-0.5) / math.sqrt(2 * math.pi)


def smooth_ece(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    tolerance: float = 1e-5,
) -> float:
    r"""Compute the smooth ECE (Blasiok and Nakkiran): ECE with a Gaussian kernel in place of bins.

    The residuals are smoothed with a Gaussian kernel: the wider the kernel, the smaller the error.
    Smooth ECE is the width at which the error equals the width, so it needs no choice of bins and
    is continuous in the predictions. Whoever adds noise of that width to the predictions before
    acting on them loses at most 2.68 times this share of what is at stake, whatever the decision.

    Not to be confused with smCE, the supremum over Lipschitz functions: here that is
    `smooth_calibration_error`, a name that some packages give to smooth ECE.

    Between 0 and 1; 0 is perfect.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).
    tolerance : float
        The largest error of the computed value, from 1e-9 to 0.1.

    Returns
    -------
    float
        Smooth ECE of the sample; 0 if it is below half the `tolerance` or below 5e-6, or if ECE,
        which it never exceeds, is at most the `tolerance`.

    Notes
    -----
    .. math:: r_s(t) = \mathbb{E}[(y - p)\, K_s(t, p)], \qquad
        \mathrm{smECE}_s = \int_0^1 |r_s(t)|\, dt, \qquad
        \mathrm{smECE} = s^* \ \text{with}\ \mathrm{smECE}_{s^*} = s^*,

    where :math:`K_s(t, p)` is the density at t of p plus Gaussian noise of standard deviation s,
    reflected at both ends of [0, 1]. Smoothing never adds error, so :math:`\mathrm{smECE}_s` does
    not increase with s, and the fixed point lies between s and :math:`\mathrm{smECE}_s` for every
    s; it is found by bisection.

    The kernel is diagonal in cosines: :math:`r_s(t) = a_0 + 2 \sum_k a_k e^{-(\pi k s)^2/2} \cos
    \pi k t` with :math:`a_k = \mathbb{E}[(y - p) \cos \pi k p]`. Rows are split between the two
    nearest points of a grid :math:`j/g`, in shares that keep their mean: with the soft-binned sums
    :math:`\pi_j, s_j` of `soft_binned_cdl` the residuals on the grid are :math:`s_j - \pi_j j/g`. A
    fast Fourier transform gives the :math:`a_k`, and another one :math:`r_s`: O(n + g log g); large
    samples are not sorted.

    *Error.* The split replaces :math:`(q - p) K_s(t, p)` by its linear interpolation between grid
    points. The second derivative of a Gaussian integrates to 0.968/s^2, the first to 0.798/s, so it
    moves :math:`\mathrm{smECE}_s`, and with it the fixed point, by at most

    .. math:: \frac{1}{8 g^2} \Bigl( 0.968\,\frac{e + 1/g}{s^2} + \frac{1.6}{s} \Bigr), \qquad
        e = \mathrm{ECE},

    or :math:`e = \mathbb{E}|y - p| \ge \mathrm{ECE}` where rows are not sorted. The grid is refined
    until this is half of `tolerance`; the integral and the bisection share the other half. The
    midpoint rule with step h is off by at most :math:`h^2/4 \cdot \int |r_s''|`: a zero of
    :math:`r_s` adds :math:`2 |r_s'|` to the variation of the slope of :math:`|r_s|`, and between
    two zeros :math:`r_s''` compensates for it. In practice the error is far below the bound, as
    residuals have both signs. The finest grid is g = 2^20, where the bound is 1.1e-13/s^2 +
    1.8e-13/s. For values below 1.5e-4 this can exceed the default tolerance, but the error is never
    more than 1e-4 then.

    *Compression.* `Sample.compress(m)` preserves the sums above, so the value is that of the rows
    on the grid g = m. It is within `tolerance` of the exact value if that grid is fine enough,
    otherwise within the bound above at g = m, taken at the larger of the two values; solved for the
    distance between them, this is at most :math:`(8 m^2)^{-1/3} + 1/m`.

    With d the lower distance to calibration, :math:`d/1.8 \le \mathrm{smECE} \le 1.6 \sqrt d`: the
    noise moves predictions by 0.798 s on average and leaves them with ECE s; and with a calibrated
    :math:`p'` near p, :math:`\mathrm{smECE}_s \le d + 0.798\,d/s`. Also smECE <= ECE. On T rows of
    a perfectly calibrated forecaster it is about :math:`T^{-1/3}`.

    References
    ----------
    Blasiok, Nakkiran (2024), "Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing",
    ICLR, arXiv:2309.12236. Table 1 of arXiv:2605.17749.

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> round(rainproof.measures.smooth_ece(y, p), 4)
    0.1065
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    if not is_number(tolerance) or not 1e-9 <= tolerance <= 0.1:
        raise InputError(f"tolerance must be a number from 1e-9 to 0.1; it is {tolerance!r}")
    tolerance = float(tolerance)
    error = _error_bound(sample)
    if error <= tolerance:
        return 0.0  # smooth ECE is at most ECE
    # Most samples need no finer grid than the first: the kernel is much wider than its cells.
    finest = sample.grid or LARGEST_GRID
    grid = min(_FIRST_GRID, finest)
    while True:
        coefficients = _cosine_coefficients(sample, grid)
        width = _fixed_point(coefficients, error, tolerance, final=grid == finest)
        if width is not None:
            return width
        grid = min(4 * grid, finest)


def _error_bound(sample: Sample) -> float:
    """Return ECE, or its upper bound E|y - p| for large samples (which are not sorted) and
    compressed ones.
    """
    if sample.grid is None and sample.n < _MAX_SORTED_ROWS:
        return expected_calibration_error(sample)
    m, slot, weight, rise = sample.tables.cell_sums(1)
    # Each cell has two slots, one for either outcome.
    cell = slot >> 1
    event = slot & 1
    predicted = (cell * weight + rise) / m  # the sum of w p
    distance = np.where(event, weight - predicted, predicted)
    return float(distance.sum()) / sample.total_weight


def _split_error(grid: int, width: float, error: float) -> float:
    """Bound the error of smECE_s by splitting rows between points of a grid: see `smooth_ece`."""
    by_bend = _GAUSSIAN_BEND * (error + 1 / grid) / width**2
    by_slope = 2 * _GAUSSIAN_SLOPE / width
    return (by_bend + by_slope) / (8 * grid**2)


def _cosine_coefficients(sample: Sample, grid: int) -> Floats:
    """Return a_0 ... a_grid of the residuals on the grid."""
    # Another pass over the rows takes less time than the transform, and than a sort.
    if sample.grid is None and grid > sample.tables.grids()[-2]:
        sample = sample.pooled(grid)
    rounded = sample.on_grid(grid)
    predicted = rounded.index / grid * rounded.weight
    residual = np.zeros(grid + 1)
    residual[rounded.index] = (rounded.positive - predicted) / sample.total_weight
    # Cosines alone: the residuals are continued as an even function of period 2.
    return np.fft.rfft(residual, 2 * grid).real


def _fixed_point(
    coefficients: Floats, error: float, tolerance: float, *, final: bool
) -> float | None:
    """Find the width s with smECE_s = s: 0 if it is too small to compute, None if it needs a finer
    grid (and there is one: this one is not `final`).

    The fixed point lies between s and smECE_s, so each trial cuts the bracket on one side or on
    both. When the bracket is narrow enough, one secant step follows.
    """
    grid = len(coefficients) - 1
    floor = max(tolerance / 2, _MIN_WIDTH)
    low = floor
    high = error
    width = error
    smoothed = error
    while high - low > tolerance / _LAST_BRACKETS:
        if not final and _split_error(grid, high, error) > tolerance / 2:
            return None
        last_width = width
        last_smoothed = smoothed
        width = (low + high) / 2
        smoothed = _smoothed_error(coefficients, width, tolerance)
        low = max(low, min(width, smoothed))
        high = min(high, max(width, smoothed))
    if low == floor:
        return 0.0
    # smECE_s does not increase with s.
    slope = min(0.0, (smoothed - last_smoothed) / (width - last_width))
    secant = width + (smoothed - width) / (1 - slope)
    return min(max(low, secant), high)


def _smoothed_error(coefficients: Floats, width: float, tolerance: float) -> float:
    """Compute smECE_s, the mean of |r_s| over enough midpoints to be exact to a quarter of the
    tolerance.
    """
    grid = len(coefficients) - 1
    k = np.arange(math.ceil(3 / width) + 1)  # beyond these e^{-(pi k s)^2/2} < 1e-19
    # On the grid higher frequencies are the same cosines as lower ones.
    folded = k % (2 * grid)
    damping = np.exp(-0.5 * (np.pi * width * k) ** 2)
    a = coefficients[np.minimum(folded, 2 * grid - folded)] * damping
    # The L2 norm of r_s'', at least its L1 norm.
    bend = math.sqrt(2 * float(((np.pi * k) ** 4 * a**2).sum()))
    # The midpoint rule is off by at most bend / (4 points^2): see the notes of `smooth_ece`.
    points = max(2 * len(k), math.ceil(math.sqrt(bend / tolerance)))
    points = min(_MAX_MIDPOINTS, 1 << math.ceil(math.log2(points)))
    # Shifted by half a step, the transform gives r_s at (4 i + 1) / (2 points): every midpoint,
    # folded at 1.
    half_step = np.exp(0.5j * np.pi / points * k)
    r = np.fft.irfft(a * half_step, points)
    return float(np.abs(r).sum())
