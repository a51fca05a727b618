"""Brier score and log score, and how much of each is due to miscalibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core._exact_sum import add
from rainproof.core.arguments import as_sample
from rainproof.core.arrays import EXACT_BINS, Floats, exact_units
from rainproof.core.curve import merged, recalibrated
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.errors import InputError

Rule = Literal["brier", "log"]
_Loss = Callable[[Floats, NDArray[np.bool_]], Floats]  # of predictions and outcomes, row by row

_BLOCK = 1 << 15  # rows that are summed together: no copy of all rows is made


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ScoreDecomposition(Result):
    """A score and its parts: ``score = reliability - resolution + uncertainty``.

    Attributes
    ----------
    score : float
        The mean score of the predictions; 0 is perfect. A log score can be infinite.
    reliability : float
        The reduction of the score by recalibration (also: miscalibration, MCB); 0 is perfect.
        Infinite exactly where the score is.
    resolution : float
        The score of a constant minus that of the recalibrated predictions (also: discrimination,
        DSC); larger is better, at most `uncertainty`.
    uncertainty : float
        The score of always predicting the overall event rate (UNC), which does not depend on the
        predictions.
    rule : {"brier", "log"}
        Which score it is.
    n : int
        The number of rows.
    """

    _kind = "score_decomposition"
    _also = ("measure", "method")
    method: ClassVar[str] = "isotonic"
    score: float
    reliability: float
    resolution: float
    uncertainty: float
    rule: Rule
    n: int

    @property
    def measure(self) -> str:
        """The name of the score among the measures."""
        return f"{self.rule}_score"


def brier_score(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> float:
    r"""Compute the Brier score: the mean squared difference between prediction and outcome.

    It ranks forecasters of the same outcomes: the lower the score, the smaller the loss of decision
    makers, averaged over all thresholds. It measures more than calibration: a perfectly calibrated
    forecaster of coin tosses scores 1/4. `score_decomposition` separates the parts.

    Between 0 and 1; 0 is perfect, and requires predictions of 0 and 1 that are all right.

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
        :math:`E (p - y)^2`, the weighted mean over rows.

    Notes
    -----
    One pass over the rows, without sorting or copying them. It is an unbiased estimate of the
    expected score, for every forecaster. Scores of different samples are hard to compare, as their
    event rates differ.

    On a sample compressed to `m` it is lower than on the rows, by at most :math:`1/(4 m^2)`: rows
    of one outcome in one cell are replaced by their mean, which removes their variance.

    References
    ----------
    Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.
    Schervish (1989), doi:10.1214/aos/1176347398 (the mean over thresholds).

    Examples
    --------
    >>> import rainproof
    >>> rainproof.measures.brier_score([0, 1, 1, 0], [0.5, 0.5, 1.0, 0.0])
    0.125
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    return _mean_loss(
        _squared_error, _ScoredRows(sample.y_true, sample.y_prob, sample.sample_weight)
    )


