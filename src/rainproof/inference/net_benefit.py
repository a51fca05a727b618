"""Net benefit at decision thresholds, with intervals, for one model or several: decision curve analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from rainproof.core.arrays import Floats, Frozen, Ints, freeze
from rainproof.core.input.rows import check_probabilities
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.text import aligned, finite, html_rows, percent, rows, short
from rainproof.errors import InputError
from rainproof.inference.influence import Entries
from rainproof.inference.resampling import check_share

if TYPE_CHECKING:
    from rainproof.plots import Axes

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
        """Draw the curves into axes (default: new ones) and return them; see `rainproof.plots.net_benefit`."""
        from rainproof.plots import net_benefit

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

    Explained in docs/clinical.md.

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
    named = y_prob if isinstance(y_prob, Mapping) else {"forecast": y_prob}
    if not named:
        raise InputError("y_prob must name at least one model; it is empty")
    samples = [as_sample(y_true, prob, sample_weight=sample_weight, pos_label=pos_label) for prob in named.values()]
    entries = [Entries.of(sample, groups, pool=False) for sample in samples]
    return decision_curves(dict(zip(map(str, named), entries, strict=True)), mu, level, samples[0].n)


def decision_curves(models: Mapping[str, Entries], mu: Floats, confidence_level: float, n: int) -> NetBenefit:
    """The net benefit of models of the same rows, by name."""
    first = next(iter(models.values()))
    value, error = map(np.stack, zip(*(_at(entries, mu) for entries in models.values()), strict=True))
    everybody, spread = _at(replace(first, prob=np.ones(len(first.prob))), mu)
    z = float(ndtri((1 + confidence_level) / 2))
    return NetBenefit(
        threshold=mu,
        names=tuple(models),
        value=value,
        low=value - z * error,
        high=value + z * error,
        treat_all=everybody,
        treat_all_low=everybody - z * spread,
        treat_all_high=everybody + z * spread,
        confidence_level=confidence_level,
        n=n,
        groups=first.draws,
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


def _at(entries: Entries, mu: Floats) -> tuple[Floats, Floats]:
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


def _error_of_groups(entries: Entries, cell: Ints, odds: Floats, value: Floats) -> Floats:
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
