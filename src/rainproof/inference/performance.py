"""The numbers that clinical prediction models are judged by, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, expit, logit, ndtri

from rainproof.core.arrays import Floats, Ints
from rainproof.core.door import check_probabilities
from rainproof.core.result import Interval, Result
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import aligned, percent, rows, short
from rainproof.errors import InputError
from rainproof.inference.intervals import Influence, on_scale
from rainproof.inference.options import check_share

_STEPS, _PRECISION = 100, 1e-12
_SINGULAR = 1e15  # the condition number of a matrix that cannot be told from one without inverse
_FAR = 30.0  # coefficients beyond this are those of outcomes that the predictions separate


def observed_expected(entries: Influence, confidence_level: float) -> Interval | None:
    """The number of events over the sum of the predictions; None if all predictions are 0."""
    share, event, prob = entries.share, entries.event, entries.prob
    expected, rate = float(share @ prob), float(share @ event)
    if expected == 0:
        return None
    ratio = rate / expected
    if ratio == 0:  # no event: the exact upper limit of the event rate
        n = 1 / float(entries.square.sum())
        high = float(betaincinv(1, n, (1 + confidence_level) / 2)) / expected
        return Interval(value=0.0, low=0.0, high=high, confidence_level=confidence_level)
    error = entries.standard_error(event / rate - prob / expected)  # of its logarithm
    return on_scale(ratio, error, confidence_level, math.log, math.exp)


def brier(entries: Influence, confidence_level: float) -> tuple[Interval, Interval | None]:
    """The Brier score, and its skill: the share by which it is below that of the event rate as a forecast."""
    share, event = entries.share, entries.event.astype(np.float64)
    loss = (event - entries.prob) ** 2
    score, rate = float(share @ loss), float(share @ event)
    found = on_scale(score, entries.standard_error(loss - score), confidence_level).within(0.0, 1.0)
    if entries.one_class:
        return found, None
    spread = float(share @ (event - rate) ** 2)
    influence = (loss - score - score / spread * (1 - 2 * rate) * (event - rate)) / spread
    skill = on_scale(1 - score / spread, entries.standard_error(influence), confidence_level)
    return found, skill.within(-math.inf, 1.0)


def calibration_line(entries: Influence, confidence_level: float) -> tuple[Interval, Interval | None] | None:
    """The calibration intercept (at slope 1) and the slope of a logistic regression on the logit of the predictions.

    None if a prediction with weight is 0 or 1, if all outcomes are the same, or if the intercept is too far from 0 to
    be computed, as it is for predictions of 1e-300. The slope is None where there is none:
    if all predictions are equal, or if they separate the outcomes.
    """
    prob, some = entries.prob, entries.share > 0
    if entries.one_class or ((prob[some] <= 0) | (prob[some] >= 1)).any():
        return None
    prob = np.where(some, prob, 0.5)
    logit = np.log(prob) - np.log1p(-prob)
    ones = np.ones((1, len(prob)))
    intercept = _fit(entries, ones, logit, confidence_level)
    if intercept is None:
        return None
    both = np.stack([logit, ones[0]])
    slope = _fit(entries, both, np.zeros(len(prob)), confidence_level) if np.ptp(logit[some]) > 0 else None
    return intercept, slope


def _fit(entries: Influence, x: Floats, offset: Floats, confidence_level: float) -> Interval | None:
    """The first coefficient of a logistic regression; its error is the model's, or that of groups."""
    share, event = entries.share, entries.event.astype(np.float64)
    beta = np.zeros(len(x))
    for _ in range(_STEPS):
        rate = expit(beta @ x + offset)
        curvature = _curvature(x, share, rate)
        if not np.linalg.cond(curvature) < _SINGULAR or np.abs(beta).max() > _FAR:
            return None
        step = np.linalg.solve(curvature, x @ (share * (event - rate)))
        step *= min(1.0, 2.0 / max(float(np.abs(step @ x).max()), 1e-300)) if np.abs(step @ x).max() > _FAR else 1.0
        beta = beta + step
        if float(np.abs(step).max()) <= _PRECISION * (1 + float(np.abs(beta).max())):
            break
    else:
        return None
    inverse = np.linalg.inv(curvature)
    if entries.group is None:
        error = math.sqrt(float((inverse @ _curvature(x, entries.square, rate) @ inverse)[0, 0]))
    else:
        error = entries.standard_error((inverse @ x)[0] * (event - rate))
    return on_scale(float(beta[0]), error, confidence_level)


