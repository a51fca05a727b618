"""What a forecast is proven to be worth: more than no forecast, to somebody."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.core.shown import Shown
from rainproof.inference.forecasts import Forecasts
from rainproof.inference.loss_at_least import BETS

_THRESHOLDS = 256  # that the rows choose from
_LEAST = 1e-12
_STEPS = 40  # halvings of the interval that contains a bound


@dataclass(frozen=True, kw_only=True, slots=True)
class Worth(Shown):
    """What somebody who acts on the forecast gains over no forecast, in expectation, in the population.

    No forecast means the better of always and never acting. Each of the two bounds holds by itself.

    Attributes
    ----------
    relative_at_least : float
        A share of what perfect foresight would gain, at `relative_threshold`: 1 is perfect, 0 if nothing is proven.
    relative_threshold : float or None
        The probability from which that decision maker acts.
    gain_at_least : float
        A share of what is at stake, at `gain_threshold`; 0 if nothing is proven.
    gain_threshold : float or None
        The probability from which that decision maker acts.
    confidence_level : float
        The probability, at least, that a bound holds for a sample drawn as stated.
    """

    relative_at_least: float
    relative_threshold: float | None
    gain_at_least: float
    gain_threshold: float | None
    confidence_level: float

    @property
    def proven(self) -> bool:
        """Whether somebody gains, in shares of perfect foresight."""
        return self.relative_at_least > 0

    def to_dict(self) -> dict[str, float | None]:
        """Return the result in built-in types, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def worth(rows: Forecasts, confidence_level: float, rng: np.random.Generator) -> Worth:
    """Name a threshold on one half of the rows and bound the gain there on the other; both ways round."""
    level = 1 - (1 - confidence_level) / 2
    one, other = rows.halves(rng)
    found = [worth_of_choice(a, b, level) for a, b in ((one, other), (other, one))]
    relative = max(found, key=attrgetter("relative_at_least"))
    gain = max(found, key=attrgetter("gain_at_least"))
    return replace(
        relative,
        gain_at_least=gain.gain_at_least,
        gain_threshold=gain.gain_threshold,
        confidence_level=confidence_level,
    )


def worth_of_choice(chooser: Forecasts, judge: Forecasts, confidence_level: float) -> Worth:
    """Name a threshold on some rows, and bound the gain there on others, which are independent of them."""
    relative, gain = _choose(chooser, judge, confidence_level)
    bounds = [0.0, 0.0]
    for k, threshold in enumerate((relative, gain)):
        if threshold is not None and len(judge.prob):
            bounds[k] = _bound(judge, threshold, relative=k == 0, delta=1 - confidence_level)
    stakes = 1.0 if gain is None else max(gain, 1 - gain)
    return Worth(
        relative_at_least=bounds[0],
        relative_threshold=relative if bounds[0] > 0 else None,
        gain_at_least=min(bounds[1] / stakes, 1.0),
        gain_threshold=gain if bounds[1] > 0 else None,
        confidence_level=confidence_level,
    )


def _choose(rows: Forecasts, judge: Forecasts, confidence_level: float) -> tuple[float | None, float | None]:
    """The thresholds at which a bound should be largest, in shares of perfect foresight and of what is at stake."""
    mass, order = rows.masses(), np.argsort(rows.prob)
    total = float(mass.sum())
    if total == 0:
        return None, None
    prob, event = rows.prob[order], rows.event[order]
    negative, positive = (np.cumsum((mass[order] * which)[::-1])[::-1] / total for which in (~event, event))
    first = np.flatnonzero(np.diff(prob, prepend=-1.0))  # act from these predictions on
    below = np.append(0.0, prob[first[1:] - 1])  # the predictions before them
    some = np.unique(np.linspace(0, len(first) - 1, _THRESHOLDS).astype(np.int64))
    first, mu = np.repeat(first[some], 2), np.repeat(prob[first[some]], 2)
    mu[1::2] = (mu[1::2] + below[some]) / 2  # whoever acts from half-way on acts alike
    false_alarms, hits = negative[first], positive[first]
    rate = float(positive[0])
    never = hits * (1 - mu) - false_alarms * mu
    value = np.minimum(never, never - (rate - mu))
    perfect = np.minimum(mu * (1 - rate), (1 - mu) * rate)
    missed, spared = rate - hits, 1 - rate - false_alarms
    against_never, against_always = (a * (1 - mu) ** 2 + b * mu**2 for a, b in ((hits, false_alarms), (missed, spared)))
    square = np.maximum(np.where(rate <= mu, against_never, against_always), 0.0)
    error = np.sqrt(2 * math.log(1 / (1 - confidence_level)) * square / max(judge.masses().sum(), 1.0))
    inside = perfect > _LEAST  # elsewhere nothing is at stake
    if not inside.any():
        return None, None
    likely = np.where(inside, value - error, -np.inf)
    shares = (likely / np.where(inside, perfect, 1.0), likely / np.maximum(mu, 1 - mu))
    relative, gain = (float(mu[int(np.argmax(share))]) for share in shares)
    return relative, gain


def _bound(rows: Forecasts, mu: float, *, relative: bool, delta: float) -> float:
    """The smaller of what is proven against never acting and against always acting: one of them is no forecast."""
    acts, event = rows.prob >= mu, rows.event
    gains = (acts * (event - mu), ~acts * (mu - event))
    perfect = ((1 - mu) * event, mu * ~event) if relative else (np.ones(len(acts)),) * 2
    kind = 2 * acts + event
    found = []
    for gain, best in zip(gains, perfect, strict=True):
        weight, (gained, foreseen) = _draws(rows, kind, np.stack([gain, best]))
        found.append(_largest_proven(weight, gained, foreseen, delta))
    return min(found)


def _draws(rows: Forecasts, kind: Ints, columns: Floats) -> tuple[Floats, Floats]:
    """The weight of each draw over the largest one, and its means; rows that are alike are one."""
    mass = rows.masses()
    if rows.group is None:
        largest = 1.0 if rows.counts is not None else float(mass.max())
        _, first = np.unique(kind, return_index=True)
        weight = np.bincount(kind, mass, 4)[kind[first]]
        return weight / largest, columns[:, first]
    total = np.bincount(rows.group, mass)
    some = total > 0
    means = np.stack([np.bincount(rows.group, mass * column)[some] for column in columns]) / total[some]
    return total[some] / total.max(), means


def _largest_proven(weight: Floats, gain: Floats, perfect: Floats, delta: float) -> float:
    """The largest share r for which bets on ``gain - r perfect`` win more than ``1/delta`` times the stake."""

    def proven(share: float) -> bool:
        logs = weight @ np.log1p(BETS * (gain - share * perfect)[:, None])
        return bool(np.logaddexp.reduce(logs) - math.log(len(BETS)) > -math.log(delta))

    if not proven(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if proven(middle) else (low, middle)
    return low
