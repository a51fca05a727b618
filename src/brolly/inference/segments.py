"""Test many segments for calibration and control the false discovery rate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from brolly.core.arrays import Floats, freeze
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import FEW_ROWS, Segments
from brolly.core.shown import Shown
from brolly.core.text import finite, json_key, short
from brolly.errors import BrollyWarning, InputError
from brolly.inference.calibration_test import calibration_test, exact_p_value
from brolly.inference.intervals import confidence_interval
from brolly.inference.resampling import Progress, Rng, Seed, as_seed, check_resamples, check_share
from brolly.inference.statistic import Measuring, as_statistic, as_test_statistic

_METHODS = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}
_STATISTIC = "combined"
_SHOWN = 20
_FIRST_LOOK, _CLOSE = 199, 20  # draws of the first look; a look with more draws than this above the value is the last
_FEWEST, _MOST = 999, 99_999  # draws of the last look, by default


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SegmentTests(Shown):
    """A calibration test for each segment, adjusted for the number of segments.

    Attributes
    ----------
    by : tuple of str
        The columns that define the segments.
    segments : tuple
        The segments, in order; the arrays below follow it.
    n : ndarray of int
        The number of rows.
    value : ndarray of float
        The measure of each segment.
    null_mean : ndarray of float
        The mean of the measure for a calibrated forecaster with the same predictions; NaN, like `p_value` and
        `q_value`, where the segment is too small to be tested.
    p_value : ndarray of float
        The p-value of each test by itself.
    q_value : ndarray of float
        The smallest `fdr` at which the segment is found.
    low, high : ndarray of float
        The confidence intervals of the measure, at `interval_level`; NaN where none was asked for.
    fdr : float
        The false discovery rate: the expected share of calibrated segments among those found is at most this.
    interval_level : float or None
        The confidence level of each interval; None without intervals.
    method : {"bh", "by"}
        The adjustment of the p-values.
    min_rows : int
        Segments with fewer rows are not tested.
    measure : str
        The measure of `value`, `null_mean` and the intervals.
    n_resamples : int
        The number of draws at the last look.
    seed : int or None
        The seed, if one was given.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    by: tuple[str, ...]
    segments: tuple[Any, ...]
    n: NDArray[np.int64]
    value: Floats
    null_mean: Floats
    p_value: Floats
    q_value: Floats
    low: Floats
    high: Floats
    fdr: float
    interval_level: float | None
    method: Literal["bh", "by"]
    min_rows: int
    measure: str
    n_resamples: int
    seed: int | None
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self.n, self.value, self.null_mean, self.p_value, self.q_value, self.low, self.high)

    @property
    def found(self) -> list[Any]:
        """The segments that are not calibrated: the expected share of false discoveries is at most `fdr`."""
        return [self.segments[i] for i in np.flatnonzero(self.q_value <= self.fdr)]

    @property
    def small(self) -> list[Any]:
        """The segments with too few rows to be tested."""
        return [self.segments[i] for i in np.flatnonzero(np.isnan(self.p_value))]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON; None where there is no number."""
        names = ("n", "value", "null_mean", "p_value", "q_value", "low", "high")
        columns = [list(map(finite, getattr(self, name).tolist())) for name in names]
        rows = zip(self.segments, *columns, strict=True)
        return {
            "result": "segment_tests",
            "method": f"exact Monte Carlo tests, {_METHODS[self.method]} over segments",
            "measure": self.measure,
            "fdr": self.fdr,
            "interval_level": self.interval_level,
            "interval_method": "false coverage rate (Benjamini-Yekutieli)",
            "min_rows": self.min_rows,
            "n": int(self.n.sum()),
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "by": list(self.by),
            "segments": [{"segment": json_key(key), **dict(zip(names, values, strict=True))} for key, *values in rows],
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        judged = int((~np.isnan(self.p_value)).sum())
        return f"SegmentTests({len(self.found)} found of {judged} tested, fdr={self.fdr}, measure={self.measure!r})"

    def __str__(self) -> str:
        judged = len(self.segments) - len(self.small)
        summary = (
            f"{len(self.found):,} of {judged:,} segments tested are not calibrated (false discovery rate "
            f"{100 * self.fdr:g}%); {len(self.small):,} have too few rows to be tested."
        )
        order = np.lexsort((-self.value, np.where(np.isnan(self.q_value), np.inf, self.q_value)))[:_SHOWN]
        head = (", ".join(self.by), "rows", self.measure, "p", "q", "")
        rows = [head, *(self._row(int(i)) for i in order)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                [f"{row[0]:<{widths[0]}}", *(f"{v:>{w}}" for v, w in zip(row[1:5], widths[1:5], strict=True)), row[5]]
            )
            for row in rows
        ]
        more = [f"and {len(self.segments) - _SHOWN:,} more"] if len(self.segments) > _SHOWN else []
        return "\n".join([summary, *(line.rstrip() for line in lines), *more])

    def _row(self, i: int) -> tuple[str, ...]:
        judged = not np.isnan(self.p_value[i])
        note = "" if judged else "few rows"
        if self.q_value[i] <= self.fdr:
            note = "not calibrated"
        shown = [f"{v:.3g}" if judged else "-" for v in (self.p_value[i], self.q_value[i])]
        return (_words(self.segments[i]), f"{self.n[i]:,}", f"{self.value[i]:.4g}", *shown, note)


def segment_tests(
    segments: Segments | Mapping[Any, Sample],
    *,
    measure: str | Measuring = "soft_binned_cdl",
    fdr: float = 0.05,
    method: Literal["bh", "by"] = "bh",
    min_rows: int = FEW_ROWS,
    intervals: int = 0,
    n_resamples: int | None = None,
    rng: Seed = None,
    progress: Progress | None = None,
) -> SegmentTests:
    r"""Find the segments that are not calibrated and control the false discovery rate.

    Of a thousand calibrated segments fifty fail a test at the 5% level by chance. Here the expected share of calibrated
    segments among those found is at most `fdr`, however many are tested.

    Explained in docs/inference-resampling.md.

    Parameters
    ----------
    segments : Segments, or mapping from segment to Sample
        What ``scan(..., by=...)`` returns.
    measure : str or callable
        The measure that is reported for each segment: a name of `list_measures()`, or a function that takes one
        `Sample`. The p-values are from the default statistic of `calibration_test`.
    fdr : float
        The false discovery rate.
    method : {"bh", "by"}
        "bh" (Benjamini-Hochberg) for segments without common rows, whose tests are independent; "by"
        (Benjamini-Yekutieli) for any others, such as the classes of ``view="one-vs-rest"``, where every row is in each
        segment. "by" finds fewer.
    min_rows : int
        Segments with fewer rows are not tested and do not count in the adjustment.
    intervals : int
        The number of segments, those with the smallest p-values, that get a confidence interval.
    n_resamples : int, optional
        The number of calibrated forecasters drawn at the last look (see Notes). Default: twice as many as are needed
        to find one segment alone, from 999 to 99,999.
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    progress : callable, optional
        Called with the number of segments tested so far and in total.

    Returns
    -------
    SegmentTests
        A value, p-value and q-value for each segment, and which were found.

    Warns
    -----
    BrollyWarning
        If `n_resamples` is too small to find one segment alone, or if single tests come with a warning.

    Notes
    -----
    With the :math:`K` p-values in order, :math:`q_{(i)} = \min_{j \ge i} p_{(j)} K c / j`, with :math:`c = 1` ("bh") or
    :math:`1 + 1/2 + \dots + 1/K` ("by"); segments with :math:`q \le \text{fdr}` are found. A segment that is not
    found need not be calibrated.

    *Looks.* One segment alone among :math:`K` can be found only if ``n_resamples + 1 >= K c / fdr``: 200,000 draws for
    each of 10,000 segments. Most are seen to be unremarkable much sooner. The first look has 199 draws; as long as
    the p-value is at most 20/(draws + 1), the next look has ten times as many fresh draws, up to `n_resamples`. A
    calibrated segment costs about 200 draws per look on average. The p-value is that of the last look, and it is valid:
    looks stop at :math:`p_j > t_j` with :math:`t_1 > t_2 > \dots`, so for :math:`t_j < x \le t_{j-1}` it is at most
    :math:`x` only if :math:`p_j \le x`, and :math:`p_j`, from draws of its own, is the exact p-value of
    `calibration_test`.

    *Intervals.* Those shown for the smallest p-values are a selection: at the plain level far more than a share `fdr`
    of them would miss the population's value. Each has the level ``1 - fdr * shown / tested``, so that the
    expected share of the intervals shown that miss is at most `fdr` (false coverage rate), as far as each interval has
    its level (see `confidence_interval`).

    References
    ----------
    Benjamini, Hochberg (1995), "Controlling the False Discovery Rate", doi:10.1111/j.2517-6161.1995.tb02031.x.
    Benjamini, Yekutieli (2001), doi:10.1214/aos/1013699998; (2005), "False Discovery Rate-Adjusted Multiple Confidence
    Intervals for Selected Parameters", doi:10.1198/016214504000001907.

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p, s = rng.random(6000), rng.integers(0, 20, 6000)
    >>> y = rng.random(6000) < np.where(s == 7, p**3, p)      # one segment of twenty is miscalibrated
    >>> segments = brolly.scan({"p": p, "y": y.astype(int), "s": s}, by="s", grid=1024)
    >>> brolly.segment_tests(segments, rng=0).found
    [7]
    """
    check_share(fdr, "fdr")
    if method not in _METHODS:
        raise InputError(f"method must be 'bh' or 'by'; it is {method!r}")
    statistic, (generator, seed) = as_statistic(measure), as_seed(rng)
    keys, streams = tuple(segments), generator.spawn(len(segments))
    rows = np.array([sample.n for sample in segments.values()], np.int64)
    tested = int((rows >= min_rows).sum())
    needed = tested * _price(tested, method) / fdr - 1  # draws to find one segment alone
    size = max(_FEWEST, min(_MOST, math.ceil(2 * needed))) if n_resamples is None else check_resamples(n_resamples)
    shown = min(intervals, tested)
    level = 1 - fdr * shown / max(1, tested)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrollyWarning)  # warnings about single segments are counted instead
        (value, null_mean, p_value), said = _tests(segments, measure, min_rows, size, streams, progress)
        low, high = np.full((2, len(keys)), np.nan)
        for at in np.argsort(p_value, kind="stable")[:shown].tolist():
            sample = segments[keys[at]]
            found = confidence_interval(sample, measure=measure, confidence_level=level, rng=streams[at])
            low[at], high[at] = found.low, found.high
    if size < needed:
        said.append(
            f"with n_resamples={size} one segment alone among {tested:,} could not be found: that takes "
            f"n_resamples={math.ceil(needed):,} or more"
        )
    for note in said:
        warnings.warn(BrollyWarning(note), stacklevel=2)
    return SegmentTests(
        by=segments.by if isinstance(segments, Segments) else ("segment",),
        segments=keys,
        n=rows,
        value=value,
        null_mean=null_mean,
        p_value=p_value,
        q_value=adjusted(p_value, method),
        low=low,
        high=high,
        fdr=float(fdr),
        interval_level=level if shown else None,
        method=method,
        min_rows=min_rows,
        measure=statistic.name,
        n_resamples=size,
        seed=seed,
        warnings=tuple(said),
    )


def _tests(
    segments: Mapping[Any, Sample],
    measure: str | Measuring,
    min_rows: int,
    size: int,
    streams: Sequence[Rng],
    progress: Progress | None,
) -> tuple[Floats, list[str]]:
    """Value, mean under calibration and p-value of each segment; and a summary of the warnings of the tests."""
    columns, notes = np.full((3, len(segments)), np.nan), list[str]()
    for at, sample in enumerate(segments.values()):
        if sample.n >= min_rows:
            first = min(_FIRST_LOOK, size)
            test = calibration_test(sample, statistic=_STATISTIC, measure=measure, n_resamples=first, rng=streams[at])
            columns[:, at] = test.value, test.null_mean, _p_value(test.p_value, sample, size, streams[at])
            notes += test.warnings[:1]
        else:
            columns[0, at] = as_statistic(measure).function(sample)
        if progress is not None:
            progress(at + 1, len(segments))
    return columns, [f"{len(notes):,} of the tests come with a warning, the first: {notes[0]}"] if notes else []


def _p_value(first: float, sample: Sample, most: int, rng: Rng) -> float:
    """The p-value of the last look: ten times as many fresh draws again and again, as long as it is small."""
    size, p_value = min(_FIRST_LOOK, most), first
    while size < most and round(p_value * (size + 1)) <= _CLOSE:
        size = min(10 * (size + 1) - 1, most)
        p_value, _ = exact_p_value(sample, [as_test_statistic(_STATISTIC)], size, rng)
    return p_value


def adjusted(p_value: Floats, method: str) -> Floats:
    """Return the q-values of p-values; NaN is left out and stays NaN."""
    judged = np.flatnonzero(~np.isnan(p_value))
    order = judged[np.argsort(p_value[judged], kind="stable")]
    many = len(order)
    rank = np.arange(1, many + 1)
    scaled = p_value[order] * many * _price(many, method) / rank
    q_value = np.full(len(p_value), np.nan)
    q_value[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return q_value


def _price(many: int, method: str) -> float:
    """The factor c of the adjustment: 1 for "bh"."""
    return 1.0 if method == "bh" else float((1 / np.arange(1, many + 1)).sum())


def _words(key: Any) -> str:
    return short(", ".join(map(str, key)) if isinstance(key, tuple) else str(key))
