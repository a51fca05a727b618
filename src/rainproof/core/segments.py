"""Segments: a sample for each, made when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from rainproof.core.arrays import Ints
from rainproof.core.documents import save_table
from rainproof.core.labels import Key, as_tuple, label_order, single
from rainproof.core.sample import Sample
from rainproof.core.segment_sums import SegmentSums
from rainproof.core.text import one_line
from rainproof.errors import InputError

FEW_ROWS = 100
"""Segments of fewer rows are small: chance alone can explain much of any value."""

_POOLED_GRID = 1 << 16  # of all segments together, where they hold their rows
_SEGMENTS_SHOWN = 12  # in print

Value = TypeVar("Value")


class Segments(Mapping[Any, Sample]):
    """One `Sample` per segment, as `scan` with `by` returns them.

    A mapping: ``segments["north"]`` with one column, ``segments["north", 3]`` with more. Segments
    are in the order of their labels; rows whose label is missing (null or NaN) are the segment
    None, which comes last. Samples are made on access, so thousands of segments take little memory.

    Attributes
    ----------
    by : tuple of str
        The columns that define the segments.
    counts : dict
        The number of rows (of positive weight) in each segment.
    pooled : Sample
        All segments together.
    missing_outcomes : mapping
        How many rows of each segment were left out as their outcome alone is missing
        (``drop_missing``); segments of which no other rows are left are among them.

    Examples
    --------
    >>> import rainproof
    >>> rows = {"p": [0.25, 0.75, 0.5, 1.0], "y": [0, 1, 1, 1], "region": ["n", "s", "n", "s"]}
    >>> regions = rainproof.scan(rows, by="region")
    >>> regions
    Segments(2 by region, n=4)
    >>> regions["n"]
    Sample(n=2, events=1, grid=65536)
    >>> regions.map(rainproof.measures.brier_score)
    {'n': 0.15625, 's': 0.03125}
    >>> regions.pooled
    Sample(n=4, events=3, grid=65536)
    """

    missing_outcomes: Mapping[Any, int] = MappingProxyType({})
    whole: Sample | None = None  # the rows of all segments, if they are kept
    places: Mapping[Any, Ints] = MappingProxyType({})  # of the rows of each segment among them

    def __init__(
        self,
        by: tuple[str, ...],
        counts: Mapping[Any, int],
        sample: Callable[[Any], Sample],
        pooled: Callable[[], Sample],
    ) -> None:
        self.by = by
        self.counts = {key: counts[key] for key in sorted(counts, key=label_order)}
        self._sample = sample
        self._make_pooled = pooled
        self._pooled: Sample | None = None

    @classmethod
    def from_samples(cls, samples: Mapping[Any, Sample], by: str | Sequence[str]) -> Segments:
        """Combine samples that were made one by one.

        Parameters
        ----------
        samples : mapping
            From segment to `Sample`; a segment is a label, or with several names in `by` a tuple of
            labels.
        by : str or sequence of str
            The names of what defines the segments.
        """
        if not samples:
            raise InputError("samples must hold at least one segment; it is empty")
        for sample in samples.values():
            if sample.design.strata is not None:
                raise InputError(
                    "samples must have no base_rate: that of a segment is not that of all rows"
                )

        def pooled() -> Sample:
            grids = [sample.grid for sample in samples.values() if sample.grid is not None]
            grid = min(grids, default=_POOLED_GRID)
            first, *others = [sample.compress(grid) for sample in samples.values()]
            return sum(others, first)

        names = (by,) if isinstance(by, str) else tuple(by)
        counts = {key: sample.n for key, sample in samples.items()}
        return cls(names, counts, samples.__getitem__, pooled)

    @classmethod
    def from_places(
        cls, sample: Sample, by: tuple[str, ...], places: Mapping[Any, Ints]
    ) -> Segments:
        """Divide a sample into segments, given by the places of their rows."""
        weight = sample.sample_weight
        counts = {}
        for key, rows in places.items():
            counts[key] = len(rows) if weight is None else int(np.count_nonzero(weight[rows]))
        whole = sample.without_segments()
        # each segment by itself has no segments
        segments = cls(by, counts, lambda key: whole.take(places[key]), lambda: sample)
        segments.whole = sample
        segments.places = places
        return segments

    @classmethod
    def from_table(cls, rows: Any, by: str | Sequence[str] | None = None) -> Segments:
        """Read the segments in the result of a `rainproof.io.sql` statement with `by`, wherever it
        was run.

        Parameters
        ----------
        rows : table, cursor or iterable
            As for `Sample.from_table`.
        by : str or sequence of str, optional
            The columns of the segments; required for plain tuples, whose columns have no names.
        """
        from rainproof.core.grouped_rows import read_table  # which imports this module

        segments = read_table(rows, (by,) if isinstance(by, str) else by)
        if isinstance(segments, Sample):
            raise InputError("rows have no columns of segments: read them with Sample.from_table")
        return segments

    @property
    def pooled(self) -> Sample:
        """All segments together, compressed."""
        if self._pooled is None:
            self._pooled = self._make_pooled()
        return self._pooled

    @property
    def digest(self) -> int:
        """One number for all rows: that of `pooled`."""
        return self.pooled.digest

    def with_max_weight(self, max_weight: float | None) -> Segments:
        """State the largest weight of a unit of the population; None if it is not known."""
        if max_weight is None:
            return self
        if self.whole is not None:
            return self.whole.with_max_weight(max_weight).by_segment()
        return Segments(
            self.by,
            self.counts,
            lambda key: self[key].with_max_weight(max_weight),
            lambda: self.pooled.with_max_weight(max_weight),
        )

    def small(self, min_rows: int = FEW_ROWS) -> list[Any]:
        """List the segments of fewer than `min_rows` rows: too few to judge them on their own."""
        return [key for key, n in self.counts.items() if n < min_rows]

    def map(self, function: Callable[..., Value], /, **options: Any) -> dict[Any, Value]:
        """Apply a function of a sample, such as a measure, an interval or a test, to each segment.

        Parameters
        ----------
        function : callable
            Called with the `Sample` of each segment.
        **options
            Passed on to `function`.
        """
        return {key: function(sample, **options) for key, sample in self.items()}

    def save(
        self, path: str | os.PathLike[str], *, grid: int = 2**16, overwrite: bool = False
    ) -> None:
        """Write all segments to one small Parquet file; `rainproof.load` reads them to the last
        bit.

        Labels must be text, finite numbers, bools or None. The parameters are those of
        `Sample.save`.
        """
        save_table(self, path, grid, overwrite=overwrite)

    def __getitem__(self, key: Any) -> Sample:
        if key not in self.counts:
            raise KeyError(key)
        return self._sample(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        by = one_line(", ".join(self.by))
        return f"Segments({len(self):,} by {by}, n={sum(self.counts.values())})"

    def __str__(self) -> str:
        keys = list(self.counts)[:_SEGMENTS_SHOWN]
        names = [_text_of(key) for key in keys]
        width = max(len(name) for name in names)
        lines = [repr(self)]
        for key, name in zip(keys, names, strict=True):
            n = self.counts[key]
            few = "  (few)" if n < FEW_ROWS else ""
            lines.append(f"{name:{width}}  {n:>12,} rows{few}")
        if len(self) > _SEGMENTS_SHOWN:
            lines.append(f"and {len(self) - _SEGMENTS_SHOWN:,} more")
        return "\n".join(lines)


def from_sums(
    by: tuple[str, ...],
    keys: Sequence[Key],
    sums: SegmentSums,
    weight_name: str = "sample_weight",
    forecasts: tuple[str, ...] = (),
) -> Sample | Segments:
    """Return what every engine gives: a sample for each segment, or without columns in `by` the
    sample.

    A segment whose rows all have weight zero is left out. With two `forecasts` a segment is a cell
    of the first one, and the result is their sample.

    Parameters
    ----------
    by : tuple of str
        The columns that define the segments.
    keys : sequence of tuple
        The labels of each segment in those columns, in the order of the numbers in `sums`.
    sums : SegmentSums
        The sums of all rows by segment.
    weight_name : str
        What the caller calls the weights, for error messages.
    forecasts : tuple of str
        The names of the forecasts, if there are two.
    """
    if forecasts:  # engines have grouped by the cell of the first, which may be text by now
        cells = sums.joined([int(str(cell)) for (cell,) in keys])
        return Sample.from_cells(cells, forecasts=forecasts, weight_name=weight_name)
    if not by:
        return Sample.from_cells(sums.cells(0), weight_name=weight_name)
    counts = sums.counts(len(keys))
    numbers = {single(keys[number]): number for number in np.flatnonzero(counts).tolist()}
    if not numbers:
        raise InputError(f"{weight_name} must not be zero for every row")
    return Segments(
        by,
        {key: int(counts[number]) for key, number in numbers.items()},
        lambda key: Sample.from_cells(sums.cells(numbers[key]), weight_name=weight_name),
        lambda: Sample.from_cells(sums.pooled()),
    )


def _text_of(key: Any) -> str:
    return one_line(", ".join([str(label) for label in as_tuple(key)]))