def _curvature(x: Floats, share: Floats, rate: Floats) -> NDArray[np.float64]:
    return (x * (share * rate * (1 - rate))) @ x.T


def discrimination(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    r"""Compute the area under the ROC curve (AUROC, C-statistic) with a confidence interval.

    It is the probability that a row with the event has a higher prediction than a row without it; ties count half.
    1 is perfect, 0.5 says nothing. It does not change if all predictions are mapped by a rising function, so it says
    nothing about calibration.

    Explained in docs/guide/clinical.md.

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
    Interval
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
    >>> print(rainproof.clinical.discrimination([0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]))
    0.75 (0.262 to 0.962)
    """
    level = check_share(confidence_level, "confidence_level")
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, groups=groups)
    entries = Influence.of(sample)
    found = auroc_estimate(sample, entries, level)
    if found is None:
        outcome = int(sample.event_rate > 0)
        raise InputError(f"y_true must have both outcomes; all rows with weight have {outcome}")
    return found


def auroc(sample: Sample) -> float | None:
    """The area under the ROC curve; None if all outcomes are the same."""
    negative, positive = sample.distinct().negative, sample.distinct().positive
    total = float(negative.sum() * positive.sum())
    if not total:
        return None
    others, events = np.flatnonzero(negative), np.flatnonzero(positive)
    if others[-1] < events[0] or events[-1] < others[0]:  # exactly: sums of weights are so up to rounding
        return float(others[-1] < events[0])
    return min(float(positive @ (negative.cumsum() - negative / 2)) / total, 1.0)


def auroc_estimate(sample: Sample, entries: Influence, confidence_level: float) -> Interval | None:
    """The area under the ROC curve with its interval; None if all outcomes are the same."""
    area, table, event = auroc(sample), sample.distinct(), entries.event
    if area is None:
        return None
    count = entries.effective(~event), entries.effective(event)
    if area in (0.0, 1.0):
        low = ((1 - confidence_level) / 2) ** (1 / _independent_pairs(entries, min(count)))
        ends = (low, 1.0) if area else (0.0, 1 - low)
        return Interval(value=area, low=ends[0], high=ends[1], confidence_level=confidence_level)
    negative, positive = table.negative / table.negative.sum(), table.positive / table.positive.sum()
    below, above = np.cumsum(negative) - negative / 2, np.cumsum(positive[::-1])[::-1] - positive / 2
    at = np.minimum(np.searchsorted(table.prob, entries.prob), len(table.prob) - 1)  # rows of weight 0 may be absent
    side = np.where(event, below[at], above[at])  # the share of the other outcome that a row is on the right side of
    share = 1 - sample.event_rate, sample.event_rate
    scale = [math.sqrt(max(n, 2.0) / (max(n, 2.0) - 1)) / part for n, part in zip(count, share, strict=True)]
    error = entries.standard_error((side - area) * np.where(event, scale[1], scale[0]))
    return on_scale(area, error / (area * (1 - area)), confidence_level, logit, expit)


