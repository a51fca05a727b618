"""The lower distance to calibration, by a linear program on a grid."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.cells import check_power_of_two
from rainproof.core.sample import Sample
from rainproof.errors import RainproofError, ResolutionWarning
from rainproof.measures._least_flow import least_flow

_LARGEST_GRID = 1 << 13  # cells; the solver takes O(cells) in each step
# Duality gaps, in units of the distance: the upper bound on it minus the lower one.
_TARGET_GAP = 1e-10  # here the solver stops
_ACCEPTED_GAP = 1e-8  # a larger one is an error; rounding can keep the solver from its target
_MAX_STEPS = 200  # about 20 are needed


def lower_distance_to_calibration(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    grid: int = 1024,
) -> float:
    r"""Compute the lower distance to calibration (distCal): the smallest mean change that
    calibrates the predictions.

    It is the reference for other calibration measures: the mean distance by which predictions must
    move (rows with equal predictions may move differently) until every prediction equals its event
    rate. It bounds no loss of those who act on the predictions.

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
    grid : int
        Predictions are rounded to multiples of ``1/grid``, before and after the change; a power of
        two from 2 to 8,192.

    Returns
    -------
    float
        A value within ``1/grid`` of the distance (see Notes).

    Notes
    -----
    .. math:: \mathrm{distCal} = \inf \mathrm{E}|p - p'| \quad
        \text{over joint distributions of } (p, p', y) \text{ with } (p', y) \text{ calibrated.}

    The rows of each outcome are a mass on a line of their own. If the mass :math:`\beta_v` arrives
    at v, calibration requires that :math:`v \beta_v` of it comes along the line of events and
    :math:`(1 - v) \beta_v` along the other. On each line mass flows from one grid point to the
    next, and the distance is the sum of these flows: a linear program with about five variables per
    grid point. An interior-point method made for its two chains solves it, in a few milliseconds at
    1,024 grid points, whatever the number of rows.

    *Error.* Each prediction is first split between its two neighbours on the grid, a move of
    :math:`2 f (1 - f)/g \le 1/(2g)` on average, which changes the distance by no more. Restricting
    p' to the grid costs at most :math:`1/(2g)` again: a mass b of the best p' at the share f
    between two grid points can be split into :math:`(1 - f) b` and :math:`f b` at these points and
    stays calibrated, again a move of :math:`2 f (1 - f) b / g`. So distCal lies in [value - 1/g,
    value + 1/(2g)]; if all predictions are on the grid, in [value - 1/(2g), value]. The solver adds
    1e-10: it stops when a flow and a solution of the dual program, which bound the value from both
    sides, are that close.

    `Sample.compress` to `grid` or finer does not change the value. Compressed to a coarser grid of
    m, predictions are known to :math:`1/m` only, which the distance can be off by as well: a
    `ResolutionWarning` says so.

    References
    ----------
    Blasiok, Gopalan, Hu, Nakkiran (2023), arXiv:2211.16886. arXiv:2605.17749: Definition 2.4 and
    Theorem 6.1.

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]
    >>> round(rainproof.measures.lower_distance_to_calibration(y, p), 6)
    0.25
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    cells = check_power_of_two(grid, "grid", _LARGEST_GRID)
    if sample.grid is not None and sample.grid < cells:
        coarse = f"the sample is compressed to grid = {sample.grid:,}, coarser than {cells:,}"
        warnings.warn(
            ResolutionWarning(f"{coarse}: the distance is off by up to 1/{sample.grid:,} more"),
            stacklevel=2,
        )
    rounded = sample.on_grid(cells)
    # A difference of equal weights may round below 0.
    without_event = np.maximum(rounded.weight - rounded.positive, 0.0)
    # The mass of each outcome at each grid point, also at those without rows.
    negative = np.zeros(cells + 1)
    positive = np.zeros(cells + 1)
    negative[rounded.index] = without_event / sample.total_weight
    positive[rounded.index] = rounded.positive / sample.total_weight
    return _distance(negative, positive)


def _distance(negative: Floats, positive: Floats) -> float:
    """Return the least total flow along two lines that turns these masses into calibrated ones."""
    if not positive.any() or not negative.any():
        # With one outcome, only predictions of 0 or only predictions of 1 are calibrated.
        prediction = np.linspace(0.0, 1.0, len(positive))
        return float(prediction @ negative + (1 - prediction) @ positive)
    lower, upper = least_flow(negative, positive, _TARGET_GAP, _MAX_STEPS)
    if not upper - lower <= _ACCEPTED_GAP:  # also if it is NaN
        raise RainproofError(
            f"the lower distance was not found: it lies between {lower} and {upper}"
        )
    # The lower bound may lie below 0, or by rounding above 1.
    return min(1.0, max(0.0, lower))
