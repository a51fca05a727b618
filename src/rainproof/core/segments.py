"""Samples by segment, and the sums by segment, cell and outcome that every engine gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rainproof.core import _hashed_cells
from rainproof.core._scan import collect, locate
from rainproof.core.accumulator import Accumulator
from rainproof.core.arrays import Floats, Ints, available_threads, run_in_threads
from rainproof.core.cells import CellTable, check_grid, slot_count
from rainproof.core.columns import OUTCOME_RULE, WEIGHT_RULE, ColumnNames, Columns
from rainproof.core.files import save_table
from rainproof.core.labels import Key, code_labels, is_missing, label_order, number_rows
from rainproof.core.sample import Sample
from rainproof.core.text import one_line
from rainproof.core.validation import refuse_misspelt_event
from rainproof.errors import FEW_ROWS, InputError

_START = 1 << 12  # entries of a new table
_LOAD = 0.8  # share of a table that may be in use; fuller ones are slow to search
_FULL = 1 << 36  # rows that one entry takes before its counters could overflow
_ROWS_PER_THREAD = 1 << 14
_CHUNK = 1 << 18  # entries added at a time when all segments are pooled
_COUNT = np.uint64((1 << 40) - 1)  # the bits of an unweighted entry that count rows


class SegmentSums:
    """The sums of numbered segments on one grid.

    While rows are added, an occupied (segment, cell, outcome) takes 24 bytes, with weights 56, in a
    hash table that is between 40% and 80% full. Thread k of n has the segments whose number is k
    modulo n. The first question about the sums sorts them, after which no more rows can be added.
    Unweighted sums are exact, so they equal those of a `Accumulator` for each segment; where there
    is but `one`, it is an `Accumulator`.
    """

    def __init__(self, m: int, *, weighted: bool, one: bool = False) -> None:
        self.m = m
        self._one = Accumulator(m) if one else None
        self.rows = 0
        self._fields = 7 if weighted else 3
        threads = available_threads()
        self._tables = [np.zeros((_START, self._fields), np.uint64) for _ in range(threads)]
        self._used = [0] * threads
        self._sorted: list[tuple[Ints, CellTable | NDArray[Any]]] = []

    @classmethod
    def from_table(cls, table: CellTable) -> SegmentSums:
        """Make them from one table, whose slots are ``segment * slot_count(m) + slot``."""
        self = object.__new__(cls)
        self.m, self._one = table.m, None
        self._tables, self._sorted = [], [(table.slot, table)]
        return self

    def add(self, rows: Columns, segment: Ints | None = None) -> None:
        """Check the rows and add each to the segment of that number, or raise and change nothing."""
        assert self._tables, "the sums are sorted already"
        if self._one is not None:
            self._one.add_columns(rows)
            return
        assert segment is not None
        if self.rows + len(rows) > _FULL:
            raise InputError(
                f"segments take up to {_FULL:,} rows in one pass: split the data, or do without by"
            )
        slot, offset = np.empty(len(rows), np.int32), np.empty(len(rows), np.uint64)
        weight = None if rows.weight is None else np.ascontiguousarray(rows.weight, np.float64)
        good = weight is None or not len(weight) or (weight.min() >= 0 and weight.max() < np.inf)
        if not locate(rows.prob, rows.outcome, self.m, slot, offset) or not good:
            raise rows.explain()
        self.rows += len(rows)

        parts, width = len(self._tables), slot_count(self.m)

        def work(part: int) -> bool:
            """Add the rows of one thread's segments to its table, which grows as needed."""
            row = 0
            while True:
                table, used = self._tables[part], self._used[part]
                most = int(_LOAD * len(table))
                row, self._used[part] = _hashed_cells.add(
                    table, used, most, segment, slot, offset, weight, width, row, part, parts
                )
                if row == len(slot):
                    return True
                self._tables[part] = np.zeros((2 * len(table), self._fields), np.uint64)
                _hashed_cells.rehash(table, self._tables[part])

        if len(rows) < _ROWS_PER_THREAD:
            all(map(work, range(parts)))
        else:
            run_in_threads(work, parts)

    @property
    def _parts(self) -> list[tuple[Ints, CellTable | NDArray[Any]]]:
        """Of each thread the keys ``segment * slot_count(m) + slot`` in order, and the sums as the
        kernel has them.
        """
        if self._one is not None:
            cells, self._one, self._tables = self._one.sums(), None, []
            self._sorted = [(cells.slot, cells)]
        while self._tables:  # dropped one by one, to save memory
            table = self._tables.pop(0)
            table = table[table[:, 0] != 0]
            order = np.argsort(table[:, 0])
            key = table[:, 0][order].astype(np.int64) - 1
            sums = table[order, 1:]
            self._sorted.append((key, sums if self._fields == 3 else sums.view(np.float64)))
        return self._sorted

    def cells(self, segment: int) -> CellTable:
        """Return the sums of one segment."""
        parts = self._parts
        key, sums = parts[segment % len(parts)]
        first = segment * slot_count(self.m)
        at = slice(*np.searchsorted(key, [first, first + slot_count(self.m)]))
        return self._table(sums, at, key[at] - first)

    def counts(self, segments: int) -> Ints:
        """Return the number of rows (of positive weight) in each segment."""
        found = np.zeros(segments, np.int64)
        for key, sums in self._parts:
            rows: NDArray[Any] = sums.count if isinstance(sums, CellTable) else sums[:, 0]
            rows = rows & _COUNT if rows.dtype == np.uint64 else rows
            found += np.bincount(key // slot_count(self.m), rows, segments).astype(np.int64)
        return found

    def joined(self, numbers: Sequence[int]) -> CellTable:
        """Return one table of all segments, as `from_table` takes it, after giving them these
        numbers.
        """
        tables = [self.cells(segment) for segment in range(len(numbers))]
        slots = [
            slot_count(self.m) * number + table.slot
            for number, table in zip(numbers, tables, strict=True)
        ]
        return CellTable.join(self.m, tables, slots)

    def pooled(self) -> CellTable:
        """Return the sums of all segments together."""
        found = CellTable.empty(self.m)
        for key, sums in self._parts:
            # what the kernel has is to be unpacked
            step = max(1, len(key)) if isinstance(sums, CellTable) else _CHUNK
            for low in range(0, len(key), step):
                at = slice(low, low + step)
                # Coarsening to the same grid adds up equal slots.
                found = found.merge(
                    self._table(sums, at, key[at] % slot_count(self.m)).coarsen(self.m)
                )
        return found

    def _table(self, sums: CellTable | NDArray[Any], at: slice, slot: Ints) -> CellTable:
        if isinstance(sums, CellTable):
            count, squares = sums.count[at], sums.squares[at]
            # for the kernels
            weight, rise = (np.ascontiguousarray(pair[:, at]) for pair in (sums.weight, sums.rise))
        else:
            _, count, weight, rise, squares = collect(sums[at])
        return CellTable(
            m=self.m, slot=slot, count=count, weight=weight, rise=rise, squares=squares
        )


_POOLED_GRID = 1 << 16
_SHOWN = 12

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
        if any(sample.design.strata is not None for sample in samples.values()):
            raise InputError(
                "samples must have no base_rate: that of a segment is not that of all rows"
            )

        def pooled() -> Sample:
            grid = min(
                (s.grid for s in samples.values() if s.grid is not None), default=_POOLED_GRID
            )
            return reduce(Sample.__add__, (s.compress(grid) for s in samples.values()))

        names = (by,) if isinstance(by, str) else tuple(by)
        return cls(names, {key: s.n for key, s in samples.items()}, samples.__getitem__, pooled)

    @classmethod
    def from_places(
        cls, sample: Sample, by: tuple[str, ...], places: Mapping[Any, Ints]
    ) -> Segments:
        """Divide a sample into segments, given by the places of their rows."""
        weight = sample.sample_weight
        counts = {
            key: len(at) if weight is None else int(np.count_nonzero(weight[at]))
            for key, at in places.items()
        }
        rows = sample.without_segments()
        found = cls(by, counts, lambda key: rows.take(places[key]), lambda: sample)
        found.whole, found.places = sample, places
        return found

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
        found = read_table(rows, (by,) if isinstance(by, str) else by)
        if isinstance(found, Sample):
            raise InputError("rows have no columns of segments: read them with Sample.from_table")
        return found

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
        return f"Segments({len(self):,} by {one_line(', '.join(self.by))}, n={sum(self.counts.values())})"

    def __str__(self) -> str:
        shown = list(self.counts.items())[:_SHOWN]
        width = max(len(_text(key)) for key, _ in shown)
        lines = [
            f"{_text(key):{width}}  {n:>12,} rows" + ("  (few)" * (n < FEW_ROWS))
            for key, n in shown
        ]
        more = [f"and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return "\n".join([repr(self), *lines, *more])


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
    if forecasts:
        cells = sums.joined([int(str(cell)) for (cell,) in keys])
        return Sample.from_cells(cells, forecasts=forecasts, weight_name=weight_name)
    if not by:
        return Sample.from_cells(sums.cells(0), weight_name=weight_name)
    counts = sums.counts(len(keys))
    numbers = {keys[i] if len(by) > 1 else keys[i][0]: i for i in np.flatnonzero(counts).tolist()}
    if not numbers:
        raise InputError(f"{weight_name} must not be zero for every row")
    return Segments(
        by,
        {key: int(counts[i]) for key, i in numbers.items()},
        lambda key: Sample.from_cells(sums.cells(numbers[key]), weight_name=weight_name),
        lambda: Sample.from_cells(sums.pooled()),
    )


def _text(key: Any) -> str:
    return one_line(", ".join(map(str, key)) if isinstance(key, tuple) else str(key))


COLUMNS = tuple(
    f"rainproof_{c}" for c in ("grid", "cell", "outcome", "count", "weight", "rise", "squares")
)
# the cell of another forecast, by which rows are grouped like by a segment
OLD_CELL = "rainproof_old"
# of the labels that are not the event: there may be one
OTHER_LABELS = ("rainproof_least", "rainproof_most")

# A row that breaks several rules counts for the first.
_OF_NUMBERS = {
    "null": "must not contain nulls (missing values)",
    "text": "must hold numbers",
    "nan": "must not contain NaN",
    "range": "must lie in [0, 1]",
}
VIOLATIONS = {
    **{
        (column, kind): _OF_NUMBERS[kind]
        for kind in ("null", "text")
        for column in ("prob", "label", "weight")
    },
    **{("prob", kind): _OF_NUMBERS[kind] for kind in ("nan", "range")},
    ("label", "rule"): OUTCOME_RULE,
    ("weight", "rule"): WEIGHT_RULE,
    **{("old", kind): words for kind, words in _OF_NUMBERS.items()},
}
_ROUNDING = 1e-9  # by how much sums of doubles may exceed bounds that exact sums keep

TableColumns = Mapping[str, Any]


def violation_code(column: str, kind: str) -> int:
    """Return the negative cell that counts the rows breaking this rule."""
    return -1 - list(VIOLATIONS).index((column, kind))


def raise_violation(counts: Mapping[str, int], names: ColumnNames) -> None:
    """Raise the first rule that some rows break; `counts` is by rule, with the name of the column
    in front.
    """
    for (column, kind), words in VIOLATIONS.items():
        rule = f"{getattr(names, column)} {words}"
        if counts.get(rule):
            raise InputError.from_offenders(rule, counts[rule], missing=kind in ("null", "nan"))


def read_table(rows: Any, by: Sequence[str] | None = None) -> Sample | Segments:
    """Read the result of a `rainproof.io.sql` statement, in any form that a database or a library
    returns it.
    """
    columns = as_columns(rows, by)
    lower = {name.lower(): name for name in columns}  # some databases return names in upper case
    missing = [name for name in COLUMNS if name not in lower]
    if missing:
        raise InputError(
            f"rows must have the columns of rainproof.io.sql's statement; they lack {', '.join(missing)}"
        )
    known = {name: columns[lower[name]] for name in (*COLUMNS, *OTHER_LABELS) if name in lower}
    segments = [name for name in columns if name.lower() not in known]
    if by is not None and sorted(by) != sorted(segments):
        raise InputError(
            f"by must name the columns of the segments; they are {segments}, and by is {list(by)}"
        )
    keys = {name: columns[name] for name in (segments if by is None else by)}
    return from_grouped({**known, **keys}, tuple(keys), ColumnNames())


def from_grouped(
    columns: TableColumns,
    by: tuple[str, ...],
    names: ColumnNames,
    *,
    pos_label: Any = None,
    forecasts: tuple[str, ...] = (),
) -> Sample | Segments:
    """Check grouped rows, given column by column in any order, and add up equal ones."""
    integers = {
        name: _integers(name, columns[f"rainproof_{name}"])
        for name in ("grid", "cell", "outcome", "count")
    }
    sums = {
        name: _doubles(name, columns[f"rainproof_{name}"]) for name in ("weight", "rise", "squares")
    }
    grids, cell, outcome, count = integers.values()
    if not len(grids):
        raise InputError("the table has columns but no rows")
    grid = check_grid(int(grids[0]), "rainproof_grid")
    if (grids != grid).any():
        other = int(grids[grids != grid][0])
        raise InputError(
            f"rainproof_grid must be the same in every row; it is {grid:,} and {other:,}"
        )
    for name, low, high in (
        ("cell", -len(VIOLATIONS), grid),
        ("outcome", 0, 1),
        ("count", 0, 2**53),
    ):
        outside = (integers[name] < low) | (integers[name] > high)
        if outside.any():
            raise InputError(
                f"rainproof_{name} must lie between {low} and {high:,}; it is {integers[name][outside][0]}"
            )
    rules = [f"{getattr(names, column)} {words}" for (column, _), words in VIOLATIONS.items()]
    raise_violation({rule: int(count[cell == -1 - k].sum()) for k, rule in enumerate(rules)}, names)
    others = [label for name in OTHER_LABELS if name in columns for label in columns[name]]
    # a row is neither the event nor another
    if others and not outcome.any() and all(map(is_missing, others)):
        raise InputError(f"{names.label} could not be compared with pos_label; it is {pos_label!r}")
    check_other_label(others, names, pos_label, occurs=bool(outcome.any()))
    keep = count > 0  # rows of weight zero do not count
    _check_sums(count[keep], *(column[keep] for column in sums.values()))
    numbers: dict[Key, int] = {}
    segment = number_rows(numbers, [code_labels(columns[name]) for name in by], len(keep))
    slot = slot_count(grid) * segment[keep] + 2 * cell[keep] + outcome[keep]
    table = CellTable.from_doubles(
        grid, slot, count[keep], *(column[keep] for column in sums.values())
    )
    return from_sums(by, [*numbers], SegmentSums.from_table(table), names.weight, forecasts)


def as_columns(rows: Any, by: Sequence[str] | None = None) -> dict[str, Any]:
    """Return columns by name from a table, a cursor, or an iterable of rows that are mappings or
    tuples.
    """
    if isinstance(rows, Mapping):
        return dict(rows)
    if hasattr(rows, "column_names"):  # PyArrow
        return {name: rows.column(name).to_pylist() for name in rows.column_names}
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):  # pandas, Polars
        return {str(name): rows[name].to_numpy() for name in rows.columns}
    names = None
    # a cursor of any Python database driver
    if hasattr(rows, "description") and hasattr(rows, "fetchall"):
        names = [column[0] for column in rows.description or ()]
        rows = rows.fetchall()
    if not isinstance(rows, Iterable):
        raise InputError(
            f"rows must be the result of rainproof.io.sql's statement; they are of type {type(rows).__name__}"
        )
    rows = list(rows)
    if rows and names is None:
        names = _names(rows[0], by)
    names = names or [*COLUMNS, *(by or ())]
    if rows and hasattr(rows[0], "keys"):
        rows = [[row[name] for name in names] for row in rows]
    return dict(zip(names, zip(*rows, strict=True) if rows else [()] * len(names), strict=True))


def _names(row: Any, by: Sequence[str] | None) -> list[str]:
    if hasattr(row, "keys"):
        return list(row.keys())
    # named tuples and SQLAlchemy, Spark
    fields = getattr(row, "_fields", None) or getattr(row, "__fields__", None)
    names = list(fields or [*COLUMNS, *(by or ())])
    if len(names) != len(row):
        raise InputError(
            f"rows must have the {len(names)} columns of rainproof.io.sql's statement in its order, those of by last; "
            f"they have {len(row)}"
        )
    return names


def _integers(name: str, values: Any) -> Ints:
    array = _doubles(name, values)
    if (array != np.floor(array)).any() or (np.abs(array) > 2.0**53).any():
        raise InputError(f"rainproof_{name} must hold integers")
    return array.astype(np.int64)


def _doubles(name: str, values: Any) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"rainproof_{name} must hold numbers; {error}") from error
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(f"rainproof_{name} must hold finite numbers")
    return array


