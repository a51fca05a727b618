"""The numbers that clinical prediction models are judged by, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample, with_rate
from rainproof.core.arrays import Floats
from rainproof.core.result import Interval, Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import aligned, percent, rows, short
from rainproof.core.units import Units
from rainproof.core.validation import check_probabilities, refuse_values
from rainproof.errors import InputError
from rainproof.inference.auroc import auroc_interval
from rainproof.inference.estimates import pooled_predictions
from rainproof.inference.net_benefits import net_benefits
from rainproof.inference.options import check_share

_PRINTED_THRESHOLDS = 7
_LONGEST_NAME = 30  # characters of a model in the printed table


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

    It is the probability that a row with the event has a higher prediction than a row without it;
    ties count half. 1 is perfect, 0.5 says nothing. It does not change if all predictions are
    mapped by a rising function, so it says nothing about calibration.

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
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent.
    confidence_level : float
        The level of the interval.

    Returns
    -------
    Interval
        `value`, `low`, `high`.

    Notes
    -----
    With :math:`A_i` the share of rows of the other outcome that row i is on the right side of, the
    variance is that of the mean of :math:`A_i` among events plus that among the others (DeLong), or
    the same summed over groups. With few events it is often far too small. So the interval has
    every value that is in DeLong's, symmetric on the logit scale, or in the score interval of
    Newcombe's method 5, whose variance :math:`V(A)` depends on the area and the numbers of rows
    alone; that is scaled by :math:`(V_{DeLong} / V)^{k / (k + 20)}`, with k the number of rows (or
    groups) of the rarer outcome. From 100 events on the two are the same. Where all rows are on the
    right side (or all on the wrong one) DeLong's variance is 0, and the interval is the exact one
    for as many independent pairs as can be formed. O(n log n). A compressed sample counts
    predictions of one cell as ties. docs/benchmarks/study-tests.md has the measured coverage.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), doi:10.2307/2531595. Obuchowski (1997),
    doi:10.2307/2533958 (groups). Pepe (2003), "The Statistical Evaluation of Medical Tests",
    section 5.2.3 (the logit scale). Newcombe (2006), "Confidence intervals for an effect size
    measure based on the Mann-Whitney statistic, part 2", doi:10.1002/sim.2324.

    Examples
    --------
    >>> import rainproof
    >>> y = [0, 0, 1, 0, 1, 1, 0, 1]
    >>> p = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> print(rainproof.clinical.discrimination(y, p))
    0.75 (0.186 to 0.975)
    """
    level = check_share(confidence_level, "confidence_level")
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, groups=groups
    )
    interval = auroc_interval(sample, *pooled_predictions(sample), level)
    if interval is None:
        outcome = int(sample.event_rate > 0)
        raise InputError(f"y_true must have both outcomes; all rows with weight have {outcome}")
    return interval


