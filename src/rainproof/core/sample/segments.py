"""Samples by segment: a mapping from segment to `Sample`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Ints
from rainproof.core.grid.cells import CellTable, check_grid
from rainproof.core.grid.hashed_cells import SlicedCells, slot_count
from rainproof.core.input.labels import Key, label_order
from rainproof.core.sample.sample import Sample
from rainproof.errors import InputError

FEW_ROWS = 100
"""Segments of fewer rows are small: chance alone can explain much of any value."""

_POOLED_GRID = 1 << 16
_SHOWN = 12

Value = TypeVar("Value")


class SegmentedCells(Protocol):
    """The sums of numbered segments on one grid."""

    m: int

    def cells(self, segment: int) -> CellTable:
        """Return the sums of one segment."""

    def counts(self, segments: int) -> Ints:
        """Return the number of rows (of positive weight) in each segment."""

    def chunks(self) -> Iterator[CellTable]:
        """Yield the sums of all segments together, in tables that are to be merged."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GroupedCells:
    """The sums of all rows by segment: the result of every engine.

    Attributes
    ----------
    by : tuple of str
        The columns that define the segments; without any there is one segment.
    keys : sequence of tuple
        The labels of each segment in those columns, in the order of the numbers in `store`.
    store : SegmentedCells
        The sums.
    weight_name : str
        What the caller calls the weights, for error messages.
    """

    by: tuple[str, ...]
    keys: Sequence[Key]
    store: SegmentedCells
    weight_name: str = "sample_weight"

    @classmethod
    def from_columns(
        cls,
        m: int,
        by: Sequence[str],
        keys: Sequence[Key],
        segment: NDArray[Any],
        cell: NDArray[Any],
        outcome: NDArray[Any],
        count: NDArray[Any],
        weight: NDArray[Any],
        rise: NDArray[Any],
        squares: NDArray[Any],
        *,
        weight_name: str = "sample_weight",
    ) -> GroupedCells:
        """Make them from entries by (segment, cell, outcome) in any order; equal entries are added."""
        m = check_grid(m)
        slot = slot_count(m) * segment.astype(np.int64) + 2 * cell.astype(np.int64) + outcome.astype(np.int64)
        zeros = np.zeros(len(slot))
        pairs = [np.stack([column.astype(np.float64), zeros]) for column in (weight, rise)]
        table = CellTable.pooled(m, slot, count.astype(np.int64), *pairs, squares.astype(np.float64))
        return cls(by=tuple(by), keys=tuple(keys), store=SlicedCells(table), weight_name=weight_name)

    def result(self) -> Sample | Segments:
        """Return the segments, or without columns in `by` the sample."""
        return self.segments() if self.by else self._sample(0)

    def segments(self) -> Segments:
        """Return one sample for each segment; a segment whose rows all have weight zero is left out."""
        counts = self.store.counts(len(self.keys))
        numbers = {_key(self.keys[i]): i for i in np.flatnonzero(counts).tolist()}
        if not numbers:
            raise InputError(f"{self.weight_name} must not be zero for every row")
        return Segments(
            self.by,
            {key: int(counts[i]) for key, i in numbers.items()},
            lambda key: self._sample(numbers[key]),
            lambda: Sample._from_cells(reduce(CellTable.merge, self.store.chunks(), CellTable.empty(self.store.m))),
        )

    def _sample(self, segment: int) -> Sample:
        return Sample._from_cells(self.store.cells(segment), self.weight_name)


class Segments(Mapping[Any, Sample]):
    """One `Sample` per segment, as `scan` with `by` returns them.

    A mapping: ``segments["north"]`` with one column, ``segments["north", 3]`` with more. Segments are in the
    order of their labels; rows whose label is missing (null or NaN) are the segment None, which comes last.
    Samples are made on access, so thousands of segments take little memory.

    Attributes
    ----------
    by : tuple of str
        The columns that define the segments.
    counts : dict
        The number of rows (of positive weight) in each segment.
    pooled : Sample
        All segments together.

    Examples
    --------
    >>> import rainproof
    >>> rows = {"p": [0.25, 0.75, 0.5, 1.0], "y": [0, 1, 1, 1], "region": ["n", "s", "n", "s"]}
    >>> regions = rainproof.scan(rows, by="region")
    >>> regions
    Segments(2 by region, n=4)
    >>> regions["n"]
    Sample(n=2, events=1, grid=65536)
    >>> regions.map(rainproof.brier_score)
    {'n': 0.15625, 's': 0.03125}
    >>> regions.pooled
    Sample(n=4, events=3, grid=65536)
    """

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
            From segment to `Sample`; a segment is a label, or with several names in `by` a tuple of labels.
        by : str or sequence of str
            The names of what defines the segments.
        """
        if not samples:
            raise InputError("samples must hold at least one segment; it is empty")

        def pooled() -> Sample:
            grid = min((s.grid for s in samples.values() if s.grid is not None), default=_POOLED_GRID)
            return reduce(Sample.__add__, (s.compress(grid) for s in samples.values()))

        names = (by,) if isinstance(by, str) else tuple(by)
        return cls(names, {key: s.n for key, s in samples.items()}, samples.__getitem__, pooled)

    @classmethod
    def from_table(cls, rows: Any, by: str | Sequence[str] | None = None) -> Segments:
        """Read the segments in the result of a `rainproof.sql` statement with `by`, wherever it was run.

        Parameters
        ----------
        rows : table, cursor or iterable
            As for `Sample.from_table`.
        by : str or sequence of str, optional
            The columns of the segments; required for plain tuples, whose columns have no names.
        """
        from rainproof.core.sample.groupby_result import read_table  # which imports this module

        sums = read_table(rows, (by,) if isinstance(by, str) else by)
        if not sums.by:
            raise InputError("rows have no columns of segments: read them with Sample.from_table")
        return sums.segments()

    @property
    def pooled(self) -> Sample:
        """All segments together, compressed."""
        if self._pooled is None:
            self._pooled = self._make_pooled()
        return self._pooled

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

    def __getitem__(self, key: Any) -> Sample:
        if key not in self.counts:
            raise KeyError(key)
        return self._sample(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        return f"Segments({len(self):,} by {', '.join(self.by)}, n={sum(self.counts.values())})"

    def __str__(self) -> str:
        shown = list(self.counts.items())[:_SHOWN]
        width = max(len(_text(key)) for key, _ in shown)
        lines = [f"{_text(key):{width}}  {n:>12,} rows" + ("  (few)" * (n < FEW_ROWS)) for key, n in shown]
        more = [f"and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return "\n".join([repr(self), *lines, *more])


def _key(labels: Key) -> Any:
    """Return the key of a segment in the mapping: a single label stands for itself."""
    return labels[0] if len(labels) == 1 else labels


def _text(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