def check_other_label(
    labels: Iterable[Any], names: ColumnNames, pos_label: Any, *, occurs: bool
) -> None:
    """Refuse more than one label besides the event's, and one that is the event's, misspelt, if
    that never occurs.
    """
    found = sorted({label for label in labels if not is_missing(label)}, key=label_order)
    if len(found) > 1:
        event = "the event" if pos_label is None else repr(pos_label)
        raise InputError(
            f"{names.label} must hold {event} and one other label; it holds {found[0]!r} and {found[-1]!r} too"
        )
    if found and not occurs:
        refuse_misspelt_event(names.label, pos_label, found[0])


def _check_sums(count: Ints, weight: Floats, rise: Floats, squares: Floats) -> None:
    if (weight <= 0).any() or (squares <= 0).any():
        raise InputError(
            "rainproof_weight and rainproof_squares must be positive where rainproof_count is"
        )
    if ((rise < 0) | (rise > weight * (1 + _ROUNDING))).any():
        raise InputError("rainproof_rise must lie between 0 and rainproof_weight")
    # The first since weights are not negative, the second by Cauchy and Schwarz.
    if (
        (squares > weight**2 * (1 + _ROUNDING)) | (squares * count < weight**2 * (1 - _ROUNDING))
    ).any():
        raise InputError(
            "rainproof_squares must lie between rainproof_weight^2 / rainproof_count and rainproof_weight^2"
        )
