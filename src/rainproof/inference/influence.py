"""Estimates with approximate intervals, from what each row adds to an estimate (its influence)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rainproof.core.arrays import Floats, Ints
from rainproof.core.sample.sample import Sample
from rainproof.core.shown import Shown
from rainproof.core.text import finite
from rainproof.errors import InputError
from rainproof.inference.clusters import numbered_groups


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalEstimate(Shown):
    """An estimate for the population with an approximate confidence interval (normal; not a proven bound).

    Attributes
    ----------
    value : float
        The estimate: its value on these rows.
    low, high : float
        The ends of the interval.
    confidence_level : float
        The share of such intervals that contain the population's value, if there are many rows (or groups).
    """

    value: float
    low: float
    high: float
    confidence_level: float

    @classmethod
    def on_scale(
        cls,
        value: float,
        error: float,
        confidence_level: float,
        scale: Callable[[float], float] = float,
        back: Callable[[float], float] = float,
    ) -> IntervalEstimate:
        """The value plus and minus a multiple of its standard error on a scale, and back from it."""
        half, middle = float(ndtri((1 + confidence_level) / 2)) * error, scale(value)
        low, high = float(back(middle - half)), float(back(middle + half))
        return cls(value=value, low=low, high=high, confidence_level=confidence_level)

    def within(self, least: float, most: float) -> IntervalEstimate:
        """The part of the interval where the quantity can lie."""
        return replace(self, low=max(self.low, least), high=min(self.high, most))

    def to_dict(self) -> dict[str, Any]:
        """Return built-in types, ready for JSON; values that are not finite are None."""
        return {name: finite(getattr(self, name)) for name in self.__slots__}

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Entries:
    """Rows, or rows alike counted together: prediction, outcome, share of the weight, and the squares of the shares."""

    prob: Floats
    event: NDArray[np.bool_]
    share: Floats
    square: Floats
    group: Ints | None = None

    @classmethod
    def of(cls, sample: Sample, groups: ArrayLike | None = None, *, pool: bool = True) -> Entries:
        """Pool equal predictions where rows have no weights and no groups, which sorts them; not if `pool` is False.

        A compressed sample does not keep the weights of its rows: their squares are those of `effective_n` equal ones.
        """
        if groups is not None and sample.grid is not None:
            raise InputError("groups need rows: a compressed sample does not keep them")
        if groups is None and (sample.grid is not None or (pool and not sample._weighted)):
            table = sample._distinct_table()
            share = np.concatenate([table.negative, table.positive]) / sample.total_weight
            event = np.repeat([False, True], len(table.prob))
            some = share > 0
            prob, event, share = np.concatenate([table.prob, table.prob])[some], event[some], share[some]
            return cls(prob=prob, event=event, share=share, square=share / sample.effective_n)
        prob = np.asarray(sample.y_prob, np.float64)
        weight = np.ones(len(prob)) if sample.sample_weight is None else np.asarray(sample.sample_weight, np.float64)
        share = weight / sample.total_weight
        group = None if groups is None else numbered_groups(groups, len(prob))
        return cls(prob=prob, event=np.asarray(sample.y_true) == 1, share=share, square=share**2, group=group)

    @property
    def one_class(self) -> bool:
        """Whether all outcomes are the same. The event rate does not tell: it may be 1 up to rounding."""
        event = self.event[self.share > 0]
        return bool(event.all() or not event.any())

    def standard_error(self, influence: Floats) -> float:
        """Return the standard error of an estimate to which a row adds its share times its influence (mean 0)."""
        if self.group is None:
            return math.sqrt(float(self.square @ influence**2))
        sums, draws = np.bincount(self.group, self.share * influence), self.draws or 0
        return math.sqrt(float(sums @ sums) * draws / (draws - 1)) if draws > 1 else math.inf

    @property
    def draws(self) -> int | None:
        """The number of groups with some weight; None without groups."""
        return None if self.group is None else int(np.count_nonzero(np.bincount(self.group, self.share)))

    def effective(self, rows: NDArray[np.bool_]) -> float:
        """Return how many rows of equal weight have the same spread as some of these."""
        square = float(self.square[rows].sum())
        return float(self.share[rows].sum()) ** 2 / square if square else 0.0
