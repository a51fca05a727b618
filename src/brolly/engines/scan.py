"""Rows from anywhere, compressed in one pass: the front door of the engines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from brolly.core.grid.cells import check_grid
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import Segments
from brolly.engines.column_spec import ColumnSpec
from brolly.engines.files import need_pyarrow
from brolly.errors import InputError

if TYPE_CHECKING:
    from brolly.engines.accumulators import RowAccumulator
    from brolly.engines.ingest import BatchIngest, BinaryIngest
    from brolly.engines.multiclass import MulticlassIngest
    from brolly.engines.sources import Source


def scan(
    source: Any,
    prob: str | Sequence[str] = "p",
    outcome: str = "y",
    *,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    where: Any = None,
    grid: int = 2**16,
    pos_label: Any = None,
    view: Literal["top-label", "one-vs-rest"] | None = None,
    labels: Sequence[Any] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Sample | Segments:
    """Read predictions and outcomes where they are, however many: one sample, or one for each segment.

    Rows are read a batch at a time and compressed at once (see `Sample.compress`), in memory that does not
    grow with their number: `soft_binned_cdl` is the same as on the rows for every grid up to `grid`.

    Parameters
    ----------
    source : data frame, table, relation, mapping, path or list of paths
        A data frame of pandas or Polars (also lazy), a table, batch, reader or dataset of PyArrow, a DuckDB
        relation, anything else with ``__arrow_c_stream__``, a mapping from column to array; or the name
        of a CSV (.csv, .csv.gz, .tsv, .tsv.gz), Parquet (.parquet, .pq) or Feather (.feather, .arrow)
        file, a pattern such as ``"data/*.parquet"``, or a list of those.
    prob : str or sequence of str
        The column of predicted probabilities; with `view` one column for each class.
    outcome : str
        The column of outcomes: 0 and 1, true and false, or any two labels with `pos_label`.
    weight : str, optional
        The column that says how much each row counts.
    by : str or sequence of str, optional
        The columns that tell segments apart, all in the same pass. Null and NaN are the segment None.
    where : str or expression, optional
        Which rows count: text such as ``"p is not null and region = 'north'"``, which means the same
        everywhere (see Notes), or an expression of the library that holds the rows (of PyArrow for files).
    grid : int
        The grid of the compression: a power of two, up to 2**20.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1. Text is read as the type of the column.
    view : {"top-label", "one-vs-rest"}, optional
        For several classes, see `Sample.from_multiclass`; "one-vs-rest" gives a segment for each class.
    labels : sequence, optional
        What the outcome column calls the classes, in the order of `prob`; if left out the names of those
        columns, or the numbers 0, 1, ... where the outcome column holds integers.
    progress : callable, optional
        Called after each batch with the rows read so far and the rows in all (0 if that is not known).

    Returns
    -------
    Sample or Segments
        Compressed to `grid`; with `by`, or with ``view="one-vs-rest"``, a mapping from segment to `Sample`.

    Raises
    ------
    InputError
        Where the source cannot be read, lacks a column, or holds a null, a NaN or another value that
        breaks a rule; the message counts them over all rows and names the first. Rows are counted from 0,
        of those that `where` leaves.
    MissingExtraError
        Where PyArrow is not installed.

    Notes
    -----
    A condition is ``column op literal`` (op one of ``= != < <= > >=``), ``column is [not] null``, ``column is
    [not] nan`` or ``column [not] in (literal, ...)``, joined by ``and``, ``or``, ``not`` and parentheses. Columns may
    stand in double quotes, text stands in single ones. A comparison with a null or a NaN is false.

    With `by`, memory follows the occupied (segment, cell, outcome): 24 bytes each, 56 with weights, about twice
    that while rows are read, and never more of them than rows. Choose a smaller `grid` for very many segments.

    Examples
    --------
    >>> import brolly
    >>> rows = {"p": [0.1, 0.8, 0.6, None], "y": [0, 1, 1, 0], "region": ["n", "n", "s", "s"]}
    >>> brolly.scan(rows, where="p is not null")
    Sample(n=3, events=2, grid=65536)
    >>> brolly.scan(rows, by="region", where="p is not null")
    Segments(2 by region, n=3)
    >>> brolly.scan(rows)
    Traceback (most recent call last):
      ...
    brolly.errors.InputError: p must not contain nulls (missing values); 1 value does, the first is p[3]
    """
    spec = replace(ColumnSpec.of(prob, outcome, weight, by, where), pos_label=pos_label)
    check_grid(grid)
    if _is_elsewhere(source):
        from brolly.engines.pushdown import aggregate

        if view is not None or labels is not None:
            raise InputError("several classes can be read from rows in this process only, not from another engine")
        with _own_names(spec):
            return aggregate(source, spec, grid, progress=progress).result()
    need_pyarrow()
    from brolly.engines.sources import local_sources

    sources = local_sources(source, spec.needed(), spec.native)
    ingest = _make_ingest(spec, grid, view, labels, parse=sources[0].parse)
    _feed(sources, spec, ingest, progress)
    with _own_names(spec):
        return ingest.result()


def _make_ingest(
    spec: ColumnSpec, grid: int, view: str | None, labels: Sequence[Any] | None, *, parse: bool
) -> BinaryIngest | MulticlassIngest:
    """What takes the rows: as two classes, or as several."""
    from brolly.engines.accumulators import SampleAccumulator, SegmentAccumulator
    from brolly.engines.ingest import BinaryIngest
    from brolly.engines.multiclass import multiclass_ingest

    if view is not None or labels is not None or not isinstance(spec.prob, str):
        return multiclass_ingest(spec, grid, view, labels, parse=parse)
    accumulator: RowAccumulator = (
        SegmentAccumulator(spec.by, grid, weighted=spec.weight is not None) if spec.by else SampleAccumulator(grid)
    )
    return BinaryIngest(spec, accumulator, parse=parse)


def _feed(
    sources: list[Source], spec: ColumnSpec, ingest: BatchIngest, progress: Callable[[int, int], object] | None
) -> None:
    """Give all rows to `ingest`, and raise what they add up to."""
    from brolly.engines.arrow_where import filter_batch
    from brolly.engines.columns import without_views

    total = sum(one.rows for one in sources) if all(one.rows for one in sources) else 0
    read = 0
    for one in sources:
        if len(sources) > 1:
            ingest.begin(one.name)
        for batch in one.batches():
            read += batch.num_rows
            rows = without_views(batch)
            if spec.where is not None:
                rows = filter_batch(spec.where, rows)
            if rows.num_rows:
                ingest.add(rows)
            if progress is not None:
                progress(read, total)
    if not ingest.rows:
        names = sources[0].name if len(sources) == 1 else f"each of the {len(sources):,} files"
        left = " that where leaves" if read or spec.native is not None else ""
        raise InputError(f"{names} has columns but no rows{left}")
    ingest.finish()


def _is_elsewhere(source: Any) -> bool:
    """Whether another engine holds the rows."""
    from brolly.engines import pushdown

    if isinstance(source, os.PathLike) or (isinstance(source, str) and "://" not in source):
        return False
    return pushdown.is_remote(source)


@contextmanager
def _own_names(spec: ColumnSpec) -> Iterator[None]:
    """Core calls weights by its own name, users by that of their column."""
    try:
        yield
    except InputError as error:
        message = str(error).replace("sample_weight", spec.weight or "", 1)
        raise InputError(message, rule=error.rule, count=error.count, first=error.first) from None
