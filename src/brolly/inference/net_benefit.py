"""Net benefit at decision thresholds, with intervals, for one model or several: decision curve analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from brolly.core.arrays import Floats, Frozen, freeze
from brolly.core.input.rows import check_probabilities
from brolly.core.sample.sample import Sample, as_sample
from brolly.core.text import aligned, finite, html_rows, percent, rows, short
from brolly.errors import InputError
from brolly.inference.influence import Entries
from brolly.inference.resampling import check_share

if TYPE_CHECKING:
    from brolly.plots import Axes

_SHOWN = 7  # thresholds of the printed table
_ARRAYS = ("threshold", "value", "low", "high", "treat_all", "treat_all_low", "treat_all_high")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NetBenefit(Frozen):
    """Net benefit of models at thresholds: true positives per row, less false positives at the odds of the threshold.

    Treating nobody has a net benefit of 0. Intervals are approximate (normal), for each threshold by itself.

    Attributes
    ----------
    threshold : ndarray of shape (k,)
    names : tuple of str
        The models.
    value, low, high : ndarray of shape (models, k)
        The net benefit of treating if the prediction is at least the threshold, and its interval.
    treat_all, treat_all_low, treat_all_high : ndarray of shape (k,)
        The same for treating everybody.
    confidence_level : float
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows depend on each other.
    """

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

    def __post_init__(self) -> None:
        freeze(*(getattr(self, name) for name in _ARRAYS))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curves into axes (default: new ones) and return them; see `brolly.plots.net_benefit`."""
        from brolly.plots import net_benefit

        return net_benefit(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return built-in types, ready for JSON; ends that are not finite (of a single group) are None."""
        about = {"confidence_level": self.confidence_level, "n": self.n, "groups": self.groups}
        arrays = {name: np.vectorize(finite, otypes=[object])(getattr(self, name)).tolist() for name in _ARRAYS}
        return {"result": "net_benefit", "names": list(self.names), **about, **arrays}

    def __repr__(self) -> str:
        return f"NetBenefit({len(self.names)} models, {len(self.threshold)} thresholds, n={self.n})"

    def __str__(self) -> str:
        head, body = self._table()
        return "\n".join([self._caption(), *aligned([head, *body])])

    def _repr_html_(self) -> str:
        head, body = self._table()
        return f"<table><caption>{escape(self._caption())}</caption>{html_rows(head, body)}</table>"

    def _caption(self) -> str:
        of = f" in {self.groups:,} groups" if self.groups is not None else ""
        level = percent(self.confidence_level)
        return f"Net benefit per row, with {level} intervals for each threshold ({rows(self.n)}{of}):"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        at = np.unique(np.linspace(0, len(self.threshold) - 1, _SHOWN).round().astype(int))
        body = []
        for k in at:
            models = [
                f"{v[k]:.4g} ({a[k]:.4g} to {b[k]:.4g})"
                for v, a, b in zip(self.value, self.low, self.high, strict=True)
            ]
            body.append([f"{self.threshold[k]:.4g}", *models, f"{self.treat_all[k]:.4g}", "0"])
        return ["threshold", *(short(name, 30) for name in self.names), "treat all", "treat none"], body


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

    At the threshold mu somebody who treats accepts ``(1 - mu) / mu`` false alarms for one case found. The net benefit
    counts cases found per row, less false alarms at that rate. The model with the largest net benefit at your
    threshold is the one to act on.

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
    compares two models for all thresholds at once, with proof. O(n log n).

    References
    ----------
    Vickers, Elkin (2006), "Decision curve analysis", doi:10.1177/0272989X06295361. Pfeiffer, Gail (2020), "Estimating
    the decision curve and its precision from three study designs", doi:10.1002/bimj.201800240.

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> print(brolly.net_benefit(y, p, [0.2, 0.5]))
    Net benefit per row, with 95% intervals for each threshold (2,000 rows):
    threshold                   forecast  treat all  treat none
          0.2  0.4011 (0.3757 to 0.4266)       0.38           0
          0.5  0.2525 (0.2237 to 0.2813)      0.008           0
    """
    level = check_share(confidence_level, "confidence_level")
    mu = _thresholds(thresholds)
    named = y_prob if isinstance(y_prob, Mapping) else {"forecast": y_prob}
    if not named:
        raise InputError("y_prob must name at least one model; it is empty")
    samples = [as_sample(y_true, prob, sample_weight=sample_weight, pos_label=pos_label) for prob in named.values()]
    entries = [Entries.of(sample, groups) for sample in samples]
    value, error = map(np.stack, zip(*(_at(entry, mu) for entry in entries), strict=True))
    everybody, spread = _at(entries[0], mu, everybody=True)
    z = float(ndtri((1 + level) / 2))
    return NetBenefit(
        threshold=mu,
        names=tuple(map(str, named)),
        value=value,
        low=value - z * error,
        high=value + z * error,
        treat_all=everybody,
        treat_all_low=everybody - z * spread,
        treat_all_high=everybody + z * spread,
        confidence_level=level,
        n=samples[0].n,
        groups=entries[0].draws,
    )


def _thresholds(thresholds: ArrayLike | None) -> Floats:
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


def _at(entries: Entries, mu: Floats, *, everybody: bool = False) -> tuple[Floats, Floats]:
    """The net benefit at each threshold and its standard error."""
    odds = mu / (1 - mu)
    order = np.argsort(entries.prob)
    prob, event = entries.prob[order], entries.event[order]
    first = np.zeros(len(mu), np.intp) if everybody else np.searchsorted(prob, mu)  # that is treated
    hits, alarms, hits2, alarms2 = (
        np.append(np.cumsum((each[order] * which)[::-1])[::-1], 0.0)[first]
        for each in (entries.share, entries.square)
        for which in (event, ~event)
    )
    value = hits - odds * alarms
    if entries.group is None:
        square = hits2 + odds**2 * alarms2 - 2 * value * (hits2 - odds * alarms2) + value**2 * entries.square.sum()
        return value, np.sqrt(np.maximum(square, 0.0))
    gain = [
        (entries.prob >= (0.0 if everybody else m)) * np.where(entries.event, 1.0, -w)
        for m, w in zip(mu, odds, strict=True)
    ]
    return value, np.array([entries.standard_error(g - v) for g, v in zip(gain, value, strict=True)])
