"""Monitor a forecast over time: SCDL and a guarantee for each window, and the dates of changes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brolly.core.sample.sample import Sample
from brolly.core.text import short
from brolly.errors import BrollyWarning, InputError
from brolly.inference.change_points import Change, Periods, Shuffle, as_periods, find_changes
from brolly.inference.guarantee import guarantee
from brolly.inference.resampling import Progress, Seed, as_seed
from brolly.measures.soft_binned import soft_binned_profile

if TYPE_CHECKING:
    from brolly.plots import Axes


@dataclass(frozen=True, kw_only=True, slots=True)
class MonitoringWindow:
    """One line of a `Timeline`: the rows of the periods up to `label`.

    Attributes
    ----------
    label : str
        The last period of the window.
    n, event_rate : int, float
        The number of rows and the share of events.
    value : float
        SCDL of these rows.
    bound : float
        The guarantee: an upper bound on the expected loss in the population, at the confidence level asked for, ...
    grid : int
        ... for predictions rounded to multiples of ``1/grid``.
    """

    label: str
    n: int
    event_rate: float
    value: float
    bound: float
    grid: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """The result of `monitor`; prints as a table.

    Attributes
    ----------
    windows : tuple of MonitoringWindow
        One for each period, in order of time.
    changes : tuple of Change
        When outcomes began to relate to predictions differently; empty if chance explains everything.
    length : int
        The number of periods in a window (fewer at the start).
    confidence_level, alpha, shuffle, n_resamples, seed
        As asked for.
    """

    windows: tuple[MonitoringWindow, ...]
    changes: tuple[Change, ...]
    length: int
    confidence_level: float
    alpha: float
    shuffle: str | int
    n_resamples: int
    seed: int | None

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the windows and changes into axes (default: new ones); see `brolly.plots.timeline`."""
        from brolly.plots import timeline

        return timeline(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON."""
        return asdict(self) | {name: [asdict(x) for x in getattr(self, name)] for name in ("windows", "changes")}

    def __repr__(self) -> str:
        last = self.windows[-1]
        return f"Timeline({len(self.windows)} periods, {len(self.changes)} changes, last={last.value:.4g})"

    def __str__(self) -> str:
        changed = {change.label: change for change in self.changes}
        width = max(6, *(len(short(window.label)) for window in self.windows))
        lines = [
            f"{'period':<{width}}  {'rows':>13}  {'SCDL':>8}  {f'at most ({self.confidence_level:.0%})':>14}  rounding"
        ]
        for w in self.windows:
            if w.label in changed:
                p = changed[w.label].p_value
                lines.append(f"{'':<{width}}  change: by chance with probability {p:.2g} at most")
            lines.append(f"{short(w.label):<{width}}  {w.n:>13,}  {w.value:>8.4f}  {w.bound:>14.4f}  1/{w.grid}")
        return "\n".join(lines)


def monitor(
    samples: Periods,
    *,
    window: int = 1,
    confidence_level: float = 0.95,
    alpha: float = 0.01,
    shuffle: Shuffle = "periods",
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> Timeline:
    """Compute SCDL and a guarantee for each period of a forecast, and find the dates of changes.

    Parameters
    ----------
    samples : mapping of str to Sample, or sequence of (str, Sample)
        A compressed sample for each period, by label, in order of time, all on one grid (see `load_samples`).
    window : int
        The number of periods that each window merges.
    confidence_level : float
        The confidence level of the bound of each window, taken by itself.
    alpha : float
        The probability, at most, of finding a change in a stretch of periods without one.
    shuffle : {"periods", "rows"} or int
        Whether the rows of a period may depend on each other, all rows are independent, or neighbouring periods
        resemble each other (blocks of that many periods); see `find_changes`.
    n_resamples : int
        The number of random orders in the test for a change.
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of steps done so far and in total.

    Returns
    -------
    Timeline

    Notes
    -----
    Windows may overlap; the search for changes uses each period once and no window, so its result does
    not depend on `window`. If it runs every day, there are many tests: choose `alpha` accordingly.

    Examples
    --------
    >>> import brolly
    >>> days = {"Mon": brolly.Sample([0, 1, 1], [0.2, 0.7, 0.6]), "Tue": brolly.Sample([0, 1], [0.1, 0.8])}
    >>> line = brolly.monitor({day: sample.compress() for day, sample in days.items()}, window=2)
    >>> line
    Timeline(2 periods, 0 changes, last=0.09)
    >>> line.windows[1].n
    5
    """
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise InputError(f"window must be a whole number of periods, at least 1; it is {window!r}")
    labels, periods = as_periods(samples)
    if not periods:
        raise InputError("samples must not be empty")
    generator, seed = as_seed(rng)
    changes = find_changes(
        samples, alpha=alpha, shuffle=shuffle, n_resamples=n_resamples, rng=generator, progress=progress
    )
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrollyWarning)  # single days often have few rows
        for done, (label, merged) in enumerate(zip(labels, _sliding(periods, window), strict=True)):
            promise = guarantee(merged, confidence_level=confidence_level)
            assert promise.grid is not None  # the response is "rounded"
            lines.append(
                MonitoringWindow(
                    label=label,
                    n=merged.n,
                    event_rate=merged.event_rate,
                    value=soft_binned_profile(merged).value,
                    bound=promise.bound,
                    grid=promise.grid,
                )
            )
            if progress is not None:
                progress(done + 1, len(labels))
    return Timeline(
        windows=tuple(lines),
        changes=changes,
        length=int(window),
        confidence_level=confidence_level,
        alpha=alpha,
        shuffle=shuffle,
        n_resamples=n_resamples,
        seed=seed,
    )


def _sliding(samples: Sequence[Sample], length: int) -> Iterator[Sample]:
    """The merged samples of the last `length` periods, with three merges a period however long the window.

    Sums cannot be subtracted exactly, so the window is two stacks: `old` holds, for each start, the merged
    rest of an earlier stretch; `new` the merged periods since.
    """
    old: list[Sample] = []
    new: Sample | None = None
    for index, sample in enumerate(samples):
        new = sample if new is None else new + sample
        yield new if not old else old[-1] + new
        if index + 1 >= length:
            if not old:
                stretch = samples[index + 1 - length : index + 1]
                for part in reversed(stretch):
                    old.append(part if not old else part + old[-1])
                new = None
            old.pop()