def log_score(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> float:
    r"""Compute the log score (log loss, cross-entropy), in nats.

    Most classifiers are trained on it. It is infinite if one event happens that was predicted with
    probability 0, and rows close to that dominate it. For decisions with bounded payoffs the Brier
    score is more relevant.

    Between 0 and infinity; 0 is perfect. ``math.inf`` is returned, without a warning, if a row of
    positive weight has ``p = 0`` and the event happens, or ``p = 1`` and it does not.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label, base_rate
        As for `brier_score`. Predictions are not clipped.

    Returns
    -------
    float
        :math:`-E [y \ln p + (1 - y) \ln(1 - p)]`, the weighted mean over rows, where :math:`0 \ln 0
        = 0`.

    Notes
    -----
    One pass over the rows, without sorting or copying them.

    On a sample compressed to `m` it is lower than on the rows, as :math:`-\ln` is convex. A row of
    the event in cell `k` (:math:`k/m \le p < (k+1)/m`) loses at most :math:`1/(8 k^2)`, another at
    most :math:`1/(8 (m - 1 - k)^2)`; so if all predictions lie in :math:`[\delta, 1 - \delta]`, the
    whole at most :math:`1/(8 m^2 \delta^2)`. **There is no bound** if there is an event in the
    lowest cell (:math:`p < 1/m`) or a row without the event in the highest (:math:`1 - 1/m \le p <
    1`): there an infinite score can become finite, and a prediction within rounding of 1 can count
    as 1.

    References
    ----------
    Good (1952), doi:10.1111/j.2517-6161.1952.tb00104.x.

    Examples
    --------
    >>> import rainproof
    >>> round(rainproof.measures.log_score([0, 1, 1, 0], [0.5, 0.5, 1.0, 0.0]), 6)    # half of ln 2
    0.346574
    >>> rainproof.measures.log_score([0, 1], [0.5, 0.0])
    inf
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    return _mean_loss(_surprise, _ScoredRows(sample.y_true, sample.y_prob, sample.sample_weight))


def score_decomposition(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    score: Rule = "brier",
) -> ScoreDecomposition:
    r"""Split a score into reliability, resolution and uncertainty, without bins.

    Reliability is what monotone recalibration would save; resolution is the value of the
    recalibrated predictions; uncertainty depends only on the outcomes. A model with poor
    reliability and good resolution can be recalibrated; a model with poor resolution needs better
    inputs.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label, base_rate
        As for `brier_score`.
    score : {"brier", "log"}
        Which score to split.

    Returns
    -------
    ScoreDecomposition
        ``score = reliability - resolution + uncertainty``; no part is negative.

    Notes
    -----
    With :math:`S(f)` the mean score of forecast `f`, :math:`h(p)` the isotonic regression of `y` on
    `p` (equal predictions pooled) and :math:`\bar y` the overall event rate,

    .. math:: \text{reliability} = S(p) - S(h), \quad \text{resolution} = S(\bar y) - S(h), \quad
        \text{uncertainty} = S(\bar y),

    where :math:`S(\bar y)` is :math:`\bar y (1 - \bar y)` for the Brier score and the entropy of
    :math:`\bar y` for the log score. :math:`S(h)` is always finite: `h` is 0 or 1 only where all
    outcomes agree. So where the log score is infinite, reliability is too, and the other parts
    describe the recalibrated predictions.

    O(n log n), once for all measures of a `Sample`. Isotonic regression also fits noise: on T rows
    of a calibrated forecaster reliability and resolution are both too large, by the same amount, of
    the order :math:`T^{-2/3}` for smoothly spread predictions. If the bias changes its sign several
    times as `p` increases, monotone recalibration corrects only a part of it: that part is
    reliability, the rest is missing from resolution (`calibration_decision_loss` measures all of
    it).

    On a compressed sample all predictions of a cell count as equal; `score` then differs from that
    of the rows by at most :math:`1/(2m) + 1/(4m^2)` (Brier), or :math:`1/(m \delta)` (log score, if
    all predictions lie in :math:`[\delta, 1 - \delta]`; otherwise there is no bound, see
    `log_score`). Resolution can only fall: by at most :math:`\omega/3` (Brier) or :math:`\omega`
    (log), with :math:`\omega` the share of weight in the heaviest cell. For one threshold
    :math:`\theta`, moving the best cutoff to the better edge of its cell costs at most
    :math:`\theta (1 - \theta) \omega`, and the scores are means of such costs over thresholds.
    Uncertainty does not change.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), doi:10.1073/pnas.2016191118 (CORP; there MCB, DSC, UNC).
    Murphy (1973), doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2 (the three parts).

    Examples
    --------
    Predictions of 0.1 with an event rate of 1/4, and of 0.9 with an event rate of 3/4:

    >>> import rainproof
    >>> y, p = [0, 0, 0, 1, 1, 1, 1, 0], [0.1] * 4 + [0.9] * 4
    >>> rainproof.measures.score_decomposition(y, p)
    ScoreDecomposition(score=0.21, reliability=0.0225, resolution=0.0625, uncertainty=0.25,
    rule='brier', n=8)
    """
    if score not in ("brier", "log"):
        raise InputError(f"score must be 'brier' or 'log'; it is {score!r}")
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    table = sample.distinct()
    loss = _squared_error if score == "brier" else _surprise
    of_predictions = _score_of(table, loss)
    of_recalibrated = _score_of(recalibrated(table), loss)
    of_constant = _score_of(merged(table), loss)
    return ScoreDecomposition(
        score=of_predictions,
        # A difference of equal scores may round to -1e-17.
        reliability=max(0.0, of_predictions - of_recalibrated),
        resolution=max(0.0, of_constant - of_recalibrated),
        uncertainty=of_constant,
        rule=score,
        n=sample.n,
    )


class _ScoredRows(NamedTuple):
    """What a score is the mean over: outcomes, predictions, and weights if they differ."""

    outcome: NDArray[Any]
    prob: NDArray[Any]
    weight: NDArray[Any] | None


def _score_of(table: DistinctTable, loss: _Loss) -> float:
    """Return the mean score of a table's predictions."""
    # Each prediction is a row of either outcome, with the weight of that outcome.
    without_event = np.zeros(len(table.prob), np.bool_)
    return _mean_loss(
        loss,
        _ScoredRows(without_event, table.prob, table.negative),
        _ScoredRows(~without_event, table.prob, table.positive),
    )


def _squared_error(prob: Floats, event: NDArray[np.bool_]) -> Floats:
    """Return (p - y)^2 of each row."""
    return np.square(prob - event)


def _surprise(prob: Floats, event: NDArray[np.bool_]) -> Floats:
    """Return -ln of the predicted probability of the outcome; infinite where that is 0."""
    predicted = np.where(event, prob, 1.0 - prob)
    # What 1 - p lost by rounding, which is all of a tiny p: ln(1 - p) is about -p there.
    rounding = np.where(event, 0.0, (1.0 - predicted) - prob)
    with np.errstate(divide="ignore"):
        return 0.0 - (np.log(predicted) + rounding)


def _mean_loss(loss: _Loss, *parts: _ScoredRows) -> float:
    """Return the weighted mean loss of the rows of all parts, a block of rows at a time.

    Sums are exact: the order of the rows does not matter, and a mean of losses up to 1 cannot round
    above 1.
    """
    losses = np.zeros(EXACT_BINS, np.uint64)
    weights = np.zeros(EXACT_BINS, np.uint64)
    for outcome, prob, weight in parts:
        for start in range(0, len(prob), _BLOCK):
            block = slice(start, start + _BLOCK)
            terms = loss(prob[block].astype(np.float64), outcome[block] == 1)
            if weight is None:
                block_weight = np.ones_like(terms)
            else:
                block_weight = weight[block].astype(np.float64)
                terms[block_weight == 0] = 0.0  # even if the loss is infinite
                terms *= block_weight
            # One sure prediction that fails is enough, and sums of infinities are not exact.
            if not np.isfinite(terms).all():
                return math.inf
            add(terms, losses)
            add(block_weight, weights)
    return exact_units(losses) / exact_units(weights)


LOSSES: dict[Callable[..., float], _Loss] = {brier_score: _squared_error, log_score: _surprise}
"""The loss of single rows, by the score that is its mean."""
