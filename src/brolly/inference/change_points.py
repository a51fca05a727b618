"""Whether, and when, a forecast began to behave differently: a test, not a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from brolly.core.arrays import Floats
from brolly.core.grid.cells import mean_prediction
from brolly.core.sample.sample import Sample
from brolly.errors import InputError
from brolly.inference.resampling import Progress, Seed, as_seed

Ints = NDArray[np.int64]
Shuffle = Literal["periods", "rows"]

_COARSEST, _FINEST = 16, 128  # cells: about the root of the rows, so that each has many and is narrow
_BLOCK = 32  # resamples at a time, which bounds the memory
_MOST = 10**9 - 1  # rows in a cell that NumPy's hypergeometric draws take


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A date from which outcomes relate to predictions differently than before.

    Attributes
    ----------
    label : str
        The first period of the new behaviour.
    index : int
        Its place among the periods.
    p_value : float
        How often chance alone gives so clear a break somewhere in the stretch that was looked at.
    """

    label: str
    index: int
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """The change as built-ins."""
        return {"label": self.label, "index": self.index, "p_value": self.p_value}


def find_changes(
    samples: Sequence[tuple[str, Sample]],
    *,
    alpha: float = 0.01,
    shuffle: Shuffle = "periods",
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> tuple[Change, ...]:
    """When did outcomes begin to relate to predictions differently?

    A change of the weather is no change: only that the same predicted probability began to mean another
    frequency counts.

    Parameters
    ----------
    samples : sequence of (str, Sample)
        A label and a compressed sample for each period, in order of time, on one grid.
    alpha : float
        How often a stretch without a change may be said to have one.
    shuffle : {"periods", "rows"}
        What could have come in another order if nothing changed: whole periods, whose rows may depend on each
        other (one storm delays every flight of its day), or single rows, which finds smaller changes and
        needs fewer periods, but takes one bad day of rows that hang together for a change.
    n_resamples : int
        Random rearrangements of each stretch.
    rng : numpy.random.Generator or int, optional
        The source of randomness; the same number gives the same answer.
    progress : callable, optional
        Called now and then with (done, total) resamples of the stretch being looked at.

    Returns
    -------
    tuple of Change
        In order of time; empty where chance explains everything.

    Notes
    -----
    With ``K`` events among ``N`` rows in a cell of nearly equal predictions, and ``k, n`` of them in the periods
    up to ``t``, the statistic is

        ``T = max over t of (max - min over cells c of S_t(c)) / sqrt(V_t)``,

    where ``S_t(c)`` is the sum of ``k - n K/N`` over the cells up to ``c``, less what the mean predictions of
    these rows within their cell explain, and ``V_t`` the variance of its last value. It is the cutoff
    calibration error of the difference between after and before, at the date that tells them apart best.
    It is compared with what random orders give: of the periods, or of the outcomes within each cell (a
    multivariate hypergeometric draw). Both need the counts alone, and the p-value ``(1 + #{T* >= T})/(B + 1)`` is
    valid at every size if in truth any order was as likely as any other. Five periods in random order cannot
    speak at 1%: their 120 orders are too few. After a change both sides are looked at on their own, at the
    same `alpha`. Weights are not used here.

    Examples
    --------
    >>> import numpy as np
    >>> from brolly import Sample
    >>> from brolly.inference.change_points import find_changes
    >>> rng = np.random.default_rng(0)
    >>> days = []
    >>> for day in range(20):
    ...     p = rng.random(200)
    ...     q = p if day < 12 else p**2
    ...     days.append((f"day {day}", Sample(rng.random(200) < q, p).compress(1024)))
    >>> [change.label for change in find_changes(days, rng=0)]
    ['day 12']
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1; it is {alpha!r}")
    if n_resamples < 1 / alpha - 1:
        raise InputError(f"n_resamples must be at least {1 / alpha - 1:.0f} to speak at alpha = {alpha}")
    if shuffle not in get_args(Shuffle):
        raise InputError(f"shuffle must be 'periods' or 'rows'; it is {shuffle!r}")
    labels = [label for label, _ in samples]
    counts, events, sums = _by_period([sample for _, sample in samples])
    generator, _ = as_seed(rng)
    found: list[Change] = []
    stretches = [(0, len(labels))]
    while stretches:
        start, stop = stretches.pop()
        part = slice(start, stop)
        stretch = _Stretch(counts[part], events[part], sums[part])
        split = stretch.split()
        if split is None:
            continue
        p_value = stretch.p_value(shuffle, n_resamples, generator, progress)
        if p_value <= alpha:
            middle = start + split
            found.append(Change(label=labels[middle], index=middle, p_value=p_value))
            stretches += [(middle, stop), (start, middle)]
    return tuple(sorted(found, key=lambda change: change.index))


def _by_period(samples: Sequence[Sample]) -> tuple[Ints, Ints, Floats]:
    """Rows, events and the sum of predictions, for every period and cell of one coarse grid."""
    grids = {sample.grid for sample in samples}
    if None in grids:
        raise InputError("samples must be compressed: call compress(m) on each first")
    n = sum(sample.n for sample in samples)
    root = 1 << (n.bit_length() // 2)
    m = min([_FINEST, max(_COARSEST, root), *(g for g in grids if g is not None)])
    shape = (len(samples), m + 1)
    counts, events, sums = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape)
    for period, sample in enumerate(samples):
        cells = sample._cells.coarsen(m)
        cell, event = cells.slot >> 1, cells.slot & 1 == 1
        np.add.at(counts[period], cell, cells.count)
        np.add.at(events[period], cell[event], cells.count[event])
        # The mean prediction of a slot's rows is by weight: all that is known of it.
        np.add.at(sums[period], cell, cells.count * mean_prediction(m, cell, cells.rise[0], cells.weight[0]))
    return counts, events, sums


class _Stretch:
    """Some periods in a row, and whether a date divides them."""

    def __init__(self, counts: Ints, events: Ints, sums: Floats) -> None:
        busy = counts.sum(0) > 0
        self._counts, self._events = counts[:, busy], events[:, busy]
        self._rows = self._counts.sum(0)
        self._total = self._events.sum(0)
        self._rate = self._total / self._rows
        mean = sums[:, busy].sum(0) / self._rows
        # Events that a period has beyond the cell's common rate since its predictions lie higher in the cell, if
        # the cell's odds are off by one factor: then the rate rises with the prediction at this slope.
        certain = mean * (1 - mean)
        slope = np.divide(self._rate * (1 - self._rate), certain, out=np.zeros_like(mean), where=certain > 0)
        self._drift = slope * (sums[:, busy] - self._counts * mean)
        self._variance = self._variances(self._counts)

    def _variances(self, counts: Ints) -> Floats:
        """For each date the variance of the events up to it, if any order of the rows is as likely as another."""
        before = np.cumsum(counts, -2)[..., :-1, :]
        spread = self._rate * (1 - self._rate) / np.maximum(self._rows - 1, 1)
        return np.asarray((before * (self._rows - before) * spread).sum(-1))

    def split(self) -> int | None:
        """The period before which the stretch is best divided; None where nothing could divide it."""
        if not (self._variance > 0).any():
            return None
        return int(np.argmax(self._observed())) + 1

    def _observed(self) -> Floats:
        return _statistics(self._excess(self._events - self._drift), self._variance)

    def _excess(self, events: Floats) -> Floats:
        """Events beyond what the cell's rate explains."""
        return np.asarray(events - self._counts * self._rate)

    def _reorder(self, size: int, rng: np.random.Generator) -> Floats:
        """The statistics of the same periods in random orders."""
        order = rng.permuted(np.tile(np.arange(len(self._counts)), (size, 1)), axis=1)
        variance = self._variances(self._counts[order])
        return _statistics(self._excess(self._events - self._drift)[order], variance)

    def p_value(self, shuffle: Shuffle, n: int, rng: np.random.Generator, progress: Progress | None) -> float:
        """How often a random order gives so clear a division."""
        observed = self._observed().max()
        draw = self._deal if shuffle == "rows" else self._reorder
        exceeding = 0
        for done in range(0, n, _BLOCK):
            size = min(_BLOCK, n - done)
            drawn = draw(size, rng).max(-1)
            exceeding += int((drawn >= observed * (1 - 1e-12)).sum())  # a tie broken by rounding counts as one
            if progress is not None:
                progress(done + size, n)
        return (1 + exceeding) / (1 + n)

    def _deal(self, size: int, rng: np.random.Generator) -> Floats:
        """The statistics where each cell's events are dealt out among its rows."""
        drawn = np.empty((size, *self._counts.shape))
        for cell, total in enumerate(self._total):
            parts = -(-int(self._rows[cell]) // _MOST)  # dealing in packs of this many rows only adds spread
            packs = self._counts[:, cell] // parts
            drawn[:, :, cell] = parts * rng.multivariate_hypergeometric(packs, min(total // parts, packs.sum()), size)
        return _statistics(self._excess(drawn), self._variance)


def _statistics(excess: Floats, variance: Floats) -> Floats:
    """For each date what sets after and before apart, in standard deviations."""
    walk = np.cumsum(np.cumsum(excess, -2)[..., :-1, :], -1)
    width = np.maximum(walk.max(-1), 0) - np.minimum(walk.min(-1), 0)
    scale = np.sqrt(variance)
    out: Floats = np.divide(width, scale, out=np.zeros_like(width), where=scale > 0)
    return out