@result_class
class NetBenefit(Result):
    """Net benefit of models at thresholds: true positives per row, less false positives at the odds
    of the threshold.

    Treating no row has a net benefit of 0. Intervals are approximate, for each threshold by itself.

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
        n = rows(self.n)
        if self.groups is not None:
            n += f" in {self.groups:,} groups"
        level = percent(self.confidence_level)
        caption = f"Net benefit per row, with {level} intervals for each threshold ({n}):"
        names = [short(name, _LONGEST_NAME) for name in self.names]
        lines = [["threshold", *names, "treat all", "treat none"]]
        last = len(self.threshold) - 1
        for place in np.unique(np.linspace(0, last, _PRINTED_THRESHOLDS).round().astype(int)):
            line = [f"{self.threshold[place]:.4g}"]
            for value, low, high in zip(self.value, self.low, self.high, strict=True):
                line.append(f"{value[place]:.4g} ({low[place]:.4g} to {high[place]:.4g})")
            lines.append([*line, f"{self.treat_all[place]:.4g}", "0"])
        return "\n".join([caption, *aligned(lines)])


def net_benefit(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | Mapping[str, ArrayLike] | None = None,
    thresholds: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    base_rate: float | None = None,
    confidence_level: float = 0.95,
) -> NetBenefit:
    r"""Compute the net benefit of acting on predictions: a decision curve, beside treating all and
    treating none.

    A decision to treat at the threshold mu accepts ``(1 - mu) / mu`` false alarms for one case
    found. The net benefit counts cases found per row, less false alarms at that rate. The model
    with the largest net benefit at your threshold is the one to act on.

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
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`): the net
        benefit is then that of a case there.
    confidence_level : float
        The level of the intervals.

    Returns
    -------
    NetBenefit
        `threshold`, `value` (a line per model) with `low` and `high`, `treat_all`, `plot()`; prints
        a table.

    Notes
    -----
    :math:`NB(\mu) = \mathrm{E}[y 1\{p \ge \mu\}] - \frac{\mu}{1 - \mu}
    \mathrm{E}[(1 - y) 1\{p \ge \mu\}]`. The intervals are approximations for one threshold. Their
    variance grows and falls with the net benefit, as that of Wilson's interval does with a rate, so
    they hold where few rows have the event or few are treated, and half a case at either end of
    what is possible counts as seen. `switch_guarantee` compares two models for all thresholds at
    once, with proof. O(n log k) for k thresholds, and with groups k times their number more.

    References
    ----------
    Vickers, Elkin (2006), "Decision curve analysis", doi:10.1177/0272989X06295361. Pfeiffer, Gail
    (2020), "Estimating the decision curve and its precision from three study designs",
    doi:10.1002/bimj.201800240.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> print(rainproof.net_benefit(y, p, [0.2, 0.5]))
    Net benefit per row, with 95% intervals for each threshold (2,000 rows):
    threshold                   forecast  treat all  treat none
          0.2  0.4011 (0.3756 to 0.4266)       0.38           0
          0.5  0.2525 (0.2234 to 0.2812)      0.008           0
    """
    level = check_share(confidence_level, "confidence_level")
    checked_thresholds = check_thresholds(thresholds)
    prob: Any = y_prob
    named = prob if isinstance(prob, Mapping) else {"forecast": prob}
    if not named:
        raise InputError("y_prob must name at least one model; it is empty")
    columns: dict[str, Any] = {
        "sample_weight": sample_weight,
        "pos_label": pos_label,
        "groups": groups,
    }
    if isinstance(y_true, Sample) and not y_true.forecasts:
        sample = as_sample(y_true, prob, **columns, base_rate=base_rate)
        models = {"forecast": sample.prob}
    else:
        sample = y_true if isinstance(y_true, Sample) else Sample(y_true, named, **columns)
        sample = with_rate(sample, base_rate)
        models = {name: sample[name].prob for name in sample.forecasts}
    return decision_curves(sample.units, models, checked_thresholds, level)


def decision_curves(
    units: Units, models: Mapping[str, Floats], thresholds: Floats, confidence_level: float
) -> NetBenefit:
    """The net benefit of models of the same cases: of their predictions, by name."""
    curves = [net_benefits(units, prob, thresholds, confidence_level) for prob in models.values()]
    everyone = np.ones(len(units.share))
    treat_all = net_benefits(units, everyone, thresholds, confidence_level)
    return NetBenefit(
        threshold=thresholds,
        names=tuple(models),
        value=np.stack([curve.value for curve in curves]),
        low=np.stack([curve.low for curve in curves]),
        high=np.stack([curve.high for curve in curves]),
        treat_all=treat_all.value,
        treat_all_low=treat_all.low,
        treat_all_high=treat_all.high,
        confidence_level=confidence_level,
        n=units.cases,
        groups=units.n if units.design.clustered else None,
    )


def check_thresholds(thresholds: ArrayLike | None) -> Floats:
    """Return thresholds between 0 and 1, both excluded; 0.01, 0.02, ..., 0.99 for None."""
    if thresholds is None:
        return np.arange(1, 100) / 100
    checked = np.atleast_1d(np.array(check_probabilities(thresholds, "thresholds"), np.float64))
    if checked.ndim != 1 or not checked.size:
        raise InputError(f"thresholds must be a list of numbers; its shape is {checked.shape}")
    is_end = (checked <= 0) | (checked >= 1)
    rule = "thresholds must lie between 0 and 1, both excluded"
    refuse_values(is_end, checked, "thresholds", rule)
    return checked
