"""Outcomes that are shares of an event, as rows of outcomes 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Ints
from rainproof.core.input.labels import as_labels
from rainproof.core.input.rows import ColumnNames, as_numbers, as_rows
from rainproof.core.sample.sample import Sample
from rainproof.errors import InputError


def split_outcomes(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
) -> tuple[Sample, NDArray[Any]]:
    """Split rows whose outcome is a share of the event, such as a drawn match, into two weighted rows each.

    A row with outcome 0.3 becomes a row with the event, of weight 0.3, and a row without it, of weight 0.7. All
    averages are then those of the shares. The two are one draw, not two: pass the groups that are returned to
    whatever says something about the population.

    Explained in docs/data.md.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The share of the event in each row, in [0, 1].
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row.
    groups : array_like of shape (n,), optional
        The group of each row, if rows depend on each other. Default: each row is a group of its own.

    Returns
    -------
    sample : Sample
        The rows with outcomes 0 and 1.
    groups : ndarray
        The group of each of them.

    Notes
    -----
    `guarantee` and its relatives with these groups hold: what a group contributes is the average of two values of the
    same bounded function, so it has the same bounds as a row. Without the groups a drawn match would count as two
    matches, and nothing would be proven. `calibration_test` takes no groups: it is not for such rows.

    Examples
    --------
    >>> import rainproof
    >>> sample, groups = rainproof.split_outcomes([1, 0.5, 0], [0.7, 0.6, 0.2])   # a win, a draw, a defeat
    >>> sample
    Sample(n=4, events=2, total_weight=3)
    >>> sample.event_rate, groups.tolist()
    (0.5, [0, 1, 1, 2])
    """
    shares = as_numbers(y_true, "y_true")
    rows = as_rows(np.zeros(shares.shape), y_prob, sample_weight)
    error = explain_shares(shares, rows.names)
    if error is not None:
        raise error
    at, label, part = _parts(shares)
    weight = part if rows.weight is None else part * rows.weight[at]
    own = np.arange(len(shares)) if groups is None else as_labels(groups, "groups", len(shares))
    sample = Sample(label, rows.prob[at], sample_weight=weight)
    sample._second = np.append(False, at[1:] == at[:-1]) & (weight > 0)  # rows of weight zero do not count
    return sample, own[at]


def explain_shares(shares: NDArray[Any], names: ColumnNames) -> InputError | None:
    """Return the error for outcomes that are no shares, if there are any."""
    bad = ~((shares >= 0) & (shares <= 1))
    if not bad.any():
        return None
    first = int(bad.argmax())
    rule = f"{names.label} must be a share of the event, in [0, 1]"
    return InputError.from_offenders(rule, int(bad.sum()), names.at(names.label, first), shares[first])


def _parts(shares: NDArray[np.float64]) -> tuple[Ints, NDArray[np.uint8], NDArray[np.float64]]:
    """Return the row, the outcome and the share of each part: one of a sure outcome, else two, with the event first."""
    both = (shares > 0) & (shares < 1)
    at = np.repeat(np.arange(len(shares)), np.where(both, 2, 1))
    second = np.zeros(len(at), np.bool_)
    second[1:] = at[1:] == at[:-1]
    label = np.where(both[at], ~second, shares[at] == 1)
    part = np.where(label, shares[at], 1 - shares[at])
    return at, label.view(np.uint8), part
