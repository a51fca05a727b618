"""Many samples by what their rows have in common: a mapping from segment to `Sample`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from brolly.core.arrays import Ints
from brolly.core.grid.cells import CellTable, check_grid
from brolly.core.grid.hashed_cells import SlicedCells, slot_count
from brolly.core.input.labels import Key, label_order
from brolly.core.sample.sample import Sample
from brolly.errors import InputError

FEW_ROWS = 100
"""Segments of fewer rows are small: chance alone can explain much of any value."""

_WHOLE_GRID = 1 << 16
_SHOWN = 12

Value = TypeVar("Value")


class SegmentedCells(Protocol):
    """Where the sums of numbered segments are."""

    m: int

    def cells(self, segment: int) -> CellTable: ...

    def counts(self, segments: int) -> Ints: ...

    def chunks(self) -> Iterator[CellTable]: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GroupedCells:
    """What every engine gives back: the names of the segments, and their sums.

    Attributes
    ----------
    by : tuple of str
        The columns that tell segments apart; without any there is one segment.
    keys : sequence of tuple
        The values of those columns for each segment, in the order of the numbers in `store`.
    store : Store
        The sums.
    """

    by: tuple[str, ...]
    keys: Sequence[Key]
    store: SegmentedCells

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
    ) -> GroupedCells:
        """From one entry per (segment, cell, outcome) in any order; entries of the same are added."""
        m = check_grid(m)
        slot = slot_count(m) * segment.astype(np.int64) + 2 * cell.astype(np.int64) + outcome.astype(np.int64)
        none = np.zeros(len(slot))
        pairs = [np.stack([column.astype(np.float64), none]) for column in (weight, rise)]
        table = CellTable.pooled(m, slot, count.astype(np.int64), *pairs, squares.astype(np.float64))
        return cls(by=tuple(by), keys=tuple(keys), store=SlicedCells(table))

    def result(self) -> Sample | Segments:
        """The sample, or with columns that tell segments apart one of each."""
        if not self.by:
            return Sample._from_cells(self.store.cells(0))
        counts = self.store.counts(len(self.keys))
        # A segment whose rows all have weight zero has no rows.
        numbers = {_key(self.keys[i]): i for i in np.flatnonzero(counts).tolist()}
        return Segments(
            self.by,
            {key: int(counts[i]) for key, i in numbers.items()},
            lambda key: Sample._from_cells(self.store.cells(numbers[key])),
            lambda: Sample._from_cells(reduce(CellTable.merge, self.store.chunks(), CellTable.empty(self.store.m))),
        )


class Segments(Mapping[Any, Sample]):
    """One `Sample` per segment, from one pass over the rows: what `scan(..., by=...)` gives.

    A mapping: ``segments["north"]`` with one column, ``segments["north", 3]`` with more. Segments come in
    the order of their values; rows that have none (null or NaN) are the segment None, the last one.
    Samples are made when they are asked for, so thousands of segments take little memory.

    Attributes
    ----------
    by : tuple of str
        The columns that tell the segments apart.
    counts : dict
        The number of rows (of positive weight) in each segment.
    pooled : Sample
        All segments together.

    Examples
    --------
    >>> import brolly
    >>> rows = {"p": [0.25, 0.75, 0.5, 1.0], "y": [0, 1, 1, 1], "region": ["n", "s", "n", "s"]}
    >>> regions = brolly.scan(rows, by="region")
    >>> regions
    Segments(2 by region, n=4)
    >>> regions["n"]
    Sample(n=2, events=1, grid=65536)
    >>> regions.map(brolly.brier_score)
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
        if not counts:
            raise InputError("there are no segments: every row has weight zero")
        self.by = by
        self.counts = {key: counts[key] for key in sorted(counts, key=label_order)}
        self._sample = sample
        self._make_pooled = pooled
        self._pooled: Sample | None = None

    @classmethod
    def from_samples(cls, samples: Mapping[Any, Sample], by: Sequence[str]) -> Segments:
        """Put samples together that were made one by one.

        Parameters
        ----------
        samples : mapping
            From segment to `Sample`; a segment is a value, or with several names in `by` a tuple of them.
        by : sequence of str
            What tells the segments apart.
        """

        def pooled() -> Sample:
            grid = min((s.grid for s in samples.values() if s.grid is not None), default=_WHOLE_GRID)
            return reduce(Sample.__add__, (s.compress(grid) for s in samples.values()))

        return cls(tuple(by), {key: s.n for key, s in samples.items()}, samples.__getitem__, pooled)

    @classmethod
    def from_table(cls, rows: Any, by: str | Sequence[str] | None = None) -> Segments:
        """The segments in what the statement of `brolly.sql` with `by` gave, wherever it was run.

        Parameters
        ----------
        rows : table, cursor or iterable
            As for `Sample.from_table`.
        by : str or sequence of str, optional
            The columns of the segments; needed where rows are plain tuples, whose columns have no names.
        """
        from brolly.core.sample.groupby_result import read_table  # which knows segments

        result = read_table(rows, (by,) if isinstance(by, str) else by).result()
        if not isinstance(result, Segments):
            raise InputError("rows have no columns of segments: read them with Sample.from_table")
        return result

    @property
    def pooled(self) -> Sample:
        """All segments together, compressed."""
        if self._pooled is None:
            self._pooled = self._make_pooled()
        return self._pooled

    def small(self, min_rows: int = FEW_ROWS) -> list[Any]:
        """The segments of fewer than `min_rows` rows: too small to be judged on their own."""
        return [key for key, n in self.counts.items() if n < min_rows]

    def map(self, function: Callable[..., Value], /, **options: Any) -> dict[Any, Value]:
        """Any function of a sample, for each segment: a measure, an interval, a test.

        Parameters
        ----------
        function : callable
            Called with the `Sample` of each segment.
        **options
            Passed on to it.
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
        width = max(len(_words(key)) for key, _ in shown)
        lines = [f"{_words(key):{width}}  {n:>12,} rows" + ("  (few)" * (n < FEW_ROWS)) for key, n in shown]
        more = [f"and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return "\n".join([repr(self), *lines, *more])


def _key(values: Key) -> Any:
    """A segment as it is asked for: one value alone is itself."""
    return values[0] if len(values) == 1 else values


def _words(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
