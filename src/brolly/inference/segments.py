"""Which of many segments are miscalibrated, when chance has as many tries as there are segments?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from brolly.core.arrays import Floats, freeze
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import FEW_ROWS, Segments
from brolly.errors import BrollyWarning, InputError
from brolly.inference.calibration_test import calibration_test
from brolly.inference.resampling import Progress, Seed, as_seed, check_resamples, check_share
from brolly.inference.statistic import Measuring, as_statistic

_METHODS = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}
_SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SegmentTests:
    """A test of calibration for each segment, adjusted for their number.

    Attributes
    ----------
    by : tuple of str
        What tells the segments apart.
    segments : tuple
        The segments, in order; the arrays below follow it.
    n : ndarray of int
        Their rows.
    value : ndarray of float
        The measure of each.
    p_value : ndarray of float
        Of the test of each on its own; NaN where the segment is too small to be judged.
    q_value : ndarray of float
        The smallest `alpha` at which the segment is found; NaN where it is not judged.
    alpha : float
        The share of false alarms among the segments found that is allowed, on average.
    method : {"bh", "by"}
        How p-values are adjusted.
    min_rows : int
        Segments of fewer rows are not judged.
    measure : str
        Which measure.
    n_resamples : int
        How many calibrated forecasters were drawn for each.
    seed : int or None
        The seed, where it was given as one.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    by: tuple[str, ...]
    segments: tuple[Any, ...]
    n: NDArray[np.int64]
    value: Floats
    p_value: Floats
    q_value: Floats
    alpha: float
    method: Literal["bh", "by"]
    min_rows: int
    measure: str
    n_resamples: int
    seed: int | None
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self.n, self.value, self.p_value, self.q_value)

    @property
    def found(self) -> list[Any]:
        """The segments that are not calibrated: of these a share `alpha` at most is a false alarm, on average."""
        return [self.segments[i] for i in np.flatnonzero(self.q_value <= self.alpha)]

    @property
    def small(self) -> list[Any]:
        """The segments that have too few rows to be judged."""
        return [self.segments[i] for i in np.flatnonzero(np.isnan(self.p_value))]

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON; what was not judged has no p-value (None)."""
        columns = (self.n.tolist(), self.value.tolist(), _or_none(self.p_value), _or_none(self.q_value))
        names = ("n", "value", "p_value", "q_value")
        rows = zip(self.segments, *columns, strict=True)
        return {
            "result": "segment_tests",
            "method": f"exact Monte Carlo tests, {_METHODS[self.method]} over segments",
            "measure": self.measure,
            "alpha": self.alpha,
            "min_rows": self.min_rows,
            "n": int(self.n.sum()),
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "by": list(self.by),
            "segments": [{"segment": _plain(key), **dict(zip(names, values, strict=True))} for key, *values in rows],
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        judged = int((~np.isnan(self.p_value)).sum())
        return f"SegmentTests({len(self.found)} found of {judged} judged, alpha={self.alpha}, measure={self.measure!r})"

    def __str__(self) -> str:
        judged = len(self.segments) - len(self.small)
        summary = (
            f"{len(self.found):,} of {judged:,} segments judged are not calibrated (false alarms among them: "
            f"{100 * self.alpha:g}% at most, on average); {len(self.small):,} have too few rows to be judged."
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
        if self.q_value[i] <= self.alpha:
            note = "not calibrated"
        shown = [f"{v:.3g}" if judged else "-" for v in (self.p_value[i], self.q_value[i])]
        return (_words(self.segments[i]), f"{self.n[i]:,}", f"{self.value[i]:.4g}", *shown, note)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def segment_tests(
    segments: Segments | Mapping[Any, Sample],
    *,
    measure: str | Measuring = "soft_binned_cdl",
    alpha: float = 0.05,
    method: Literal["bh", "by"] = "bh",
    min_rows: int = FEW_ROWS,
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> SegmentTests:
    r"""Find the segments that are not calibrated, among many, without crying wolf.

    Of a thousand calibrated segments fifty fail a test at 5% by chance. Here the share of false alarms among the
    segments found is `alpha` at most, on average (the false discovery rate), however many are tested.

    Parameters
    ----------
    segments : Segments, or mapping from segment to Sample
        What `scan(..., by=...)` gives.
    measure : str or callable
        What to test with, as in `calibration_test`.
    alpha : float
        The share of false alarms allowed among the segments found.
    method : {"bh", "by"}
        "bh" for segments of different rows, whose tests are independent; "by" for any others, such as the classes of
        ``view="one-vs-rest"``, where every row is in each segment. It finds less.
    min_rows : int
        Segments of fewer rows are flagged and not judged, nor do they cost the others power.
    n_resamples : int
        How many calibrated forecasters are drawn for each segment.
    rng : None, int or numpy.random.Generator
        The source of chance; the same seed gives the same result.
    progress : callable, optional
        Called with the number of segments tested so far and in all.

    Returns
    -------
    SegmentTests
        A value, p-value and q-value for each segment, and which were found.

    Warns
    -----
    BrollyWarning
        Where `n_resamples` is so small that one segment alone could not be found.

    Notes
    -----
    With the :math:`K` p-values in order, :math:`q_{(i)} = \min_{j \ge i} p_{(j)} K c / j`, with :math:`c = 1` ("bh") or
    :math:`1 + 1/2 + \dots + 1/K` ("by"); segments with :math:`q \le \alpha` are found. The p-values are those of
    `calibration_test`, exact at every size, and no smaller than ``1/(n_resamples + 1)``: one segment alone among
    :math:`K` can be found if ``n_resamples + 1 >= K c / alpha``. A segment that is not found is not thereby calibrated.

    References
    ----------
    Benjamini, Hochberg (1995), "Controlling the False Discovery Rate", doi:10.1111/j.2517-6161.1995.tb02031.x.
    Benjamini, Yekutieli (2001), doi:10.1214/aos/1013699998.

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p, s = rng.random(6000), rng.integers(0, 20, 6000)
    >>> y = rng.random(6000) < np.where(s == 7, p**3, p)      # one segment of twenty is off
    >>> segments = brolly.scan({"p": p, "y": y.astype(int), "s": s}, by="s", grid=1024)
    >>> brolly.segment_tests(segments, rng=0).found
    [7]
    """
    check_share(alpha, "alpha")
    if method not in _METHODS:
        raise InputError(f"method must be 'bh' or 'by'; it is {method!r}")
    size, statistic = check_resamples(n_resamples), as_statistic(measure)
    generator, seed = as_seed(rng)
    keys, notes = tuple(segments), list[str]()
    rows, value, p_value = np.zeros(len(keys), np.int64), np.zeros(len(keys)), np.full(len(keys), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrollyWarning)  # what they say of single segments is counted instead
        for at, (sample, stream) in enumerate(zip(segments.values(), generator.spawn(len(keys)), strict=True)):
            rows[at] = sample.n
            if sample.n >= min_rows:
                test = calibration_test(sample, measure=measure, n_resamples=size, rng=stream)
                value[at], p_value[at] = test.statistic, test.p_value
                notes += test.warnings[:1]
            else:
                value[at] = statistic.function(sample)
            if progress is not None:
                progress(at + 1, len(keys))
    q_value = adjusted(p_value, method)
    said = [f"{len(notes):,} of the tests come with a note, the first: {notes[0]}"] if notes else []
    said += _too_few_draws(p_value, method, alpha, size)
    return SegmentTests(
        by=segments.by if isinstance(segments, Segments) else ("segment",),
        segments=keys,
        n=rows,
        value=value,
        p_value=p_value,
        q_value=q_value,
        alpha=float(alpha),
        method=method,
        min_rows=min_rows,
        measure=statistic.name,
        n_resamples=size,
        seed=seed,
        warnings=tuple(said),
    )


def adjusted(p_value: Floats, method: str) -> Floats:
    """The q-values of p-values; what is NaN is left out and stays NaN."""
    judged = np.flatnonzero(~np.isnan(p_value))
    order = judged[np.argsort(p_value[judged], kind="stable")]
    many = len(order)
    rank = np.arange(1, many + 1)
    scaled = p_value[order] * many * _price(many, method) / rank
    q_value = np.full(len(p_value), np.nan)
    q_value[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return q_value


def _price(many: int, method: str) -> float:
    """What dependence costs: nothing with "bh"."""
    return 1.0 if method == "bh" else float((1 / np.arange(1, many + 1)).sum())


def _too_few_draws(p_value: Floats, method: str, alpha: float, size: int) -> list[str]:
    """Warn where one segment alone could not be found whatever its value."""
    many = int((~np.isnan(p_value)).sum())
    needed = many * _price(many, method) / alpha - 1
    if size >= needed:
        return []
    note = BrollyWarning(
        f"with n_resamples={size} one segment alone among {many:,} could not be found: that takes "
        f"n_resamples={int(np.ceil(needed)):,} or more"
    )
    warnings.warn(note, stacklevel=3)
    return [str(note)]


def _or_none(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _words(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _plain(key: Any) -> Any:
    """A segment for JSON: dates and the like in words."""
    if isinstance(key, tuple):
        return [_plain(value) for value in key]
    return key if key is None or isinstance(key, bool | int | float | str) else str(key)
