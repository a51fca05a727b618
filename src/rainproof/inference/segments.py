"""Test many segments for calibration and control the false discovery rate.

What a segment is, and how rows are counted in it, is in `rainproof.core.segments`; the test of one
segment in `rainproof.inference.calibration_tests`.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.result import Result, once, plain, result_class
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import aligned, json_key, p_cell, short
from rainproof.errors import FEW_ROWS, InputError, RainproofWarning, ResolutionWarning
from rainproof.inference.calibration_tests import redrawn, too_coarse
from rainproof.inference.intervals import confidence_interval
from rainproof.inference.options import (
    BLOCK,
    Progress,
    Rng,
    Seed,
    as_seed,
    check_resamples,
    check_share,
    spawned,
)
from rainproof.inference.resampling import as_resampler
from rainproof.inference.statistics import (
    Measuring,
    Statistic,
    as_statistic,
    sequential_p_value,
    with_fewer_cells,
)

_METHODS = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}
_SEGMENTS_SHOWN = 20
# draws for a segment by default: as many as `calibration_test` takes, to 100 times as many
_FEWEST_DRAWS = 999
_MOST_DRAWS = 99_999
_SPARE = 2.0  # times the draws that find one segment alone: one draw as large does not hide it
_MEAN_DRAWS = 199  # for the mean of calibrated forecasters: as many as an interval takes


@result_class
class SegmentTests(Result):
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
        The mean of the measure for a calibrated forecaster with the same predictions, drawn when it
        is first asked for; NaN, like `p_value` and `q_value`, where the segment is too small to be
        tested.
    p_value : ndarray of float
        The p-value of each test by itself.
    q_value : ndarray of float
        The smallest `fdr` at which the segment is found.
    low, high : ndarray of float
        The confidence intervals of the measure, at `interval_level`; NaN where none was asked for.
    fdr : float
        The false discovery rate: the expected share of calibrated segments among those found is at
        most this.
    interval_level : float or None
        The confidence level of each interval; None without intervals.
    method : {"bh", "by"}
        The adjustment of the p-values.
    min_rows : int
        Segments with fewer rows are not tested.
    measure : str
        The measure of `value`, `null_mean` and the intervals.
    n_resamples : int
        The largest number of draws for one segment.
    seed : int or None
        The seed, if one was given.
    warnings : tuple of str
        Reasons to read the result with care; those about `null_mean` draw it.
    """

    _kind = "segment_tests"
    _also = ("warnings",)
    _shown = ("fdr", "method", "min_rows", "measure")
    _later = ("null_mean",)
    _from = ("_draw",)
    by: tuple[str, ...]
    segments: tuple[Any, ...]
    n: NDArray[np.int64]
    value: Floats
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
    _cells: Ints  # the grids of compressed samples, if the measure can be too small for it; or 0
    _notes: tuple[str, ...]
    _draw: Callable[[], Floats] = field(compare=False)
    _found: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    @once
    def null_mean(self) -> Floats:
        """The mean of the measure for calibrated forecasters with the same predictions."""
        return self._draw()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to read the result with care."""
        if not self._cells.any():
            return self._notes
        return self._notes + _coarse(self.null_mean, self._cells)

    @property
    def found(self) -> list[Any]:
        """The segments that are not calibrated: the expected share of false discoveries is at most
        `fdr`.
        """
        return [self.segments[i] for i in np.flatnonzero(self.q_value <= self.fdr)]

    @property
    def small(self) -> list[Any]:
        """The segments with too few rows to be tested."""
        return [self.segments[i] for i in np.flatnonzero(np.isnan(self.p_value))]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON, with a record for each segment."""
        names = ("n", "value", "null_mean", "p_value", "q_value", "low", "high")
        columns = [plain(getattr(self, name)) for name in names]
        records = []
        for segment, *values in zip(self.segments, *columns, strict=True):
            record = {"segment": json_key(segment)}
            record.update(zip(names, values, strict=True))
            records.append(record)
        content = {name: value for name, value in Result.to_dict(self).items() if name not in names}
        content["method"] = (
            f"exact sequential Monte Carlo tests, {_METHODS[self.method]} over segments"
        )
        content["interval_method"] = "false coverage rate (Benjamini-Yekutieli)"
        content["n"] = int(self.n.sum())
        content["segments"] = records
        return content

    def __str__(self) -> str:
        n_small = len(self.small)
        n_tested = len(self.segments) - n_small
        summary = (
            f"{len(self.found):,} of {n_tested:,} segments tested are not calibrated (false "
            f"discovery rate {100 * self.fdr:g}%); {n_small:,} have too few rows to be tested."
        )
        # NaN, of segments that are too small, after all others
        q_value = np.where(np.isnan(self.q_value), np.inf, self.q_value)
        order = np.lexsort((-self.value, q_value))
        table = [[", ".join(self.by), "rows", self.measure, "p", "q", ""]]
        table += [self._line(number) for number in order[:_SEGMENTS_SHOWN].tolist()]
        lines = [summary, *aligned(table, left=(0, 5))]
        n_left = len(self.segments) - _SEGMENTS_SHOWN
        if n_left > 0:
            lines.append(f"and {n_left:,} more")
        return "\n".join(lines)

    def _line(self, number: int) -> list[str]:
        """The cells of a segment in the table."""
        key = self.segments[number]
        name = ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        p_value = "-"
        q_value = "-"
        note = "few rows"
        if not np.isnan(self.p_value[number]):
            p_value = p_cell(self.p_value[number])
            q_value = p_cell(self.q_value[number])
            note = "not calibrated" if self.q_value[number] <= self.fdr else ""
        rows = f"{self.n[number]:,}"
        value = f"{self.value[number]:.4g}"
        return [short(name), rows, value, p_value, q_value, note]


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

    Of a thousand calibrated segments fifty fail a test at the 5% level by chance. Here the expected
    share of calibrated segments among those found is at most `fdr`, however many are tested.

    Explained in docs/guide/inference.md.

    Parameters
    ----------
    segments : Segments, or mapping from segment to Sample
        What ``scan(..., by=...)`` returns.
    measure : str or callable
        The measure that is reported for each segment: a name of `list_measures()`, or a function
        that takes one `Sample`. The p-values are from the default statistic of `calibration_test`.
    fdr : float
        The false discovery rate.
    method : {"bh", "by"}
        "bh" (Benjamini-Hochberg) for segments without common rows, whose tests are independent;
        "by" (Benjamini-Yekutieli) for any others, such as the classes of ``view="one-vs-rest"``,
        where every row is in each segment. "by" finds fewer.
    min_rows : int
        Segments with fewer rows are not tested and do not count in the adjustment.
    intervals : int
        The number of segments, those with the smallest p-values, that get a confidence interval.
    n_resamples : int, optional
        The largest number of calibrated forecasters drawn for one segment (see Notes). Default:
        twice as many as are needed to find one segment alone, from 999 to 99,999.
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
    RainproofWarning
        If `n_resamples` is too small to find one segment alone.

    Notes
    -----
    With the :math:`K` p-values in order, :math:`q_{(i)} = \min_{j \ge i} p_{(j)} K c / j`, with
    :math:`c = 1` ("bh") or :math:`1 + 1/2 + \dots + 1/K` ("by"); segments with
    :math:`q \le \text{fdr}` are found. A segment that is not found need not be calibrated.

    *Draws.* One segment alone among :math:`K` can be found only if ``n_resamples + 1 >= K c /
    fdr``: 200,000 draws for each of 10,000 segments. Most are seen to be unremarkable much sooner.
    Draws stop as soon as :math:`h = 10` of them have a statistic as large as the observed one; if
    the last of these is draw number :math:`l`, the p-value is :math:`h/l`. If only :math:`g < h` of
    all :math:`N` = `n_resamples` draws do, it is :math:`(g + 1)/(N + 1)`. A calibrated segment
    costs about :math:`h (1 + \log(N/h))` draws on average, 100 for 99,999.

    The p-value is valid (Besag, Clifford 1991). For :math:`h \le l \le N` it is at most :math:`h/l`
    only if fewer than :math:`h` of the first :math:`l - 1` draws reach the observed statistic. If
    the segment is calibrated, that is one more draw of the same kind, so its rank among the
    :math:`l` of them is uniform up to ties, and the probability of a rank up to :math:`h` is at
    most :math:`h/l`. For :math:`g < h` the p-value is at most :math:`(g + 1)/(N + 1)` only if at
    most :math:`g` of all draws reach it, as in `calibration_test`. Between these values there are
    no others.

    *Intervals.* Those shown for the smallest p-values are a selection: at the plain level far more
    than a share `fdr` of them would miss the population's value. Each has the level ``1 - fdr *
    shown / tested``, so that the expected share of the intervals shown that miss is at most `fdr`
    (false coverage rate), as far as each interval has its level (see `confidence_interval`).

    References
    ----------
    Benjamini, Hochberg (1995), "Controlling the False Discovery Rate",
    doi:10.1111/j.2517-6161.1995.tb02031.x. Benjamini, Yekutieli (2001), doi:10.1214/aos/1013699998;
    (2005), "False Discovery Rate-Adjusted Multiple Confidence Intervals for Selected Parameters",
    doi:10.1198/016214504000001907. Besag, Clifford (1991), "Sequential Monte Carlo P-values",
    doi:10.1093/biomet/78.2.301.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p, s = rng.random(6000), rng.integers(0, 20, 6000)
    >>> y = rng.random(6000) < np.where(s == 7, p**3, p)      # one of twenty is miscalibrated
    >>> segments = rainproof.scan({"p": p, "y": y.astype(int), "s": s}, by="s", grid=1024)
    >>> rainproof.inference.segment_tests(segments, rng=0).found
    [7]
    """
    check_share(fdr, "fdr")
    if method not in _METHODS:
        raise InputError(f"method must be 'bh' or 'by'; it is {method!r}")
    statistic = as_statistic(measure)
    keys = tuple(segments)
    rows = _count_rows(segments)
    is_tested = rows >= min_rows
    n_tested = int(is_tested.sum())
    needed = n_tested * _price(n_tested, method) / fdr - 1  # draws to find one segment alone
    if n_resamples is None:
        size = max(_FEWEST_DRAWS, min(_MOST_DRAWS, math.ceil(_SPARE * needed)))
    else:
        size = check_resamples(n_resamples)
    digested = [segments] if isinstance(segments, Segments) else segments.values()
    generator, seed = as_seed(rng, *digested)
    n_intervals = min(intervals, n_tested)
    # the false coverage rate of the intervals that are selected (Benjamini, Yekutieli 2005)
    level = 1 - fdr * n_intervals / max(1, n_tested)
    low = np.full(len(keys), np.nan)
    high = np.full(len(keys), np.nan)
    # warnings would be about single segments
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):
        tests = _test_each(segments, statistic, is_tested, size, generator, progress)
        smallest = np.argsort(tests.p_value, kind="stable")[:n_intervals].tolist()
        for number, stream in zip(smallest, generator.spawn(n_intervals), strict=True):
            interval = confidence_interval(
                segments[keys[number]], measure=measure, confidence_level=level, rng=stream
            )
            low[number] = interval.low
            high[number] = interval.high
    notes = []
    if size < needed:
        notes.append(
            f"with n_resamples={size} one segment alone among {n_tested:,} could not be found: "
            f"that takes n_resamples={math.ceil(needed):,} or more"
        )
        warnings.warn(RainproofWarning(notes[0]), stacklevel=2)
    # the mapping may change before the means are asked for; segments do not
    segments = segments if isinstance(segments, Segments) else dict(segments)
    (mean_stream,) = generator.spawn(1)
    n_draws = min(size, _MEAN_DRAWS)
    return SegmentTests(
        by=segments.by if isinstance(segments, Segments) else ("segment",),
        segments=keys,
        n=rows,
        value=tests.value,
        p_value=tests.p_value,
        q_value=adjusted(tests.p_value, method),
        low=low,
        high=high,
        fdr=float(fdr),
        interval_level=level if n_intervals else None,
        method=method,
        min_rows=min_rows,
        measure=statistic.name,
        n_resamples=size,
        seed=seed,
        _cells=tests.cells,
        _notes=tuple(notes),
        _draw=partial(_null_means, segments, tests, statistic, n_draws, mean_stream),
    )


def _count_rows(segments: Mapping[Any, Sample]) -> NDArray[np.int64]:
    """The number of rows of each segment."""
    if isinstance(segments, Segments):
        counts = segments.counts
        return np.array([counts[key] for key in segments], np.int64)
    return np.array([sample.n for sample in segments.values()], np.int64)


class _Tests(NamedTuple):
    """The test of each segment, in their order."""

    value: Floats  # of the measure
    p_value: Floats  # NaN where a segment is not tested
    cells: Ints  # the grid of a compressed sample where SCDL can be too small for it; else 0
    kept: dict[Any, Sample]  # tested samples of rows, which the caller may change later


def _test_each(
    segments: Mapping[Any, Sample],
    statistic: Statistic,
    is_tested: NDArray[np.bool_],
    size: int,
    rng: Rng,
    progress: Progress | None,
) -> _Tests:
    """Evaluate the measure on each segment, and test those with enough rows.

    Segments share a stream of random numbers in blocks, as a new stream costs as much as twenty
    draws.
    """
    streams = spawned(rng, len(segments))
    value = np.full(len(segments), np.nan)
    p_value = np.full(len(segments), np.nan)
    cells = np.zeros(len(segments), np.int64)
    kept = dict[Any, Sample]()
    for number, (key, sample) in enumerate(segments.items()):
        # one segment can have groups where the others have none
        sample.design.require("segment_tests", independent=True)
        value[number] = statistic.function(sample)
        if is_tested[number]:
            atoms = with_fewer_cells(as_resampler(sample))
            p_value[number] = sequential_p_value(atoms, size, streams[number // BLOCK])
            if sample.grid is None:
                kept[key] = copy.deepcopy(sample)
            elif statistic.soft_binned:
                cells[number] = sample.grid
        if progress is not None:
            progress(number + 1, len(segments))
    return _Tests(value, p_value, cells, kept)


def _null_means(
    segments: Mapping[Any, Sample], tests: _Tests, statistic: Statistic, size: int, rng: Rng
) -> Floats:
    """The mean of the measure for calibrated forecasters, of each segment that was tested."""
    means = np.full(len(segments), np.nan)
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):
        for number, key in enumerate(segments):
            if np.isnan(tests.p_value[number]):
                continue
            sample = tests.kept[key] if key in tests.kept else segments[key]
            means[number] = redrawn(sample, [statistic], size, rng)[1].mean()
    for note in _coarse(means, tests.cells):
        warnings.warn(ResolutionWarning(note), stacklevel=2)
    return means


def _coarse(null_mean: Floats, cells: Ints) -> tuple[str, ...]:
    """What to say if SCDL is too small for the grids of some segments."""
    notes = list[str]()
    for number in np.flatnonzero(cells).tolist():
        notes += too_coarse(float(null_mean[number]), int(cells[number]))
    if not notes:
        return ()
    return (f"{len(notes):,} of null_mean come with a warning, the first: {notes[0]}",)


def adjusted(p_value: Floats, method: str) -> Floats:
    """Return the q-values of p-values; NaN is left out and stays NaN."""
    tested = np.flatnonzero(~np.isnan(p_value))
    order = tested[np.argsort(p_value[tested], kind="stable")]
    n_tested = len(order)
    rank = np.arange(1, n_tested + 1)
    scaled = p_value[order] * n_tested * _price(n_tested, method) / rank
    smallest_from_here = np.minimum.accumulate(scaled[::-1])[::-1]
    q_value = np.full(len(p_value), np.nan)
    q_value[order] = np.minimum(1.0, smallest_from_here)
    return q_value


def _price(n_tested: int, method: str) -> float:
    """The factor c of the adjustment: 1 for "bh"."""
    if method == "bh":
        return 1.0
    return float((1 / np.arange(1, n_tested + 1)).sum())