def _independent_pairs(entries: Influence, rows: float) -> float:
    """How many pairs of a row with the event and one without can be formed that share no group."""
    if entries.group is None:
        return max(rows, 1.0)
    some = entries.share > 0
    sides = [len(np.unique(entries.group[some & (entries.event == outcome)])) for outcome in (False, True)]
    return max(min(*sides, len(np.unique(entries.group[some])) // 2), 1)


_SHOWN = 7  # thresholds of the printed table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class NetBenefit(Result):
    """Net benefit of models at thresholds: true positives per row, less false positives at the odds of the threshold.

    Treating no row has a net benefit of 0. Intervals are approximate (normal), for each threshold by itself.

    Attributes
    ----------
    threshold : ndarray of shape (k,)
    names : tuple of str
        The models.
    value, low, high : ndarray of shape (models, k)
        The net benefit of treating if the prediction is at least the threshold, and its interval.
    treat_all, treat_all_low, treat_all_high : ndarray of shape (k,)
        The same for treating every row.
    confidence_level : float
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows depend on each other.
    """

    _kind = "net_benefit"
    _shown = ("names", "n", "groups", "confidence_level")
    threshold: Floats
    names: tuple[str, ...]
    value: Floats
    low: Floats
    high: Floats
    treat_all: Floats
    treat_all_low: Floats
    treat_all_high: Floats
    confidence_level: float
    n: int
    groups: int | None

    def __str__(self) -> str:
        of = f" in {self.groups:,} groups" if self.groups is not None else ""
        level = percent(self.confidence_level)
        caption = f"Net benefit per row, with {level} intervals for each threshold ({rows(self.n)}{of}):"
        table = [["threshold", *(short(name, 30) for name in self.names), "treat all", "treat none"]]
        for k in np.unique(np.linspace(0, len(self.threshold) - 1, _SHOWN).round().astype(int)):
            models = [
                f"{v[k]:.4g} ({a[k]:.4g} to {b[k]:.4g})"
                for v, a, b in zip(self.value, self.low, self.high, strict=True)
            ]
            table.append([f"{self.threshold[k]:.4g}", *models, f"{self.treat_all[k]:.4g}", "0"])
        return "\n".join([caption, *aligned(table)])


def net_benefit(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | Mapping[str, ArrayLike] | None = None,
    thresholds: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> NetBenefit:
    r"""Compute the net benefit of acting on predictions: a decision curve, beside treating all and treating none.

    A decision to treat at the threshold mu accepts ``(1 - mu) / mu`` false alarms for one case found. The net benefit
    counts cases found per row, less false alarms at that rate. The model with the largest net benefit at your
    threshold is the one to act on.

    Explained in docs/guide/clinical.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,), or mapping of names to such
        The predicted probability of the event, in [0, 1]; several models by name.
    thresholds : array_like, optional
        Thresholds in (0, 1). Default: 0.01, 0.02, ..., 0.99.
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups must be
        independent.
    confidence_level : float
        The level of the intervals.

    Returns
    -------
    NetBenefit
        `threshold`, `value` (a line per model) with `low` and `high`, `treat_all`, `plot()`; prints a table.

    Notes
    -----
    :math:`NB(\mu) = \mathrm{E}[y 1\{p \ge \mu\}] - \frac{\mu}{1 - \mu} \mathrm{E}[(1 - y) 1\{p \ge \mu\}]`. The
    intervals are normal approximations for one threshold, poor where a handful of rows is treated. `switch_guarantee`
    compares two models for all thresholds at once, with proof. O(n log k) for k thresholds, and with groups k times
    their number more.

    References
    ----------
    Vickers, Elkin (2006), "Decision curve analysis", doi:10.1177/0272989X06295361. Pfeiffer, Gail (2020), "Estimating
    the decision curve and its precision from three study designs", doi:10.1002/bimj.201800240.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> print(rainproof.net_benefit(y, p, [0.2, 0.5]))
    Net benefit per row, with 95% intervals for each threshold (2,000 rows):
    threshold                   forecast  treat all  treat none
          0.2  0.4011 (0.3757 to 0.4266)       0.38           0
          0.5  0.2525 (0.2237 to 0.2813)      0.008           0
    """
    level = check_share(confidence_level, "confidence_level")
    mu = check_thresholds(thresholds)
    named: Any = y_prob if isinstance(y_prob, Mapping) else {"forecast": y_prob}
    if not named:
        raise InputError("y_prob must name at least one model; it is empty")
    columns: dict[str, Any] = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups}
    if isinstance(y_true, Sample) and not y_true.forecasts:
        sample = as_sample(y_true, named["forecast"], **columns)
        models = {"forecast": Influence.of(sample, pool=False)}
    else:
        sample = y_true if isinstance(y_true, Sample) else Sample(y_true, named, **columns)
        models = {name: Influence.of(sample[name], pool=False) for name in sample.forecasts}
    return decision_curves(models, mu, level, sample.n)


def decision_curves(models: Mapping[str, Influence], mu: Floats, confidence_level: float, n: int) -> NetBenefit:
    """The net benefit of models of the same rows, by name."""
    first = next(iter(models.values()))
    value, error = map(np.stack, zip(*(_at(entries, mu) for entries in models.values()), strict=True))
    all_rows, spread = _at(replace(first, prob=np.ones(len(first.prob))), mu)
    z = float(ndtri((1 + confidence_level) / 2))
    return NetBenefit(
        threshold=mu,
        names=tuple(models),
        value=value,
        low=value - z * error,
        high=value + z * error,
        treat_all=all_rows,
        treat_all_low=all_rows - z * spread,
        treat_all_high=all_rows + z * spread,
        confidence_level=confidence_level,
        n=n,
        groups=first.groups,
    )


def check_thresholds(thresholds: ArrayLike | None) -> Floats:
    """Return thresholds between 0 and 1, both excluded; 0.01, 0.02, ..., 0.99 for None."""
    if thresholds is None:
        return np.arange(1, 100) / 100
    mu = np.atleast_1d(np.array(check_probabilities(thresholds, "thresholds"), np.float64))
    bad = (mu <= 0) | (mu >= 1)
    if mu.ndim != 1 or not mu.size:
        raise InputError(f"thresholds must be a list of numbers; its shape is {mu.shape}")
    if bad.any():
        k = int(bad.argmax())
        rule = "thresholds must lie between 0 and 1, both excluded"
        raise InputError.from_offenders(rule, int(bad.sum()), f"thresholds[{k}]", mu[k])
    return mu


def _at(entries: Influence, mu: Floats) -> tuple[Floats, Floats]:
    """The net benefit at each threshold and its standard error."""
    up, place = np.unique(mu, return_inverse=True)
    cell = np.searchsorted(up, entries.prob, side="right")  # a row is treated at this many thresholds, from the lowest
    cells = len(up) + 1

    def treated(each: Floats) -> list[Floats]:
        """Sums over rows without the event and with it, from each threshold on."""
        sums = np.bincount(cell + cells * entries.event, each, 2 * cells).reshape(2, cells)
        return list(sums[:, ::-1].cumsum(axis=1)[:, -2::-1])

    odds = up / (1 - up)
    alarms, hits = treated(entries.share)
    value = hits - odds * alarms
    if entries.group is None:
        alarms2, hits2 = treated(entries.square)
        square = hits2 + odds**2 * alarms2 - 2 * value * (hits2 - odds * alarms2) + value**2 * entries.square.sum()
        error = np.sqrt(np.maximum(square, 0.0))
    else:
        error = _error_of_groups(entries, cell, odds, value)
    return value[place], error[place]


def _error_of_groups(entries: Influence, cell: Ints, odds: Floats, value: Floats) -> Floats:
    """The standard error at each threshold: from the highest on, rows that are treated there are added to their groups.

    O(rows + thresholds times groups).
    """
    group = entries.group
    assert group is not None
    count, draws = int(group.max()) + 1, entries.draws or 0
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(len(odds) + 2))
    hits, alarms, sums, spare = np.zeros((4, count))
    error = np.full(len(odds), np.inf)
    weight = np.bincount(group, entries.share, count)
    for k in range(len(odds) - 1 if draws > 1 else -1, -1, -1):
        rows = order[first[k + 1] : first[k + 2]]
        share, event = entries.share[rows], entries.event[rows]
        np.add.at(hits, group[rows], share * event)
        np.add.at(alarms, group[rows], share * ~event)
        np.multiply(weight, -value[k], out=sums)  # in place: new arrays for each threshold cost more than the sums
        sums += hits
        sums -= np.multiply(alarms, odds[k], out=spare)
        error[k] = np.sqrt(sums @ sums * draws / (draws - 1))
    return error
